"""Spans of a text by their surfaces, for the tests of what is read off a text."""

from __future__ import annotations

import numpy as np

from hf_corefel.processing import SpanTable, WordTable, split_words


def all_spans(text: str, longest: int = 8) -> tuple[WordTable, SpanTable]:
    """The words of a text, and all spans of up to so many words."""
    words = split_words(text)
    rows = [(i, k) for i in range(len(words)) for k in range(1, longest + 1) if i + k <= len(words)]
    first = np.array([i for i, _ in rows], dtype=np.int64)
    width = np.array([k for _, k in rows], dtype=np.int64)
    offsets = np.stack([words.begin[first], words.end[first + width - 1]], axis=1) if rows else np.zeros((0, 2), int)
    cases = np.zeros((len(rows), 2), dtype=np.int64)
    return words, SpanTable(offsets, first, first + width, first, width, cases, offsets)


def row_of(text: str, spans: SpanTable, surface: str, occurrence: int = 0) -> int:
    """Row of the n-th span with a surface."""
    rows = [s for s, (begin, end) in enumerate(spans.offsets.tolist()) if text[begin:end] == surface]
    return rows[occurrence]
