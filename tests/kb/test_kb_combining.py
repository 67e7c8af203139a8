"""Knowledge bases made of others: parts of one, several as one, what differs, and a fingerprint of what they say."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, Projection
from hf_corefel.kb.columns import write_columns
from hf_corefel.kb.comparing import Differences, compare
from kb_columns import columns_of
from kb_folders import save_with_raw_surfaces

ALIASES = [
    ("Oslo", [("Oslo", 0.75), ("Oslo_(band)", 0.25)]),
    ("Ada", [("Ada_Lovelace", 0.5), ("Ada_(town)", 0.25)]),
    ("Lovelace", [("Ada_Lovelace", 1.0)]),
]
FACTS: dict[str, Any] = {
    "descriptions": {"Oslo": "a city", "Ada_Lovelace": "a mathematician"},
    "wikidata": {"Oslo": "Q585", "Ada_Lovelace": "Q7259"},
    "types": {"Oslo": "place", "Ada_Lovelace": "person", "Ada_(town)": "place"},
    "links": {"Oslo": 31, "Ada_Lovelace": 7, "Ada_(town)": 0},
    "redirects": {"Christiania": "Oslo", "Countess_of_Lovelace": "Ada_Lovelace"},
    "vectors": {"Oslo": np.arange(4.0), "Ada_Lovelace": np.ones(4)},
}


def build(**given: Any) -> KnowledgeBase:
    return KnowledgeBase.build(ALIASES, **{**FACTS, **given})


# Parts ------------------------------------------------------------------------------------------------------


def test_a_subset_by_type() -> None:
    kb = build().subset(types="place")
    assert sorted(kb.entities()) == ["Ada_(town)", "Oslo"]
    assert sorted(kb.surfaces()) == ["Ada", "Oslo"]
    assert [(c.entity, c.prior) for c in kb.candidates("Oslo")] == [("Oslo", 0.75)]
    assert [(c.entity, c.prior) for c in kb.candidates("ada")] == [("Ada_(town)", 0.125)]  # by its fallback
    assert (kb.description("Oslo"), kb.wikidata("Oslo"), kb.type("Oslo"), kb.links("Oslo")) == (
        "a city", "Q585", "place", 31
    )  # fmt: skip
    assert dict(kb.redirects()) == {"Christiania": "Oslo"}
    np.testing.assert_array_equal(kb.vector_for("Oslo"), build().vector_for("Oslo"))
    assert kb.has_vector([kb.entity_id("Ada_(town)")]).tolist() == [False]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("asked", "entities"),
    [
        ({}, ["Ada_(town)", "Ada_Lovelace", "Oslo", "Oslo_(band)"]),
        ({"types": ["person", "place"]}, ["Ada_(town)", "Ada_Lovelace", "Oslo"]),
        ({"types": ["work"]}, []),
        ({"min_links": 0}, ["Ada_(town)", "Ada_Lovelace", "Oslo"]),
        ({"min_links": 7}, ["Ada_Lovelace", "Oslo"]),
        ({"min_links": 7, "types": "person"}, ["Ada_Lovelace"]),
        ({"ids": ["Oslo_(band)", "Q585", "wikidata:Q7259"]}, ["Ada_Lovelace", "Oslo", "Oslo_(band)"]),
        ({"ids": ["Christiania"], "types": "place"}, ["Oslo"]),
        ({"ids": "Oslo"}, ["Oslo"]),
        ({"ids": []}, []),
    ],
)
def test_what_a_subset_has(asked: dict[str, Any], entities: list[str], tmp_path: Path) -> None:
    kb = build().subset(**asked)
    assert sorted(kb.entities()) == entities
    kb.save_pretrained(tmp_path)
    assert KnowledgeBase.from_pretrained(tmp_path).verify()
    # What was added and removed counts.
    changed = build()
    changed.add("New", ["Oslo"], type="work", links=40)
    changed.remove("Oslo")
    assert ("New" in changed.subset(types="work")) and ("New" in changed.subset(min_links=40))
    assert "Oslo" not in changed.subset(types="place")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"types": ["city"]}, "expected one of person"),
        ({"ids": ["Oslo", "nothing", "Q1", "x"]}, "ids: 'nothing' and 2 more are no entities"),
    ],
)
def test_what_a_subset_cannot_be_of(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(KnowledgeBaseError, match=message):
        build().subset(**asked)


def test_a_subset_where_nothing_is_known() -> None:
    with pytest.raises(KnowledgeBaseError, match="types: the knowledge base does not say"):
        KnowledgeBase.build(ALIASES).subset(types="place")
    with pytest.raises(KnowledgeBaseError, match="min_links: the knowledge base does not say"):
        KnowledgeBase.build(ALIASES).subset(min_links=1)


names = st.sampled_from(["A", "B", "C", "D", "É"])
surfaces = st.sampled_from(["a", "A", "b", "c c", "é"])
tables = st.dictionaries(
    surfaces, st.dictionaries(names, st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1), max_size=5
)


@settings(max_examples=25, deadline=None)
@given(table=tables, kept=st.sets(names))
def test_a_subset_is_what_would_have_been_built(table: dict[str, dict[str, float]], kept: set[str]) -> None:
    whole = KnowledgeBase.build([(surface, row.items()) for surface, row in table.items()])
    kept &= set(whole.entities())
    rows = [(surface, [pair for pair in row.items() if pair[0] in kept]) for surface, row in table.items()]
    expected = KnowledgeBase.build([row for row in rows if row[1]], descriptions=dict.fromkeys(kept, ""))
    found = whole.subset(ids=kept)
    assert found.content_fingerprint == expected.content_fingerprint
    for surface in [*table, "x"]:
        assert found.candidates(surface) == expected.candidates(surface)


# The fingerprint --------------------------------------------------------------------------------------------


def test_the_order_and_the_way_do_not_count(tmp_path: Path) -> None:
    expected = build().content_fingerprint
    draw = random.Random(0)
    for _ in range(5):
        kb = KnowledgeBase.build([], vectors={"Seed": np.ones(4)})
        rows = [(surface, *pair) for surface, row in ALIASES for pair in row]
        draw.shuffle(rows)
        for surface, entity, prior in rows:
            kb.add(entity, [surface], prior=prior)
        for entity in draw.sample(["Oslo", "Ada_Lovelace", "Ada_(town)"], 3):
            texts = {"description": "descriptions", "wikidata": "wikidata", "type": "types", "links": "links"}
            titles = [title for title, target in FACTS["redirects"].items() if target == entity]
            facts = {name: FACTS[field].get(entity) for name, field in texts.items()}
            kb.add(entity, redirects=titles, vector=FACTS["vectors"].get(entity), **facts)
        kb.remove("Seed")
        assert kb.content_fingerprint == expected
        kb.save_pretrained(tmp_path / "kb")
        assert KnowledgeBase.from_pretrained(tmp_path / "kb").content_fingerprint == expected


def test_format_layout_and_door_do_not_count(tmp_path: Path) -> None:
    table = {surface: dict(row) for surface, row in ALIASES}
    built = KnowledgeBase.build([(surface, row.items()) for surface, row in table.items()])
    write_columns(tmp_path / "columns", columns_of(table))
    save_with_raw_surfaces(tmp_path / "old", [(s, list(r.items())) for s, r in table.items()], 2)
    built.with_fallback("none").save_pretrained(tmp_path / "new")
    fingerprints = {
        KnowledgeBase.from_pretrained(tmp_path / name).content_fingerprint for name in ("columns", "old", "new")
    }
    assert fingerprints == {built.content_fingerprint}


def test_everything_that_is_said_counts() -> None:
    changes: list[dict[str, Any]] = [
        {"entity": "New"},
        {"entity": "Oslo", "surfaces": ["New"]},
        {"entity": "Oslo", "surfaces": ["Ada"], "prior": 0.25},
        {"entity": "Oslo", "surfaces": ["Oslo"], "prior": 0.875},
        {"entity": "Oslo", "description": "another"},
        {"entity": "Oslo", "wikidata": "Q1"},
        {"entity": "Oslo", "url": "https://e.org"},
        {"entity": "Oslo", "type": "other"},
        {"entity": "Oslo", "links": 32},
        {"entity": "Oslo", "redirects": ["New"]},
        {"entity": "Oslo", "vector": np.ones(4)},
        {"entity": "Ada_(town)", "vector": np.ones(4)},
    ]
    found = {build().content_fingerprint, build(url_template=None).content_fingerprint}
    for change in changes:
        kb = build()
        kb.add(**change)
        found.add(kb.content_fingerprint)
    assert len(found) == len(changes) + 2
    assert build(provenance={"source": "x"}).content_fingerprint == build().content_fingerprint


# Several as one ---------------------------------------------------------------------------------------------


def test_merging_by_the_rule() -> None:
    other = KnowledgeBase.build(
        [
            ("Oslo", [("Oslo", 0.5), ("Oslo_(ship)", 0.5)]),
            ("Countess", [("Countess_of_Lovelace", 1.0)]),
            ("Lovelace", [("Lovelace_A.", 0.5)]),
        ],
        descriptions={"Oslo": "another text", "Oslo_(ship)": "a ship"},
        wikidata={"Lovelace_A.": "Q7259", "Oslo": "Q1"},
        types={"Oslo_(ship)": "product", "Oslo": "work"},
        links={"Oslo_(band)": 3, "Oslo": 99},
        redirects={"Christiania": "Oslo_(ship)", "Tigerstaden": "Oslo", "Ada_Lovelace": "Lovelace_A."},
        vectors={"Oslo_(ship)": np.full(4, 2.0), "Oslo": np.zeros(4)},
        fallback="none",
    )
    kb = KnowledgeBase.merge(build(), other)
    assert sorted(kb.entities()) == ["Ada_(town)", "Ada_Lovelace", "Oslo", "Oslo_(band)", "Oslo_(ship)"]
    assert [(c.entity, c.prior) for c in kb.candidates("Oslo")] == [
        ("Oslo", 0.75), ("Oslo_(ship)", 0.5), ("Oslo_(band)", 0.25)
    ]  # fmt: skip
    assert [c.entity for c in kb.candidates("Countess")] == ["Ada_Lovelace"]
    assert [(c.entity, c.prior) for c in kb.candidates("Lovelace")] == [("Ada_Lovelace", 1.0)]
    assert [kb.description(name) for name in ("Oslo", "Oslo_(ship)")] == ["a city", "a ship"]
    assert [kb.wikidata(name) for name in ("Oslo", "Ada_Lovelace")] == ["Q585", "Q7259"]
    assert [kb.type(name) for name in ("Oslo", "Oslo_(ship)")] == ["place", "product"]
    assert [kb.links(name) for name in ("Oslo", "Oslo_(band)")] == [31, 3]
    assert dict(kb.redirects()) == {
        "Christiania": "Oslo",
        "Tigerstaden": "Oslo",
        "Countess_of_Lovelace": "Ada_Lovelace",
        "Lovelace_A.": "Ada_Lovelace",
    }
    assert kb.fallback == "casefold"
    own = kb.has_vector([kb.entity_id(n) for n in ("Oslo", "Oslo_(ship)", "Ada_(town)")])  # type: ignore[misc]
    assert own.tolist() == [True, True, False]
    np.testing.assert_allclose(kb.vector_for("Oslo"), np.arange(4), atol=0.02)


def test_the_others_fill_in_what_the_first_does_not_say() -> None:
    bare = KnowledgeBase.build([("Oslo", [("Oslo", 0.5)])], url_template=None)
    told = build(url_template="https://b.example/{entity}")
    for bases in ((bare, told), (bare, bare, told)):
        kb = KnowledgeBase.merge(*bases)
        assert kb.description("Oslo") == "a city" and kb.wikidata("Oslo") == "Q585" and kb.type("Oslo") == "place"
        assert kb.url("Oslo") == "https://b.example/Oslo"


def test_the_first_ones_addresses_stand() -> None:
    first = KnowledgeBase.build([("Oslo", [("Oslo", 0.5)])], url_template="https://a.example/{entity}")
    own = build(url_template="https://b.example/{entity}", urls={"Oslo": "https://c.example/city"})
    for other in (
        own,
        build(url_template="https://b.example/{entity}"),
        build(urls={"Oslo": "https://c.example/city"}),
    ):
        kb = KnowledgeBase.merge(first, other)
        assert kb.url("Oslo") == "https://a.example/Oslo"
    kb = KnowledgeBase.merge(first, own)
    assert kb.url("Ada_Lovelace") == "https://b.example/Ada_Lovelace"


def test_a_redirect_makes_two_names_one_whoever_has_it() -> None:
    old = KnowledgeBase.build([("Christiania", [("Christiania", 0.5)])])
    new = KnowledgeBase.build([("Oslo", [("Oslo", 0.6)])], redirects={"Christiania": "Oslo"})
    for bases, name, other in (((old, new), "Christiania", "Oslo"), ((new, old), "Oslo", "Christiania")):
        kb = KnowledgeBase.merge(*bases)
        assert list(kb.entities()) == [name] and dict(kb.redirects()) == {other: name}
        assert [c.entity for surface in ("Christiania", "Oslo") for c in kb.candidates(surface)] == [name] * 2


def test_merging_with_itself_and_with_nothing_changes_nothing() -> None:
    kb = build(provenance={"source": "here", "sources": [{"name": "x", "licence": "CC0"}]})
    for others in ([kb], [KnowledgeBase.build([])], [kb, kb]):
        merged = KnowledgeBase.merge(kb, *others)
        assert merged.content_fingerprint == kb.content_fingerprint
        assert merged.provenance["sources"] == kb.provenance["sources"]
    with pytest.raises(KnowledgeBaseError, match="at least one"):
        KnowledgeBase.merge()


@settings(max_examples=20, deadline=None)
@given(first=tables, second=tables)
def test_merging_keeps_the_higher_prior(
    first: dict[str, dict[str, float]], second: dict[str, dict[str, float]]
) -> None:
    bases = [KnowledgeBase.build([(s, row.items()) for s, row in table.items()]) for table in (first, second)]
    expected = KnowledgeBase.build([(s, row.items()) for table in (first, second) for s, row in table.items()])
    assert KnowledgeBase.merge(*bases).content_fingerprint == expected.content_fingerprint


def test_vectors_of_another_kind_are_left_out() -> None:
    wider = KnowledgeBase.build([("x", [("X", 1.0)])], vectors={"X": np.ones(5)})
    with pytest.warns(UserWarning, match="vectors of .* are left out"):
        kb = KnowledgeBase.merge(build(), wider)
    assert not kb.has_vector([kb.entity_id("X")])[0]  # type: ignore[list-item]
    turned = Projection(np.zeros(3, np.float32), np.ones((3, 4), np.float32), np.zeros(4, np.float32))
    with pytest.warns(UserWarning, match="left out"):
        KnowledgeBase.merge(build(), build(projection=turned))
    assert KnowledgeBase.merge(KnowledgeBase.build(ALIASES), build(projection=turned)).vector_size == 4


def test_lazy_ones_stay_lazy_and_links_of_others_are_kept() -> None:
    mine = KnowledgeBase.build([("Lamp", [("Lamp_9", 1.0)])], url_template="https://shop.example/{entity}")
    kb = KnowledgeBase.merge(KnowledgeBase.build(ALIASES, lazy_vectors=True), mine)
    assert kb.lazy_vectors
    assert kb.url("Lamp_9") == "https://shop.example/Lamp_9"
    assert kb.url("Oslo") == "https://en.wikipedia.org/wiki/Oslo"


# What differs -----------------------------------------------------------------------------------------------


def test_no_difference() -> None:
    found = compare(build(), build())
    assert not found
    assert found == Differences()


def test_every_difference() -> None:
    first, second = build(), build()
    second.add("New", ["Oslo", "new"], prior=0.5, type="work")
    second.add("Oslo", description="another", links=32, redirects=["Tigerstaden"], vector=np.ones(4))
    second.add("Ada_(town)", vector=np.ones(4))
    second.remove("Ada_Lovelace")
    found = compare(first, second)
    assert found.to_dict() == {
        "entities_added": ["New"],
        "entities_removed": ["Ada_Lovelace"],
        "entities_changed": {
            "Ada_(town)": {"vector": (False, True)},
            "Oslo": {"description": ("a city", "another"), "links": (31, 32), "vector": (True, True)},
        },
        "surfaces_added": ["new"],
        "surfaces_removed": ["Lovelace"],
        "surfaces_changed": {"Ada": {"Ada_Lovelace": (0.5, None)}, "Oslo": {"New": (None, 0.5)}},
        "redirects_changed": {"Countess_of_Lovelace": ("Ada_Lovelace", None), "Tigerstaden": (None, "Oslo")},
    }


# Many at once -----------------------------------------------------------------------------------------------


def test_adding_many_is_adding_one_by_one() -> None:
    rows: list[dict[str, Any]] = [
        {"entity": "A", "surfaces": ["a", "b"], "prior": 0.5, "type": "work"},
        {"entity": "B", "surfaces": ["a"], "description": "text"},
        {"entity": "A", "surfaces": {"c": None, "d": 0.25}, "links": 3, "redirects": ["Old_A"]},
        {"entity": "Oslo", "wikidata": "Q2"},
    ]
    single, many = build(), build()
    ids = [single.add(**row) for row in rows]
    assert many.add_all(rows) == ids
    assert many.content_fingerprint == single.content_fingerprint
    assert [many.candidates(surface)[0].prior for surface in "cd"] == [1.0, 0.25]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, r"entities\[1\]: missing field 'entity'"),
        ({"entity": "B", "name": "x"}, r"entities\[1\]: unknown field 'name'"),
        ({"entity": "B", "links": -1}, r"entities\[1\]: links of 'B'"),
        ({"entity": "B", "surfaces": {"b": 2.0}}, r"entities\[1\]: "),
        ({"entity": ""}, r"entities\[1\]: add: empty entity"),
    ],
)
def test_nothing_is_added_where_one_is_wrong(row: dict[str, Any], message: str) -> None:
    kb = build()
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.add_all([{"entity": "A"}, row])
    assert kb.content_fingerprint == build().content_fingerprint
    assert "A" not in kb


def test_a_vectorizer_makes_all_vectors_at_once() -> None:
    asked: list[list[str]] = []

    def vectorizer(names: list[str], descriptions: list[str | None]) -> np.ndarray:
        asked.append(names)
        return np.ones((len(names), 4))

    kb = build()
    kb.vectorizer = vectorizer
    kb.add_all([{"entity": "A"}, {"entity": "B", "vector": np.zeros(4)}, {"entity": "Oslo"}, {"entity": "A"}])
    assert asked == [["A"]]
    assert kb.has_vector([kb.entity_id("A"), kb.entity_id("B")]).all()  # type: ignore[list-item]
