"""Many clusters eliminated side by side, against each on its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hf_corefel.trees import SpanningTreeDistribution, elimination
from hf_corefel.trees.blocks import Blocks
from hf_corefel.trees.elimination import eliminate


def document(sizes: list[int], scale: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores [N, N] and [N], the spans of the clusters (one span is in none) and which have a single root edge."""
    rng = np.random.default_rng(seed)
    n = sum(sizes) + 1
    span_to_span = rng.normal(size=(n, n)) * scale
    np.fill_diagonal(span_to_span, -np.inf)
    rho = rng.normal(size=n) * scale
    return span_to_span, rho, rng.permutation(n)[: sum(sizes)], rng.random(len(sizes)) < 0.5


def assert_blocks(
    sizes: list[int], span_to_span: np.ndarray, rho: np.ndarray, spans: np.ndarray, single: np.ndarray
) -> None:
    """Total and marginals are those of the clusters one by one, and nothing else is written."""
    blocks = Blocks(span_to_span, rho, spans, np.array(sizes, dtype=np.int64), single)
    total = 0.0
    expected, expected_above = np.full(span_to_span.shape, 7.0), np.full(rho.shape, 7.0)
    for inner, single_root in zip(np.split(spans, np.cumsum(sizes)[:-1]), single, strict=True):
        alone = eliminate(np.vstack([span_to_span[np.ix_(inner, inner)], rho[inner]]), single_root=bool(single_root))
        total += alone.log_total
        expected[np.ix_(inner, inner)], expected_above[inner] = alone.marginals()[:-1], alone.marginals()[-1]
    assert blocks.log_total == pytest.approx(total, rel=1e-13, abs=1e-12)
    if not math.isfinite(total):
        return
    found, above = np.full(span_to_span.shape, 7.0), np.full(rho.shape, 7.0)
    blocks.marginals_into(found, above)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(above, expected_above, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("sizes", [[2], [5], [7, 3, 3, 2], [4] * 10, [32, 20, 11, 5, 2, 2]])
def test_side_by_side_as_one_by_one(sizes: list[int], scale: float, space: str) -> None:
    for seed in range(4):
        assert_blocks(sizes, *document(sizes, scale, seed))


@pytest.mark.parametrize("seed", range(30))
def test_missing_edges(seed: int) -> None:
    """Some clusters need another order, some have no tree."""
    sizes = [4, 3, 2]
    span_to_span, rho, spans, single = document(sizes, 2.0, seed)
    rng = np.random.default_rng(seed)
    span_to_span[rng.random(span_to_span.shape) < 0.4] = -np.inf
    rho[rng.random(rho.shape) < 0.3] = -np.inf
    assert_blocks(sizes, span_to_span, rho, spans, single)


def test_a_head_that_is_not_last() -> None:
    """The first span has no parent but the root, so it must be eliminated last; its neighbours are not disturbed."""
    sizes = [3, 3]
    span_to_span, rho, spans, _ = document(sizes, 1.0, 0)
    span_to_span[:, spans[0]] = -np.inf
    assert_blocks(sizes, span_to_span, rho, spans, np.array([True, True]))
    blocks = Blocks(span_to_span, rho, spans, np.array(sizes), np.array([True, True]))
    assert math.isfinite(blocks.log_total)


def test_moderate_clusters_need_no_elimination_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [6, 4, 4, 2]
    parts = document(sizes, 3.0, 1)
    expected = Blocks(*parts[:3], np.array(sizes), parts[3]).log_total
    monkeypatch.setattr("hf_corefel.trees.blocks.eliminate", None)
    assert Blocks(*parts[:3], np.array(sizes), parts[3]).log_total == expected
    monkeypatch.setattr(elimination, "LINEAR_SPACE_LIMIT", -math.inf)
    with pytest.raises(TypeError):
        Blocks(*parts[:3], np.array(sizes), parts[3])


@pytest.mark.parametrize("limit", [1, 3, 6])
def test_clusters_too_large_for_the_batch(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters of 6, 4, 2 and 1 spans, linked and not; from any size on they may be eliminated alone."""
    generator = torch.Generator().manual_seed(limit)
    shapes = (1, 14), (1, 14, 14), (1, 14, 2)
    scores = [torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    cluster_ids = torch.tensor([[7, 2, 7, 0, 2, 7, -1, 7, 0, 2, 7, 5, 7, 2]])
    entity_rows = torch.tensor([[3, -1, 3, 4, -1, 3, -1, 3, 4, -1, 3, 9, 3, -1]])
    candidates = torch.stack([entity_rows, torch.full_like(entity_rows, 8)], dim=-1)

    def loss() -> tuple[float, tuple[torch.Tensor, ...]]:
        log_prob = SpanningTreeDistribution(*scores, candidates).log_prob(cluster_ids, entity_rows)
        return log_prob.item(), torch.autograd.grad(log_prob.sum(), scores)

    expected, gradients = loss()
    monkeypatch.setattr("hf_corefel.trees.graph.BATCH_LIMIT", limit)
    found, of_found = loss()
    assert found == pytest.approx(expected, rel=1e-13)
    for computed, wanted in zip(of_found, gradients, strict=True):
        torch.testing.assert_close(computed, wanted, atol=1e-13, rtol=0)


def test_no_clusters() -> None:
    nothing = np.empty(0, dtype=np.int64)
    blocks = Blocks(np.zeros((3, 3)), np.zeros(3), nothing, nothing, np.empty(0, dtype=bool))
    assert blocks.log_total == 0.0
    above = np.ones(3)
    blocks.marginals_into(np.zeros((3, 3)), above)
    assert above.tolist() == [1.0, 1.0, 1.0]
