"""Adding and removing on an opened knowledge base: what it answers, saving, threads and spawned workers."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hf_corefel.documents import Candidate
from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError

ALIASES = [
    ("Merkel", [("Angela_Merkel", 0.5), ("Max_Merkel", 0.25)]),
    ("Köln", [("Cologne", 1.0)]),
    ("Cologne", [("Cologne", 0.75), ("Eau_de_Cologne", 0.25)]),
]
VECTORS = {name: np.linspace(-1, 1, 8) * scale for scale, name in enumerate(("Angela_Merkel", "Cologne", "Bonn"), 1)}


@pytest.fixture(params=["built", "loaded"])
def kb(request: pytest.FixtureRequest, tmp_path: Path) -> KnowledgeBase:
    built = KnowledgeBase.build(ALIASES, vectors=VECTORS, descriptions={"Cologne": "a city"})
    if request.param == "built":
        return built
    built.save_pretrained(tmp_path / "kb")
    return KnowledgeBase.from_pretrained(tmp_path / "kb")


def sizes(kb: KnowledgeBase) -> tuple[int, int, int]:
    return kb.num_entities, kb.num_surfaces, kb.num_candidates


def test_a_new_entity_is_found_at_once(kb: KnowledgeBase) -> None:
    before = {name: kb.entity_id(name) for name in kb.entities()}
    added = kb.add(
        "Lantern_Bridge",
        ["Lantern Bridge", " Merkel "],
        description="a charity",
        vector=np.arange(8),
        prior={"Lantern Bridge": 0.5, " Merkel ": 0.375},
        wikidata="Q1",
        url="https://example.org/lantern",
    )
    assert added == kb.entity_id("Lantern_Bridge") == 5
    assert kb.candidates("Lantern Bridge") == [Candidate("Lantern_Bridge", 0.5)]
    assert [c.entity for c in kb.candidates("Merkel")] == ["Angela_Merkel", "Lantern_Bridge", "Max_Merkel"]
    assert kb.candidates("Merkel", limit=1) == [Candidate("Angela_Merkel", 0.5)]
    assert (kb.description("Lantern_Bridge"), kb.wikidata("Lantern_Bridge")) == ("a charity", "Q1")
    assert kb.url("Lantern_Bridge") == "https://example.org/lantern"
    np.testing.assert_allclose(kb.vectors([5, -1, 5])[[0, 1]], [np.arange(8), np.zeros(8)], atol=0.03)
    assert kb.has_vector([5, -1, before["Eau_de_Cologne"]]).tolist() == [True, False, False]
    assert sizes(kb) == (6, 4, 7)
    assert {name: kb.entity_id(name) for name in before} == before
    assert sorted(kb.entities()) == sorted([*before, "Lantern_Bridge"])
    assert sorted(kb.surfaces()) == ["Cologne", "Köln", "Lantern Bridge", "Merkel"]


def test_more_for_a_known_entity(kb: KnowledgeBase) -> None:
    known = kb.entity_id("Eau_de_Cologne")
    assert known is not None
    assert kb.add("Eau_de_Cologne", "4711", description="a perfume", vector=np.full(8, 2.0)) == known
    np.testing.assert_allclose(kb.vector_for("Eau_de_Cologne"), 2.0, rtol=1e-6)
    assert kb.add("Cologne", ["Cologne"], prior=0.5, description="") == kb.entity_id("Cologne")
    assert kb.candidates("Cologne")[0] == Candidate("Cologne", 0.75)  # of two priors the higher stands
    assert (kb.description("Eau_de_Cologne"), kb.description("Cologne")) == ("a perfume", None)
    assert sizes(kb) == (5, 4, 5 + 1)


def test_priors_when_none_are_given(kb: KnowledgeBase) -> None:
    kb.add("New", ["new", "Merkel"])
    assert kb.candidates("new") == [Candidate("New", 1.0)]
    assert dict((c.entity, c.prior) for c in kb.candidates("Merkel"))["New"] == np.float32(1 / 3)
    kb.add("New", ["Merkel"])
    assert dict((c.entity, c.prior) for c in kb.candidates("Merkel"))["New"] == np.float32(1 / 3)


def test_an_entity_without_vector_gets_the_draw_of_its_name(kb: KnowledgeBase) -> None:
    unknown = kb.vector_for("New")
    kb.add("New", ["new"])
    np.testing.assert_array_equal(kb.vector_for("New"), unknown)
    np.testing.assert_array_equal(kb.merged().vector_for("New"), unknown)
    assert not kb.has_vector([kb.entity_id("New") or 0]).any()


def test_the_vectorizer_makes_vectors_of_new_entities(kb: KnowledgeBase) -> None:
    asked: list[tuple[list[str], list[str | None]]] = []

    def vectorizer(names: list[str], descriptions: list[str | None]) -> np.ndarray:
        asked.append((names, descriptions))
        return np.full((1, 8), 3.0)

    kb.vectorizer = vectorizer
    kb.add("New", ["new"], description="something")
    kb.add("Cologne", ["Colonia"])  # has a vector of its own
    kb.with_fallback("casefold").add("Other", vector=np.ones(8))
    kb.add("Eau_de_Cologne", description="a perfume")
    assert asked == [(["New"], ["something"]), (["Eau_de_Cologne"], ["a perfume"])]
    np.testing.assert_allclose(kb.vector_for("New"), 3.0, rtol=1e-6)
    assert kb.has_vector([kb.entity_id("Eau_de_Cologne") or 0]).all()
    kb.vectorizer = lambda names, descriptions: np.zeros((1, 5))
    with pytest.raises(KnowledgeBaseError, match=r"vectorizer: expected an array of shape \(1, 8\)"):
        kb.add("Third", ["third"])
    assert kb.entity_id("Third") is None


def test_removing_an_entity(kb: KnowledgeBase) -> None:
    cologne = kb.entity_id("Cologne")
    assert cologne is not None
    vector = kb.vector_for("Cologne")
    kb.remove("Cologne")
    assert kb.entity_id("Cologne") is None
    assert kb.candidates("Köln") == []
    assert kb.candidates("Cologne") == [Candidate("Eau_de_Cologne", 0.25)]
    assert kb.description("Cologne") is None
    assert sizes(kb) == (4, 2, 3)
    assert "Köln" not in list(kb.surfaces())
    # Whoever still holds the id may ask for what it was.
    assert kb.entity_name(cologne) == "Cologne"
    np.testing.assert_array_equal(kb.vectors([cologne])[0], vector)
    with pytest.raises(KnowledgeBaseError, match="entity 'Cologne' is not in the knowledge base"):
        kb.remove("Cologne")
    again = kb.add("Cologne", ["Köln"], prior=0.5)
    assert again == kb.num_ids - 1 != cologne
    assert kb.candidates("Köln") == [Candidate("Cologne", 0.5)]
    assert kb.description("Cologne") is None
    assert not kb.has_vector([again]).any()
    kb.remove("Cologne")
    assert (kb.candidates("Köln"), sizes(kb)) == ([], (4, 2, 3))


def test_removing_many_is_removing_one_by_one(kb: KnowledgeBase) -> None:
    kb.add("Third", ["Cologne", "third"])
    single, gone = KnowledgeBase.merge(kb), ["Cologne", "Third", "Cologne"]
    for entity in gone[:2]:
        single.remove(entity)
    with pytest.raises(KnowledgeBaseError, match="entity 'Fourth' is not in the knowledge base"):
        kb.remove_all([*gone, "Fourth"])
    assert "Cologne" in kb
    kb.remove_all(gone)
    assert kb.content_fingerprint == single.content_fingerprint
    assert sizes(kb) == sizes(single)


def test_removing_a_surface(kb: KnowledgeBase) -> None:
    kb.add("New", ["new"])
    for surface in (" Köln ", "new"):
        kb.remove_surface(surface)
        assert kb.candidates(surface) == []
        with pytest.raises(KnowledgeBaseError, match=r"surface .* is not in the knowledge base"):
            kb.remove_surface(surface)
    assert kb.candidates("Cologne")[0].entity == "Cologne"
    assert sizes(kb) == (6, 2, 4)
    kb.add("Cologne", ["Köln"])
    assert kb.candidates("Köln") == [Candidate("Cologne", 1.0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"entity": ""}, "add: empty entity"),
        ({"surfaces": [" "]}, "add: empty surface"),
        ({"surfaces": [5]}, "add: expected a string as surface"),
        ({"prior": 1.5}, "surface 'x', entity 'E': expected a prior between 0 and 1, got 1.5"),
        ({"wikidata": "42"}, "Wikidata id of 'E'"),
        ({"description": 5}, "description of 'E'"),
        ({"vector": np.ones(3)}, "vector of entity 'E': expected 8 numbers as the others have, got 3"),
        ({"vector": [np.nan] * 8}, "not a finite float32"),
    ],
)
def test_what_add_refuses(kb: KnowledgeBase, arguments: dict[str, object], message: str) -> None:
    before = repr(kb)
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.add(**{"entity": "E", "surfaces": ["x"], **arguments})  # type: ignore[arg-type]
    assert (repr(kb), kb.candidates("x"), kb.entity_id("E")) == (before, [], None)


def test_a_knowledge_base_without_vectors_takes_none() -> None:
    kb = KnowledgeBase.build(ALIASES)
    kb.vectorizer = lambda names, descriptions: np.zeros((1, 5))
    kb.add("New", ["new"])
    assert kb.vector_for("New").shape == (0,)
    with pytest.raises(KnowledgeBaseError, match="build the knowledge base with vectors"):
        kb.add("New", vector=np.ones(5))


def test_changes_and_fallbacks(kb: KnowledgeBase) -> None:
    folding = kb.with_fallback("normalized")
    assert folding.candidates("MERKEL’s")[0].entity == "Angela_Merkel"
    kb.add("Angela_(film)", ["merkel", "MÉRKEL"], prior=0.75)
    assert [c.entity for c in folding.candidates("MERKEL’s")] == ["Angela_(film)", "Angela_Merkel", "Max_Merkel"]
    assert folding.candidates("merkel") == [Candidate("Angela_(film)", 0.75)]
    kb.remove_surface("Merkel")
    assert [c.entity for c in folding.candidates("Merkel")] == ["Angela_(film)"]
    folding.remove("Angela_(film)")
    assert kb.candidates("merkel") == folding.candidates("merkel") == []
    kb.remove("Cologne")
    assert [c.entity for c in folding.candidates("COLOGNE")] == ["Eau_de_Cologne"]
    assert folding.candidates("KOLN") == []


def change(kb: KnowledgeBase) -> None:
    kb.remove("Cologne")
    kb.add("New", ["new", "Merkel"], prior=0.375, description="something", vector=np.arange(8), url="https://e.org/")
    kb.add("Plain", ["plain"])
    kb.add("Max_Merkel", description="a footballer")


@pytest.mark.parametrize("same_folder", [True, False])
def test_saving_writes_the_changes(kb: KnowledgeBase, tmp_path: Path, same_folder: bool) -> None:
    change(kb)
    folder = tmp_path / ("kb" if same_folder else "other")
    kb.save_pretrained(folder)
    saved = KnowledgeBase.from_pretrained(folder)
    saved.verify()
    assert sizes(saved) == sizes(kb)
    assert saved.num_ids == saved.num_entities == kb.num_ids - 1
    for surface in ("Merkel", "Köln", "Cologne", "new", "plain"):
        assert saved.candidates(surface) == kb.candidates(surface)
    for name in [*kb.entities(), "Cologne"]:
        np.testing.assert_array_equal(saved.vector_for(name), kb.vector_for(name))
        assert (saved.description(name), saved.url(name)) == (kb.description(name), kb.url(name))
    assert (kb.description("Max_Merkel"), saved.description("Cologne")) == ("a footballer", None)
    # The object that was saved, and what is pickled from it, go on as before.
    for other in (kb, pickle.loads(pickle.dumps(kb))):
        assert other.candidates("new") == [Candidate("New", 0.375)]
        assert other.entity_id("New") == 5


@pytest.mark.parametrize("vector_format", ["int8", "float16", "float32"])
def test_added_vectors_are_stored_like_the_others(tmp_path: Path, vector_format: str) -> None:
    random = np.random.RandomState(3).normal(size=(2, 8))
    built = KnowledgeBase.build([], vectors={"A": random[0], "B": random[1]}, vector_format=vector_format)  # type: ignore[arg-type]
    kb = KnowledgeBase.build([], vectors={"A": random[0]}, vector_format=vector_format)  # type: ignore[arg-type]
    kb.remove("A")
    kb = kb.merged()
    for name, vector in zip("AB", random, strict=True):
        kb.add(name, vector=vector)
    for each in (kb, kb.merged()):
        for name in "AB":
            np.testing.assert_array_equal(each.vector_for(name), built.vector_for(name))


def test_nothing_changed_is_nothing_merged(kb: KnowledgeBase) -> None:
    assert kb.merged() is kb


def test_changes_travel_to_spawned_workers(kb: KnowledgeBase) -> None:
    change(kb)
    surfaces = ["Merkel", "new", "Cologne", "Köln"]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(kb.lookup, surfaces).result()
    for ours, theirs in zip(kb.lookup(surfaces), found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_readers_see_a_state_before_or_after(kb: KnowledgeBase) -> None:
    """One writer adds and removes an entity with two surfaces; no reader sees one surface without the other."""
    done, wrong = threading.Event(), []
    states: set[tuple[bool, bool]] = set()

    def read() -> None:
        while not done.is_set():
            ids, _ = kb.lookup(["left", "right", "Merkel"])
            kb.vectors(ids)
            pair = bool(ids[0, 0] >= 0), bool(ids[1, 0] >= 0)
            states.add(pair)
            names = [kb.entity_name(int(i)) for i in ids[2] if i >= 0]
            if pair[0] != pair[1] or names[:1] != ["Angela_Merkel"]:
                wrong.append((pair, names))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for round_ in range(300):
        kb.add("New", ["left", "right", "Merkel"], prior=0.1, vector=np.full(8, round_))
        kb.remove("New")
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert states <= {(False, False), (True, True)}


def test_writers_do_not_lose_each_others_changes(kb: KnowledgeBase) -> None:
    def write(number: int) -> None:
        for i in range(50):
            kb.add(f"E{number}_{i}", [f"s{i}"], prior=0.5)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sizes(kb) == (5 + 200, 3 + 50, 5 + 200)
    assert [c.entity for c in kb.candidates("s7")] == ["E0_7", "E1_7", "E2_7", "E3_7"]


def test_priors_belong_to_surfaces(kb: KnowledgeBase) -> None:
    before = sizes(kb)
    with pytest.raises(KnowledgeBaseError, match="add: prior: 'B' is none of the surfaces"):
        kb.add("F", ["A"], prior={"A": 0.5, "B": 0.25})
    assert sizes(kb) == before
    kb.add("F", [" A", "C"], prior={"A ": 0.5})
    assert kb.candidates("A") == [Candidate("F", 0.5)]
    assert kb.candidates("C") == [Candidate("F", 1.0)]
