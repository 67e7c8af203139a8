"""The heads: what turns edge scores into a loss, a decoding and probabilities."""

from __future__ import annotations

from hf_corefel.heads.base import Decoding, EdgeScores, GoldClustering, Head, HeadMarginals, document_entities
from hf_corefel.heads.global_tree import GlobalHead

__all__ = [
    "Decoding",
    "EdgeScores",
    "GlobalHead",
    "GoldClustering",
    "Head",
    "HeadMarginals",
    "document_entities",
]
