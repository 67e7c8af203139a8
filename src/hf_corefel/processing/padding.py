"""Rows of several documents as one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .encoded_document import EncodedDocument

__all__ = ["pad_rows", "pad_vectors"]


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
