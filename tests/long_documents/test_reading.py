"""Windows in stretches: the spans that a stretch retains, and their vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel import CorefELPipeline, Document
from hf_corefel.layers.nesting import containing_spans, twin_spans
from hf_corefel.long_documents import reading
from hf_corefel.long_documents.nested_pairs import nested_pairs
from hf_corefel.long_documents.reading import read_spans


@torch.no_grad()
def _read(pipeline: CorefELPipeline, document: Any) -> reading.ReadSpans:
    return read_spans(pipeline.model, pipeline.processor, document)


@torch.no_grad()
@pytest.mark.parametrize("at_once", [1, 3, 100])
@pytest.mark.parametrize("overlap", [0, 4])
def test_one_stretch_retains_what_the_model_retains(
    dense: CorefELPipeline, story: str, at_once: int, overlap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_AT_ONCE", at_once)
    monkeypatch.setattr(dense.processor, "_settings", dense.processor.settings.replace(window_overlap=overlap))
    document = dense.processor.encode(story)
    assert len(document.windows.bounds) > 5
    found = _read(dense, document)
    output = dense.model(**dense.processor.collate([document]))
    assert found.retained.tolist() == output.retained[0].tolist()
    torch.testing.assert_close(found.mention, output.mention[0], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_every_stretch_retains_its_share(dense: CorefELPipeline, story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = dense.processor.encode(story)
    whole = _read(dense, document)
    every = _read(dense, replace(document, keep_all=True))
    monkeypatch.setattr(reading, "_STRETCH", 2)
    found = _read(dense, document)
    assert abs(len(found.retained) - document.limit) <= 1 and len(whole.retained) == document.limit
    spans, windows = document.spans, document.windows
    stretch = windows.window[spans.end[found.retained] - 1] // 2
    number = len(windows.bounds) // 2
    counts = np.bincount(stretch, minlength=number)
    words = [int((spans.word + spans.width)[windows.window[spans.end - 1] // 2 == n].max()) for n in range(number)]
    # What a stretch does not take is left for those behind it.
    share = document.limit * np.array(words) / words[-1]
    assert counts.min() > 0 and (np.cumsum(counts) <= share).all() and (np.cumsum(counts) > share - 6).all()
    # No two cross, also where one ends in the next stretch.
    begin, end = spans.begin[found.retained], spans.end[found.retained]
    for b, e in zip(begin, end, strict=True):
        assert not ((begin < b) & (b < end) & (end < e)).any()
    # Vectors and scores are those of the whole text, spans over the edge of a stretch included.
    place = np.searchsorted(every.retained, found.retained)
    torch.testing.assert_close(found.vectors, every.vectors[place], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.mention, every.mention[place], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_spans_over_the_edge_of_a_stretch(dense: CorefELPipeline, story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # One sentence, so that windows end anywhere.
    document = replace(dense.processor.encode(story.replace(".", " and")), keep_all=True)
    windows, spans = document.windows.window, document.spans
    assert (windows[spans.begin] != windows[spans.end - 1]).any()
    whole = _read(dense, document)
    monkeypatch.setattr(reading, "_STRETCH", 1)
    parts = _read(dense, document)
    assert parts.retained.tolist() == whole.retained.tolist() == list(range(len(spans)))
    torch.testing.assert_close(parts.vectors, whole.vectors, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(parts.mention, whole.mention, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_nested_pairs_are_those_of_all_pairs(dense: CorefELPipeline, story: str, seed: int) -> None:
    document = dense.processor.encode(story)
    rng = np.random.default_rng(seed)
    retained = np.sort(rng.choice(len(document.spans), 60, replace=False))
    offsets = torch.from_numpy(document.spans.offsets[retained])[None]
    contains = containing_spans(offsets, torch.ones(1, 60, dtype=torch.bool))
    twins = twin_spans(contains, torch.from_numpy(document.cores[retained])[None])
    found = nested_pairs(document, retained, True)
    assert found.twins.tolist() == twins[0].nonzero().tolist() and len(found.twins)
    assert found.parts.tolist() == (contains & ~twins)[0].nonzero().tolist() and len(found.parts)
    early, late = torch.triu_indices(60, 60, offset=1)
    kept = set(zip(*(part.tolist() for part in found.without_forbidden(early, late)), strict=True))
    assert kept == {(i, j) for i in range(60) for j in range(i + 1, 60)} - {
        (min(pair), max(pair)) for pair in found.parts.tolist()
    }
    assert not len(nested_pairs(document, retained, False).parts)


def test_given_mentions_are_all_retained(dense: CorefELPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_STRETCH", 1)
    text = "Anna Berg met Carl Moss in Oslo. " * 8
    mentions = [(n * 33 + b, n * 33 + e) for n in range(8) for b, e in ((0, 9), (5, 9), (5, 18), (27, 31))]
    document = dense.processor.encode(Document(text, mentions=mentions))
    found = _read(dense, document)
    assert found.retained.tolist() == list(range(32))


def test_unlikely_spans_leave_their_places(dense: CorefELPipeline, story: str) -> None:
    document = dense.processor.encode(story)
    every = _read(dense, document)
    least = float(every.mention.median())
    with torch.no_grad():
        likely = read_spans(dense.model, dense.processor, document, least)
    kept = every.mention >= least
    assert every.order.tolist() == list(range(len(every.retained)))
    assert likely.retained.tolist() == every.retained[kept.numpy()].tolist()
    assert likely.order.tolist() == kept.nonzero().flatten().tolist()
    torch.testing.assert_close(likely.vectors, every.vectors[kept])
