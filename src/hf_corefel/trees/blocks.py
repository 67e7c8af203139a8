"""The elimination of many small graphs at once: the gold clusters of a document.

A document has dozens of clusters of a few spans each, and calls of numpy one by one would take longer than the
arithmetic. So clusters are eliminated side by side, each with its last node in the last place:

    cluster of 4   0 1 2 3
    cluster of 3     0 1 2
    cluster of 2       0 1

With the largest clusters first, those that take part in step k are the first ones, and each step works on exactly
the nodes that remain. Arrays have the clusters as their last axis, along which numpy vectorises.

The arithmetic is that of `hf_corefel.trees.elimination`, in linear space and the order of the spans. Subtraction-free
elimination is as exact in any order as long as no pivot is zero, since derivatives of log Z by the weights that remain
are those of the given graph; so Z >= exp(-650) suffices as there. Where that fails, be it that another order is
needed, log space, or that there is no tree, the cluster is eliminated on its own.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from . import elimination
from .elimination import Elimination, FloatArray, eliminate, log_sum_exp

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

BATCH_LIMIT = 32
"""Largest cluster that is eliminated side by side with others; arrays have this size squared for each cluster."""

# Of a probability this small nothing is left beside 1, in any sum of marginals.
_NEGLIGIBLE = 1e-20


class Blocks:
    """The trees of clusters, multiplied.

    Args:
        span_to_span: ``[N, N]`` log-weights of the edges parent (row) -> child (column), -inf on the diagonal.
        rho: ``[N]`` log-weights of the edges into each span from above.
        spans: The spans of all clusters, one cluster after the other.
        sizes: ``[C]`` number of spans of each cluster, descending.
        single_root: ``[C]`` whether only trees with exactly one edge from above count.
        above: Log-weights of the edges from above, one for each of `spans`, in place of `rho`; so a cluster may stand
            here several times, each time under something else.

    Attributes:
        log_totals: ``[C]`` log of the total weight of each cluster's trees.
        log_total: Their sum.
    """

    def __init__(
        self,
        span_to_span: FloatArray,
        rho: FloatArray,
        spans: IntArray,
        sizes: IntArray,
        single_root: BoolArray,
        above: FloatArray | None = None,
    ) -> None:
        self.log_total = 0.0
        self.log_totals: FloatArray = np.zeros(0)
        self._alone: dict[int, Elimination] = {}
        self._single_root = single_root
        count = len(sizes)
        if count == 0:
            return
        width = int(sizes[0])
        present = np.arange(width)[:, None] >= width - sizes
        self._present = present
        self._members = np.zeros((width, count), dtype=np.int64)
        self._members.T[present.T] = spans
        self._active = present.sum(axis=1)
        members = self._members
        log_weights = np.empty((width + 1, width, count))
        log_weights[:-1] = span_to_span[members[:, None], members]
        if above is None:
            log_weights[-1] = rho[members]
        else:
            log_weights[-1].T[present.T] = above
        outer = log_weights[-1].copy()
        log_weights[:-1][~(present[:, None] & present)] = -np.inf
        log_weights[-1][~present] = -np.inf
        with np.errstate(all="ignore"):
            log_scales = self._normalise(log_weights)
            self._weights = np.exp(log_weights)
            self._factors = self._weights.copy()
            self._pivots = self._eliminate()
            log_totals = np.log(self._pivots).sum(axis=0)
            exact = np.isfinite(log_totals + log_scales) & (log_totals >= -elimination.LINEAR_SPACE_LIMIT)
        log_totals += log_scales
        for c in np.flatnonzero(~exact).tolist():
            inner = members[present[:, c], c]
            weights = np.vstack([span_to_span[np.ix_(inner, inner)], outer[present[:, c], c]])
            self._alone[c] = eliminate(weights, single_root=bool(single_root[c]))
            log_totals[c] = self._alone[c].log_total
        self.log_totals = log_totals
        self.log_total = float(log_totals.sum())

    def _normalise(self, log_weights: FloatArray) -> FloatArray:
        """Scales columns to sum 1, a single root on its own, in place; returns the logs ``[C]`` of the scales."""
        single = self._single_root
        root = log_weights[-1].copy()
        log_weights[-1, :, single] = -np.inf
        scales = log_sum_exp(log_weights, axis=0)
        # An absent node, or one that has no parent besides a single root.
        scales[scales == -np.inf] = 0.0
        log_weights[:-1] -= scales
        root -= scales
        root_scales = np.where(single, log_sum_exp(root, axis=0), 0.0)
        log_weights[-1] = root - root_scales
        total: FloatArray = scales.sum(axis=0) + root_scales
        return total

    def _eliminate(self) -> FloatArray:
        """Eliminates all nodes of `_factors` in place; returns the pivots ``[width, C]``, 1 for absent nodes."""
        factors = self._factors
        width = factors.shape[1]
        pivots = np.ones(factors.shape[1:])
        for k, a in enumerate(self._active.tolist()):
            column = factors[k + 1 :, k, :a]
            sums = column[:-1].sum(axis=0)
            sums += column[-1] if k == width - 1 else np.where(self._single_root[:a], 0.0, column[-1])
            pivots[k, :a] = sums
            column /= sums
            factors[k + 1 :, k + 1 :, :a] += column[:, None] * factors[k, k + 1 :, :a]
        return pivots

    def _reverse(self) -> FloatArray:
        """The reverse pass of the elimination; returns the derivatives ``[width + 1, width, C]`` by the weights."""
        factors = self._factors
        width = factors.shape[1]
        gradient = np.zeros_like(factors)
        for k in range(width - 1, -1, -1):
            a = int(self._active[k])
            later = gradient[k + 1 :, k + 1 :, :a]
            column = factors[k + 1 :, k, :a]
            y = (later * factors[k, k + 1 :, :a]).sum(axis=1)
            last = np.maximum(y + (1.0 - (column * y).sum(axis=0)), 0.0)
            if k < width - 1:
                last[-1] = np.where(self._single_root[:a], y[-1], last[-1])
            gradient[k + 1 :, k, :a] = last / self._pivots[k, :a]
            gradient[k, k + 1 :, :a] = (column[:, None] * later).sum(axis=0)
        return gradient

    def marginals_into(self, span_to_span: FloatArray, above: FloatArray) -> None:
        """Writes the probability of each edge.

        Args:
            span_to_span: ``[N, N]`` edges parent (row) -> child (column).
            above: ``[N]`` edges from above.
        """
        if len(self._single_root) == 0:
            return
        marginals = self._marginals()
        members, present = self._members, self._present
        parents, children, clusters = np.nonzero(present[:, None] & present)
        span_to_span[members[parents, clusters], members[children, clusters]] = marginals[parents, children, clusters]
        above[members[present]] = marginals[-1][present]

    def add_expected_marginals(
        self, probabilities: FloatArray, owners: IntArray, span_to_span: FloatArray
    ) -> FloatArray:
        """Add the probability of each edge where a cluster stands here several times, each with a probability.

        Args:
            probabilities: ``[C]``.
            owners: ``[C]`` which cluster it is; those that are one follow each other.
            span_to_span: ``[N, N]`` edges parent (row) -> child (column), which are added to.

        Returns:
            The probabilities of the edges from above, one for each of the spans that the clusters were given as.
        """
        likely = np.flatnonzero(probabilities > _NEGLIGIBLE)
        above = np.zeros(self._present.T.shape)
        if len(likely):
            part = self if len(likely) == len(owners) else self._taken(likely)
            marginals = part._marginals() * probabilities[likely]
            above[likely] = marginals[-1].T
            firsts = np.flatnonzero(np.diff(owners[likely], prepend=-1))
            summed = np.add.reduceat(marginals[:-1], firsts, axis=2)
            members, present = part._members[:, firsts], part._present[:, firsts]
            parents, children, clusters = np.nonzero(present[:, None] & present)
            # No two clusters have a span in common.
            places = members[parents, clusters], members[children, clusters]
            span_to_span[places] += summed[parents, children, clusters]
        return above[self._present.T]

    def _taken(self, numbers: IntArray) -> Blocks:
        """The eliminations of some of the clusters, in their order."""
        part = copy(self)
        part._single_root = self._single_root[numbers]
        part._present, part._members = self._present[:, numbers], self._members[:, numbers]
        part._active = part._present.sum(axis=1)
        part._weights, part._factors = self._weights[..., numbers], self._factors[..., numbers]
        part._pivots = self._pivots[:, numbers]
        place = {int(number): at for at, number in enumerate(numbers)}
        part._alone = {place[c]: alone for c, alone in self._alone.items() if c in place}
        return part

    def _marginals(self) -> FloatArray:
        """``[width + 1, width, C]`` the probability of each edge; beside the edges of a cluster it means nothing."""
        with np.errstate(all="ignore"):
            marginals = self._weights * self._reverse()
        for c, alone in self._alone.items():
            inner = np.flatnonzero(self._present[:, c])
            exact = alone.marginals()
            marginals[inner[:, None], inner, c] = exact[:-1]
            marginals[-1, inner, c] = exact[-1]
        return marginals
