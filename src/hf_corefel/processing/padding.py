"""Rows of several documents as one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .alignment import given_alone
from .encoded_document import EncodedDocument

__all__ = ["pad_gold", "pad_rows", "pad_spans", "pad_vectors", "pad_windows"]


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


def pad_spans(documents: Sequence[EncodedDocument]) -> dict[str, np.ndarray]:
    """Return what `CorefELModel.forward` takes of the spans, words and candidates of documents; shapes are there."""
    return {
        "span_begin": pad_rows([d.spans.begin for d in documents], 0),
        "span_end": pad_rows([d.spans.end for d in documents], 1),
        "word_forms": pad_rows([d.word_forms for d in documents], -1),
        "span_word": pad_rows([d.spans.word for d in documents], 0),
        "span_width": pad_rows([d.spans.width for d in documents], 0),
        "span_cases": pad_rows([d.spans.case for d in documents], 0),
        "span_definitions": pad_rows([d.definitions for d in documents], -1),
        "span_speakers": pad_rows([d.speakers for d in documents], -1),
        "span_characters": pad_rows([d.spans.offsets for d in documents], 0),
        "span_cores": pad_rows([d.cores for d in documents], 0),
        "span_mask": pad_rows([np.ones(len(d.spans), dtype=bool) for d in documents], False),
        "span_limits": np.array([d.limit for d in documents], dtype=np.int64),
        "mention_scope": np.array([d.scope for d in documents], dtype=np.int64),
        "keep_all": np.array([d.keep_all for d in documents], dtype=bool),
        "candidate_rows": pad_rows([d.candidate_rows for d in documents], -1),
        "log_priors": pad_rows([d.log_priors for d in documents], 0.0),
        "entity_vectors": pad_vectors(documents),
    }


def pad_gold(documents: Sequence[EncodedDocument]) -> dict[str, np.ndarray]:
    """Return what `CorefELModel.forward` takes of the gold of documents.

    Raises:
        DocumentError: When a document has no gold clusters.
    """
    aligned = [d.align() for d in documents]
    arrays = {
        "gold_clusters": pad_rows([a.clusters for a in aligned], -1),
        "gold_entities": pad_rows([a.entities for a in aligned], -1),
    }
    given = [given_alone(a.clusters, d.document.layers) for a, d in zip(aligned, documents, strict=True)]
    return {**arrays, "gold_given": np.array(given)} if any(given) else arrays


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
