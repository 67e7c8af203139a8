"""How good a pipeline is on a corpus that it reads as text."""

from __future__ import annotations

from .end_to_end import (
    TableShare,
    candidate_share,
    evaluate_corpus,
    predict,
    read_predictions,
    recall_of_spans,
    score,
)

__all__ = [
    "TableShare",
    "candidate_share",
    "evaluate_corpus",
    "predict",
    "read_predictions",
    "recall_of_spans",
    "score",
]
