"""The numerical core: linear and log space, large graphs, tight clusters, exact references."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel.trees import elimination
from hf_corefel.trees.elimination import eliminate, log_sum_exp


def random_weights(n: int, scale: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n + 1, n)) * scale


def laplacian(weights: np.ndarray, single_root: bool) -> torch.Tensor:
    """Of log-weights [n + 1, n], by the textbook, as a leaf of the autograd graph."""
    edges = torch.tensor(weights).exp() * torch.cat([1 - torch.eye(weights.shape[1]), torch.ones(1, weights.shape[1])])
    square, root = edges[:-1], edges[-1]
    if not single_root:
        return torch.diag(square.sum(dim=0) + root) - square
    matrix = torch.diag(square.sum(dim=0)) - square
    return torch.cat([root[None], matrix[1:]])  # Koo et al. (2007): the root's weights replace the first row


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 97])
def test_agrees_with_the_determinant_where_that_is_exact(n: int, single_root: bool, space: str) -> None:
    weights = random_weights(n, scale=1.0, seed=n)
    result = eliminate(weights, single_root=single_root)
    assert result.in_log_space == (space == "log")
    expected = torch.linalg.slogdet(laplacian(weights, single_root)).logabsdet.item()
    assert result.log_total == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 33, 70])
def test_marginals_agree_with_the_inverse_where_that_is_exact(n: int, space: str) -> None:
    weights = random_weights(n, scale=1.0, seed=n)
    inverse = torch.linalg.inv(laplacian(weights, False)).numpy()
    edges = np.exp(weights)
    expected = edges * np.diagonal(inverse)
    expected[:-1] -= edges[:-1] * inverse.T
    np.fill_diagonal(expected, 0.0)
    result = eliminate(weights)
    np.testing.assert_allclose(result.marginals(), expected, atol=1e-11)
    np.testing.assert_allclose(result.head_probabilities(), edges[-1][:, None] * inverse, atol=1e-12)


@pytest.mark.parametrize("n", [5, 40])
def test_single_root_marginals_are_the_derivatives(n: int, space: str) -> None:
    weights = random_weights(n, scale=1.0, seed=n)
    scores = torch.tensor(weights, requires_grad=True)
    edges = scores.exp()
    square = edges[:-1] - torch.diag(torch.diagonal(edges[:-1]))
    matrix = torch.diag(square.sum(dim=0)) - square
    torch.linalg.slogdet(torch.cat([edges[-1:], matrix[1:]])).logabsdet.backward()
    marginals = eliminate(weights, single_root=True).marginals()
    assert scores.grad is not None
    np.testing.assert_allclose(marginals, scores.grad.numpy(), atol=1e-11)
    assert marginals[-1].sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0, 3000.0])
@pytest.mark.parametrize("single_root", [False, True])
def test_linear_and_log_space_agree(scale: float, single_root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = random_weights(45, scale)
    linear = eliminate(weights, single_root=single_root)
    monkeypatch.setattr(elimination, "LINEAR_SPACE_LIMIT", -math.inf)
    log = eliminate(weights, single_root=single_root)
    assert log.in_log_space
    assert linear.log_total == pytest.approx(log.log_total, rel=1e-13)
    np.testing.assert_allclose(linear.marginals(), log.marginals(), atol=1e-12)
    np.testing.assert_allclose(linear.marginals().sum(axis=0), 1.0, atol=1e-12)
    if single_root:
        assert linear.marginals()[-1].sum() == pytest.approx(1.0, abs=1e-12)
    else:
        np.testing.assert_allclose(linear.head_probabilities(), log.head_probabilities(), atol=1e-12)
        np.testing.assert_allclose(linear.head_probabilities().sum(axis=0), 1.0, atol=1e-12)


def clusters(n: int, size: int, far: float, seed: int = 0) -> np.ndarray:
    """Log-weights of clusters that hang together by `far` more than anything else holds them."""
    weights = random_weights(n, 1.0, seed)
    weights[:-1] += far * (np.arange(n)[:, None] // size == np.arange(n) // size)
    return weights


@pytest.mark.parametrize(("far", "in_log_space"), [(20, False), (40, False), (300, False), (800, True), (10**6, True)])
def test_tight_clusters(far: float, in_log_space: bool) -> None:
    """Where LU fails. Pairs almost surely hang together, either span from the other, one of them from elsewhere.

    The pair enters the rest of the graph as one node, so the trees of pairs are the trees of the graph that has one
    node for each pair; its edges are summed over ends and the inner edge that the entered span leaves to the other.
    """
    n = 40
    weights = clusters(n, 2, far)
    result = eliminate(weights)
    assert result.in_log_space == in_log_space
    pairs = np.full((n // 2 + 1, n // 2), -np.inf)
    for c in range(n // 2):
        a, b = 2 * c, 2 * c + 1
        inner = np.array([weights[a, b], weights[b, a]])  # the edge that stays if a, or b, is entered
        for p in range(n // 2 + 1):
            rows = [n] if p == n // 2 else [2 * p, 2 * p + 1]
            pairs[p, c] = log_sum_exp((weights[np.ix_(rows, [a, b])] + inner).ravel(), axis=0)
    reduced = eliminate(pairs - far)
    # Trees that use no inner edge of some pair weigh exp(-far) of the total or less.
    tolerance = 1e-12 + 100 * n * math.exp(-far)
    assert result.log_total == pytest.approx(reduced.log_total + far * n / 2, rel=tolerance)
    marginals = result.marginals()
    np.testing.assert_allclose(marginals.sum(axis=0), 1.0, atol=1e-11)
    of_pairs = marginals[:-1].reshape(n // 2, 2, n // 2, 2).sum(axis=(1, 3))
    np.fill_diagonal(of_pairs, 0.0)
    np.testing.assert_allclose(of_pairs, reduced.marginals()[:-1], atol=1e-11 + tolerance)


def exact_log(integer: int) -> float:
    """Natural logarithm of a positive integer of any size."""
    shift = max(integer.bit_length() - 200, 0)
    return math.log(integer >> shift) + shift * math.log(2)


def exact_determinant(matrix: list[list[int]]) -> int:
    """Fraction-free elimination (Bareiss 1968)."""
    rows = [row[:] for row in matrix]
    sign, previous = 1, 1
    for k in range(len(rows) - 1):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            sign = -sign
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // previous
        previous = rows[k][k]
    return sign * rows[-1][-1]


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("spread", [5, 60, 700, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_integer_arithmetic(spread: int, seed: int, single_root: bool, space: str) -> None:
    """Weights are powers of two, so that the determinant, also without an edge, is an exact integer."""
    rng = np.random.default_rng(seed)
    n = 7
    powers = rng.integers(0, 2 * spread + 1, size=(n + 1, n))
    missing = rng.random((n + 1, n)) < 0.25
    missing[:n] |= np.eye(n, dtype=bool)
    exact = [[0 if missing[i, j] else 2 ** int(powers[i, j]) for j in range(n)] for i in range(n + 1)]

    def total(weights: list[list[int]]) -> int:
        matrix = [[-w for w in row] for row in weights[:n]]
        for j in range(n):
            matrix[j][j] = sum(weights[i][j] for i in range(n + (not single_root)))
        return exact_determinant([weights[n], *matrix[1:]] if single_root else matrix)

    result = eliminate(np.where(missing, -np.inf, powers * math.log(2)), single_root=single_root)
    z = total(exact)
    assert result.log_total == pytest.approx(exact_log(z) if z else -math.inf, rel=1e-14)
    marginals = result.marginals()
    for i, j in np.ndindex(n + 1, n):
        without = [row[:] for row in exact]
        without[i][j] = 0
        expected = (z - total(without)) / z if z else 0.0
        assert marginals[i, j] == pytest.approx(expected, abs=2e-12)


def test_log_sum_exp_of_nothing_and_of_extremes() -> None:
    values = np.array([[-np.inf, -np.inf], [1e300, 1e300], [-1e4, -np.inf]])
    with np.errstate(divide="ignore"):
        result: Any = log_sum_exp(values, axis=1)
    assert result[0] == -np.inf
    assert result[1] == 1e300
    assert result[2] == pytest.approx(-1e4)
    with np.errstate(divide="ignore"):
        assert log_sum_exp(np.empty((2, 0)), axis=1).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("single_root", [False, True])
def test_no_tree(single_root: bool, space: str) -> None:
    weights = np.zeros((4, 3))
    weights[:, 1:] = -np.inf
    weights[2, 1] = weights[1, 2] = 0.0  # the last two spans only reach each other
    result = eliminate(weights, single_root=single_root)
    assert result.log_total == -np.inf
    assert (result.marginals() == 0).all()
    assert (result.head_probabilities() == 0).all()
