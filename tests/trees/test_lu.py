"""LAPACK's factorisation is taken where it is as exact as the elimination without subtraction, and only there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.trees import elimination, lu
from hf_corefel.trees.elimination import Elimination, eliminate


def normal_weights(n: int, scale: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n + 1, n)) * scale


def tight_weights(n: int, size: int, far: float, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    """Log-weights of clusters that hang together by `far` more than anything else holds them."""
    weights = normal_weights(n, scale, seed)
    weights[:-1] += far * (np.arange(n)[:, None] // size == np.arange(n) // size)
    return weights


def without_lu(weights: np.ndarray) -> Elimination:
    """The elimination without subtraction."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "factorise", lambda _: None)
        result = eliminate(weights)
    assert result.lu is None
    return result


def from_inverse(result: Elimination) -> np.ndarray | None:
    """Marginals of the fast path, if it is taken."""
    return None if result.lu is None else lu.inverse_marginals(result.weights, result.lu)


def assert_same(result: Elimination, expected: Elimination, tolerance: float) -> None:
    assert result.log_total == pytest.approx(expected.log_total, abs=tolerance, rel=1e-15)
    np.testing.assert_allclose(result.marginals(), expected.marginals(), rtol=0, atol=tolerance)
    np.testing.assert_allclose(result.head_probabilities(), expected.head_probabilities(), rtol=0, atol=tolerance)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 2, 3, 20, 121, 400])
def test_moderate_scores_take_the_fast_path(n: int, scale: float) -> None:
    for seed in range(5 if n < 400 else 1):
        weights = normal_weights(n, scale, seed)
        result = eliminate(weights)
        assert result.lu is not None
        assert not result.in_log_space
        assert from_inverse(result) is not None
        assert_same(result, without_lu(weights), 1e-11)


@pytest.mark.parametrize("size", [2, 4, 10])
@pytest.mark.parametrize("far", [20.0, 30.0, 40.0])
def test_tight_clusters_are_refused(far: float, size: int) -> None:
    assert eliminate(tight_weights(120, size, far)).lu is None


@pytest.mark.parametrize("n", [2, 33, 70])
@pytest.mark.parametrize("limit", ["INVERSE_LIMIT", "MARGINAL_ERROR_LIMIT"])
def test_the_reverse_pass_takes_the_factors_of_lapack(n: int, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the inverse is refused, but the factorisation is not."""
    weights = normal_weights(n, 1.0)
    monkeypatch.setattr(lu, limit, 0.0)
    result = eliminate(weights)
    assert result.lu is not None
    assert from_inverse(result) is None
    assert_same(result, without_lu(weights), 1e-12)


def test_the_inverse_is_refused_where_its_differences_cancel() -> None:
    """In a pair that hangs together by 1e4, marginals are differences of numbers as large."""
    weights = np.log(np.array([[0.0, 1.0], [1.0, 0.0], [1e-4, 1e-4]]) + 1e-300)
    exact = without_lu(weights)
    assert lu.inverse_marginals(exact.weights, lu.Factorisation(exact.factors, exact.pivots, error=0.0)) is None


def test_no_fast_path_where_log_space_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "LINEAR_SPACE_LIMIT", -math.inf)
    assert eliminate(normal_weights(20, 1.0)).in_log_space


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_broken_weights_are_refused(bad: float) -> None:
    weights = np.exp(normal_weights(5, 1.0))
    np.fill_diagonal(weights, 0.0)
    assert lu.factorise(weights) is not None
    weights[2, 3] = bad
    with np.errstate(invalid="ignore"):
        assert lu.factorise(weights) is None


def test_a_graph_without_trees_is_refused() -> None:
    weights = np.zeros((4, 3))
    weights[3, 0] = weights[1, 2] = weights[2, 1] = 1.0
    with np.errstate(all="ignore"):
        assert lu.factorise(weights) is None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    scale=st.floats(0.0, 40.0),
    missing=st.sampled_from([0.0, 0.0, 0.3, 0.9]),
)
def test_whatever_is_accepted_agrees(seed: int, n: int, scale: float, missing: float) -> None:
    """Random scores of any size, with missing edges."""
    weights = normal_weights(n, scale, seed)
    weights[:-1][np.random.default_rng(seed).random((n, n)) < missing] = -np.inf
    assert_same(eliminate(weights), without_lu(weights), 1e-11)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    size=st.integers(2, 6),
    far=st.floats(2.0, 16.0),
    scale=st.floats(0.0, 3.0),
)
def test_whatever_is_accepted_at_the_border_agrees(seed: int, n: int, size: int, far: float, scale: float) -> None:
    """Clusters about as tight as the certificates bear; the bound of the error holds."""
    weights = tight_weights(n, size, far, scale, seed)
    result, expected = eliminate(weights), without_lu(weights)
    assert_same(result, expected, 1e-10)
    if result.lu is not None:
        rounding = 1e-15 * (n + abs(expected.log_total))
        assert abs(result.log_total - expected.log_total) <= result.lu.error + rounding


def test_the_certificate_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, these graphs would come out wrong."""
    weights = tight_weights(40, 2, 25.0)
    expected = without_lu(weights)
    monkeypatch.setattr(lu, "ERROR_LIMIT", math.inf)
    wrong = eliminate(weights)
    assert wrong.lu is not None
    assert abs(wrong.log_total - expected.log_total) > 1e-8
    assert wrong.lu.error > abs(wrong.log_total - expected.log_total)

    weights = tight_weights(40, 2, 12.0)
    monkeypatch.setattr(lu, "INVERSE_LIMIT", math.inf)
    monkeypatch.setattr(lu, "MARGINAL_ERROR_LIMIT", math.inf)
    marginals = from_inverse(eliminate(weights))
    assert marginals is not None
    assert np.abs(marginals - without_lu(weights).marginals()).max() > 1e-12
