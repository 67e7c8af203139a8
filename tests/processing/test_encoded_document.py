"""Batches that the model takes at once, however long one of their documents is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.processing import encoded_document
from hf_corefel.processing.encoded_document import readable_groups


def document(spans: int, limit: int = 10_000, keep_all: bool = False) -> Any:
    return SimpleNamespace(spans=range(spans), limit=limit, keep_all=keep_all, is_long=False)


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


def test_a_batch_in_parts_is_the_same(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Anna Berg met Carl Moss in Oslo.", "", "Oslo.", "Carl Moss left. Moss smiled."]
    pipeline = load_pipeline(tiny_folder)
    whole = pipeline(texts, batch_size=4)
    monkeypatch.setattr(encoded_document, "_MOST_PAIRS", 1)
    parts = pipeline(texts, batch_size=4)
    assert [_surfaces(found) for found in parts] == [_surfaces(found) for found in whole]
    assert _surfaces(whole[0])


def _surfaces(found: dict[str, Any]) -> list[list[str]]:
    return [[mention["text"] for mention in cluster["mentions"]] for cluster in found["clusters"]]
