"""Subtraction-free elimination: the total weight of rooted spanning trees, exact at any score range.

The matrix-tree theorem gives the total weight of the spanning trees of a directed graph as a determinant. An LU
factorisation of that determinant loses ``1 + exp(a)`` against ``exp(a)``: for tightly knit clusters that hang
loosely from the root it is wrong from log-weights of 20 on and NaN at 40. State reduction (Grassmann, Taksar and
Heyman 1985), known from Markov chains, has no subtraction and so no cancellation. Weights ``w[i, j]`` of the edges
parent i -> child j and weights ``rho[j]`` of the edges root -> j are kept apart; node k is eliminated with

    d_k = rho[k] + sum_i w[i, k],    f_i = w[i, k] / d_k,    f_root = rho[k] / d_k,
    w[i, j] += f_i * w[k, j],        rho[j] += f_root * w[k, j],        log Z = sum_k log d_k.

Trees with exactly one root edge (Koo et al. 2007, section 3.1) leave rho out of every pivot but the last, where
``d = rho``. The node of the largest pivot goes first: a node whose pivot is zero has no parent but the root, so it
can only be the head and is kept for last; two such nodes make a single-root tree impossible.

**Linear or log space.** Each column is first divided by the sum of its weights, so that Z becomes the probability
that parents chosen independently form a tree. G[i, j] = d log Z / d w[i, j] is at most ``m = max_j G[root, j]``, and
is the same in the given graph and in every one that remains during the elimination. What underflow takes away is at
most the smallest normal number, 2e-308, in each of at most ``n**3`` updates, so it changes log Z by at most
``2e-308 * n**3 * m``. Linear space is used if that cannot matter, decided afterwards: ``m <= exp(650)``. This holds
if Z >= exp(-650), since m <= 1 / Z; otherwise m is bounded by two triangular solves, again without subtraction (G is
an entry of the inverse of the Laplacian less another one, and row sums of the inverse bound both). No derivative
overflows then either. Anything else is computed again in log space, which is slower but needs no condition. With a
single root edge only Z >= exp(-650) is looked at.

**Reverse pass.** With G[i, j] = d log Z / d w[i, j] of the graph that remains after k was eliminated, and
``y_i = sum_j G[i, j] w[k, j]`` (also for i = root) and ``V = sum_i f_i y_i + f_root y_root``,

    G[i, k] = (1 - V + y_i) / d_k,    G[k, j] = sum_i f_i G[i, j] + f_root G[root, j].

V is the expected number of children of k, so the one difference costs an absolute error near 1e-16 in the marginal
``w * G`` and no more. With a single root edge ``G[root, k] = y_root / d_k``, since d_k does not depend on rho then.

**Speed.** Where an LU factorisation by LAPACK proves as exact afterwards, it takes the place of the elimination, and
the inverse that of the reverse pass; `hf_corefel.trees.lu` says when and why.

Everything here is float64 numpy on one graph of n nodes. Weights are one array ``[n + 1, n]``: row i < n holds the
edges out of node i, row n those out of the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .lu import Factorisation, factorise, inverse_marginals, triangles

FloatArray = NDArray[np.float64]

LINEAR_SPACE_LIMIT = 650.0
"""Largest log of the derivatives (see above) for which linear space is used."""

PANEL = 32
"""Columns eliminated one by one before the rest of the matrix is updated with one matrix product."""


@dataclass(frozen=True)
class Elimination:
    """The eliminated graph, from which marginals follow.

    Attributes:
        log_total: Log of the total weight of the trees; -inf if there is none, NaN if a score is NaN or +inf.
        single_root: Whether only trees with exactly one root edge count.
        in_log_space: Whether `weights`, `factors` and `pivots` are logarithms.
        weights: ``[n + 1, n]`` normalised weights before the elimination, in the given order of nodes.
        factors: ``[n + 1, n]`` in elimination order: ``w[k, j]`` above the diagonal, ``f_i`` and ``f_root`` below.
        pivots: ``[n]`` d_k in elimination order.
        order: ``[n]`` the node eliminated at each step.
        lu: The same factors and pivots with an error bound, if LAPACK computed them; else None.
    """

    log_total: float
    single_root: bool
    in_log_space: bool
    weights: FloatArray
    factors: FloatArray
    pivots: FloatArray
    order: NDArray[np.intp]
    lu: Factorisation | None = None

    def marginals(self) -> FloatArray:
        """Returns the probability of every edge, ``[n + 1, n]``: zeros if there is no tree, NaN for NaN scores."""
        if not np.isfinite(self.log_total):
            return np.full(self.weights.shape, 0.0 if self.log_total == -np.inf else np.nan)
        reverse = _reverse_log if self.in_log_space else _reverse_linear
        with np.errstate(all="ignore"):
            if self.lu is not None and (marginals := inverse_marginals(self.weights, self.lu)) is not None:
                return marginals
            gradient = reverse(self.factors, self.pivots, self.single_root)
            position = np.empty(len(self.order) + 1, dtype=np.intp)
            position[self.order] = np.arange(len(self.order))
            position[-1] = len(self.order)
            gradient = gradient[np.ix_(position, position[:-1])]
            return np.exp(self.weights + gradient) if self.in_log_space else self.weights * gradient

    def head_probabilities(self) -> FloatArray:
        """Probability ``[n, n]`` that the path from the root to node j (column) starts with node h (row).

        A walk from j to parents, each drawn with the probability of its edge among those into the node, ends in the
        root; erasing its loops leaves j's path in a random tree (Wilson 1996), so the head is where the walk leaves
        for the root. That absorption probability is ``rho_h Z[h, j]`` with Z the inverse of the Laplacian, whose
        triangular factors the elimination has; all terms are non-negative. Zeros if there is no tree, NaN for NaN
        scores. For graphs that allow several root edges.
        """
        n = len(self.order)
        if not np.isfinite(self.log_total) or n == 0:
            return np.full((n, n), 0.0 if n == 0 or self.log_total == -np.inf else np.nan)
        with np.errstate(all="ignore"):
            root = self.weights[-1]
            if self.in_log_space:
                return np.exp(_heads_log(self.factors, self.pivots, root))
            both = triangles(self.factors, self.pivots)
            heads = torch.linalg.solve_triangular(both, torch.from_numpy(np.diag(root)), upper=True, left=False)
            heads = torch.linalg.solve_triangular(both, heads, upper=False, left=False, unitriangular=True)
            probabilities: FloatArray = heads.numpy()
            return probabilities


def eliminate(log_weights: FloatArray, *, single_root: bool = False) -> Elimination:
    """Sums the weights of all spanning trees of a graph.

    Args:
        log_weights: ``[n + 1, n]`` log-weights of the edges row -> column, the root last; -inf means no edge. The
            diagonal is ignored.
        single_root: Count only trees with exactly one root edge.

    Returns:
        The elimination, with ``log_total`` and, on demand, the marginals.
    """
    n = log_weights.shape[1]
    log_weights = log_weights.copy()
    np.fill_diagonal(log_weights[:n], -np.inf)
    order = np.arange(n)
    if n == 0:
        return Elimination(0.0, single_root, False, log_weights, log_weights, np.empty(0), order)
    with np.errstate(all="ignore"):
        normalised, log_scale = _normalise(log_weights, single_root)
        if not np.isfinite(log_scale):
            return Elimination(log_scale, single_root, True, normalised, normalised, np.empty(n), order)
        weights = np.exp(normalised)
        if not single_root and (lu := factorise(weights)) is not None:
            log_total = float(np.log(lu.pivots).sum())
            if log_total >= -LINEAR_SPACE_LIMIT:
                return Elimination(log_total + log_scale, False, False, weights, lu.factors, lu.pivots, order, lu)
        factors = weights.copy()
        if single_root:
            pivots, order = _eliminate_linear_single_root(factors)
        else:
            pivots = _eliminate_linear(factors)
        log_total = float(np.log(pivots).sum())
        if np.isfinite(log_total) and (
            log_total >= -LINEAR_SPACE_LIMIT
            or (not single_root and _log_derivative_bound(factors, pivots) <= LINEAR_SPACE_LIMIT)
        ):
            return Elimination(log_total + log_scale, single_root, False, weights, factors, pivots, order)
        factors = normalised.copy()
        pivots, order = _eliminate_log(factors, single_root)
        log_total = float(pivots.sum()) + log_scale
        return Elimination(log_total, single_root, True, normalised, factors, pivots, order)


def _normalise(log_weights: FloatArray, single_root: bool) -> tuple[FloatArray, float]:
    """Scales columns to sum 1 and returns the log of the scale; with a single root its row is scaled on its own.

    A node that has no parent besides a single root keeps its empty column. The scale is -inf where it shows that
    there is no tree, and NaN if a score is.
    """
    if not single_root:
        scales = log_sum_exp(log_weights, axis=0)
        if np.isnan(scales).any():
            return log_weights, np.nan
        return log_weights - scales, float(scales.sum())
    scales = log_sum_exp(log_weights[:-1], axis=0)
    scales[scales == -np.inf] = 0.0
    normalised = log_weights - scales
    root_scale = float(log_sum_exp(normalised[-1], axis=0))
    log_scale = root_scale + float(scales.sum())
    if np.isfinite(log_scale):
        normalised[-1] -= root_scale
    return normalised, log_scale


def _eliminate_linear(weights: FloatArray) -> FloatArray:
    """Eliminates all nodes in place, panel by panel, and returns the pivots ``[n]``."""
    n = weights.shape[1]
    pivots = np.empty(n)
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        for k in range(start, stop):
            column = weights[k + 1 :, k]
            pivots[k] = column.sum()
            column /= pivots[k]
            weights[k + 1 :, k + 1 : stop] += column[:, None] * weights[k, k + 1 : stop]
            weights[k + 1 : stop, stop:] += column[: stop - k - 1, None] * weights[k, stop:]
        weights[stop:, stop:] += weights[stop:, start:stop] @ weights[start:stop, stop:]
    return pivots


def _eliminate_linear_single_root(weights: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """As `_eliminate_linear` for trees with one root edge; the nodes are permuted, largest pivot first."""
    n = weights.shape[1]
    pivots = np.empty(n)
    order = np.arange(n)
    for k in range(n - 1):
        np.fill_diagonal(weights[k:n, k:], 0.0)
        sums = weights[k:n, k:].sum(axis=0)
        best = int(sums.argmax())
        _swap(weights, order, k, k + best)
        pivots[k] = sums[best]
        column = weights[k + 1 :, k]
        column /= pivots[k]
        weights[k + 1 :, k + 1 :] += column[:, None] * weights[k, k + 1 :]
    pivots[-1] = weights[n, n - 1]
    weights[n, n - 1] = 1.0
    return pivots, order


def _eliminate_log(weights: FloatArray, single_root: bool) -> tuple[FloatArray, NDArray[np.intp]]:
    """Either elimination with log-weights, in place; returns log-pivots ``[n]`` (-inf if no tree) and the order."""
    n = weights.shape[1]
    pivots = np.full(n, -np.inf)
    order = np.arange(n)
    for k in range(n):
        if single_root and k < n - 1:
            np.fill_diagonal(weights[k:n, k:], -np.inf)
            sums = log_sum_exp(weights[k:n, k:], axis=0)
            best = int(sums.argmax())
            _swap(weights, order, k, k + best)
            pivots[k] = sums[best]
        else:
            pivots[k] = log_sum_exp(weights[k + 1 :, k], axis=0)
        if pivots[k] == -np.inf:
            break
        column = weights[k + 1 :, k]
        column -= pivots[k]
        rest = weights[k + 1 :, k + 1 :]
        np.logaddexp(rest, column[:, None] + weights[k, k + 1 :], out=rest)
    return pivots, order


def _swap(weights: FloatArray, order: NDArray[np.intp], a: int, b: int) -> None:
    """Exchanges two nodes in place, in rows, columns and the order."""
    if a != b:
        weights[[a, b]] = weights[[b, a]]
        weights[:, [a, b]] = weights[:, [b, a]]
        order[[a, b]] = order[[b, a]]


def _log_derivative_bound(factors: FloatArray, pivots: FloatArray) -> float:
    """Log of the largest row sum of the inverse Laplacian; no derivative of log Z by a weight is larger."""
    both = triangles(factors, pivots)
    sums = torch.from_numpy(np.ones((len(pivots), 1)))
    sums = torch.linalg.solve_triangular(both, sums, upper=False, unitriangular=True)
    sums = torch.linalg.solve_triangular(both, sums, upper=True)
    return float(sums.max().log())


def _heads_log(factors: FloatArray, pivots: FloatArray, root: FloatArray) -> FloatArray:
    """Log of the head probabilities ``[n, n]`` from log-factors, log-pivots and normalised root log-weights ``[n]``."""
    n = factors.shape[1]
    heads = np.full((n, n), -np.inf)
    np.fill_diagonal(heads, root)
    for k in range(n):
        heads[: k + 1, k] -= pivots[k]
        rest = heads[: k + 1, k + 1 :]
        np.logaddexp(rest, heads[: k + 1, k, None] + factors[k, k + 1 :], out=rest)
    for k in range(n - 2, -1, -1):
        later = log_sum_exp(heads[:, k + 1 :] + factors[k + 1 : n, k], axis=1)
        heads[:, k] = np.logaddexp(heads[:, k], later)
    return heads


def _reverse_linear(factors: FloatArray, pivots: FloatArray, single_root: bool) -> FloatArray:
    """The reverse pass of the module docstring, panel by panel; returns G ``[n + 1, n]`` in elimination order."""
    n = factors.shape[1]
    gradient = np.zeros((n + 1, n))
    for start in range((n - 1) // PANEL * PANEL, -1, -PANEL):
        stop = min(start + PANEL, n)
        # What the nodes after the panel contribute to its y and to its G[k, :], for the whole panel at once.
        children = gradient[stop:, stop:] @ factors[start:stop, stop:].T
        parents = factors[stop:, start:stop].T @ gradient[stop:, stop:]
        for k in range(stop - 1, start - 1, -1):
            y = np.empty(n - k)
            y[: stop - k - 1] = gradient[k + 1 : stop, k + 1 :] @ factors[k, k + 1 :]
            y[stop - k - 1 :] = children[:, k - start] + gradient[stop:, k + 1 : stop] @ factors[k, k + 1 : stop]
            column = factors[k + 1 :, k]
            remainder = 1.0 - column @ y
            last = gradient[k + 1 :, k]
            np.maximum(y + remainder, 0.0, out=last)
            if single_root and k < n - 1:
                last[-1] = y[-1]
            last /= pivots[k]
            gradient[k, k + 1 : stop] = column @ gradient[k + 1 :, k + 1 : stop]
            gradient[k, stop:] = parents[k - start] + column[: stop - k - 1] @ gradient[k + 1 : stop, stop:]
    return gradient


def _reverse_log(factors: FloatArray, pivots: FloatArray, single_root: bool) -> FloatArray:
    """As `_reverse_linear` with log-factors and log-pivots; returns log G."""
    n = factors.shape[1]
    gradient = np.full((n + 1, n), -np.inf)
    for k in range(n - 1, -1, -1):
        later = gradient[k + 1 :, k + 1 :]
        column = factors[k + 1 :, k]
        y = log_sum_exp(later + factors[k, k + 1 :], axis=1)
        remainder = 1.0 - np.exp(log_sum_exp(column + y, axis=0))
        # log(exp(y) + remainder), where exp(y) alone might overflow.
        top = np.maximum(y, 0.0)
        last = np.log(np.maximum(np.exp(y - top) + remainder * np.exp(-top), 0.0)) + top
        if single_root and k < n - 1:
            last[-1] = y[-1]
        gradient[k + 1 :, k] = last - pivots[k]
        gradient[k, k + 1 :] = log_sum_exp(column[:, None] + later, axis=0)
    return gradient


def log_sum_exp(values: FloatArray, axis: int) -> FloatArray:
    """Log of the summed exponentials along an axis: -inf for no finite value, NaN for a NaN or +inf among them."""
    top = values.max(axis=axis, keepdims=True, initial=-np.inf)
    finite_top = np.where(top == -np.inf, 0.0, top)
    result: FloatArray = np.log(np.exp(values - finite_top).sum(axis=axis)) + finite_top.squeeze(axis)
    return result
