"""LAPACK's LU factorisation as the elimination, wherever it proves to be as exact.

The elimination of `hf_corefel.trees.elimination` and the LU factorisation of the Laplacian do the same arithmetic but
for the pivots. Take the matrix ``[n + 1, n]`` with ``-w[i, j]`` off the diagonal, ``-rho[j]`` in its last row and on
the diagonal the sum of these weights. Eliminating node k takes ``l_i u_j = f_i w[k, j]`` off entry i, j. Off the
diagonal that adds up numbers of one sign, as the subtraction-free elimination does; on the diagonal it subtracts, and
there precision is lost when a pivot is left over as the small difference of large numbers. The pivot is the largest
entry of its column, since it equals their sum, so partial pivoting exchanges no rows; if it does, rounding did it, and
LU is not used. (The root's row is halved for LAPACK. It would often tie with the pivot in the last column.)

**Certificate.** The subtraction-free pivot of the very same column is the sum of its entries, so the ratio of both
pivots is ``s_k = f_root + sum_i f_i``, the column sum of the unit lower factor with the sign turned, which is 1 without
rounding. An LU run is thus a subtraction-free run in which pivot k came out wrong by the factor ``1 / s_k``, known
afterwards. Such an error of a factor ``1 + e`` divides what the children of k receive from it by ``1 + e``, which
changes each entry of the graph that remains by this factor or less. Its total weight of trees is a polynomial with
positive coefficients, of degree one in each of the ``n - k - 1`` columns that remain (k from 0), so all in all

    |error of log Z| <= sum_k (n - k) |s_k - 1|

beyond the rounding that the subtraction-free elimination has itself (entrywise error analysis as for Markov chains in
O'Cinneide 1993, Numerische Mathematik 65). LU is used if this bound is at most ``ERROR_LIMIT * n**2``, which is to say
that the deviations are on average no more than the rounding of a few sums. The subtraction-free pivots are rounded sums
themselves, and their errors count with the same weights. At the limit the bound is 1.5e-11 for 121 nodes and 1e-9 for
1000; the error itself stays near 1e-14 and 1e-13, since the parts neither reach their bounds nor have one sign.

**Marginals.** The triangular factors have no positive entry off the diagonal, so solving with them only adds, and the
inverse Laplacian comes out with small relative errors in each entry: entries are quotients of two polynomials as
above, hence twice the bound of log Z. The marginals ``w[i, j] (Z[j, j] - Z[j, i])`` and ``rho[j] Z[j, j]`` do cancel,
but as ``0 <= Z[j, i] <= Z[j, j]`` their error is at most ``4 w[i, j] Z[j, j]`` times the bound of log Z. They are used
if this is at most `MARGINAL_ERROR_LIMIT` and no ``w Z[j, j]`` exceeds `INVERSE_LIMIT`, which keeps errors in practice
below 1e-13. Otherwise the reverse pass takes the same factors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FloatArray = NDArray[np.float64]

ERROR_LIMIT = 1e-15
"""Largest bound of the error of log Z, divided by the squared number of nodes, for which LU is used."""

MARGINAL_ERROR_LIMIT = 1e-8
"""Largest bound of the error of the marginals for which the inverse Laplacian is used."""

INVERSE_LIMIT = 64.0
"""Largest ``w[i, j] Z[j, j]`` for which the inverse Laplacian is used."""


class Factorisation(NamedTuple):
    """What the subtraction-free elimination in the given order would leave, computed by LAPACK.

    Attributes:
        factors: ``[n + 1, n]``: ``w[k, j]`` above the diagonal, ``f_i`` and ``f_root`` below.
        pivots: ``[n]`` d_k.
        error: Bound of the error of log Z.
    """

    factors: FloatArray
    pivots: FloatArray
    error: float


def factorise(weights: FloatArray) -> Factorisation | None:
    """Factorises the Laplacian of weights ``[n + 1, n]``, the root last, zeros on the diagonal.

    Returns:
        The factorisation; None if it may not be exact.
    """
    n = weights.shape[1]
    matrix = -weights
    matrix[n] *= 0.5
    np.fill_diagonal(matrix[:n], weights.sum(axis=0))
    lower_upper, rows, _ = torch.linalg.lu_factor_ex(torch.from_numpy(matrix))
    if not np.array_equal(rows.numpy(), np.arange(1, n + 1)):
        return None
    factors: FloatArray = -lower_upper.numpy()
    factors[n] *= 2.0
    deviations = np.abs(np.tril(factors, -1).sum(axis=0) - 1.0)
    error = float(deviations @ np.arange(n, 0, -1))
    # NaN is refused, too.
    if not error <= ERROR_LIMIT * n * n:
        return None
    return Factorisation(factors, -np.diagonal(factors), error)


def triangles(factors: FloatArray, pivots: FloatArray) -> Tensor:
    """The Laplacian's triangular factors in one matrix ``[n, n]``: U and, below the diagonal, L without its ones."""
    square = -factors[:-1]
    np.fill_diagonal(square, pivots)
    return torch.from_numpy(square)


def inverse_marginals(weights: FloatArray, factorisation: Factorisation) -> FloatArray | None:
    """Marginals ``[n + 1, n]`` of all edges from the inverse Laplacian.

    Args:
        weights: ``[n + 1, n]`` the weights.
        factorisation: Their factorisation.

    Returns:
        The probability of each edge; None if it may not be exact.
    """
    factors, pivots, error = factorisation
    n = len(pivots)
    identity = torch.from_numpy(np.eye(n))
    rows = torch.from_numpy(np.arange(1, n + 1, dtype=np.int32))
    inverse = torch.linalg.lu_solve(triangles(factors, pivots), rows, identity).numpy()
    diagonal = np.diagonal(inverse)
    # NaN is refused, too.
    largest = float((weights.max(axis=0) * diagonal).max())
    if not (largest <= INVERSE_LIMIT and 4.0 * largest * error <= MARGINAL_ERROR_LIMIT):
        return None
    marginals = np.empty_like(weights)
    np.subtract(diagonal, inverse.T, out=marginals[:n])
    np.maximum(marginals[:n], 0.0, out=marginals[:n])
    marginals[n] = diagonal
    marginals *= weights
    return marginals
