"""Names that mean one entity are scored as one, on both sides and in every score."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import AnnotatedDocument, Candidate, Cluster, Document, Mention
from hf_corefel.metrics import EntityMap, MappedLinks, evaluate, evaluate_nested

TEXT = "abcdefghij"
NAMES = ["TSV_1860_Munich", "Oslo", "Q64", "Ada"]


def test_chains_end_at_the_last_name() -> None:
    entities = EntityMap([("a", "b"), ("c", "d"), ("b", "c"), ("e", "c"), ("a", "b"), ("d", "d")])
    assert [entities(name) for name in "abcdef"] == ["d", "d", "d", "d", "d", "f"]


def test_a_chain_of_any_length_is_followed() -> None:
    entities = EntityMap([(f"t{n}", f"t{n + 1}") for n in reversed(range(50_000))])
    assert entities("t0") == entities("t49999") == "t50000"


def test_spellings_of_a_name_are_one() -> None:
    entities = EntityMap({"TSV 1860 München": "wikidata:Q170477", "Q1 FM": "Q1_FM_(radio)"})
    assert entities("TSV_1860_München") == entities("wikidata:Q170477") == entities("Wikidata:Q170477") == "Q170477"
    assert entities("wikidata:Q1_FM") == "wikidata:Q1_FM" and entities("Q1 FM") == "Q1_FM_(radio)"
    assert entities(" ") == " " and entities("New York") == "New_York"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([("x", "a"), ("a", "b"), ("b", "c"), ("c", "a")], r"^entity_map: names lead in a loop, a → b → c → a; leave"),
        ([("b", "a"), ("a", "b")], "b → a → b"),
        ([(f"t{n}", f"t{(n + 1) % 99}") for n in range(99)], r"t0 → t1 → t2 → t3 → t4 → t5 → … → t0;"),
        ([("a", "b"), ("a b", "x"), ("a_b", "y")], r"^entity_map: 'a_b' leads to two entities, 'x' and 'y'; leave"),
        ([("a", "")], r"^entity_map: expected two names of an entity, got 'a' and ''"),
        ({"a": 3}, r"^entity_map: expected two names of an entity, got 'a' and 3"),
    ],
)
def test_what_is_no_map_is_named(names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EntityMap(names)
    with pytest.raises(
        TypeError, match=r"^entity_map: expected an EntityMap or a dict .*, got list; .*open_entity_map"
    ):
        evaluate([], [], entity_map=[("a", "b")])  # type: ignore[arg-type]


def test_one_map_after_another() -> None:
    entities = EntityMap({"a": "b"}).then(EntityMap({"b": "c"}))
    assert [entities(name) for name in "abc"] == ["c", "c", "c"]


@st.composite
def scored(draw: st.DrawFn) -> tuple[Document, AnnotatedDocument]:
    """A gold document with candidates, and a prediction for it."""

    def clusters() -> list[Cluster]:
        groups = draw(st.lists(st.integers(0, 3), min_size=len(TEXT), max_size=len(TEXT)))
        names = draw(st.lists(st.sampled_from([*NAMES, None]), min_size=4, max_size=4))
        places = {g: tuple(Mention(n, n + 1) for n, group in enumerate(groups) if group == g) for g in range(4)}
        return [Cluster(mentions, names[g]) for g, mentions in places.items() if mentions]

    lists = draw(st.lists(st.lists(st.sampled_from(NAMES), max_size=2, unique=True), min_size=10, max_size=10))
    candidates = {(n, n + 1): [Candidate(name, 0.5) for name in names] for n, names in enumerate(lists)}
    return Document(TEXT, clusters=clusters(), candidates=candidates), AnnotatedDocument(TEXT, clusters())


@given(pair=scored(), data=st.data())
def test_any_names_of_an_entity_score_alike(pair: tuple[Document, AnnotatedDocument], data: st.DataObject) -> None:
    old = {f"{name}_{n}": name if n == 0 else f"{name} {n - 1}" for name in NAMES for n in range(3)}
    entities = EntityMap(old)
    names = {name: [name, *(f"{name}_{n}" for n in range(3))] for name in NAMES}

    def other(name: str | None) -> str | None:
        return None if name is None else data.draw(st.sampled_from(names[name]))

    def renamed(document: Any) -> Any:
        found = [Cluster(c.mentions, other(c.entity)) for c in document.clusters]
        if isinstance(document, AnnotatedDocument):
            return AnnotatedDocument(TEXT, found)
        listed = {o: [Candidate(other(c.entity) or "", 0.5) for c in items] for o, items in document.candidates.items()}
        return Document(TEXT, clusters=found, candidates=listed)

    gold, predicted = map(renamed, pair)
    expected = evaluate([pair[0]], [pair[1]])
    assert evaluate([gold], [predicted], entity_map=entities) == expected
    assert evaluate([gold], [predicted], entity_map=old) == expected
    assert evaluate([entities.document(gold)], [entities.document(predicted)]) == expected
    # Without one, and with one that knows none of the names, nothing changes.
    assert evaluate([pair[0]], [pair[1]], entity_map={"x": "y"}) == expected
    listed = [[[c.entity for c in gold.candidates[m.offsets]] for m in cluster.mentions] for cluster in gold.clusters]
    nested = evaluate_nested([predicted], [gold], candidates=[listed], texts=[TEXT], entity_map=entities)
    assert nested == expected
    changed = sum(c.entity not in (None, *NAMES) for c in gold.clusters)
    linked = sum(c.entity is not None for c in gold.clusters)
    assert entities.count(gold) == MappedLinks(linked, changed)


def test_the_module_of_evaluate_takes_a_map(tmp_path: Any) -> None:
    import evaluate as library

    from hf_corefel import metric_path

    metric = library.load(metric_path())
    gold = [[{"mentions": [[0, 4]], "entity": "TSV_1860_München"}]]
    found = [[{"mentions": [[0, 4]], "entity": "TSV_1860_Munich"}]]
    assert metric.compute(predictions=found, references=gold)["el_hard_f1"] == 0.0
    names = {"TSV 1860 München": "TSV 1860 Munich"}
    assert metric.compute(predictions=found, references=gold, entity_map=names)["el_hard_f1"] == 1.0
    (tmp_path / "map.tsv").write_text("TSV 1860 München\tTSV 1860 Munich\n", encoding="utf-8")
    scores = metric.compute(predictions=found, references=gold, entity_map=str(tmp_path / "map.tsv"))
    assert scores["el_hard_f1"] == 1.0
