"""The best trees of a graph, one after the other.

The trees but the best one are parted by the first span whose edge differs from it (Lawler 1972): part j has the best
tree's edges into the spans before j, and another edge into j. The best tree of some part is the next one, and its part
is parted likewise. A part is searched only when its turn comes: until then it is filed under a bound, by the dual
solution of the search that it comes from (`hf_corefel.trees.arborescence.Search.prices`).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .arborescence import IntArray, Search, UnreachableError, search
from .elimination import FloatArray


@dataclass(frozen=True)
class Part:
    """Trees with some edges and without some others.

    Attributes:
        columns: ``[n, n + 1 + K]`` scores of the edges into each span that are left, -inf for the others.
        fixed: Spans, from the first on, that have one edge only.
        parents: The best tree; None before it is searched.
        prices: ``[n + 1, n]`` see `Search.prices`; None before it is searched.
    """

    columns: FloatArray
    fixed: int
    parents: IntArray | None = None
    prices: FloatArray | None = None


@dataclass(frozen=True)
class _Lazy:
    """The part of trees that differ from the best of another part at a span first."""

    whole: Part
    span: int

    def open(self) -> Part:
        assert self.whole.parents is not None
        columns = self.whole.columns.copy()
        before = np.arange(self.whole.fixed, self.span)
        kept = self.whole.parents[before]
        scores = columns[before, kept]
        columns[before] = -np.inf
        columns[before, kept] = scores
        columns[self.span, self.whole.parents[self.span]] = -np.inf
        return Part(columns, self.span)


def best_tree(columns: FloatArray) -> tuple[IntArray, float]:
    """Find the best tree of edges into each span.

    Args:
        columns: ``[n, n + 1 + K]`` scores of the edges into each span: from the spans, the root and its candidates.

    Returns:
        The parents ``[n]`` (0..n-1 a span, n the root, n+1+k the k-th candidate), and the score.

    Raises:
        UnreachableError: If there is no tree.
        ValueError: If a score is NaN or +inf.
    """
    return _read(columns, _search(columns))


def _search(columns: FloatArray) -> Search:
    n = len(columns)
    return search(np.vstack([columns[:, :n].T, columns[:, n:].max(axis=1)]))


def _read(columns: FloatArray, found: Search) -> tuple[IntArray, float]:
    """The best tree that a search found, and its score."""
    n = len(columns)
    above = columns[:, n:]
    parents = found.parents(n)
    from_above = parents == n
    parents[from_above] += above[from_above].argmax(axis=1)
    return parents, math.fsum(columns[np.arange(n), parents])


def best_trees(columns: FloatArray) -> Iterator[tuple[IntArray, float]]:
    """Yield all trees, the best first.

    Args:
        columns: As for `best_tree`.

    Yields:
        The parents of a tree, as of `best_tree`, and its score.

    Raises:
        UnreachableError: If there is no tree.
        ValueError: If a score is NaN or +inf.
    """
    count = itertools.count()
    heap: list[tuple[float, int, Part | _Lazy]] = []

    def put(part: Part) -> None:
        found = _search(part.columns)
        parents, score = _read(part.columns, found)
        searched = Part(part.columns, part.fixed, parents, found.prices(len(parents)))
        heapq.heappush(heap, (-score, next(count), searched))

    first = columns.copy()
    np.fill_diagonal(first, -np.inf)
    put(Part(first, 0))
    while heap:
        negative, _, part = heapq.heappop(heap)
        if isinstance(part, _Lazy):
            # A part without a tree has nothing to give.
            with suppress(UnreachableError):
                put(part.open())
            continue
        assert part.parents is not None
        yield part.parents, -negative
        for span, loss in enumerate(_least_losses(part).tolist()):
            if span >= part.fixed and loss < np.inf:
                heapq.heappush(heap, (negative + loss, next(count), _Lazy(part, span)))


def _least_losses(part: Part) -> FloatArray:
    """Return ``[n]`` what another edge into each span costs at least."""
    assert part.parents is not None and part.prices is not None
    n = len(part.columns)
    losses = np.empty_like(part.columns)
    losses[:, :n] = part.prices[:n].T
    losses[:, n:] = part.prices[n][:, None]
    losses -= part.columns
    losses[np.arange(n), part.parents] = np.inf
    # Rounding may take one below 0.
    least: FloatArray = np.maximum(losses.min(axis=1), 0.0)
    return least
