"""Sources one after the other: order, offsets, places that are left, ids of several stores."""

from __future__ import annotations

import doctest
import math
import pickle
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel import Candidate, Document, KnowledgeBase
from hf_corefel.candidates import (
    BACKENDS,
    ComposedKnowledgeBase,
    NamedEntities,
    Part,
    Proposals,
    QuerySpans,
    fit_offset,
    open_knowledge_base,
)

SURFACES = ["a", "b", "c"]
TEXT = Document("a b c")
SPANS = QuerySpans(np.array([[0, 1], [2, 3], [4, 5]]), np.array([[0, 1], [2, 3], [4, 5]]))


def table(rows: Mapping[str, list[tuple[str, float]]], width: int = 2, **build: Any) -> KnowledgeBase:
    names = sorted({entity for listed in rows.values() for entity, _ in listed})
    vectors = np.arange(len(names) * width, dtype=np.float32).reshape(-1, width)
    return KnowledgeBase.build(rows.items(), vectors=(names, vectors), **build, vector_format="float32")


def named(kb: ComposedKnowledgeBase, limit: int = 4) -> list[list[tuple[str, float]]]:
    found = kb.propose(TEXT, SPANS, limit)
    rows = zip(found.entity_ids.tolist(), found.scores.tolist(), strict=True)
    name = lambda i: kb.entity_name(i) if i >= 0 else found.names[-2 - i]  # noqa: E731
    return [[(name(i), round(s, 4)) for i, s in zip(*row, strict=True) if i != -1] for row in rows]


FIRST = {"a": [("X", 0.6), ("Y", 0.4)], "b": [("Y", 1.0)]}
SECOND = {"a": [("Z", 0.9), ("X", 0.1)], "c": [("Z", 0.8)]}


def test_the_second_fills_the_places_that_the_first_leaves() -> None:
    kb = ComposedKnowledgeBase([table(FIRST), Part(table(SECOND), offset=math.log(0.5))])
    assert named(kb) == [[("X", 0.6), ("Y", 0.4), ("Z", 0.45)], [("Y", 1.0)], [("Z", 0.4)]]
    assert named(kb, 2) == [[("X", 0.6), ("Y", 0.4)], [("Y", 1.0)], [("Z", 0.4)]]
    below = ComposedKnowledgeBase([table(FIRST), Part(table(SECOND), below=1)])
    assert named(below) == [[("X", 0.6), ("Y", 0.4)], [("Y", 1.0)], [("Z", 0.8)]]


def test_an_entity_is_the_first_stores_and_ids_stay_when_a_store_grows() -> None:
    first, second = table(FIRST), table(SECOND, url_template="https://second/{entity}")
    kb = ComposedKnowledgeBase([first, second])
    ids = {name: kb.entity_id(name) for name in ("X", "Y", "Z")}
    assert [kb.entity_name(i) for i in ids.values() if i is not None] == ["X", "Y", "Z"]
    assert np.array_equal(kb.vector_for("X"), first.vector_for("X"))
    assert np.array_equal(kb.vectors([ids["X"], -1, ids["Z"]]), [first.vector_for("X"), [0, 0], second.vector_for("Z")])
    assert kb.url("Z") == "https://second/Z" and kb.url("X") == "https://en.wikipedia.org/wiki/X"
    first.add("W", ["a"], wikidata="Q1")
    assert {name: kb.entity_id(name) for name in ids} == ids and kb.identifiers("W") == {"wikidata": "Q1"}


def test_stores_of_other_widths_and_first_parts_without_entities_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3 wide"):
        ComposedKnowledgeBase([table(FIRST), table(SECOND, width=3)])

    lazy = KnowledgeBase.build([("d", [("L", 1.0)])], lazy_vectors=True)
    kb = ComposedKnowledgeBase([lazy, table(FIRST)])
    assert kb.vector_size == 2 and kb.vectors([kb.entity_id("X")]).shape == (1, 2)
    with pytest.raises(ValueError, match="made by a model's encoder when they are needed"):
        kb.vectors([kb.entity_id("L")])

    class Bare:
        def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
            return Proposals.none(len(spans), limit)

    with pytest.raises(TypeError, match="the first, Bare, must be an EntityStore"):
        ComposedKnowledgeBase([Bare()])
    assert named(ComposedKnowledgeBase([table(FIRST), Bare()])) == named(ComposedKnowledgeBase([table(FIRST)]))
    for offset in (0.1, -math.inf, math.nan):
        with pytest.raises(ValueError, match="offset"):
            Part(Bare(), offset)


@pytest.mark.parametrize(
    ("ids", "scores", "message"),
    [
        (np.zeros((2, 1)), np.ones((2, 1)), r"Odd.propose: expected entity_ids and scores of shape \(3, K\)"),
        (np.zeros((3, 1)), np.full((3, 1), 1.5), "Odd.propose: a score is a probability from 0 to 1, got 1.5"),
        (np.zeros((3, 1)), np.full((3, 1), np.nan), "from 0 to 1, got nan"),
        (np.full((3, 1), -2), np.ones((3, 1)), "entity id -2 stands for no name"),
        (np.zeros((3, 2)), np.ones((3, 2)), "entity id 0 stands twice"),
    ],
)
def test_an_answer_that_is_none_names_its_source(ids: np.ndarray, scores: np.ndarray, message: str) -> None:
    class Odd:
        def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
            return Proposals(ids, scores)

    with pytest.raises(ValueError, match=message):
        ComposedKnowledgeBase([table({}, width=2), Odd()]).propose(TEXT, SPANS, 2)


rows = st.dictionaries(
    st.sampled_from(SURFACES),
    st.dictionaries(st.sampled_from("XYZW"), st.floats(0.0625, 1, width=32), min_size=1).map(lambda d: [*d.items()]),
)


@given(st.lists(rows, min_size=1, max_size=3), st.integers(1, 4))
def test_composed_candidates_are_those_of_the_parts_in_order(each: list[Any], limit: int) -> None:
    parts = [table(listed) for listed in each]
    if len({part.vector_size for part in parts}) > 1:
        return
    expected: list[list[str]] = []
    for surface in SURFACES:
        listed = [candidate.entity for part in parts for candidate in part.candidates(surface, limit)]
        expected.append(list(dict.fromkeys(listed))[:limit])
    assert [[name for name, _ in row] for row in named(ComposedKnowledgeBase(parts), limit)] == expected


def test_the_offset_makes_scores_add_up_to_what_was_right() -> None:
    scores = [0.9, 0.5, 0.6]
    assert sum(scores) * math.exp(fit_offset(scores, 1)) == pytest.approx(1)
    assert fit_offset([0.1], 1) == 0.0
    for nothing in (([], 1), ([0.5], 0)):
        with pytest.raises(ValueError, match="cannot be learnt"):
            fit_offset(*nothing)


def test_candidates_by_name() -> None:
    listed = [Candidate("B", 0.2), Candidate("A", 0.2), Candidate("B", 0.7)]
    found = Proposals.of([listed, [], [Candidate("A", 0.1)]], 2)
    assert found.names == ("B", "A") and found.entity_ids.tolist() == [[-2, -3], [-1, -1], [-3, -1]]
    assert np.allclose(found.scores, [[0.7, 0.2], [0, 0], [0.1, 0]])


class Failing(NamedEntities):
    """A part that cannot be saved."""

    backend = "failing-part"
    vector_size = 2

    def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
        return Proposals.none(len(spans), limit)

    def save_pretrained(self, folder: str | Path) -> None:
        raise OSError("the disk is full")

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Failing:
        return cls()


def entities_of(folder: Path) -> list[list[str]]:
    return [list(part.source.entities()) for part in open_knowledge_base(folder).parts]  # type: ignore[attr-defined]


@pytest.mark.parametrize("registered", [False, True])
def test_a_folder_keeps_what_it_has_when_a_part_cannot_be_saved(
    registered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = table(FIRST), table(SECOND)
    ComposedKnowledgeBase([first, second]).save_pretrained(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    if registered:
        monkeypatch.setitem(BACKENDS._items, "failing-part", Failing)
    with pytest.raises(OSError if registered else ValueError, match=r"disk is full|cannot be saved"):
        ComposedKnowledgeBase([second, Failing()]).save_pretrained(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert entities_of(tmp_path) == [["X", "Y"], ["X", "Z"]]


def test_saved_in_place_parts_stay_where_they_are_and_old_ones_go(tmp_path: Path) -> None:
    ComposedKnowledgeBase([table(FIRST), table(SECOND)]).save_pretrained(tmp_path)
    opened = open_knowledge_base(tmp_path)
    assert isinstance(opened, ComposedKnowledgeBase)
    first, second = (part.source for part in opened.parts)
    second.add("W", ["w"])  # type: ignore[attr-defined]
    ComposedKnowledgeBase([second, first]).save_pretrained(tmp_path)
    assert entities_of(tmp_path) == [["W", "X", "Z"], ["X", "Y"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "kb_config.json"]
    assert "W" in pickle.loads(pickle.dumps(second))
    for _ in range(2):
        ComposedKnowledgeBase([table(SECOND)]).save_pretrained(tmp_path)
        assert entities_of(tmp_path) == [["X", "Z"]]
        assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("module", ["composed", "dense", "proposals"])
def test_examples_show_what_they_do(module: str) -> None:
    found = doctest.testmod(import_module(f"hf_corefel.candidates.{module}"), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0 and found.attempted > 0
