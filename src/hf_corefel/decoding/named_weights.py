"""Clusterings in which the entities of one name are one, such as those of one Wikidata id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..trees.graph import EdgeArrays, TreeGraph
from .best_clusterings import ClusteringWeights, Parts
from .clusters import DecodedCluster, clusters_by_name
from .constrained_tree import SpanGroup, Top

__all__ = ["Named", "NamedWeights"]

Named = frozenset[tuple[tuple[int, ...], str | None]]
"""What tells a clustering from others: the spans of each cluster, and the name of its entity."""


class NamedWeights:
    """What clusterings weigh by the names of entities: all trees of a cluster that end at any entity of the name.

    Args:
        weights: What they weigh by the entities themselves.
        names: What each entity is called.
        separate: Spans of which constraints keep those of different clusters apart, see `clusters_by_name`.
    """

    def __init__(self, weights: ClusteringWeights, names: Sequence[str], separate: Collection[int]) -> None:
        self._by_row, self._names, self._separate = weights, names, separate
        place: dict[str, int] = {}
        # For each entity the first one of its name, which stands for all; the last number is for padding.
        self._first = np.array([*(place.setdefault(name, row) for row, name in enumerate(names)), -1], dtype=np.int64)

    @cached_property
    def weights(self) -> ClusteringWeights:
        """What clusterings weigh of which the entities are the first ones of their names."""
        graph = self._by_row.graph
        rows = self._first[graph.candidate_rows]
        if (rows == graph.candidate_rows).all():
            return self._by_row
        return ClusteringWeights(TreeGraph(EdgeArrays(graph.root, graph.candidate_scores, graph.span_to_span), rows))

    @property
    def differ(self) -> bool:
        """Whether there are entities of one name."""
        return self.weights is not self._by_row

    def groups(self, groups: Sequence[SpanGroup]) -> list[SpanGroup]:
        """Return groups with the first entities of their names."""
        return [replace(g, entity=int(self._first[g.entity])) if g.entity >= 0 else g for g in groups]

    def tops(self, tops: Sequence[Top]) -> list[Top]:
        """Return what makes the cluster of each span one, likewise."""
        return [(linked, int(self._first[top]) if linked else top) for linked, top in tops]

    def joined(self, parts: Parts) -> tuple[Parts, float]:
        """Return a clustering with the clusters of one name as one, and the log-probability of all that come to it.

        Where constraints keep clusters of one name apart, it is returned as it is.
        """
        if self.differ:
            clusters = [DecodedCluster(tuple(sorted(spans)), row) for spans, row in parts]
            clusters.sort(key=lambda cluster: cluster.spans)
            clusters = clusters_by_name(clusters, self._names, self._separate)
            rows = [int(self._first[c.entity_row]) for c in clusters if c.entity_row is not None]
            if len(set(rows)) < len(rows):
                return parts, min(self._by_row.log_probability(parts), 0.0)
            parts = frozenset(
                (frozenset(c.spans), None if c.entity_row is None else int(self._first[c.entity_row])) for c in clusters
            )
        return parts, min(self.weights.log_probability(parts), 0.0)

    def of(self, clusters: Sequence[DecodedCluster]) -> Named:
        """Return what tells these clusters from others."""
        return frozenset((c.spans, None if c.entity_row is None else self._names[c.entity_row]) for c in clusters)
