"""Rows of several documents as one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .encoded_document import EncodedDocument

__all__ = ["pad_rows", "pad_vectors", "pad_windows"]


def pad_rows(rows: Sequence[np.ndarray], value: float) -> np.ndarray:
    """Stacks arrays that differ in their first length only."""
    size = max((len(row) for row in rows), default=0)
    padded = np.full((len(rows), size, *rows[0].shape[1:]), value, dtype=rows[0].dtype)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return padded


def pad_vectors(documents: Sequence[EncodedDocument]) -> np.ndarray:
    """Return the vectors of the entities of documents, float32 ``[B, E, D]``, with zeros on padding."""
    return pad_rows([document.entity_vectors for document in documents], 0.0)


def pad_windows(
    documents: Sequence[EncodedDocument], prefix: list[int], suffix: list[int], padding: int
) -> dict[str, np.ndarray]:
    """Return what the encoder reads of documents, and where their subwords are in it.

    Args:
        documents: B documents.
        prefix: Special tokens before a window's subwords.
        suffix: Those behind them.
        padding: The id that fills a window.

    Returns:
        ``input_ids`` and ``attention_mask`` ``[B, W, L]``, and ``subword_positions`` ``[B, T]``, -1 on padding.
    """
    bounds = [d.windows.bounds for d in documents]
    if not any(bounds):
        bounds[0] = [(0, 0)]  # encoders want something to read, if only special tokens
    length = max(end - begin for each in bounds for begin, end in each) + len(prefix) + len(suffix)
    shape = (len(documents), max(map(len, bounds)), length)
    input_ids = np.full(shape, padding, dtype=np.int64)
    attention = np.zeros(shape, dtype=np.int64)
    for b, d in enumerate(documents):
        for w, (begin, end) in enumerate(bounds[b]):
            row = [*prefix, *d.subword_ids[begin:end].tolist(), *suffix]
            input_ids[b, w, : len(row)] = row
            attention[b, w, : len(row)] = 1
    positions = [d.windows.window * length + d.windows.offset + len(prefix) for d in documents]
    return {"input_ids": input_ids, "attention_mask": attention, "subword_positions": pad_rows(positions, -1)}
