"""The most probable clusterings of a document, each with its exact probability.

The probability of a clustering with entities is the product of what its clusters weigh, over the weight of all trees
(`hf_corefel.trees.graph.GoldTrees`). Which clusterings have the most is a search, since no fast exact algorithm is
known: from those that trees were found for, to clusterings that differ in one step, always on from the best that is
left. A step gives a cluster another entity, takes a mention out of it, moves a mention, or makes two clusters one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..trees.arborescence import IntArray
from ..trees.best_trees import best_tree
from ..trees.elimination import FloatArray, eliminate
from ..trees.graph import TreeGraph, fold
from .constrained_tree import tops_of

__all__ = ["ClusteringWeights", "Parts", "best_clusterings"]

Part = tuple[frozenset[int], int | None]
"""Spans of a cluster, and the row of its entity, None for NIL."""
Parts = frozenset[Part]
"""All clusters of a document, each span in one, no two of one entity."""

_WIDTH = 20
"""How many steps are taken from a clustering, for each one that is wanted and one more."""

_NEAR = 3
"""How many entities a cluster, and how many clusters a mention or cluster, is tried with: those of the best edges."""


class ClusteringWeights:
    """What the clusterings of a document weigh.

    Args:
        graph: The document's graph.
    """

    def __init__(self, graph: TreeGraph) -> None:
        self.graph = graph
        self.columns = graph.columns()
        self._weights: dict[Part, float] = {}

    def of_tree(self, parents: IntArray) -> Parts:
        """Return the clusters of a tree."""
        members: dict[tuple[bool, int], list[int]] = {}
        for span, top in enumerate(tops_of(parents, self.graph.candidate_rows)):
            members.setdefault(top, []).append(span)
        return frozenset((frozenset(spans), top if linked else None) for (linked, top), spans in members.items())

    def log_probability(self, parts: Parts) -> float:
        """Return the log of the probability of a clustering; it may round to a little more than 0."""
        return math.fsum(map(self.weight, parts)) - self.graph.log_weight

    def gain(self, old: Iterable[Part], new: Iterable[Part]) -> float:
        """Return what clusters weigh more than those that they take the place of."""
        return math.fsum(map(self.weight, new)) - math.fsum(map(self.weight, old))

    def weight(self, part: Part) -> float:
        """Return the log of the total weight of the trees of a cluster, -inf where it has none."""
        if part not in self._weights:
            columns = self._inner(part)
            n = len(columns)
            above = fold(columns[:, n], columns[:, n + 1 :])
            if n == 1:
                self._weights[part] = float(above[0])
            else:
                weights = np.vstack([columns[:, :n].T, above])
                self._weights[part] = eliminate(weights, single_root=part[1] is None).log_total
        return self._weights[part]

    def best_tree(self, parts: Parts) -> IntArray:
        """Return the parents ``[N]`` in the best tree with these clusters."""
        size = len(self.columns)
        parents = np.empty(size, dtype=np.int64)
        for part in parts:
            spans = np.array(sorted(part[0]))
            found = self._best_inner(self._inner(part), part[1])
            n = len(spans)
            parents[spans] = np.where(found < n, spans[np.minimum(found, n - 1)], found - n + size)
        return parents

    def _inner(self, part: Part) -> FloatArray:
        """The scores ``[n, n + 1 + K]`` of the edges that a cluster's trees may have."""
        spans, entity = sorted(part[0]), part[1]
        size = len(self.columns)
        columns = self.columns[spans][:, [*spans, *range(size, self.columns.shape[1])]]
        n = len(spans)
        if entity is None:
            columns[:, n + 1 :] = -np.inf
        else:
            columns[:, n] = -np.inf
            columns[:, n + 1 :][self.graph.candidate_rows[spans] != entity] = -np.inf
        return columns

    @staticmethod
    def _best_inner(columns: FloatArray, entity: int | None) -> IntArray:
        """The best tree of a cluster; of a NIL cluster, the best with one edge from the root."""
        n = len(columns)
        if entity is not None or n == 1:
            return best_tree(columns)[0]
        found = []
        for head in np.flatnonzero(columns[:, n] > -np.inf):
            headed = columns.copy()
            headed[np.arange(n) != head, n] = -np.inf
            headed[head, :n] = -np.inf
            if (headed.max(axis=1) > -np.inf).all() and eliminate(_as_weights(headed)).log_total > -np.inf:
                found.append(best_tree(headed))
        return max(found, key=lambda tree: tree[1])[0]


def _as_weights(columns: FloatArray) -> FloatArray:
    n = len(columns)
    return np.vstack([columns[:, :n].T, columns[:, n:].max(axis=1)])


def best_clusterings(
    weights: ClusteringWeights, starts: Iterable[Parts], count: int, holds: Callable[[Parts], bool]
) -> list[tuple[Parts, float]]:
    """Search the most probable clusterings.

    Args:
        weights: Of the document.
        starts: Where the search begins.
        count: How many are wanted. More are looked at, and returned.
        holds: Which clusterings may be returned.

    Returns:
        Clusterings and their log-probabilities, the best first.
    """
    found: dict[Parts, float] = {}
    seen: set[Parts] = set()

    def add(several: Iterable[Parts]) -> None:
        for parts in several:
            if parts not in seen:
                seen.add(parts)
                weight = weights.log_probability(parts)
                if weight > -np.inf and holds(parts):
                    found[parts] = min(weight, 0.0)

    add(starts)
    left: set[Parts] = set()
    for _ in range(4 * count + 8):
        best = sorted(found, key=found.__getitem__, reverse=True)[:count]
        fresh = next((parts for parts in best if parts not in left), None)
        if fresh is None:
            break
        left.add(fresh)
        # Only those that come out best are made.
        steps = heapq.nlargest(_WIDTH * (count + 1), _steps(fresh, weights), key=lambda step: weights.gain(*step))
        add((fresh.difference(old)).union(new) for old, new in steps)
    return sorted(found.items(), key=lambda item: -item[1])


def _steps(parts: Parts, weights: ClusteringWeights) -> Iterator[tuple[tuple[Part, ...], tuple[Part, ...]]]:
    """The clusters that each step takes away, and those that it puts in their place."""
    columns, ids = weights.columns, weights.graph.candidate_rows
    # Of equal clusterings the first is found first, the same each time.
    clusters = sorted(parts, key=lambda part: min(part[0]))
    used = {entity for _, entity in clusters}
    # The best edge into each span from each cluster, and between two clusters.
    into = np.full((len(columns), len(clusters)), -np.inf)
    for c, (spans, _) in enumerate(clusters):
        into[:, c] = columns[:, sorted(spans)].max(axis=1)
    for c, (spans, entity) in enumerate(clusters):
        part = clusters[c]
        inner = sorted(spans)
        for label in _entities(inner, columns, ids):
            if label != entity and (label is None or label not in used):
                yield (part,), ((spans, label),)
        either = np.maximum(into[inner].max(axis=0), [into[sorted(other), c].max() for other, _ in clusters])
        for d in dict.fromkeys([*_nearest(either, c), *_of_entities(_entities(inner, columns, ids), clusters, c)]):
            others, label = clusters[d]
            for whole in dict.fromkeys((entity, label)):
                yield (part, clusters[d]), ((spans | others, whole),)
        if len(spans) == 1:
            continue
        for span in inner:
            less = spans - {span}, entity
            for label in _entities([span], columns, ids):
                if label is None or label not in used:
                    yield (part,), (less, (frozenset({span}), label))
            of_entities = _of_entities(_entities([span], columns, ids), clusters, c)
            for d in dict.fromkeys([*_nearest(into[span], c), *of_entities]):
                others, label = clusters[d]
                yield (part, clusters[d]), (less, (others | {span}, label))


def _entities(spans: list[int], columns: FloatArray, ids: IntArray) -> list[int | None]:
    """NIL and the entities of the best edges into some spans."""
    scores = columns[spans, len(columns) + 1 :]
    found: dict[int | None, None] = {None: None}
    for place in np.argsort(-scores, axis=None, kind="stable").tolist():
        row, k = divmod(place, scores.shape[1])
        if scores[row, k] == -np.inf or len(found) > _NEAR:
            break
        found[int(ids[spans[row], k])] = None
    return list(found)


def _of_entities(entities: list[int | None], clusters: list[Part], itself: int) -> list[int]:
    """The other clusters of some entities: spans may hang from one entity with no edge between them."""
    return [c for c, (_, entity) in enumerate(clusters) if c != itself and entity is not None and entity in entities]


def _nearest(scores: FloatArray, itself: int) -> list[int]:
    order = np.argsort(-scores, kind="stable")[: _NEAR + 1].tolist()
    return [c for c in order if c != itself and scores[c] > -np.inf]
