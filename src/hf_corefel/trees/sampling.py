"""Exact draws of spanning trees from the elimination, in a time that does not depend on the scores.

Wilson's algorithm (1996) walks from each node to parents until it meets the tree. Where a tight cluster hangs loosely
from the root, the walk goes round in the cluster ``exp(a)`` times before it leaves. Here the elimination of
`hf_corefel.trees.elimination` is taken back, node by node, and each step turns a random tree of the graph that remained
into one of the graph before:

1. An edge i -> j of the graph that remained has the weight ``w[i, j] + f_i w[k, j]``: with the probabilities of the two
   terms it was there before, or j hangs from k. Over all steps an edge is the given one, or leads through the node m,
   with the terms of ``w[i, j] + sum_m f[i, m] w[m, j]``, so that one draw says at which step it will be replaced.
2. k's parent is drawn with the probabilities ``f_i`` among the nodes that do not come to hang below k.

This is exact. For s nodes that hang from k, and the same rest of the tree, the trees before have the weight
``d_k f(A)``, where A are the nodes not below k; those that remained have all ways to hang s trees on A and on one
another, whose weights add up to ``f(A) (sum_i f_i)**(s - 1) = f(A)`` (Cayley's formula with weights).
"""

from __future__ import annotations

import numpy as np

from .arborescence import IntArray
from .elimination import Elimination, FloatArray

CHUNK = 256
"""Trees that are drawn side by side; memory grows with them."""


def sample_trees(elimination: Elimination, count: int, random: np.random.Generator) -> IntArray:
    """Draw trees, independently of one another.

    Args:
        elimination: Of a graph that has a tree and allows several root edges.
        count: How many.
        random: Where the randomness comes from.

    Returns:
        ``[count, n]`` the parent of each node, n for the root.
    """
    n = len(elimination.order)
    trees = np.empty((count, n), dtype=np.int64)
    weights, factors = elimination.weights, elimination.factors
    if not elimination.in_log_space:
        with np.errstate(all="ignore"):
            # The diagonal has pivots, which may have any sign here and are not read.
            weights, factors = np.log(weights), np.log(np.maximum(factors, 0.0))
    for start in range(0, count, CHUNK):
        part = trees[start : start + CHUNK]
        _sample_into(part, weights, factors, random)
    return trees


def _sample_into(parents: IntArray, weights: FloatArray, factors: FloatArray, random: np.random.Generator) -> None:
    """Draw a tree into each row of `parents`, from log-weights and log-factors."""
    count, n = parents.shape
    parents[:] = n
    # The step at which each node's edge is replaced; -1 for an edge of the given graph.
    through = np.full((count, n), -1)
    for k in range(n - 1, -1, -1):
        rows, children = np.nonzero(through == k)
        chances = np.broadcast_to(factors[k + 1 :, k], (count, n - k)).copy()
        if len(rows):
            chances[_below(through == k, parents)[:, k + 1 :]] = -np.inf
        parents[:, k] = k + 1 + draw(chances, random)
        parents[rows, children] = k
        ends = np.concatenate([parents[:, k], np.full(len(rows), k)]), np.concatenate([np.full(count, k), children])
        terms = np.column_stack([weights[ends], factors[ends[0], :k] + factors[:k, ends[1]].T])
        steps = draw(terms, random) - 1
        through[:, k] = steps[:count]
        through[rows, children] = steps[count:]


def _below(tops: np.ndarray, parents: IntArray) -> np.ndarray:
    """Return which nodes, the root with them, are one of some nodes ``[S, n]`` or below one, ``[S, n + 1]``."""
    count, n = parents.shape
    below = np.column_stack([tops, np.zeros(count, dtype=bool)])
    # Pointers that double in length each time; the root points to itself.
    above = np.column_stack([parents, np.full(count, n)])
    for _ in range(n.bit_length()):
        below |= np.take_along_axis(below, above, axis=1)
        above = np.take_along_axis(above, above, axis=1)
    return below


def draw(log_weights: FloatArray, random: np.random.Generator) -> IntArray:
    """Draw a column of each row, with probabilities proportional to the exponentials of its log-weights."""
    sums = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
    # `random` is below 1, so that the last sum is never reached, and no column without weight is drawn.
    points = random.random(len(sums)) * sums[:, -1]
    drawn: IntArray = (sums <= points[:, None]).sum(axis=1)
    return drawn
