"""Probabilities over the spanning trees of a large graph that is given as a list of edges.

Let ``rho[j]`` be the weight of the edges from above (root and candidate entities) into span j. An edge i -> j of weight
w is in a random tree with probability at most ``w / rho[j]``: whatever tree has it, the same with an edge from above in
its place is a tree, too. So an edge that is much weaker than those from above may be left out, and by the sum of these
ratios it is known how little that changes (`SparseMarginals.left_out`, a bound of the total variation distance).

What is left falls apart into blocks: spans that the other edges connect. The trees of the graph are products of trees
of the blocks, each of which is summed exactly (`hf_corefel.trees.elimination`). **Where all blocks are of at most
`BLOCK_LIMIT` spans, nothing else is approximate.** A larger one is cut, its weakest edges first: the strongest edges
into each span say which spans belong together, and all others which of these parts do, as long as they fit into one. A
span whose parent may be in another block takes that parent for a part of what is above. This counts parents that run in
a circle through several blocks, which no tree has; their share is small where edges between blocks have small
probabilities (`SparseMarginals.between_blocks`). Entities reach a span through other blocks by way of these parents:
the probability of each is followed from block to block for some rounds, and what is left after them is shared out in
proportion.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from .arborescence import IntArray
from .elimination import FloatArray, eliminate
from .graph import fold

__all__ = ["BLOCK_LIMIT", "SparseMarginals"]

BLOCK_LIMIT = 1000
"""Most spans whose trees are summed at once."""

_CUT = 18.0  # edges between blocks that are weaker, by the log of their ratio to those from above, are left out
_STRONGEST = 8  # so many edges into each span say first which spans belong to one block
_ROUNDS = 30
_NEGLIGIBLE = 1e-9


class SparseMarginals:
    """Probabilities of edges and entities over all trees of one document.

    Args:
        root: ``[N]`` log-weights of the edges from the root; -inf for no edge, here and below.
        candidate_scores: ``[N, K]`` those of the edges from candidate entities.
        candidate_rows: ``[N, K]`` the entities, -1 for padding, whose score is -inf.
        source: ``[M]`` parents of the edges between spans.
        target: ``[M]`` their children.
        score: ``[M]`` their log-weights.
        block_limit: Most spans whose trees are summed at once.
    """

    def __init__(
        self,
        root: FloatArray,
        candidate_scores: FloatArray,
        candidate_rows: IntArray,
        source: IntArray,
        target: IntArray,
        score: FloatArray,
        block_limit: int = BLOCK_LIMIT,
    ) -> None:
        self.size = len(root)
        self._candidate_rows = candidate_rows
        self._source, self._target = source, target
        rho = fold(root, candidate_scores)
        with np.errstate(invalid="ignore"):
            strength = score - rho[target]
        strength[score == -np.inf] = -np.inf
        block = self._blocks(strength, block_limit)
        inner = block[source] == block[target]
        between = ~inner & (strength > -_CUT)
        self.left_out = float(np.exp(np.minimum(strength[~inner & ~between], 0.0)).sum())
        """How much the probabilities of all edges together may change by edges that are left out, at most."""
        self._sum(rho, root, candidate_scores, score, block, inner, between)

    def _blocks(self, strength: FloatArray, limit: int) -> IntArray:
        """``[N]`` a number for each block: spans that edges connect, the strongest first, up to the limit."""
        source, target = self._source, self._target
        able = np.flatnonzero(strength > -_CUT)
        order = able[np.lexsort((-strength[able], target[able]))]
        starts = np.searchsorted(target[order], np.arange(self.size))
        chosen = order[np.arange(len(order)) - starts[target[order]] < _STRONGEST]
        chosen = chosen[np.argsort(-strength[chosen], kind="stable")]
        block = _joined(np.arange(self.size), source[chosen], target[chosen], limit)
        # Of the other edges the strongest between two blocks settles whether these become one.
        one, other = block[source[able]], block[target[able]]
        members = np.bincount(block, minlength=self.size)
        fits = np.flatnonzero((one != other) & (members[one] + members[other] <= limit))
        fits = fits[np.argsort(-strength[able[fits]], kind="stable")]
        one, other = one[fits], other[fits]
        _, firsts = np.unique(np.minimum(one, other) * self.size + np.maximum(one, other), return_index=True)
        firsts.sort()
        return _joined(block, one[firsts], other[firsts], limit)

    def _sum(
        self,
        rho: FloatArray,
        root: FloatArray,
        candidate_scores: FloatArray,
        score: FloatArray,
        block: IntArray,
        inner: np.ndarray,
        between: np.ndarray,
    ) -> None:
        """Sum the trees of each block."""
        source, target = self._source, self._target
        above = rho.copy()
        np.logaddexp.at(above, target[between], score[between])
        finite = np.where(above == -np.inf, 0.0, above)
        root_share = np.exp(root - finite)
        candidate_share = np.exp(candidate_scores - finite[:, None])
        cross_share = np.exp(score[between] - finite[target[between]])
        edge = np.zeros(len(source))
        from_above = np.ones(self.size)
        inner_edges = np.flatnonzero(inner)
        inner_edges = inner_edges[np.argsort(block[target[inner_edges]], kind="stable")]
        spans = np.argsort(block, kind="stable")
        numbers, firsts, counts = np.unique(block[spans], return_index=True, return_counts=True)
        place = np.empty(self.size, dtype=np.int64)
        place[spans] = np.arange(self.size) - np.repeat(firsts, counts)
        stops = np.searchsorted(block[target[inner_edges]], numbers, side="right")
        begins = np.searchsorted(block[target[inner_edges]], numbers, side="left")
        # Probability that the path to a span (row) enters its block at another (column).
        paths: list[tuple[IntArray, IntArray, FloatArray]] = []
        for first, count, begin, stop in zip(firsts, counts, begins, stops, strict=True):
            here = spans[first : first + count]
            if count == 1:
                paths.append((here, here, np.ones(1)))
                continue
            edges = inner_edges[begin:stop]
            weights = np.full((count + 1, count), -np.inf)
            weights[place[source[edges]], place[target[edges]]] = score[edges]
            weights[-1] = above[here]
            summed = eliminate(weights)
            marginals, heads = summed.marginals(), summed.head_probabilities()
            edge[edges] = marginals[place[source[edges]], place[target[edges]]]
            from_above[here] = marginals[-1]
            head, span = np.nonzero(heads > _NEGLIGIBLE)
            paths.append((here[span], here[head], heads[head, span]))
        edge[between] = from_above[target[between]] * cross_share
        self._edge, self._between = edge, between
        self._root, self._candidates = from_above * root_share, from_above[:, None] * candidate_share
        shape = (self.size, self.size)
        none = np.zeros(0, dtype=np.int64)
        rows, columns, chances = map(np.concatenate, zip(*[(none, none, none), *paths], strict=True))
        self._heads = sparse.csr_matrix((chances, (rows, columns)), shape=shape)
        self._cross = sparse.csr_matrix((cross_share, (target[between], source[between])), shape=shape)
        self._root_share, self._candidate_share = root_share, candidate_share

    @property
    def root(self) -> FloatArray:
        """``[N]`` probability of the edge from the root."""
        return self._root

    @property
    def candidates(self) -> FloatArray:
        """``[N, K]`` probability of the edge from each candidate."""
        return self._candidates

    @property
    def edges(self) -> FloatArray:
        """``[M]`` probability of each edge between spans."""
        return self._edge

    @property
    def between_blocks(self) -> float:
        """Expected number of edges between blocks; 0 where probabilities are exact but for `left_out`."""
        return float(self._edge[self._between].sum())

    @cached_property
    def entities(self) -> tuple[IntArray, sparse.csr_matrix]:
        """Probability of each entity, and of none, for the cluster of each span.

        Returns:
            The entities ``[E]``, ascending, and a sparse matrix ``[N, E + 1]``, the last column for no entity.
        """
        span, slot = np.nonzero(self._candidate_rows >= 0)
        entities, index = np.unique(self._candidate_rows[span, slot], return_inverse=True)
        columns = np.concatenate([index, np.full(self.size, len(entities))])
        rows = np.concatenate([span, np.arange(self.size)])
        values = np.concatenate([self._candidate_share[span, slot], self._root_share])
        direct = self._heads @ sparse.csr_matrix((values, (rows, columns)), shape=(self.size, len(entities) + 1))
        found = direct
        if self._cross.nnz:
            through = self._heads @ self._cross
            for _ in range(_ROUNDS):
                found = direct + through @ found
                found.data[found.data < _NEGLIGIBLE] = 0.0
                found.eliminate_zeros()
                if (1.0 - np.asarray(found.sum(axis=1)).ravel()).max(initial=0.0) < 1e-4:
                    break
        total = np.asarray(found.sum(axis=1)).ravel()
        scaled = sparse.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ found
        return entities, sparse.csr_matrix(scaled)


def _joined(block: IntArray, sources: IntArray, targets: IntArray, limit: int) -> IntArray:
    """``[N]`` blocks of spans, each called by its first span, after those that edges connect became one in turn.

    Args:
        block: ``[N]`` the blocks as they are.
        sources: A span of one block for each edge.
        targets: A span of another.
        limit: Most spans of a block.
    """
    above, members = block.tolist(), np.bincount(block, minlength=len(block)).tolist()

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for one, other in zip(sources.tolist(), targets.tolist(), strict=True):
        one, other = top(one), top(other)
        if one != other and members[one] + members[other] <= limit:
            above[max(one, other)] = min(one, other)
            members[min(one, other)] += members[max(one, other)]
    return np.array([top(node) for node in range(len(block))], dtype=np.int64)
