"""Clusters of which nobody says what they are linked to: the sum over every way to hang them.

A cluster hangs from the root by exactly one edge, or as a whole, by any number of edges, from one of the entities that
are a candidate of any of its spans. These cases exclude each other, so that

    Z(C) = Z_NIL(C) + sum over e of Z_e(C),

each the determinant of a matrix of the size of the cluster (`hf_corefel.trees.blocks`). An entity that is a candidate
of one span h only has one edge into the cluster, so its trees are those with one edge from above as well, and it joins
the root in Z_NIL: log-weight ``logsumexp(root_h, e_h)``. What remains are entities that spans have in common.

Two clusters may take the same entity: to forbid it would make the sum a permanent, for which no fast algorithm is
known. Entities of clusters with known links are not taken.
"""

from __future__ import annotations

import numpy as np

from .arborescence import IntArray
from .blocks import Blocks, BoolArray
from .elimination import FloatArray, log_sum_exp

# Numbers in an array of clusters that are eliminated side by side: 16 MB.
_MOST_NUMBERS = 1 << 21


class UnknownLinks:
    """The trees of clusters whose links are not known, multiplied.

    Args:
        root: ``[N]`` log-weights of the edges root -> span.
        candidate_scores: ``[N, K]`` log-weights of the edges candidate -> span, -inf on padding.
        candidate_rows: ``[N, K]`` entities of the candidates, -1 on padding.
        span_to_span: ``[N, N]`` log-weights of the edges parent (row) -> child (column), -inf on the diagonal.
        spans: ``[P]`` the spans of all clusters, one cluster after the other.
        sizes: ``[C]`` number of spans of each cluster.
        taken: Entities that none of the clusters can have.
    """

    def __init__(
        self,
        root: FloatArray,
        candidate_scores: FloatArray,
        candidate_rows: IntArray,
        span_to_span: FloatArray,
        spans: IntArray,
        sizes: IntArray,
        taken: IntArray,
    ) -> None:
        self._spans, self._root = spans, root[spans]
        self._span_to_span = span_to_span
        first, cluster = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
        rows, scores = candidate_rows[spans], candidate_scores[spans]
        place, slot = np.nonzero((rows >= 0) & (scores != -np.inf) & ~np.isin(rows, taken))
        edge_scores = scores[place, slot]
        # Cases are pairs of a cluster and an entity, and shared where the entity has edges into several spans.
        width = int(rows.max(initial=0)) + 1
        cases, case = np.unique(cluster[place] * width + rows[place, slot], return_inverse=True)
        into = np.unique(case * len(spans) + place) // max(len(spans), 1)
        shared = np.bincount(into, minlength=len(cases)) > 1
        of_shared = shared[case]
        with_root = np.full(scores.shape, -np.inf)
        with_root[place[~of_shared], slot[~of_shared]] = edge_scores[~of_shared]
        self._with_root = with_root
        with np.errstate(all="ignore"):
            self._rho = log_sum_exp(np.column_stack([self._root, with_root]), axis=1)

        # Each cluster under the root and what has joined it, then under each of the shared entities.
        case_clusters = cases[shared] // width
        self._owner = np.concatenate([np.arange(len(sizes)), case_clusters])
        self._sizes = sizes[self._owner]
        starts = np.cumsum(self._sizes) - self._sizes
        within = np.arange(self._sizes.sum()) - np.repeat(starts, self._sizes)
        self._members = spans[np.repeat(first[self._owner], self._sizes) + within]
        self._above = np.full(len(self._members), -np.inf)
        self._above[: len(spans)] = self._rho
        numbers = len(sizes) + np.cumsum(shared) - 1
        # Where in the list each edge of a shared entity leads, its span and its slot there.
        place, slot, case = place[of_shared], slot[of_shared], case[of_shared]
        self._shared_to = starts[numbers[case]] + place - first[cluster[place]]
        self._shared_edges = spans[place], slot
        self._shared_scores = edge_scores[of_shared]
        with np.errstate(all="ignore"):
            np.logaddexp.at(self._above, self._shared_to, self._shared_scores)
        self._starts = starts
        self._parts = list(self._eliminated(np.arange(len(self._owner)) < len(sizes)))
        self._sum(len(sizes))

    def _eliminated(self, single_root: BoolArray) -> list[tuple[IntArray, IntArray, Blocks]]:
        """The cases in parts of about one size: their numbers, where in the list their spans are, and their trees."""
        order = np.lexsort((self._owner, -self._sizes))
        parts = []
        begin = 0
        while begin < len(order):
            size = int(self._sizes[order[begin]])
            # Down to half the size, as arrays are as wide as the largest.
            end = begin + int(np.searchsorted(-self._sizes[order[begin:]], -(size // 2), side="left"))
            end = max(begin + 1, min(end, begin + max(1, _MOST_NUMBERS // (size * (size + 1)))))
            numbers = order[begin:end]
            sizes = self._sizes[numbers]
            listed = np.repeat(self._starts[numbers] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
            spans, above = self._members[listed], self._above[listed]
            blocks = Blocks(self._span_to_span, self._rho, spans, sizes, single_root[numbers], above)
            parts.append((numbers, listed, blocks))
            begin = end
        return parts

    def _sum(self, clusters: int) -> None:
        """Adds up the cases of each cluster, and multiplies the clusters."""
        logs = np.full(len(self._owner), -np.inf)
        for numbers, _, blocks in self._parts:
            logs[numbers] = blocks.log_totals
        tops = np.full(clusters, -np.inf)
        np.maximum.at(tops, self._owner, logs)
        tops[tops == -np.inf] = 0.0
        with np.errstate(all="ignore"):
            sums = np.bincount(self._owner, weights=np.exp(logs - tops[self._owner]), minlength=clusters)
            totals = np.log(sums) + tops
            self._probabilities = np.exp(logs - np.where(totals == -np.inf, 0.0, totals)[self._owner])
        self.log_weight = float(totals.sum())

    def marginals_into(self, root: FloatArray, candidate_edges: FloatArray, span_to_span: FloatArray) -> None:
        """Writes the probability of each edge into the clusters' spans.

        Args:
            root: ``[N]``.
            candidate_edges: ``[N, K]``.
            span_to_span: ``[N, N]``.
        """
        above = np.zeros(len(self._members))
        for numbers, listed, blocks in self._parts:
            likely = self._probabilities[numbers], self._owner[numbers]
            above[listed] = blocks.add_expected_marginals(*likely, span_to_span)
        folded = above[: len(self._spans)]
        finite = np.where(self._rho == -np.inf, 0.0, self._rho)
        root[self._spans] = folded * np.exp(self._root - finite)
        candidate_edges[self._spans] = folded[:, None] * np.exp(self._with_root - finite[:, None])
        shares = np.exp(self._shared_scores - self._above[self._shared_to])
        candidate_edges[self._shared_edges] += above[self._shared_to] * shares
