"""Building blocks of the model: plain modules that know nothing of documents or knowledge bases."""

from __future__ import annotations

from .encoder import WindowEncoder, indivisible_modules
from .entities import EntityScorer
from .ffnn import FeedForward
from .pairs import PairScorer
from .pruner import MentionPruner
from .spans import NUM_CASES, SpanRepresentation

__all__ = [
    "NUM_CASES",
    "EntityScorer",
    "FeedForward",
    "MentionPruner",
    "PairScorer",
    "SpanRepresentation",
    "WindowEncoder",
    "indivisible_modules",
]
