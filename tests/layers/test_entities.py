"""Entity scores against FFNN_L on the written-out concatenation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from hf_corefel.layers import EntityScorer
from hf_corefel.layers.entities import candidate_coverage, expected_entities

SPAN, ENTITY = 6, 4
CANDIDATES = torch.tensor([[[0, 2, -1], [1, -1, -1], [-1, -1, -1]], [[3, -1, 0], [2, 1, 3], [0, 0, 0]]])


def _scorer(depth: int = 2, *, prior: bool = False, nil: bool = True, root: bool = True) -> EntityScorer:
    torch.manual_seed(depth)
    scorer = EntityScorer(SPAN, ENTITY, 5, depth, 0.0, prior, nil, root).double()
    for name, parameter in scorer.named_parameters(recurse=False):
        assert name in ("nil", "root")
        nn.init.normal_(parameter)
    return scorer


def _inputs() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 3, SPAN), (2, 3, 3), (2, 4, ENTITY))
    spans, priors, vectors = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    return spans, -priors.abs(), vectors


def _naive(scorer: EntityScorer, span: Tensor, entity: Tensor, log_prior: Tensor | None = None) -> Tensor:
    inputs, blocks = [span, entity], [scorer.span.weight, scorer.entity.weight]
    if scorer.prior is not None and log_prior is not None:
        inputs.append(log_prior.reshape(1))
        blocks.append(scorer.prior.weight)
    hidden = torch.cat(blocks, dim=1) @ torch.cat(inputs) + scorer.span.bias
    for layer in [m for m in scorer.ffnn.layers if isinstance(m, nn.Linear)]:
        hidden = layer.weight @ torch.relu(hidden) + layer.bias
    return hidden.squeeze()


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("prior", [False, True])
def test_equals_network_on_the_concatenation(depth: int, prior: bool) -> None:
    scorer, (spans, log_priors, vectors) = _scorer(depth, prior=prior), _inputs()
    scores = scorer(spans, CANDIDATES, log_priors, vectors)
    assert scores.shape == CANDIDATES.shape
    for b, n, k in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(3)).tolist():
        row = int(CANDIDATES[b, n, k])
        expected = torch.zeros(()).double()
        if row >= 0:
            expected = _naive(scorer, spans[b, n], vectors[b, row], log_priors[b, n, k])
        torch.testing.assert_close(scores[b, n, k], expected, rtol=1e-10, atol=1e-12)


def test_prior_changes_scores_only_on_request() -> None:
    spans, log_priors, vectors = _inputs()
    plain, informed = _scorer(), _scorer(prior=True)
    other = log_priors - 1.0
    assert torch.equal(plain(spans, CANDIDATES, log_priors, vectors), plain(spans, CANDIDATES, other, vectors))
    assert not torch.equal(
        informed(spans, CANDIDATES, log_priors, vectors), informed(spans, CANDIDATES, other, vectors)
    )


@pytest.mark.parametrize("depth", [0, 2])
def test_nil_and_root_are_entities_of_their_own(depth: int) -> None:
    scorer, (spans, _, _) = _scorer(depth), _inputs()
    for scores, vector in ((scorer.score_nil(spans), scorer.nil), (scorer.score_root(spans), scorer.root)):
        for b in range(2):
            for n in range(3):
                torch.testing.assert_close(scores[b, n], _naive(scorer, spans[b, n], vector), rtol=1e-10, atol=1e-12)
    assert not torch.equal(scorer.score_nil(spans), scorer.score_root(spans))


def test_vectors_exist_on_request_only() -> None:
    assert {name for name, _ in _scorer(nil=False).named_parameters(recurse=False)} == {"root"}
    scorer = _scorer(nil=False, root=False)
    assert not list(scorer.named_parameters(recurse=False))
    scorer.add_nil()
    assert scorer.nil.shape == (ENTITY,)


def test_no_candidates_and_no_entities() -> None:
    scorer, (spans, log_priors, vectors) = _scorer(prior=True), _inputs()
    nothing = torch.full_like(CANDIDATES, -1)
    assert torch.equal(scorer(spans, nothing, log_priors, vectors[:, :0]), torch.zeros(2, 3, 3, dtype=torch.float64))


def test_gradients_reach_every_parameter_and_no_padding() -> None:
    scorer, (spans, log_priors, vectors) = _scorer(prior=True), _inputs()
    log_priors.requires_grad_(), spans.requires_grad_()
    total = scorer(spans, CANDIDATES, log_priors, vectors).tanh().sum()
    (total + scorer.score_nil(spans).tanh().sum() + scorer.score_root(spans).tanh().sum()).backward()
    for name, value in [*scorer.named_parameters(), ("spans", spans)]:
        assert value.grad is not None and torch.isfinite(value.grad).all() and value.grad.abs().sum() > 0, name
    assert log_priors.grad is not None
    assert torch.equal(log_priors.grad == 0, CANDIDATES < 0)


def test_products_equal_the_written_out_sum() -> None:
    torch.manual_seed(0)
    scorer = EntityScorer(SPAN, ENTITY, 5, 2, 0.0, True, True, False, use_product=True, use_context=True).double()
    nn.init.normal_(scorer.nil)
    spans, log_priors, vectors = _inputs()
    mention = torch.randn(2, 3, dtype=torch.float64)
    scores = scorer(spans, CANDIDATES, log_priors, vectors, mention)
    plain = EntityScorer(SPAN, ENTITY, 5, 2, 0.0, True, True, False).double()
    plain.load_state_dict(scorer.state_dict(), strict=False)
    checked = 0
    for b in range(2):
        weight = torch.zeros(4, dtype=torch.float64)
        for n, k in torch.cartesian_prod(torch.arange(3), torch.arange(3)).tolist():
            if CANDIDATES[b, n, k] >= 0:
                weight[CANDIDATES[b, n, k]] += torch.sigmoid(mention[b, n]) * log_priors[b, n, k].exp()
        mean = (weight.unsqueeze(1) * vectors[b]).sum(0) / weight.sum()
        for n, k in torch.cartesian_prod(torch.arange(3), torch.arange(3)).tolist():
            row = int(CANDIDATES[b, n, k])
            if row < 0:
                assert scores[b, n, k] == 0.0
                continue
            entity, span = vectors[b, row], spans[b, n]
            hidden = scorer.span(span) + scorer.entity(entity) + scorer.prior(log_priors[b, n, k].reshape(1))
            hidden = hidden + scorer.product(scorer.factor(span) * entity) + scorer.context(entity * mean)
            torch.testing.assert_close(scores[b, n, k], scorer.ffnn(hidden), rtol=1e-10, atol=1e-12)
            checked += 1
    assert checked > 5
    assert not torch.allclose(scores, plain(spans, CANDIDATES, log_priors, vectors, mention))
    hidden = scorer.span(spans) + scorer.entity(scorer.nil) + scorer.product(scorer.factor(spans) * scorer.nil)
    torch.testing.assert_close(scorer.score_nil(spans), scorer.ffnn(hidden))


def test_support_equals_the_written_out_sums() -> None:
    torch.manual_seed(0)
    scorer = EntityScorer(SPAN, ENTITY, 5, 2, 0.0, True, False, False, use_support=True).double()
    assert scorer.support is not None and scorer.prior is not None
    spans, log_priors, vectors = _inputs()
    mention = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    scores = scorer(spans, CANDIDATES, log_priors, vectors, mention)
    cells = torch.cartesian_prod(torch.arange(3), torch.arange(3)).tolist()
    several = 0
    for b in range(2):
        weight = {
            (n, k): float(torch.sigmoid(mention.detach()[b, n]) * log_priors[b, n, k].exp())
            for n, k in cells
            if CANDIDATES[b, n, k] >= 0
        }
        for n, k in weight:
            row = int(CANDIDATES[b, n, k])
            same = [weight[cell] for cell in weight if int(CANDIDATES[(b, *cell)]) == row]
            several += len(same) > 1
            support = torch.tensor([max(same), math.log1p(sum(same) - weight[n, k])], dtype=torch.float64)
            hidden = scorer.span(spans[b, n]) + scorer.entity(vectors[b, row])
            hidden = hidden + scorer.prior(log_priors[b, n, k].reshape(1)) + scorer.support(support)
            torch.testing.assert_close(scores[b, n, k], scorer.ffnn(hidden), rtol=1e-9, atol=1e-11)
    assert several >= 2
    # How probable mentions are is the pruner's business.
    scores.sum().backward()
    assert mention.grad is None


def test_coverage_equals_the_written_out_features() -> None:
    torch.manual_seed(0)
    scorer = EntityScorer(SPAN, ENTITY, 5, 2, 0.0, True, False, False, use_coverage=True).double()
    assert scorer.coverage is not None and scorer.prior is not None
    spans, log_priors, vectors = _inputs()
    scores = scorer(spans, CANDIDATES, log_priors, vectors)
    for b, n in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        known = [k for k in range(3) if CANDIDATES[b, n, k] >= 0]
        logs = {k: float(log_priors[b, n, k]) for k in known}
        total = sum(map(math.exp, logs.values()))
        for k in known:
            features = [total, math.log(len(known)), math.exp(logs[k]) / total, logs[k] - max(logs.values())]
            hidden = scorer.span(spans[b, n]) + scorer.entity(vectors[b, int(CANDIDATES[b, n, k])])
            hidden = hidden + scorer.prior(log_priors[b, n, k].reshape(1))
            hidden = hidden + scorer.coverage(torch.tensor(features, dtype=torch.float64))
            torch.testing.assert_close(scores[b, n, k], scorer.ffnn(hidden), rtol=1e-9, atol=1e-11)
        assert not scores[b, n][CANDIDATES[b, n] < 0].any()


def test_padding_changes_no_bit_of_the_coverage() -> None:
    rows = torch.arange(6).expand(1, 4, 6)
    log_priors = -torch.rand(1, 4, 6, generator=torch.Generator().manual_seed(2))
    wider = candidate_coverage(
        torch.nn.functional.pad(rows, (0, 30), value=-1), torch.nn.functional.pad(log_priors, (0, 30))
    )
    assert torch.equal(wider[:, :, :6], candidate_coverage(rows, log_priors)) and not wider[:, :, 6:].any()


def test_the_context_of_one_document_does_not_reach_another() -> None:
    torch.manual_seed(0)
    scorer = EntityScorer(SPAN, ENTITY, 5, 2, 0.0, True, False, False, use_context=True, use_support=True).double()
    spans, log_priors, vectors = _inputs()
    mention = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    together = scorer(spans, CANDIDATES, log_priors, vectors, mention)
    for b in range(2):
        part = slice(b, b + 1)
        alone = scorer(spans[part], CANDIDATES[part], log_priors[part], vectors[part], mention[part])
        torch.testing.assert_close(together[part], alone)
    # How probable mentions are is the pruner's business: the context weighs with it and does not train it.
    together.sum().backward()
    assert mention.grad is None
    none = torch.full_like(CANDIDATES, -1)
    assert torch.equal(scorer(spans, none, log_priors, vectors, mention), torch.zeros(2, 3, 3).double())


def test_expected_entities_are_the_means_by_priors() -> None:
    vectors = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], [[5.0, 7.0], [0.0, 0.0], [0.0, 0.0]]])
    candidate_rows = torch.tensor([[[0, 1], [2, -1], [-1, -1]], [[0, -1], [0, 0], [-1, -1]]])
    priors = torch.tensor([[[0.5, 0.25], [0.9, 0.0], [0.0, 0.0]], [[1.0, 0.0], [2.0, 1.0], [0.0, 0.0]]])
    found = expected_entities(candidate_rows, priors.clamp(min=1e-9).log(), vectors)
    # The last span of the second document has priors that sum to 3: their shares.
    expected = torch.tensor([[[0.5, 0.25], [1.8, 1.8], [0.0, 0.0]], [[5.0, 7.0], [5.0, 7.0], [0.0, 0.0]]])
    torch.testing.assert_close(found, expected)
    assert expected_entities(candidate_rows[:, :0], priors[:, :0], vectors).shape == (2, 0, 2)
