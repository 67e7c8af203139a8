"""Maximum spanning arborescence of a graph that is given as a list of edges, in about linear time.

An edge between two nodes that does not beat the edge from the root to the same child is not needed: whatever was
contracted, the root stands outside, and both edges gain the same there. Such edges are left out first; of a document
they are nearly all. Ties go to the root, as in the dense search.

The rest is the search of Tarjan (1977) in the form of Gabow, Galil, Spencer and Tarjan (1986): a path is grown
backwards, as in `hf_corefel.trees.arborescence`, whose words are used here. The edges into a node are a skew heap
(Sleator and Tarjan 1986), in which a number that is added to all of them waits at the top; when a cycle is contracted
its heaps are melded. Which node an original one is in now is kept by union-find with path halving. That is
O(m log n) for m edges that are left.

The values of the nodes are a dual solution, and with it a certificate: see `SparseSearch.prices` and `dropped_gain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .arborescence import IntArray, UnreachableError, open_contracted
from .elimination import FloatArray

__all__ = ["SparseSearch", "sparse_search"]


@dataclass(frozen=True)
class SparseSearch:
    """What the search found; nodes 0..n-1 are the given ones, later ones were contracted.

    Attributes:
        edges: The edge chosen into each node: source (0 the root, i + 1 node i) and the original node that it enters.
        enclosing: The node that each was contracted into, -1 for none.
        values: What each chosen edge scored when it was chosen, less what it would replace.
        size: n.
    """

    edges: list[tuple[int, int]]
    enclosing: list[int]
    values: list[float]
    size: int

    @cached_property
    def parents(self) -> IntArray:
        """``[n]`` the parent of each node in the best tree, n for the root."""
        return open_contracted(self.edges, self.enclosing, self.size)

    @property
    def bound(self) -> float:
        """The sum of all values, which no tree of the graph exceeds; but for rounding it is the best tree's score."""
        return float(np.sum(self.values))

    @cached_property
    def thresholds(self) -> FloatArray:
        """``[n]`` the price of an edge from the root into each node, the lowest price of any edge into it."""
        return self._above[: self.size]

    def prices(self, source: IntArray, target: IntArray) -> FloatArray:
        """Return what edges would have to score for their trees to be as good as the best, see `Search.prices`.

        Args:
            source: ``[m]`` nodes where they begin.
            target: ``[m]`` other nodes, where they end.
        """
        return self._above[target] - self._above_common(source, target)

    def dropped_gain(self, source: IntArray, target: IntArray, most: FloatArray) -> float:
        """Return what the best tree may gain at most by edges that the graph does not have.

        A tree has one edge into each node, and an edge of score s adds at most s less its price to what the search
        found. So this is the sum over nodes of the most that one edge into it can add. It is 0 where the tree stays
        the best.

        Args:
            source: ``[m]`` nodes where the edges begin.
            target: ``[m]`` nodes where they end.
            most: ``[m]`` their scores, or upper bounds of these.
        """
        gains = np.zeros(self.size)
        np.maximum.at(gains, target, most - self.prices(source, target))
        return float(gains.sum())

    @cached_property
    def _above(self) -> FloatArray:
        """``[nodes + 1]`` sum of the values of each node and those that enclose it; 0 for none, the last place."""
        sums = np.zeros(len(self.values) + 1)
        for node in range(len(self.values) - 1, -1, -1):
            sums[node] = self.values[node] + sums[self.enclosing[node]]
        return sums

    def _above_common(self, source: IntArray, target: IntArray) -> FloatArray:
        """``[m]`` the sum of the values of all nodes that enclose both ends."""
        none = len(self.values)
        up = np.array([none if node < 0 else node for node in self.enclosing] + [none])
        depth = np.zeros(none + 1, dtype=np.int64)
        for node in range(none - 1, -1, -1):
            depth[node] = depth[up[node]] + 1
        jumps = [up]
        while (jumps[-1] != none).any():
            jumps.append(jumps[-1][jumps[-1]])
        one, other = source.copy(), target.copy()
        # Both to one depth, then both up to right below where they meet.
        for level in range(len(jumps) - 1, -1, -1):
            for these, those in ((one, other), (other, one)):
                deep = depth[these] - depth[those] >= 1 << level
                these[deep] = jumps[level][these[deep]]
        for jump in reversed(jumps):
            apart = jump[one] != jump[other]
            one[apart], other[apart] = jump[one[apart]], jump[other[apart]]
        return self._above[np.where(one == other, one, up[one])]


def sparse_search(root: FloatArray, source: IntArray, target: IntArray, score: FloatArray) -> SparseSearch:
    """Find the spanning tree with the highest sum of edge scores; more than one root edge is allowed.

    Args:
        root: ``[n]`` scores of the edges from the root; -inf means no edge, here and below.
        source: ``[m]`` the parents of the other edges.
        target: ``[m]`` their children.
        score: ``[m]`` their scores.

    Raises:
        UnreachableError: If the root does not reach every node.
        ValueError: If a score is NaN or +inf.
    """
    n = len(root)
    if not ((root < np.inf).all() and (score < np.inf).all()):
        raise ValueError("scores must not be NaN or +inf")
    useful = (score > root[target]) & (source != target)
    source, target, score = source[useful], target[useful], score[useful]
    # The best edge into a node first; of equal ones the lowest node's.
    order = np.lexsort((source, -score, target))
    ends = np.cumsum(np.bincount(target, minlength=n))
    return _Growing(root, source[order], target[order], score[order], ends).search()


class _Growing:
    """The state of a search. Heap items are numbers of edges; the m given ones, then one from the root to each node."""

    def __init__(self, root: FloatArray, source: IntArray, target: IntArray, score: FloatArray, ends: NDArray[np.intp]):
        n, m = len(root), len(source)
        self.n = n
        self.source: list[int] = source.tolist() + [n] * n
        self.target: list[int] = target.tolist() + list(range(n))
        self.key: list[float] = score.tolist() + root.tolist()
        self.waiting = [0.0] * (m + n)  # is added to the keys of an item's children
        self.left = [-1] * (m + n)
        self.right = [-1] * (m + n)
        # Sorted edges are a heap, each the only child of the one before.
        self.heap = [-1] * n
        stops: list[int] = ends.tolist()
        exists: list[bool] = (root > -np.inf).tolist()
        start = 0
        for node, stop in enumerate(stops):
            last = m + node if exists[node] else -1
            for edge in range(stop - 1, start - 1, -1):
                self.left[edge], last = last, edge
            self.heap[node] = last
            start = stop
        # The root is one more place, which is always finished.
        self.inside = list(range(n + 1))
        self.node = list(range(n + 1))  # of each outermost place the node that it stands for
        self.edges: list[tuple[int, int]] = [(-1, -1)] * n
        self.enclosing = [-1] * n
        self.values = [0.0] * n

    def search(self) -> SparseSearch:
        """Grow paths until every node is finished."""
        finished = [False] * self.n + [True]
        for start in range(self.n):
            place = self._outermost(start)
            path: list[int] = []
            on_path: dict[int, int] = {}
            while not finished[place]:
                if place in on_path:
                    first = on_path[place]
                    cycle = path[first:]
                    del path[first:]
                    for member in cycle:
                        del on_path[member]
                    place = self._contract(cycle)
                on_path[place] = len(path)
                path.append(place)
                place = self._choose(place)
            for place in path:
                finished[place] = True
        return SparseSearch(self.edges, self.enclosing, self.values, self.n)

    def _choose(self, place: int) -> int:
        """Choose the best edge into a node, and return the place where it begins."""
        while (edge := self.heap[place]) >= 0:
            self.heap[place] = self._pop(edge)
            origin = self._outermost(self.source[edge])
            if origin == place:
                continue
            node, value = self.node[place], self.key[edge]
            self.edges[node] = (0 if origin == self.n else self.source[edge] + 1), self.target[edge]
            self.values[node] = value
            rest = self.heap[place]
            if rest >= 0:
                # From now on the others count for what they gain over this one.
                self.key[rest] -= value
                self.waiting[rest] -= value
            return origin
        raise UnreachableError(self._unreached())

    def _contract(self, cycle: list[int]) -> int:
        """Make one node of a cycle, and return its place."""
        new = len(self.edges)
        place = cycle[0]
        for member in cycle:
            self.enclosing[self.node[member]] = new
            if member != place:
                self.inside[member] = place
                self.heap[place] = self._meld(self.heap[place], self.heap[member])
        self.node[place] = new
        self.edges.append((-1, -1))
        self.enclosing.append(-1)
        self.values.append(0.0)
        return place

    def _outermost(self, place: int) -> int:
        inside = self.inside
        while inside[place] != place:
            inside[place] = inside[inside[place]]
            place = inside[place]
        return place

    def _pop(self, top: int) -> int:
        """Return the heap without its top."""
        self._hand_down(top)
        return self._meld(self.left[top], self.right[top])

    def _hand_down(self, item: int) -> None:
        more = self.waiting[item]
        if more != 0.0:
            for child in (self.left[item], self.right[item]):
                if child >= 0:
                    self.key[child] += more
                    self.waiting[child] += more
            self.waiting[item] = 0.0

    def _meld(self, one: int, other: int) -> int:
        """Return one heap of two."""
        key, left, right = self.key, self.left, self.right
        way: list[int] = []
        while one >= 0 and other >= 0:
            if key[other] > key[one] or (key[other] == key[one] and self._goes_first(other, one)):
                one, other = other, one
            self._hand_down(one)
            way.append(one)
            one = right[one]
        rest = one if one >= 0 else other
        for item in reversed(way):
            right[item], left[item] = left[item], rest
            rest = item
        return rest

    def _goes_first(self, one: int, other: int) -> bool:
        """Whether an edge is taken rather than another of equal score: the root's, else the lower node's."""
        return self.source[one] == self.n or (self.source[other] != self.n and self.source[one] < self.source[other])

    def _unreached(self) -> list[int]:
        """The nodes that no path from the root reaches."""
        m = len(self.source) - self.n
        children: list[list[int]] = [[] for _ in range(self.n)]
        for source, target in zip(self.source[:m], self.target[:m], strict=True):
            children[source].append(target)
        # Edges from the root that are missing have a score of -inf, whatever was added.
        ways = [node for node in range(self.n) if self.key[m + node] > -np.inf]
        reached = set(ways)
        while ways:
            new = [child for child in children[ways.pop()] if child not in reached]
            reached.update(new)
            ways += new
        return [node for node in range(self.n) if node not in reached]
