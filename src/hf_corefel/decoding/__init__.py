"""From the model's scores to what is said of a document: clusters, links and their probabilities."""

from __future__ import annotations

from .clusters import DecodedCluster, clusters_from_parents

__all__ = ["DecodedCluster", "clusters_from_parents"]
