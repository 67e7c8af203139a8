"""Maximum spanning arborescence of a dense graph in O(n^2) (Chu and Liu 1965, Edmonds 1967, Tarjan 1977).

A path is grown backwards: its last node takes its best incoming edge. If that edge comes from the finished part, the
path is finished; if from a node outside, the path grows; if from the path itself, the cycle becomes one node, whose
incoming edges are scored by what they gain over the cycle edge they would replace. Contracted nodes keep one row of
scores over the original sources, so growing costs O(n) and contracting O(n) for each node of the cycle. At the end
contracted nodes are opened from the top: the edge that enters one replaces the cycle edge of the node it enters
(Camerini et al. 1979).

What each node's chosen edge gained when it was chosen makes up the values of a dual solution (Edmonds 1967). They bound
from below what a tree loses that has some other edge, see `Search.prices`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .elimination import FloatArray

IntArray = NDArray[np.int64]


class UnreachableError(ValueError):
    """There is no spanning tree.

    Attributes:
        nodes: The nodes that no path from the root reaches.
    """

    def __init__(self, nodes: list[int]) -> None:
        super().__init__(f"no path from the root reaches the nodes {nodes}")
        self.nodes = nodes


@dataclass(frozen=True)
class Search:
    """What the search found for the nodes in the order in which they arose: the n given ones, then contracted ones.

    Attributes:
        edges: The edge chosen into each node: source (0 the root, i + 1 node i) and the original node that it enters.
        enclosing: The node that each was contracted into, -1 for none.
        members: The original nodes within each, numbered from 1.
        values: What each chosen edge scored when it was chosen, less what it would replace.
    """

    edges: list[tuple[int, int]]
    enclosing: list[int]
    members: list[IntArray]
    values: list[float]

    def parents(self, n: int) -> IntArray:
        """Return the parent ``[n]`` of each node in the best tree, n for the root."""
        return open_contracted(self.edges, self.enclosing, n)

    def prices(self, n: int) -> FloatArray:
        """Return ``[n + 1, n]`` what an edge row -> column would have to score for its tree to be as good as the best.

        A tree that has an edge of score s in place of price p scores at least p - s less than the best tree. (The
        values of nodes that an edge enters add up to its price. Every tree enters every node once or more, given ones
        once, and the values of contracted ones are not above 0.)
        """
        prices = np.zeros((n + 1, n))
        for members, value in zip(self.members, self.values, strict=True):
            inside = members - 1
            outside = np.ones(n + 1, dtype=bool)
            # An edge between two members does not enter the node; a given node has no edge into itself.
            outside[inside] = False
            prices[np.ix_(outside, inside)] += value
        return prices


def maximum_arborescence(scores: FloatArray) -> IntArray:
    """Finds the spanning tree with the highest sum of edge scores; more than one root edge is allowed.

    Ties are broken the same way every time; where no cycle is involved, the root wins over nodes and a lower node
    over a higher one.

    Args:
        scores: ``[n + 1, n]`` scores of the edges row -> column, the root last; -inf means no edge. The diagonal is
            ignored.

    Returns:
        ``[n]`` the parent of each node, n for the root.

    Raises:
        UnreachableError: If the root does not reach every node.
        ValueError: If a score is NaN or +inf.
    """
    return search(scores).parents(scores.shape[1])


def search(scores: FloatArray) -> Search:
    """Search the best tree; arguments and errors as of `maximum_arborescence`."""
    n = scores.shape[1]
    # Rows are children; the root comes first, so that argmax prefers it among equals.
    incoming = np.empty((n, n + 1))
    incoming[:, 0] = scores[n]
    incoming[:, 1:] = scores[:n].T
    np.fill_diagonal(incoming[:, 1:], -np.inf)
    if not (incoming < np.inf).all():
        raise ValueError("scores must not be NaN or +inf")
    targets = np.repeat(np.arange(n), n + 1).reshape(n, n + 1)  # the original node that an edge into a row enters

    row = list(range(n))  # row of `incoming` of each node, original or contracted
    top = np.arange(-1, n)  # the outermost node that an original source (root first) is in now
    members = list(np.arange(1, n + 1).reshape(n, 1))
    columns = np.arange(n + 1)
    enclosing: list[int] = [-1] * n
    edges: list[tuple[int, int]] = [(-1, -1)] * n
    values = [0.0] * n
    finished = [False] * n
    for start in range(n):
        path = [] if finished[top[start + 1]] else [int(top[start + 1])]
        on_path = set(path)
        while path:
            node = path[-1]
            source = int(incoming[row[node]].argmax())
            if incoming[row[node], source] == -np.inf:
                raise UnreachableError(unreachable_nodes(scores))
            edges[node] = source, int(targets[row[node], source])
            values[node] = float(incoming[row[node], source])
            origin = int(top[source])
            if origin == -1 or finished[origin]:
                for node in path:
                    finished[node] = True
                break
            if origin not in on_path:
                path.append(origin)
                on_path.add(origin)
                continue
            cycle = path[path.index(origin) :]
            del path[-len(cycle) :]
            on_path.difference_update(cycle)
            rows = np.array([row[c] for c in cycle])
            gains = incoming[rows]
            gains -= gains[range(len(cycle)), [edges[c][0] for c in cycle]][:, None]
            best = gains.argmax(axis=0)
            inside = np.concatenate([members[c] for c in cycle])
            contracted = len(row)
            row.append(row[origin])
            into = incoming[row[origin]]
            into[:] = gains[best, columns]
            into[inside] = -np.inf
            targets[row[origin]] = targets[rows[best], columns]
            top[inside] = contracted
            members.append(inside)
            for c in cycle:
                enclosing[c] = contracted
            enclosing.append(-1)
            edges.append((-1, -1))
            values.append(0.0)
            finished.append(False)
            path.append(contracted)
            on_path.add(contracted)
    return Search(edges, enclosing, members, values)


def open_contracted(edges: list[tuple[int, int]], enclosing: list[int], n: int) -> IntArray:
    """Opens the contracted nodes, outermost first, and returns the parents ``[n]``."""
    parents = np.empty(n, dtype=np.int64)
    opened = [False] * len(edges)
    for node in range(len(edges) - 1, -1, -1):
        if opened[node]:
            continue
        source, target = edges[node]
        parents[target] = source - 1 if source else n
        # Everything between the entered node and this one gives up its own cycle edge.
        inner = target
        opened[inner] = True
        while inner != node:
            inner = enclosing[inner]
            opened[inner] = True
    return parents


def unreachable_nodes(scores: FloatArray) -> list[int]:
    """Returns the nodes that no path of edges above -inf from the root reaches; `scores` as in the search."""
    n = scores.shape[1]
    exists = scores > -np.inf
    reached = exists[n].copy()
    frontier = np.flatnonzero(reached)
    while len(frontier):
        new = exists[frontier].any(axis=0) & ~reached
        reached |= new
        frontier = np.flatnonzero(new)
    return [int(v) for v in np.flatnonzero(~reached)]
