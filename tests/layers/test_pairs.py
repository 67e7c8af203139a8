"""Pair scores against FFNN_C on the written-out concatenation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from hf_corefel.layers import PairScorer, pairs
from hf_corefel.layers.pairs import NUM_DISTANCES, distance_bucket

SIZE, COUNT = 6, 7


def _scorer(product_dim: int = 0, depth: int = 2) -> PairScorer:
    torch.manual_seed(product_dim + depth)
    scorer = PairScorer(SIZE, 5, depth, 0.0, 4, product_dim, with_root=True).double()
    nn.init.normal_(scorer.root)
    return scorer


def _spans(batch: int = 2, count: int = COUNT) -> Tensor:
    return torch.randn(batch, count, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def _naive(scorer: PairScorer, child: Tensor, parent: Tensor, distance: int) -> Tensor:
    """FFNN_C([g_child; g_parent; product; φ]) with one matrix over the concatenation."""
    left, right = (child, parent) if scorer.factor is None else (scorer.factor(child), scorer.factor(parent))
    inputs = torch.cat([child, parent, left * right, scorer.distance.weight[distance]])
    blocks = (scorer.child, scorer.parent, scorer.product, scorer.distance_project)
    hidden = torch.cat([block.weight for block in blocks], dim=1) @ inputs + scorer.child.bias
    for layer in [m for m in scorer.ffnn.layers if isinstance(m, nn.Linear)]:
        hidden = layer.weight @ torch.relu(hidden) + layer.bias
    return hidden.squeeze()


@pytest.mark.parametrize("product_dim", [0, 3])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_equals_network_on_the_concatenation(product_dim: int, depth: int) -> None:
    scorer, spans = _scorer(product_dim, depth), _spans()
    scores = scorer(spans)
    assert scores.shape == (2, COUNT, COUNT)
    for b in range(2):
        for i in range(COUNT):
            for j in range(COUNT):
                distance = int(distance_bucket(torch.tensor(abs(i - j))))
                expected = _naive(scorer, spans[b, j], spans[b, i], distance) if i != j else torch.zeros(()).double()
                torch.testing.assert_close(scores[b, i, j], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("product_dim", [0, 3])
def test_root_is_a_parent_at_distance_zero(product_dim: int) -> None:
    scorer, spans = _scorer(product_dim), _spans()
    scores = scorer.score_root(spans)
    for b in range(2):
        for j in range(COUNT):
            torch.testing.assert_close(
                scores[b, j], _naive(scorer, spans[b, j], scorer.root, 0), rtol=1e-10, atol=1e-12
            )


@pytest.mark.parametrize("product_dim", [0, 3])
def test_expected_embeddings_join_the_concatenation_and_the_factors_of_the_product(product_dim: int) -> None:
    torch.manual_seed(1)
    scorer = PairScorer(SIZE, 5, 2, 0.0, 4, product_dim, with_root=True, entity_size=2).double()
    for parameter in (scorer.root, *(layer.weight for layer in scorer.meaning.values())):
        nn.init.normal_(parameter)
    spans, expected_embeddings = _spans(1), torch.randn(1, COUNT, 2, dtype=torch.float64)
    none = torch.zeros(2, dtype=torch.float64)
    weights = {name: layer.weight for name, layer in scorer.meaning.items()}

    def naive(child: Tensor, of_child: Tensor, parent: Tensor, of_parent: Tensor, distance: int) -> Tensor:
        left, right = (g if scorer.factor is None else scorer.factor(g) for g in (child, parent))
        product = (left + weights["factor"] @ of_child) * (right + weights["factor"] @ of_parent)
        inputs = torch.cat([child, parent, product, scorer.distance.weight[distance], of_child, of_parent])
        blocks = (scorer.child, scorer.parent, scorer.product, scorer.distance_project)
        matrix = torch.cat([*(block.weight for block in blocks), weights["child"], weights["parent"]], dim=1)
        hidden = matrix @ inputs + scorer.child.bias
        for layer in [m for m in scorer.ffnn.layers if isinstance(m, nn.Linear)]:
            hidden = layer.weight @ torch.relu(hidden) + layer.bias
        return hidden.squeeze()

    scores, root = (
        scorer(spans, expected_embeddings=expected_embeddings)[0],
        scorer(spans, expected_embeddings=expected_embeddings, of_root=True)[0],
    )
    for j in range(COUNT):
        child = spans[0, j], expected_embeddings[0, j]
        torch.testing.assert_close(root[j], naive(*child, scorer.root, none, 0), rtol=1e-10, atol=1e-12)
        for i in range(COUNT):
            if i != j:
                expected = naive(
                    *child, spans[0, i], expected_embeddings[0, i], int(distance_bucket(torch.tensor(abs(i - j))))
                )
                torch.testing.assert_close(scores[i, j], expected, rtol=1e-10, atol=1e-12)


def test_antecedents_only_is_the_upper_triangle() -> None:
    scorer, spans = _scorer(), _spans()
    full, half = scorer(spans), scorer(spans, antecedents_only=True)
    torch.testing.assert_close(half, full.triu(1), rtol=0, atol=0)
    assert full.tril(-1).abs().min(dim=-1).values.max() >= 0 and full[:, 1:, 0].abs().min() > 0


@pytest.mark.parametrize("antecedents_only", [False, True])
@pytest.mark.parametrize("chunk", [2, 7, 10_000])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, antecedents_only: bool, chunk: int) -> None:
    scorer, spans = _scorer(3), _spans()
    expected = scorer(spans, antecedents_only)
    monkeypatch.setattr(pairs, "_CHUNK", chunk)
    with torch.no_grad():
        chunked = scorer(spans, antecedents_only)
    torch.testing.assert_close(chunked, expected.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("antecedents_only", [False, True])
def test_chunks_have_the_same_gradient(monkeypatch: pytest.MonkeyPatch, antecedents_only: bool) -> None:
    """Hidden layers of a chunk are computed again in the backward pass, with the same dropout."""
    calls: list[int] = []
    gradients = []
    for chunk in (10_000, 7):
        scorer, spans = _scorer(3), _spans().requires_grad_()
        scorer.product.register_forward_hook(lambda *unused, chunk=chunk: calls.append(chunk))
        monkeypatch.setattr(pairs, "_CHUNK", chunk)
        monkeypatch.setattr(pairs, "CHUNK_IN_CACHE", chunk)
        (scorer(spans, antecedents_only) ** 2).sum().backward()
        gradients.append([spans.grad, *(p.grad for n, p in scorer.named_parameters() if n != "root")])
    # 21 pairs, of either of two documents.
    assert (calls.count(10_000), calls.count(7)) == (1, 12)
    for whole, chunked in zip(*gradients, strict=True):
        torch.testing.assert_close(chunked, whole, rtol=1e-10, atol=1e-12)


def test_chunks_keep_their_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_CHUNK", 7)
    monkeypatch.setattr(pairs, "CHUNK_IN_CACHE", 7)
    scorer = PairScorer(SIZE, 5, 2, 0.5, 4, 0, with_root=False).double().train()
    spans = _spans(1, 5)

    def scores(spans: Tensor) -> Tensor:
        torch.manual_seed(3)
        return scorer(spans)

    assert not torch.equal(scores(spans), scorer.eval()(spans))
    scorer.train()
    assert torch.autograd.gradcheck(scores, spans.requires_grad_())


def test_distance_buckets() -> None:
    starts = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 5, 7: 5, 8: 6, 15: 6, 16: 7, 31: 7, 32: 8, 63: 8, 64: 9, 999: 9}
    assert distance_bucket(torch.tensor(list(starts))).tolist() == list(starts.values())
    assert NUM_DISTANCES == 10


@pytest.mark.parametrize("count", [0, 1])
def test_no_pairs(count: int) -> None:
    assert torch.equal(_scorer()(_spans(count=count)), torch.zeros(2, count, count, dtype=torch.float64))


def test_gradients_reach_every_parameter_and_the_spans() -> None:
    scorer, spans = _scorer(3), _spans().requires_grad_()
    (scorer(spans).tanh().sum() + scorer.score_root(spans).tanh().sum()).backward()
    for name, value in [*scorer.named_parameters(), ("spans", spans)]:
        assert value.grad is not None and torch.isfinite(value.grad).all() and value.grad.abs().sum() > 0, name


def test_gradcheck() -> None:
    scorer = _scorer(3)
    assert torch.autograd.gradcheck(lambda spans: scorer(spans), (_spans(1, 4).requires_grad_(),))


@pytest.mark.parametrize("chunk", [1, 4, 1000])
@pytest.mark.parametrize("grad", [False, True])
def test_padding_has_no_pairs_and_numbers_say_how_far_spans_are(
    monkeypatch: pytest.MonkeyPatch, chunk: int, grad: bool
) -> None:
    """Three of seven spans, by their numbers among the seven, score as they do among these."""
    scorer, spans = _scorer(3), _spans()
    monkeypatch.setattr(pairs, "_CHUNK", chunk)
    monkeypatch.setattr(pairs, "CHUNK_IN_CACHE", chunk)
    chosen = torch.tensor([[0, 3, 6, -1], [1, 2, -1, -1]])
    mask = chosen >= 0
    some = spans.gather(1, chosen.clamp(min=0).unsqueeze(-1).expand(-1, -1, SIZE))
    with torch.set_grad_enabled(grad):
        whole, scores = scorer(spans), scorer(some, mask=mask, order=chosen)
    for b in range(2):
        for i in range(4):
            for j in range(4):
                both = i != j and bool(mask[b, i] and mask[b, j])
                expected = whole[b, chosen[b, i], chosen[b, j]] if both else torch.zeros(()).double()
                torch.testing.assert_close(scores[b, i, j], expected, rtol=1e-10, atol=1e-12)
