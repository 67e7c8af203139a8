"""The heads: what turns edge scores into a loss, a decoding and probabilities."""

from __future__ import annotations

from typing import Protocol

from .base import ROOT_SCORES, Decoding, EdgeScores, GoldClustering, Head, HeadMarginals, Posterior, document_entities
from .global_tree import EDGE_ACTIVATIONS, GlobalHead
from .local import LocalHead
from .standalone_coref import StandaloneCorefHead
from .standalone_linking import StandaloneLinkingHead

__all__ = [
    "EDGE_ACTIVATIONS",
    "HEADS",
    "ROOT_SCORES",
    "Decoding",
    "EdgeScores",
    "GlobalHead",
    "GoldClustering",
    "Head",
    "HeadConfig",
    "HeadMarginals",
    "LocalHead",
    "Posterior",
    "StandaloneCorefHead",
    "StandaloneLinkingHead",
    "document_entities",
    "make_head",
]

HEADS = ("standalone_coref", "standalone_linking", "local", "global")


class HeadConfig(Protocol):
    """The fields of a configuration that choose a head."""

    @property
    def head(self) -> str:
        """One of `HEADS`."""
        ...

    @property
    def edge_activation(self) -> str:
        """One of `EDGE_ACTIVATIONS`; only the global head reads it."""
        ...


def make_head(config: HeadConfig) -> Head:
    """Build the head that a configuration names.

    Raises:
        ValueError: If ``head``, or ``edge_activation`` of the global head, is unknown.
    """
    match config.head:
        case "standalone_coref":
            return StandaloneCorefHead()
        case "standalone_linking":
            return StandaloneLinkingHead()
        case "local":
            return LocalHead()
        case "global":
            return GlobalHead(config.edge_activation)
        case other:
            raise ValueError(f"head: expected one of {', '.join(HEADS)}, got {other!r}")
