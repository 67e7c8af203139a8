"""The batched, differentiable surface: types, masks, gradients, invariances and errors."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from hf_corefel.trees import SpanningTreeDistribution


def random_scores(
    batch: int,
    spans: int,
    candidates: int = 3,
    *,
    seed: int = 0,
    scale: float = 2.0,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Root, pair and candidate scores; each span's first candidate is the entity 5, the rest are drawn from 0..4."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (batch, spans), (batch, spans, spans), (batch, spans, candidates)
    scores = [(torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).to(dtype) for shape in shapes]
    candidate_rows = torch.randint(-1, 5, (batch, spans, candidates), generator=generator)
    candidate_rows[..., 0] = 5
    return scores[0], scores[1], scores[2], candidate_rows


def random_gold(batch: int, spans: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Cluster 0 links to entity 5, clusters 1 and 2 to nothing; some spans are clusters of their own."""
    generator = torch.Generator().manual_seed(seed)
    cluster_ids = torch.randint(-1, 3, (batch, spans), generator=generator)
    return cluster_ids, torch.where(cluster_ids == 0, 5, -1)


@pytest.mark.parametrize("spans", [1, 3, 6])
def test_gradcheck(spans: int, space: str) -> None:
    root, pairs, candidates, candidate_rows = random_scores(2, spans)
    cluster_ids, entities = random_gold(2, spans)
    inputs = tuple(score.requires_grad_() for score in (root, pairs, candidates))

    def log_partition(root: Tensor, pairs: Tensor, candidates: Tensor) -> Tensor:
        return SpanningTreeDistribution(root, pairs, candidates, candidate_rows).log_partition

    def log_prob(root: Tensor, pairs: Tensor, candidates: Tensor) -> Tensor:
        return SpanningTreeDistribution(root, pairs, candidates, candidate_rows).log_prob(cluster_ids, entities)

    assert torch.autograd.gradcheck(log_partition, inputs)
    assert torch.autograd.gradcheck(log_prob, inputs)


def test_gradient_of_a_large_document_agrees_with_the_determinant() -> None:
    """More spans than one panel, against autograd through torch.linalg."""
    root, pairs, *_ = random_scores(1, 70, scale=1.0)
    root.requires_grad_()
    pairs.requires_grad_()
    ours = SpanningTreeDistribution(root, pairs).log_partition.sum()
    weights = pairs[0].exp() * (1 - torch.eye(70))
    plain = torch.linalg.slogdet(torch.diag(weights.sum(dim=0) + root[0].exp()) - weights).logabsdet
    assert ours.item() == pytest.approx(plain.item(), rel=1e-13)
    for computed, expected in zip(
        torch.autograd.grad(ours, [root, pairs]), torch.autograd.grad(plain, [root, pairs]), strict=True
    ):
        torch.testing.assert_close(computed, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_is_promoted(dtype: torch.dtype) -> None:
    root, pairs, candidates, candidate_rows = random_scores(2, 5, dtype=dtype)
    gold = random_gold(2, 5)
    high = SpanningTreeDistribution(root.double(), pairs.double(), candidates.double(), candidate_rows)
    scores = [score.requires_grad_() for score in (root, pairs, candidates)]
    low = SpanningTreeDistribution(root, pairs, candidates, candidate_rows)
    log_prob = low.log_prob(*gold)
    assert log_prob.dtype == low.entropy.dtype == low.edge_marginals.root.dtype == low.argmax.score.dtype
    assert log_prob.dtype == torch.float64
    assert log_prob.tolist() == high.log_prob(*gold).tolist()
    log_prob.sum().backward()
    for score in scores:
        assert score.grad is not None
        assert score.grad.dtype == dtype


def test_no_gradient_is_asked_for_results_that_have_none() -> None:
    root, pairs, candidates, candidate_rows = random_scores(1, 4)
    distribution = SpanningTreeDistribution(root.requires_grad_(), pairs, candidates, candidate_rows)
    assert distribution.log_partition.requires_grad
    results = [*distribution.edge_marginals, *distribution.entity_marginals, distribution.entropy, *distribution.argmax]
    assert not any(result.requires_grad for result in results)


@pytest.mark.parametrize("garbage", [float("nan"), float("inf"), -3.0])
def test_batch_with_masks_equals_one_by_one(garbage: float) -> None:
    """Masked spans may stand anywhere and hold anything."""
    lengths, spans = (6, 1, 0, 4), 7
    root, pairs, candidates, candidate_rows = random_scores(4, spans)
    cluster_ids, entities = random_gold(4, spans)
    mask = torch.zeros(4, spans, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, torch.randperm(spans, generator=torch.Generator().manual_seed(b))[:length]] = True
    root[~mask] = garbage
    candidates[~mask] = garbage
    pairs[~(mask[:, :, None] & mask[:, None, :])] = garbage
    parts = tuple(score.requires_grad_() for score in (root, pairs, candidates))
    together = SpanningTreeDistribution(root, pairs, candidates, candidate_rows, mask)
    log_prob = together.log_prob(cluster_ids, entities)
    gradients = torch.autograd.grad(log_prob.sum(), parts)
    edges, links, best = together.edge_marginals, together.entity_marginals, together.argmax
    for b in range(4):
        at = mask[b].nonzero().flatten()
        inputs = [root[None, b, at], pairs[b][at][:, at][None], candidates[None, b, at]]
        inputs = [part.detach().requires_grad_() for part in inputs]
        alone = SpanningTreeDistribution(inputs[0], inputs[1], inputs[2], candidate_rows[None, b, at])
        expected = alone.log_prob(cluster_ids[None, b, at], entities[None, b, at])
        assert log_prob[b].item() == expected.item()
        assert together.log_partition[b].item() == alone.log_partition.item()
        assert together.entropy[b].item() == alone.entropy.item()
        of_root, of_pairs, of_candidates = torch.autograd.grad(expected.sum(), inputs)
        assert torch.equal(gradients[0][b, at], of_root[0])
        assert torch.equal(gradients[1][b][at][:, at], of_pairs[0])
        assert torch.equal(gradients[2][b, at], of_candidates[0])
        assert torch.equal(edges.root[b, at], alone.edge_marginals.root[0])
        assert torch.equal(edges.candidate_probabilities[b, at], alone.edge_marginals.candidate_probabilities[0])
        assert torch.equal(edges.span_to_span[b][at][:, at], alone.edge_marginals.span_to_span[0])
        found = links.entity_rows[b] >= 0
        assert links.entity_rows[b, found].tolist() == alone.entity_marginals.entity_rows[0].tolist()
        assert torch.equal(links.probability[b, at][:, found], alone.entity_marginals.probability[0])
        assert torch.equal(links.nil[b, at], alone.entity_marginals.nil[0])
        assert best.score[b].item() == alone.argmax.score.item()
        renamed = [*at.tolist(), *range(spans, spans + 4)]
        assert best.parents[b, at].tolist() == [renamed[parent] for parent in alone.argmax.parents[0].tolist()]
    assert (best.parents[~mask] == -1).all()
    outside = ~(mask[:, :, None] & mask[:, None, :])
    assert all((part == 0).all() for part in (edges.root[~mask], edges.span_to_span[outside], gradients[1][outside]))
    assert (links.probability[~mask] == 0).all()


def test_the_document_without_spans_has_one_empty_tree() -> None:
    distribution = SpanningTreeDistribution(torch.zeros(1, 0), torch.zeros(1, 0, 0))
    nothing = torch.zeros(1, 0, dtype=torch.int64)
    assert distribution.log_partition.tolist() == [0.0]
    assert distribution.log_prob(nothing, nothing).tolist() == [0.0]
    assert distribution.entropy.tolist() == [0.0]
    assert distribution.argmax.parents.shape == (1, 0)
    assert distribution.entity_marginals.probability.shape == (1, 0, 0)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_shifting_all_edges_into_a_span(size: float, space: str) -> None:
    """Each tree has exactly one of them, so they all gain the same."""
    root, pairs, candidates, candidate_rows = random_scores(2, 5)
    gold = random_gold(2, 5)
    shift = torch.tensor([[1.0, -2.0, 0.5, 3.0, -1.0], [0.0, 7.0, -7.0, 1.0, 2.0]], dtype=torch.float64) * size
    plain = SpanningTreeDistribution(root, pairs, candidates, candidate_rows)
    moved = SpanningTreeDistribution(
        root + shift, pairs + shift[:, None, :], candidates + shift[:, :, None], candidate_rows
    )
    tolerance = 1e-14 * max(size, 100.0)
    torch.testing.assert_close(
        moved.log_partition, plain.log_partition + shift.sum(dim=1), rtol=1e-14, atol=10 * tolerance
    )
    torch.testing.assert_close(moved.log_prob(*gold), plain.log_prob(*gold), rtol=0, atol=30 * tolerance)
    torch.testing.assert_close(moved.entropy, plain.entropy, rtol=0, atol=30 * tolerance)
    for part in range(3):
        torch.testing.assert_close(moved.edge_marginals[part], plain.edge_marginals[part], rtol=0, atol=10 * tolerance)
    torch.testing.assert_close(
        moved.entity_marginals.probability, plain.entity_marginals.probability, rtol=0, atol=10 * tolerance
    )
    assert moved.argmax.parents.tolist() == plain.argmax.parents.tolist()


def test_impossible_gold_leaves_the_rest_of_the_batch_alone() -> None:
    root, pairs, candidates, candidate_rows = random_scores(2, 3)
    cluster_ids = torch.zeros(2, 3, dtype=torch.int64)
    entities = torch.tensor([[77, 77, 77], [5, 5, 5]])  # nobody has the candidate 77
    parts = [part.requires_grad_() for part in (root, pairs, candidates)]
    log_prob = SpanningTreeDistribution(root, pairs, candidates, candidate_rows).log_prob(cluster_ids, entities)
    assert log_prob[0].item() == -math.inf
    assert math.isfinite(log_prob[1].item())
    log_prob.sum().backward()
    for part in parts:
        assert part.grad is not None
        assert (part.grad[0] == 0).all()
        assert part.grad[1].abs().sum() > 0


def test_a_document_without_trees() -> None:
    """-inf and zeros, not NaN; the loss of its gold is infinite with no gradient."""
    root = torch.tensor([[0.0, -math.inf, -math.inf]], dtype=torch.float64, requires_grad=True)
    pairs = torch.full((1, 3, 3), -math.inf, dtype=torch.float64)
    pairs[0, 1, 2] = pairs[0, 2, 1] = 0.0
    pairs.requires_grad_()
    distribution = SpanningTreeDistribution(root, pairs)
    nil = torch.full((1, 3), -1)
    assert distribution.log_partition.item() == -math.inf
    log_prob = distribution.log_prob(nil, nil)
    assert log_prob.item() == -math.inf
    (log_prob + distribution.log_partition).sum().backward()
    assert root.grad is not None and pairs.grad is not None
    assert (root.grad == 0).all() and (pairs.grad == 0).all()
    assert (distribution.edge_marginals.span_to_span == 0).all()
    assert (distribution.entity_marginals.nil == 0).all()
    assert math.isnan(distribution.entropy.item())


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_scores_do_not_look_like_results(bad: float) -> None:
    root, pairs, candidates, candidate_rows = random_scores(2, 4)
    pairs[1, 0, 2] = bad
    distribution = SpanningTreeDistribution(root, pairs, candidates, candidate_rows)
    gold = torch.zeros(2, 4, dtype=torch.int64), torch.full((2, 4), -1)
    assert distribution.log_partition.isnan().tolist() == [False, True]
    assert distribution.log_prob(*gold).isnan().tolist() == [False, True]
    assert distribution.edge_marginals.root.isnan().all(dim=1).tolist() == [False, True]
    assert distribution.entity_marginals.nil.isnan().all(dim=1).tolist() == [False, True]
    assert distribution.entropy.isnan().tolist() == [False, True]
    with pytest.raises(ValueError, match="NaN"):
        _ = distribution.argmax


def test_padding_candidates_and_the_diagonal_are_not_read() -> None:
    root, pairs, candidates, candidate_rows = random_scores(1, 4)
    plain = SpanningTreeDistribution(root, pairs, candidates, candidate_rows)
    assert (candidate_rows == -1).any()
    noisy = SpanningTreeDistribution(
        root,
        pairs.masked_fill(torch.eye(4, dtype=torch.bool), 1e9),
        candidates.masked_fill(candidate_rows == -1, float("nan")),
        candidate_rows,
    )
    assert plain.log_partition.item() == noisy.log_partition.item()
    assert plain.entropy.item() == noisy.entropy.item()
    assert plain.argmax.parents.tolist() == noisy.argmax.parents.tolist()
    assert all(torch.equal(a, b) for a, b in zip(plain.edge_marginals, noisy.edge_marginals, strict=True))


def test_inputs_are_left_as_they_are() -> None:
    parts = random_scores(2, 5)
    copies = [part.clone() for part in parts]
    distribution = SpanningTreeDistribution(parts[0], parts[1], parts[2], parts[3])
    _ = distribution.log_partition, distribution.argmax, distribution.entity_marginals, distribution.entropy
    assert all(torch.equal(part, copy) for part, copy in zip(parts, copies, strict=True))


def with_shapes(**changes: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "root": torch.zeros(2, 3),
        "span_to_span": torch.zeros(2, 3, 3),
        "candidate_scores": torch.zeros(2, 3, 4),
        "candidate_rows": torch.zeros(2, 3, 4, dtype=torch.int64),
        "mask": torch.ones(2, 3, dtype=torch.bool),
    }
    return parts | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"root": torch.zeros(3)}, "root must have shape"),
        ({"span_to_span": torch.zeros(2, 3, 2)}, "span_to_span must have shape"),
        ({"candidate_scores": torch.zeros(2, 4, 4)}, "candidate_scores must have shape"),
        ({"candidate_rows": torch.zeros(2, 3, 5)}, "candidate_rows must have shape"),
        ({"mask": torch.ones(2, 4)}, "mask must have shape"),
        ({"candidate_rows": None}, "given together"),
        ({"candidate_scores": None}, "given together"),
    ],
)
def test_wrong_shapes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SpanningTreeDistribution(**with_shapes(**changes))


def test_wrong_gold() -> None:
    distribution = SpanningTreeDistribution(**with_shapes())
    with pytest.raises(ValueError, match="cluster_ids must have shape"):
        distribution.log_prob(torch.zeros(2, 2), torch.zeros(2, 3))
    with pytest.raises(ValueError, match="entity_rows must have shape"):
        distribution.log_prob(torch.zeros(2, 3), torch.zeros(2))
    cluster_ids = torch.tensor([[0, 0, -1], [4, 1, 4]])
    with pytest.raises(ValueError, match=r"cluster 4 have different entities: \[-1, 0\]"):
        distribution.log_prob(cluster_ids, torch.tensor([[0, 0, 9], [0, 2, -1]]))
