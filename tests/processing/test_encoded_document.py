"""Batches that the model takes at once, however long one of their documents is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel import pipeline_corefel
from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.processing import encoded_document
from hf_corefel.processing.encoded_document import readable_groups


def document(spans: int, limit: int = 10_000, keep_all: bool = False, subwords: int = 1) -> Any:
    read = {"subword_ids": range(subwords), "is_long": False}
    return SimpleNamespace(spans=range(spans), limit=limit, keep_all=keep_all, **read)


@pytest.mark.parametrize(
    ("spans", "sizes"),
    [
        ([], []),
        ([0, 0], []),
        ([1] * 50, [50]),
        ([4_000], [1]),
        ([4_000, 4_000], [1, 1]),
        ([10, 3_000, 10, 10], [1, 1, 2]),
        ([1_000] * 20, [9, 9, 2]),
        ([0, 1_500, 1_500, 0, 1_500, 1_500, 1_500], [4, 1]),
    ],
)
def test_the_pairs_of_a_group_are_bounded(spans: list[int], sizes: list[int]) -> None:
    documents = [document(number) for number in spans]
    groups = list(readable_groups(documents))
    assert [len(group) for group in groups] == sizes
    assert [one for group in groups for one in group] == [one for one in documents if len(one.spans)]
    for group in groups:
        most = max(len(one.spans) for one in group)
        assert len(group) == 1 or len(group) * most**2 <= encoded_document._MOST_PAIRS


def test_what_counts_is_what_is_kept() -> None:
    kept, given = [document(90_000, 1_000)] * 9, [document(3_000, 1, keep_all=True)] * 2
    assert [len(group) for group in readable_groups([*kept, *given])] == [9, 1, 1]


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(1, 40))
def test_the_subwords_of_a_group_are_bounded(subwords: list[int], most: int) -> None:
    documents = [document(3, subwords=number) for number in subwords]
    groups = list(readable_groups(documents, most))
    assert [one for group in groups for one in group] == documents
    padded = [len(group) * max(len(one.subword_ids) for one in group) for group in groups]
    assert all(size <= most or len(group) == 1 for size, group in zip(padded, groups, strict=True))
    # No group could have taken the first document of the next one.
    for group, later in pairwise(groups):
        longest = max(len(one.subword_ids) for one in (*group, later[0]))
        assert (len(group) + 1) * longest > most


@pytest.mark.parametrize(
    ("place", "name"),
    [(encoded_document, "_MOST_PAIRS"), (pipeline_corefel, "MOST_IN_CACHE")],
    ids=("pairs", "subwords"),
)
def test_a_batch_in_parts_is_the_same(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    texts = ["Anna Berg met Carl Moss in Oslo.", "", "Oslo.", "Carl Moss left. Moss smiled."]
    pipeline = load_pipeline(tiny_folder)
    whole = pipeline(texts, batch_size=4)
    monkeypatch.setattr(place, name, 1)
    parts = pipeline(texts, batch_size=4)
    assert [_surfaces(found) for found in parts] == [_surfaces(found) for found in whole]
    assert _surfaces(whole[0])


def _surfaces(found: dict[str, Any]) -> list[list[str]]:
    return [[mention["text"] for mention in cluster["mentions"]] for cluster in found["clusters"]]
