"""Span vectors against a softmax written out span by span."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hf_corefel.layers import NUM_CASES, SpanRepresentation

HIDDEN, MAX_WORDS = 5, 3
BEGIN = torch.tensor([[0, 0, 2, 1, 5], [1, 3, 0, 0, 0]])
END = torch.tensor([[1, 4, 6, 3, 6], [2, 5, 1, 1, 1]])
WIDTH = torch.tensor([[1, 3, 2, 2, 1], [1, 7, 0, 0, 0]])
MASK = torch.tensor([[True] * 5, [True, True, False, False, False]])
CASE = torch.tensor([[[0, 1], [2, 3], [4, 5], [6, 0], [1, 1]], [[1, 2], [6, 6], [0, 0], [0, 0], [0, 0]]])


def _layer(case_size: int = 0, dropout: float = 0.0) -> SpanRepresentation:
    torch.manual_seed(1)
    return SpanRepresentation(HIDDEN, MAX_WORDS, 4, case_size, dropout).double()


def _subwords(scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 6, HIDDEN, generator=generator, dtype=torch.float64) * scale


def _naive(layer: SpanRepresentation, subwords: Tensor) -> Tensor:
    rows = []
    for b in range(2):
        for s in range(5):
            if not MASK[b, s]:
                rows.append(subwords.new_zeros(layer.size))
                continue
            span = subwords[b, BEGIN[b, s] : END[b, s]]
            weights = torch.softmax(span @ layer.attention.weight[0] + layer.attention.bias, dim=0)
            parts = [span[0], span[-1], layer.width.weight[min(int(WIDTH[b, s]), MAX_WORDS)], weights @ span]
            if layer.case is not None:
                parts += [layer.case.weight[CASE[b, s, 0]], layer.case.weight[CASE[b, s, 1]]]
            rows.append(torch.cat(parts))
    return torch.stack(rows).reshape(2, 5, -1)


@pytest.mark.parametrize("case_size", [0, 3])
@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_equals_softmax_of_every_span(case_size: int, scale: float) -> None:
    layer, subwords = _layer(case_size), _subwords(scale)
    vectors = layer(subwords, BEGIN, END, WIDTH, CASE if case_size else None, MASK)
    assert vectors.shape == (2, 5, 3 * HIDDEN + 4 + 2 * case_size)
    assert vectors.shape[-1] == layer.size
    torch.testing.assert_close(vectors, _naive(layer, subwords), rtol=1e-12, atol=1e-12)


def test_padding_is_zero_and_has_no_influence() -> None:
    layer, subwords = _layer(), _subwords()
    vectors = layer(subwords, BEGIN, END, WIDTH, None, MASK)
    assert torch.equal(vectors[1, 2:], torch.zeros(3, layer.size, dtype=torch.float64))
    begin, end = BEGIN.masked_fill(~MASK, 4), END.masked_fill(~MASK, 6)
    assert torch.equal(layer(subwords, begin, end, WIDTH, None, MASK), vectors)


def test_gradients_equal_those_of_the_written_out_softmax() -> None:
    layer, subwords = _layer(3), _subwords().requires_grad_()
    weight = torch.randn(2, 5, layer.size, dtype=torch.float64)
    inputs = [subwords, *layer.parameters()]
    ours = torch.autograd.grad((layer(subwords, BEGIN, END, WIDTH, CASE, MASK) * weight).sum(), inputs)
    naive = torch.autograd.grad((_naive(layer, subwords) * weight).sum(), inputs)
    for left, right in zip(ours, naive, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)


def test_gradcheck_of_the_attention() -> None:
    layer = _layer()
    last = END - 1
    assert torch.autograd.gradcheck(
        lambda subwords: layer._attend(subwords, BEGIN, last), (_subwords().requires_grad_(),)
    )


def test_every_letter_case_has_its_vector() -> None:
    layer = _layer(3)
    assert layer.case is not None and layer.case.num_embeddings == NUM_CASES
    one = torch.zeros(1, NUM_CASES, dtype=torch.long)
    case = torch.stack([torch.arange(NUM_CASES), torch.zeros(NUM_CASES, dtype=torch.long)], dim=-1).unsqueeze(0)
    vectors = layer(_subwords()[:1], one, one + 1, one + 1, case, one == 0)
    assert torch.equal(vectors[0, :, -6:-3], layer.case.weight)


def test_case_embedding_without_cases_says_so() -> None:
    with pytest.raises(ValueError, match="span_cases"):
        _layer(3)(_subwords(), BEGIN, END, WIDTH, None, MASK)


def test_dropout_acts_in_training_only() -> None:
    layer, subwords = _layer(dropout=0.5), _subwords()
    trained = layer.train()(subwords, BEGIN, END, WIDTH, None, MASK)
    plain = layer.eval()(subwords, BEGIN, END, WIDTH, None, MASK)
    dropped = (trained == 0) & (plain != 0)
    assert dropped.any()
    torch.testing.assert_close(trained[~dropped], 2 * plain[~dropped])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_attention_is_normalised_in_single_precision_at_least(dtype: torch.dtype) -> None:
    """Subwords that are all alike have their own vector as the mean, in whatever precision."""
    layer = _layer().to(dtype)
    subwords = torch.ones(2, 6, HIDDEN, dtype=dtype)
    mixed = layer._attend(subwords, BEGIN, END - 1)
    assert mixed.dtype == dtype
    torch.testing.assert_close(mixed, torch.ones_like(mixed), rtol=2e-2 if dtype == torch.bfloat16 else 1e-6, atol=0)
