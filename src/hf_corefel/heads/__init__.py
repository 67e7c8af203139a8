"""The heads: what turns edge scores into a loss, a decoding and probabilities."""

from __future__ import annotations

from .base import ROOT_SCORES, Decoding, EdgeScores, GoldClustering, Head, HeadMarginals, Posterior, document_entities
from .calibration import Calibration
from .global_tree import EDGE_ACTIVATIONS, GlobalHead
from .local import LocalHead
from .options import HeadOption
from .parameter_groups import (
    ENTITIES,
    ENTITY_ROOT,
    HEAD_MODULES,
    NIL,
    PAIR_ROOT,
    PAIRS,
    RetainedSpans,
    ScorerSizes,
)
from .registry import HEADS, HeadConfig, make_head
from .standalone_coref import StandaloneCorefHead
from .standalone_linking import StandaloneLinkingHead

__all__ = [
    "EDGE_ACTIVATIONS",
    "ENTITIES",
    "ENTITY_ROOT",
    "HEADS",
    "HEAD_MODULES",
    "NIL",
    "PAIRS",
    "PAIR_ROOT",
    "ROOT_SCORES",
    "Calibration",
    "Decoding",
    "EdgeScores",
    "GlobalHead",
    "GoldClustering",
    "Head",
    "HeadConfig",
    "HeadMarginals",
    "HeadOption",
    "LocalHead",
    "Posterior",
    "RetainedSpans",
    "ScorerSizes",
    "StandaloneCorefHead",
    "StandaloneLinkingHead",
    "document_entities",
    "make_head",
]
