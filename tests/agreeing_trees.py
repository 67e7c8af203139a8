"""All trees of a small graph as arrays, and which of them agree with a gold clustering that has gaps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_corefel.utils.gold_codes import FREE, NOT_KNOWN

NO_ENTITY = -1


@dataclass
class Trees:
    """T trees of N spans.

    Attributes:
        parents: ``[T, N]`` 0..N-1 a span, N the root, N + 1 + k the k-th candidate.
        scores: ``[T]``.
        heads: ``[T, N]`` the span that the path of each span begins with.
        entities: ``[T, N]`` what that hangs from, -1 for the root.
    """

    parents: np.ndarray
    scores: np.ndarray
    heads: np.ndarray
    entities: np.ndarray

    def log_weight(self, which: np.ndarray) -> float:
        """Log of the total weight of some trees."""
        scores = self.scores[which]
        if not len(scores):
            return -np.inf
        return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max())

    def marginals(self, which: np.ndarray, width: int) -> np.ndarray:
        """Probability ``[N, width]`` of each parent of each span among some trees; zeros where there are none."""
        spans = self.parents.shape[1]
        result = np.zeros((spans, width))
        if which.any():
            weights = np.exp(self.scores[which] - self.log_weight(which))
            for span in range(spans):
                np.add.at(result[span], self.parents[which, span], weights)
        return result


def all_trees(graph: Any) -> Trees:
    """List the trees of a `Graph`."""
    n = len(graph.root)
    columns = np.hstack([graph.span_to_span.T, graph.root[:, None], graph.candidate_scores])
    columns[np.arange(n), np.arange(n)] = -np.inf
    columns[:, n + 1 :][graph.candidate_rows < 0] = -np.inf
    options = [np.flatnonzero(column > -np.inf).tolist() for column in columns]
    parents = np.array(list(itertools.product(*options)), dtype=np.int64).reshape(-1, n)
    heads = np.tile(np.arange(n), (len(parents), 1))
    rows = np.arange(len(parents))[:, None]
    for _ in range(n):
        above = parents[rows, heads]
        heads = np.where(above < n, above, heads)
    last = parents[rows, heads]
    is_tree = (last >= n).all(axis=1)
    parents, heads, last = parents[is_tree], heads[is_tree], last[is_tree]
    of_root = np.hstack([np.full((n, 1), NO_ENTITY), graph.candidate_rows])
    entities = of_root[heads, last - n]
    scores = columns[np.arange(n), parents].sum(axis=1) if n else np.zeros(len(parents))
    return Trees(parents, scores, heads, entities)


def agreeing(trees: Trees, clusters: np.ndarray, entities: np.ndarray, *, edge_local: bool = True) -> np.ndarray:
    """Whether each tree agrees with what is known, bool ``[T]``: said by what spans are in one tree with, not by edges.

    Args:
        trees: The trees.
        clusters: ``[N]`` gold clusters or codes.
        entities: ``[N]`` gold entities, -1 for none, -2 for not known.
        edge_local: Whether no span of which something is known may hang from a free one.
    """
    n = len(clusters)
    free = (clusters == FREE) | ((clusters == NOT_KNOWN) & (entities == NOT_KNOWN))
    loose = (clusters >= 0) & (entities == NOT_KNOWN)
    taken = entities[(clusters >= 0) & (entities >= 0)]
    good = np.ones(len(trees.parents), dtype=bool)
    # What a span is in one cluster with: an entity, or the head of a tree under the root.
    unit = np.where(trees.entities >= 0, n + trees.entities, trees.heads)
    for i in range(n):
        parent = trees.parents[:, i]
        if clusters[i] == -1:
            good &= (parent == n) & (trees.parents != i).all(axis=1)
            continue
        if free[i]:
            continue
        if loose[i]:
            good &= ~np.isin(trees.entities[:, i], taken)
        else:
            good &= trees.entities[:, i] == entities[i]
        for j in range(n):
            if edge_local and free[j]:
                good &= parent != j
            if j == i or free[j] or clusters[j] == -1:
                continue
            if clusters[i] >= 0 and clusters[i] == clusters[j]:
                good &= unit[:, i] == unit[:, j]
            elif clusters[i] >= 0 or clusters[j] >= 0:
                if loose[i] and loose[j]:
                    # Both may have taken one entity, each for itself.
                    good &= (unit[:, i] != unit[:, j]) | ((unit[:, i] >= n) & (parent != j))
                else:
                    good &= unit[:, i] != unit[:, j]
    return good
