"""How the marginals move when the scores do: covariances of edges, which gradients of expectations need.

The derivative of the marginals in the direction v of the scores is ``Cov(edge, V)``, where V is the sum of v over the
edges of the tree. It is computed as elimination and reverse pass of `hf_corefel.trees.elimination`, in log space, with
each number's relative derivative beside it. That of a sum is the mean of the summands' by their shares, that of a
product the sum of the factors', so that nothing cancels that does not cancel in the values themselves.
"""

from __future__ import annotations

import numpy as np

from .elimination import FloatArray, log_sum_exp


def edge_covariances(log_weights: FloatArray, values: FloatArray) -> FloatArray:
    """Compute the covariance of every edge with a sum over the edges of the tree.

    Args:
        log_weights: ``[n + 1, n]`` log-weights of the edges row -> column, the root last; -inf means no edge. The
            diagonal is ignored. There must be a tree.
        values: ``[n + 1, n]`` what each edge adds to the sum, finite; not read where there is no edge.

    Returns:
        ``[n + 1, n]``, 0 where there is no edge.
    """
    n = log_weights.shape[1]
    weights = log_weights.copy()
    np.fill_diagonal(weights[:n], -np.inf)
    with np.errstate(all="ignore"):
        weights -= log_sum_exp(weights, axis=0)
        rates = np.where(weights > -np.inf, values, 0.0)
        # Each node has one edge in every tree: what is the same for all edges into it changes nothing but rounding.
        rates -= (np.exp(weights) * rates).sum(axis=0)
        rates[weights == -np.inf] = 0.0
        factors, factor_rates = weights.copy(), rates.copy()
        pivots = _eliminate(factors, factor_rates)
        gradient, gradient_rates = _reverse(factors, factor_rates, *pivots)
        result: FloatArray = np.exp(weights + gradient) * (rates + gradient_rates)
        return np.where(weights > -np.inf, result, 0.0)


def _eliminate(weights: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eliminate all nodes in place; returns the log-pivots ``[n]`` and their rates."""
    n = weights.shape[1]
    pivots, pivot_rates = np.empty(n), np.empty(n)
    for k in range(n):
        pivots[k], pivot_rates[k] = _sum(weights[k + 1 :, k], rates[k + 1 :, k], axis=0)
        weights[k + 1 :, k] -= pivots[k]
        rates[k + 1 :, k] -= pivot_rates[k]
        rest, rest_rates = weights[k + 1 :, k + 1 :], rates[k + 1 :, k + 1 :]
        added = weights[k + 1 :, k, None] + weights[k, k + 1 :]
        added_rates = rates[k + 1 :, k, None] + rates[k, k + 1 :]
        np.logaddexp(rest, added, out=rest)
        rest_rates += _share(added, rest) * (added_rates - rest_rates)
    return pivots, pivot_rates


def _reverse(
    factors: FloatArray, rates: FloatArray, pivots: FloatArray, pivot_rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The reverse pass of `hf_corefel.trees.elimination`; returns log G ``[n + 1, n]`` and its rates."""
    n = len(pivots)
    gradient = np.full((n + 1, n), -np.inf)
    gradient_rates = np.zeros((n + 1, n))
    for k in range(n - 1, -1, -1):
        later, later_rates = gradient[k + 1 :, k + 1 :], gradient_rates[k + 1 :, k + 1 :]
        column, column_rates = factors[k + 1 :, k], rates[k + 1 :, k]
        y, y_rates = _sum(later + factors[k, k + 1 :], later_rates + rates[k, k + 1 :], axis=1)
        terms = np.exp(column + y)
        remainder = 1.0 - terms.sum()
        remainder_change = -(terms * (column_rates + y_rates)).sum()
        top = np.maximum(y, 0.0)
        value = np.maximum(np.exp(y - top) + remainder * np.exp(-top), 0.0)
        change = np.exp(y - top) * y_rates + remainder_change * np.exp(-top)
        gradient[k + 1 :, k] = np.log(value) + top - pivots[k]
        relative = np.divide(change, value, out=np.zeros_like(value), where=value > 0)
        gradient_rates[k + 1 :, k] = relative - pivot_rates[k]
        gradient[k, k + 1 :], gradient_rates[k, k + 1 :] = _sum(
            column[:, None] + later, column_rates[:, None] + later_rates, axis=0
        )
    return gradient, gradient_rates


def _sum(logs: FloatArray, rates: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
    """Return the log of a sum along an axis and its relative derivative, from logs and rates of the summands."""
    total = log_sum_exp(logs, axis=axis)
    return total, (_share(logs, np.expand_dims(total, axis)) * rates).sum(axis=axis)


def _share(log_part: FloatArray, log_whole: FloatArray) -> FloatArray:
    """Return what part of a whole something is, 0 of an empty whole."""
    share: FloatArray = np.exp(log_part - np.where(log_whole == -np.inf, 0.0, log_whole))
    return share
