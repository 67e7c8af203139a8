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
from .entity_maps import knowledge_base_map, open_entity_map, read_entity_map

__all__ = [
    "TableShare",
    "candidate_share",
    "evaluate_corpus",
    "knowledge_base_map",
    "open_entity_map",
    "predict",
    "read_entity_map",
    "read_predictions",
    "recall_of_spans",
    "score",
]
