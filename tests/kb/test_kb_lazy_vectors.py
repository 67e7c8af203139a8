"""Vectors that are made when a document needs an entity first: always the same, by whichever way they come."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import xxhash

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, Projection
from hf_corefel.kb.vector_filling import Filled, fill_vectors

ALIASES = [("a", [("A", 0.5), ("B", 0.25)]), ("c", [("C", 1.0), ("D", 0.5), ("E", 0.25)])]
NAMES = ["A", "B", "C", "D", "E"]
SIZE = 6
PROJECTION = Projection(np.zeros(3, np.float32), np.ones((3, SIZE), np.float32), np.full(SIZE, 0.5, np.float32))


class Maker:
    """Vectors that depend on the texts only, and what it was asked for."""

    def __init__(self, identity: str | None = "maker-0123456789") -> None:
        if identity is not None:
            self.identity = identity
        self.asked: list[list[str]] = []

    def __call__(self, names: list[str], descriptions: list[str | None]) -> np.ndarray:
        self.asked.append(names)
        seeds = [xxhash.xxh32_intdigest(f"{n} {d}".encode()) for n, d in zip(names, descriptions, strict=True)]
        return np.array([np.random.RandomState(seed).randn(SIZE) for seed in seeds], dtype=np.float32).reshape(-1, SIZE)


def build(**given: object) -> KnowledgeBase:
    options = {"descriptions": {"A": "first"}, "projection": PROJECTION, "lazy_vectors": True, **given}
    return KnowledgeBase.build(ALIASES, **options)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build().save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


def opened(folder: Path, maker: Maker | None = None) -> KnowledgeBase:
    kb = KnowledgeBase.from_pretrained(folder)
    kb.vectorizer = Maker() if maker is None else maker
    return kb


def by_name(kb: KnowledgeBase, names: list[str] = NAMES) -> np.ndarray:
    return kb.vectors([kb.entity_id(name) for name in names])  # type: ignore[misc]


def expected() -> np.ndarray:
    """What a knowledge base stores that gets the same vectors when it is built."""
    vectors = Maker()(NAMES, ["first", None, None, None, None])
    return by_name(KnowledgeBase.build(ALIASES, vectors=(NAMES, vectors)))


def test_made_once_and_as_if_they_had_been_given(folder: Path) -> None:
    maker = Maker()
    kb = opened(folder, maker)
    assert kb.lazy_vectors
    assert kb.vector_size == SIZE
    np.testing.assert_array_equal(by_name(kb), expected())
    np.testing.assert_array_equal(by_name(kb, ["C", "A"]), expected()[[2, 0]])
    # All that are missing at once, each once.
    assert sorted(maker.asked[0]) == NAMES
    assert len(maker.asked) == 1
    later = Maker()
    np.testing.assert_array_equal(by_name(opened(folder, later)), expected())
    assert later.asked == []


def test_one_by_one_they_are_the_same(folder: Path) -> None:
    kb = opened(folder)
    np.testing.assert_array_equal(np.concatenate([by_name(kb, [name]) for name in NAMES]), expected())
    twice = kb.vectors([[0, 0], [-1, 0]])
    np.testing.assert_array_equal(twice[0, 0], twice[1, 1])
    assert not twice[1, 0].any()


def test_without_a_folder_they_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, maker = build(), Maker()
    kb.vectorizer = maker
    np.testing.assert_array_equal(by_name(kb), expected())
    np.testing.assert_array_equal(by_name(kb), expected())
    assert len(maker.asked) == 1
    monkeypatch.setattr("hf_corefel.kb.lazy_vectors._IN_MEMORY", 2)
    for name in NAMES:
        np.testing.assert_array_equal(by_name(kb, [name]), expected()[[NAMES.index(name)]])


def test_who_made_them_is_told_apart(folder: Path) -> None:
    by_name(opened(folder))
    other, nameless = Maker("another one"), Maker(None)
    by_name(opened(folder, other))
    by_name(opened(folder, nameless))
    assert len(other.asked) == len(nameless.asked) == 1
    assert len(list(folder.glob(".vectors-*.cache"))) == 2


def test_without_a_vectorizer_nothing_is_made_up(folder: Path) -> None:
    kb = KnowledgeBase.from_pretrained(folder)
    with pytest.raises(KnowledgeBaseError, match="it is made when it is needed, by the model's encoder"):
        by_name(kb)
    assert np.isnan(kb.vectors_so_far([0, 1])).all()
    assert not kb.vectors_so_far([-1]).any()
    # What is no entity here has a draw, as ever.
    assert np.isfinite(kb.vector_for("unknown")).all()


def test_so_far_is_what_was_made(folder: Path) -> None:
    kb = opened(folder)
    ids = [kb.entity_id(name) for name in NAMES]
    by_name(kb, ["B", "D"])
    again = opened(folder)
    assert np.isnan(again.vectors_so_far(ids)).all(axis=1).tolist() == [True, False, True, False, True]  # type: ignore[arg-type]
    assert again.vectorizer.asked == []  # type: ignore[union-attr]


def test_a_changed_text_gets_a_vector_of_its_own(folder: Path) -> None:
    before = by_name(opened(folder))
    with KnowledgeBase.edit(folder) as kb:
        kb.add("B", description="changed")
        kb.add("0", ["zero"])
        kb.vectorizer = maker = Maker()
        assert by_name(kb, ["0"]).any()
    assert maker.asked == [["0"]]
    later = Maker()
    kb = opened(folder, later)
    after = by_name(kb)
    assert later.asked == [["B"]]
    assert (before == after).all(axis=1).tolist() == [True, False, True, True, True]


def test_given_vectors_stand(folder: Path) -> None:
    own = np.arange(SIZE)
    kb = KnowledgeBase.build(ALIASES, vectors={"C": own}, projection=PROJECTION, lazy_vectors=True)
    kb.vectorizer = maker = Maker()
    kb.add("D", vector=own)
    assert kb.has_vector([kb.entity_id(n) for n in NAMES]).tolist() == [False, False, True, True, False]  # type: ignore[misc]
    found = by_name(kb)
    np.testing.assert_allclose(found[[2, 3]], [own, own], atol=0.02)
    assert sorted(maker.asked[0]) == ["A", "B", "E"]


def test_the_fingerprint_is_that_of_the_content(folder: Path) -> None:
    kb = opened(folder)
    by_name(kb)
    again = KnowledgeBase.from_pretrained(folder)
    assert again.fingerprint == kb.fingerprint == build().fingerprint
    assert again.verify()


def test_a_projection_from_elsewhere(tmp_path: Path) -> None:
    build(projection=None).save_pretrained(tmp_path)
    kb = KnowledgeBase.from_pretrained(tmp_path)
    assert (kb.vector_size, kb.lazy_vectors) == (0, True)
    adopted = kb.with_vectors_of(PROJECTION, np.zeros(SIZE, np.float32), np.ones(SIZE, np.float32))
    kb.add("New", ["new"])
    assert "New" in adopted  # changes show in both
    for other in (adopted, pickle.loads(pickle.dumps(adopted)), adopted.with_fallback("none"), adopted.merged()):
        other.vectorizer = Maker()
        np.testing.assert_array_equal(by_name(other), expected())
        assert by_name(other, ["New"]).any()
    assert adopted.verify()
    adopted.save_pretrained(tmp_path / "other")
    assert KnowledgeBase.from_pretrained(tmp_path / "other").vector_size == SIZE
    for wrong in (adopted, KnowledgeBase.build(ALIASES)):
        with pytest.raises(KnowledgeBaseError, match="with_vectors_of: expected"):
            wrong.with_vectors_of(PROJECTION)


def test_a_projection_from_elsewhere_for_those_without_vectors(tmp_path: Path) -> None:
    own = np.arange(SIZE)
    build(projection=None, vectors={"C": own}).save_pretrained(tmp_path)
    kb = KnowledgeBase.from_pretrained(tmp_path)
    adopted = kb.with_vectors_of(PROJECTION)
    for other in (adopted, pickle.loads(pickle.dumps(adopted))):
        other.vectorizer = maker = Maker()
        np.testing.assert_allclose(by_name(other)[2], own, atol=0.02)
        assert sorted(maker.asked[0] if maker.asked else ["A", "B", "D", "E"]) == ["A", "B", "D", "E"]
    fill_vectors(adopted, Maker())
    assert KnowledgeBase.from_pretrained(tmp_path).has_vector(np.arange(5)).all()
    wider = build(projection=None, vectors={"C": np.ones(SIZE + 1)})
    with pytest.raises(KnowledgeBaseError, match=f"of {SIZE} numbers, those here have {SIZE + 1}"):
        wider.with_vectors_of(PROJECTION)


@pytest.mark.parametrize("made", [np.zeros((1, SIZE)), np.full((5, SIZE), np.nan), np.zeros((5, 2))])
def test_what_a_vectorizer_must_not_give(folder: Path, made: np.ndarray) -> None:
    kb = KnowledgeBase.from_pretrained(folder)
    kb.vectorizer = lambda names, descriptions: made
    with pytest.raises(KnowledgeBaseError, match="vectorizer"):
        by_name(kb)


def test_a_folder_that_cannot_be_written_works_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> int:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("hf_corefel.kb.vector_cache.os.open", refuse)
    kb = opened(folder)
    with pytest.warns(UserWarning, match=r"cannot be kept there \(Read-only file system\)"):
        np.testing.assert_array_equal(by_name(kb), expected())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(by_name(kb), expected())


# All at once ----------------------------------------------------------------------------------------------


class Stopped(Maker):
    """Makes vectors once, and is interrupted the second time."""

    def __call__(self, names: list[str], descriptions: list[str | None]) -> np.ndarray:
        if self.asked:
            raise KeyboardInterrupt
        return super().__call__(names, descriptions)


def test_all_at_once_they_are_the_same(folder: Path) -> None:
    lazily = by_name(opened(folder))
    (other := folder.with_name("other")).mkdir()
    build().save_pretrained(other)
    seen: list[tuple[int, int]] = []
    done = fill_vectors(KnowledgeBase.from_pretrained(other), Maker(), progress=lambda *counts: seen.append(counts))
    assert (done, seen[-1]) == (Filled(5, 0), (5, 5))
    kb = KnowledgeBase.from_pretrained(other)
    np.testing.assert_array_equal(by_name(kb), lazily)
    assert kb.has_vector(np.arange(5)).all()
    assert kb.verify()
    assert not list(other.glob(".vectors-*"))
    # Facts are as before, and one that is added later is lazy again.
    assert kb.description("A") == "first"
    kb.vectorizer = maker = Maker()
    kb.add("New", ["new"])
    by_name(kb, ["New", "A"])
    assert maker.asked == [["New"]]
    assert fill_vectors(KnowledgeBase.from_pretrained(other), Maker()) == Filled(0, 0)


def test_it_goes_on_where_it_was_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_corefel.kb.vector_filling._CHUNK", 2)
    by_name(opened(folder), ["E"])
    with pytest.raises(KeyboardInterrupt):
        fill_vectors(KnowledgeBase.from_pretrained(folder), Stopped())
    assert not KnowledgeBase.from_pretrained(folder).has_vector(np.arange(5)).any()
    maker = Maker()
    fill_vectors(KnowledgeBase.from_pretrained(folder), maker)
    assert sum(map(len, maker.asked)) in (2, 3)  # whether E was among the first two
    np.testing.assert_array_equal(by_name(KnowledgeBase.from_pretrained(folder)), expected())


def test_shards(folder: Path) -> None:
    results = [
        fill_vectors(KnowledgeBase.from_pretrained(folder), Maker(), shards=3, shard=shard) for shard in (2, 0, 1)
    ]
    assert [result.missing for result in results] == [4, 2, 0]
    np.testing.assert_array_equal(by_name(KnowledgeBase.from_pretrained(folder)), expected())
    with pytest.raises(ValueError, match="shard: expected 0 to 1, got 2"):
        fill_vectors(KnowledgeBase.from_pretrained(folder), Maker(), shards=2, shard=2)


def test_vectors_that_were_given_are_left_alone(tmp_path: Path) -> None:
    own = np.arange(SIZE)
    build(vectors={"C": own}).save_pretrained(tmp_path)
    maker = Maker()
    fill_vectors(KnowledgeBase.from_pretrained(tmp_path), maker)
    assert sorted(maker.asked[0]) == ["A", "B", "D", "E"]
    np.testing.assert_allclose(by_name(KnowledgeBase.from_pretrained(tmp_path), ["C"])[0], own, atol=0.02)


def test_a_folder_that_changes_meanwhile_keeps_its_changes(folder: Path) -> None:
    kb = KnowledgeBase.from_pretrained(folder)
    with KnowledgeBase.edit(folder) as other:
        other.add("New", ["new"])
    with pytest.raises(KnowledgeBaseError, match="run the same again, and no vector is made twice"):
        fill_vectors(kb, Maker())
    maker = Maker()
    fill_vectors(KnowledgeBase.from_pretrained(folder), maker)
    assert maker.asked == [["New"]]


def test_the_projection_that_was_lent_is_saved_too(tmp_path: Path) -> None:
    build(projection=None).save_pretrained(tmp_path)
    fill_vectors(KnowledgeBase.from_pretrained(tmp_path).with_vectors_of(PROJECTION), Maker())
    kb = KnowledgeBase.from_pretrained(tmp_path)
    assert kb.projection is not None
    np.testing.assert_array_equal(by_name(kb), expected())
    assert kb.verify()


def test_what_cannot_be_filled(folder: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="as it was opened from its folder"):
        fill_vectors(build(), Maker())
    with pytest.raises(KnowledgeBaseError, match="it has no identity"):
        fill_vectors(KnowledgeBase.from_pretrained(folder), Maker(None))
    build(projection=None).save_pretrained(folder.with_name("without"))
    with pytest.raises(KnowledgeBaseError, match="there is no projection"):
        fill_vectors(KnowledgeBase.from_pretrained(folder.with_name("without")), Maker())
