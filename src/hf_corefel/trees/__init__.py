"""Exact distributions over the spanning trees of root, entities and spans; usable without the rest of the package."""

from __future__ import annotations

from .conditions import Edge
from .distribution import SpanningTreeDistribution
from .results import Arborescence, EdgeMarginals, EntityMarginals

__all__ = ["Arborescence", "Edge", "EdgeMarginals", "EntityMarginals", "SpanningTreeDistribution"]
