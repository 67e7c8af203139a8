from __future__ import annotations

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.documents import Candidate
from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from hf_corefel.kb.normal_form import normal_form
from kb_folders import KB_FILES

ALIASES = [
    ("Merkel", [("Max_Merkel", 0.25), ("Angela_Merkel", 0.5), ("Merkel,_Texas", 0.25)]),
    ("Köln", [("Cologne", 1.0)]),
    (" New York ", [("New_York_City", 0.75), ("New_York_(state)", 0.25)]),
    ("東京", [("Tokyo", 1.0)]),
    ("the Chancellor", [("wikidata:Q567", 0.125)]),
]


def named_vectors(size: int = 24) -> dict[str, np.ndarray]:
    random = np.random.RandomState(7)
    names = ("Angela_Merkel", "Cologne", "New_York_City", "Tokyo", "Only_A_Vector")
    return {name: random.normal(0.3, 0.7, size).astype(np.float32) for name in names}


@pytest.fixture
def built() -> KnowledgeBase:
    return KnowledgeBase.build(
        ALIASES,
        vectors=named_vectors(),
        descriptions={"Cologne": "Köln, a city on the Rhine", "Tokyo": "", "Only_A_Text": "naïve"},
        provenance={"source": "test", "year": 2022},
    )


@pytest.fixture
def folder(built: KnowledgeBase, tmp_path: Path) -> Path:
    built.save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def loaded(folder: Path) -> KnowledgeBase:
    return KnowledgeBase.from_pretrained(folder)


def names_and_priors(kb: KnowledgeBase, surface: str, limit: int = 16) -> list[tuple[str, float]]:
    return [(candidate.entity, candidate.prior) for candidate in kb.candidates(surface, limit)]


def test_candidates_come_by_prior_then_name(built: KnowledgeBase) -> None:
    expected = [("Angela_Merkel", 0.5), ("Max_Merkel", 0.25), ("Merkel,_Texas", 0.25)]
    assert built.candidates("Merkel") == [Candidate(*pair) for pair in expected]
    assert names_and_priors(built, "Merkel", 2) == expected[:2]


def test_ties_do_not_depend_on_the_order_of_the_input() -> None:
    candidates = [(name, 0.1) for name in "dacbe"]
    for order in (candidates, candidates[::-1]):
        assert [name for name, _ in names_and_priors(KnowledgeBase.build([("x", order)]), "x")] == list("abcde")


@pytest.mark.parametrize("surface", ["Merkel", " Merkel", "Merkel\n", "\u00a0Merkel\t"])
def test_white_space_around_a_surface_is_stripped(loaded: KnowledgeBase, surface: str) -> None:
    assert loaded.candidates(surface)[0].entity == "Angela_Merkel"


@pytest.mark.parametrize("surface", ["Merkel ,", "Merke", "", " ", "Koln", "NewYork", "New-York", "東 京"])
def test_no_other_surface_matches(loaded: KnowledgeBase, surface: str) -> None:
    assert loaded.candidates(surface) == []


def test_white_space_of_the_table_is_stripped_too(loaded: KnowledgeBase) -> None:
    assert names_and_priors(loaded, "New York") == [("New_York_City", 0.75), ("New_York_(state)", 0.25)]


def test_unicode_surfaces(loaded: KnowledgeBase) -> None:
    assert loaded.candidates("Köln")[0].entity == "Cologne"
    assert loaded.candidates("東京")[0].entity == "Tokyo"


@pytest.mark.parametrize("surface", ["Merkel\0", "Merkel\0x", "Merkel\ud800", "\ud800"])
def test_text_that_no_table_can_hold_is_not_found(loaded: KnowledgeBase, surface: str) -> None:
    assert loaded.candidates(surface) == []
    assert loaded.entity_id(surface) is None


def test_lookup_pads_and_equals_single_lookups(loaded: KnowledgeBase) -> None:
    surfaces = ["Merkel", "unknown", " Köln ", "Merkel", "", "New York", "東京"]
    entity_ids, priors = loaded.lookup(surfaces, limit=2)
    assert (entity_ids.dtype, priors.dtype) == (np.int32, np.float32)
    assert entity_ids.shape == priors.shape == (7, 2)
    for surface, ids, row in zip(surfaces, entity_ids, priors, strict=True):
        single = loaded.candidates(surface, 2)
        assert [loaded.entity_name(i) for i in ids if i >= 0] == [candidate.entity for candidate in single]
        assert row.tolist() == [candidate.prior for candidate in single] + [0.0] * (2 - len(single))
    assert entity_ids[1].tolist() == [-1, -1]
    assert entity_ids[2, 1] == -1


def test_lookup_of_nothing(loaded: KnowledgeBase) -> None:
    entity_ids, priors = loaded.lookup([])
    assert entity_ids.shape == priors.shape == (0, 16)
    with pytest.raises(ValueError, match="limit"):
        loaded.lookup(["Merkel"], limit=0)


def test_duplicates_are_merged_and_the_highest_prior_stands() -> None:
    kb = KnowledgeBase.build([("a", [("X", 0.25), ("Y", 0.5), ("X", 0.75)]), ("a ", [("Y", 0.125), ("Z", 0.0)])])
    assert names_and_priors(kb, "a") == [("X", 0.75), ("Y", 0.5), ("Z", 0.0)]
    assert (kb.num_surfaces, kb.num_candidates, kb.num_entities) == (1, 3, 3)


def test_max_candidates_keeps_the_best_of_every_surface() -> None:
    rows = [("a", [("X", 0.25), ("Y", 0.5), ("Z", 0.125)]), ("b", [("Z", 0.5)]), ("c", [("Y", 0.1), ("X", 0.1)])]
    kb = KnowledgeBase.build(rows, max_candidates=1)
    assert [names_and_priors(kb, surface)[0][0] for surface in "abc"] == ["Y", "Z", "X"]
    assert kb.num_candidates == 3
    with pytest.raises(KnowledgeBaseError, match="max_candidates"):
        KnowledgeBase.build(rows, max_candidates=0)


def test_a_surface_without_candidates_is_none() -> None:
    kb = KnowledgeBase.build([("a", []), ("b", [("X", 1.0)])])
    assert (kb.num_surfaces, kb.candidates("a")) == (1, [])


def test_empty_knowledge_base(tmp_path: Path) -> None:
    KnowledgeBase.build([]).save_pretrained(tmp_path)
    kb = KnowledgeBase.from_pretrained(tmp_path)
    assert (kb.num_entities, kb.num_surfaces, kb.vector_size) == (0, 0, 0)
    assert kb.candidates("a") == []
    assert kb.vectors([-1]).shape == (1, 0)
    assert kb.has_vector([-1]).tolist() == [False]


def assert_same(left: KnowledgeBase, right: KnowledgeBase) -> None:
    assert repr(left) == repr(right)
    assert left.provenance == right.provenance
    names = [left.entity_name(i) for i in range(left.num_entities)]
    assert names == [right.entity_name(i) for i in range(right.num_entities)]
    ids = np.arange(left.num_entities)
    np.testing.assert_array_equal(left.vectors(ids), right.vectors(ids))
    np.testing.assert_array_equal(left.has_vector(ids), right.has_vector(ids))
    surfaces = [surface for surface, _ in ALIASES] + ["unknown"]
    for ours, theirs in zip(left.lookup(surfaces), right.lookup(surfaces), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name in [*names, "unknown"]:
        assert (left.entity_id(name), left.description(name)) == (right.entity_id(name), right.description(name))
        assert left.url(name) == right.url(name)


@pytest.mark.parametrize("vector_format", ["int8", "float16", "float32"])
def test_loaded_equals_built(tmp_path: Path, vector_format: str) -> None:
    built = KnowledgeBase.build(
        ALIASES, vectors=named_vectors(), descriptions={"Tokyo": "a city"}, vector_format=vector_format
    )
    built.save_pretrained(tmp_path)
    assert_same(built, KnowledgeBase.from_pretrained(tmp_path))
    assert json.loads((tmp_path / "kb_config.json").read_text())["vector_format"] == vector_format


def test_saving_over_the_folder_it_is_mapped_from(loaded: KnowledgeBase, built: KnowledgeBase, folder: Path) -> None:
    loaded.save_pretrained(folder)
    assert_same(loaded, built)
    KnowledgeBase.build([("other", [("Other", 1.0)])]).save_pretrained(folder)
    assert_same(loaded, built)
    assert KnowledgeBase.from_pretrained(folder).candidates("other") == [Candidate("Other", 1.0)]
    assert sorted(path.name for path in folder.iterdir()) == KB_FILES


def test_tables_are_mapped_and_read_only(loaded: KnowledgeBase) -> None:
    array: object = loaded._tables.vectors.codes
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base.obj if isinstance(array.base, memoryview) else array.base
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        loaded._tables.vectors.codes[0] = 0


def test_pickles(built: KnowledgeBase, loaded: KnowledgeBase, folder: Path) -> None:
    assert_same(pickle.loads(pickle.dumps(built)), built)
    by_path = pickle.dumps(loaded)
    assert str(folder).encode() in by_path
    assert len(by_path) < 200 + len(str(folder))
    assert_same(pickle.loads(by_path), built)


def test_spawned_workers(built: KnowledgeBase, loaded: KnowledgeBase) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for kb in (built, loaded):
            ids, priors = pool.submit(kb.lookup, ["Merkel", "Köln"]).result()
            np.testing.assert_array_equal(ids, kb.lookup(["Merkel", "Köln"])[0])
            np.testing.assert_array_equal(priors, kb.lookup(["Merkel", "Köln"])[1])


def test_threads_share_one(loaded: KnowledgeBase) -> None:
    surfaces = [surface for surface, _ in ALIASES] * 50
    expected = loaded.lookup(surfaces)[0]
    with ThreadPoolExecutor(4) as pool:
        for found, _ in pool.map(loaded.lookup, [surfaces] * 16):
            np.testing.assert_array_equal(found, expected)


def test_entity_ids_and_names(loaded: KnowledgeBase) -> None:
    for i in range(loaded.num_entities):
        assert loaded.entity_id(loaded.entity_name(i)) == i
    assert loaded.entity_id("Nobody") is None
    for bad in (-1, loaded.num_entities):
        with pytest.raises(IndexError, match="outside"):
            loaded.entity_name(bad)


def test_descriptions(loaded: KnowledgeBase) -> None:
    assert loaded.description("Cologne") == "Köln, a city on the Rhine"
    assert loaded.description("Only_A_Text") == "naïve"
    for name in ("Tokyo", "Angela_Merkel", "Nobody"):
        assert loaded.description(name) is None


@pytest.mark.parametrize(
    ("entity", "url"),
    [
        ("Angela_Merkel", "https://en.wikipedia.org/wiki/Angela_Merkel"),
        ("1._FC_Köln", "https://en.wikipedia.org/wiki/1._FC_K%C3%B6ln"),
        ("What?_100%_#1_(film)", "https://en.wikipedia.org/wiki/What%3F_100%25_%231_(film)"),
        ("AC/DC", "https://en.wikipedia.org/wiki/AC/DC"),
        ("{entity}", "https://en.wikipedia.org/wiki/%7Bentity%7D"),
        ("\ud800", "https://en.wikipedia.org/wiki/%3F"),
        ("wikidata:Q42", "https://www.wikidata.org/wiki/Q42"),
        ("wikidata:other", "https://en.wikipedia.org/wiki/wikidata:other"),
    ],
)
def test_urls(built: KnowledgeBase, entity: str, url: str) -> None:
    assert built.url(entity) == url


def test_url_template(tmp_path: Path) -> None:
    KnowledgeBase.build([], url_template="https://example.org/?q={entity}").save_pretrained(tmp_path)
    assert KnowledgeBase.from_pretrained(tmp_path).url("A_B") == "https://example.org/?q=A_B"
    without = KnowledgeBase.build([], url_template=None)
    assert without.url("A_B") is None
    assert without.url("wikidata:Q1") == "https://www.wikidata.org/wiki/Q1"
    with pytest.raises(KnowledgeBaseError, match="url_template"):
        KnowledgeBase.build([], url_template="https://example.org/")


def test_provenance_must_be_json(built: KnowledgeBase) -> None:
    assert built.provenance == {"source": "test", "year": 2022}
    with pytest.raises(KnowledgeBaseError, match="provenance"):
        KnowledgeBase.build([], provenance={"a": object()})


surface_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4)
entity_names = st.text(st.sampled_from("abÄ_東"), min_size=1, max_size=3)
priors = st.floats(0.0, 1.0, width=32)
tables = st.lists(st.tuples(surface_texts, st.lists(st.tuples(entity_names, priors), max_size=5)), max_size=8)


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 6))
def test_any_table_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, list[tuple[str, float]]]], limit: int
) -> None:
    table = [(surface, pairs) for surface, pairs in table if normal_form(surface)]
    expected: dict[str, dict[str, float]] = {}
    for surface, pairs in table:
        for entity, prior in pairs:
            row = expected.setdefault(normal_form(surface), {})
            row[entity] = max(prior, row.get(entity, 0.0))
    built = KnowledgeBase.build(table, fallback="none")
    path = tmp_path_factory.mktemp("kb")
    built.save_pretrained(path)
    loaded = KnowledgeBase.from_pretrained(path)
    assert loaded.num_surfaces == len(expected)
    for surface, _ in table:
        row = expected.get(normal_form(surface), {})
        found = sorted(row.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        assert names_and_priors(loaded, surface, limit) == names_and_priors(built, surface, limit) == found


def test_strings_of_numpy_are_names_and_surfaces(tmp_path: Path) -> None:
    text = np.str_
    built = KnowledgeBase.build(
        [(text("Oslo"), [(text("Oslo"), np.float32(0.5)), (text("Oslo_(band)"), np.float64(0.25))])],
        vectors=(np.array(["Oslo", "Oslo_(band)"]), np.eye(2, dtype=np.float32)),  # type: ignore[arg-type]
        descriptions={text("Oslo"): text("a city")},
    )
    built.add(text("Bergen"), [text("Bergen")], prior=np.float32(0.5), vector=np.ones(2, dtype=np.float32))  # type: ignore[arg-type]
    built.save_pretrained(tmp_path / "kb")
    for kb in (built, KnowledgeBase.from_pretrained(tmp_path / "kb")):
        assert kb.candidates(text("Oslo")) == [Candidate("Oslo", 0.5), Candidate("Oslo_(band)", 0.25)]
        assert [type(candidate.entity) for candidate in kb.candidates(text("Bergen"))] == [str]
        assert (kb.description(text("Oslo")), kb.entity_id(text("Oslo"))) == ("a city", kb.entity_id("Oslo"))
    counted = KnowledgeBase.from_counts([(text("Oslo"), text("Oslo"), np.int64(3))])
    assert [candidate.entity for candidate in counted.candidates("Oslo")] == ["Oslo"]
