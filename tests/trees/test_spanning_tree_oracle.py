"""Graphs with scores up to 300 standard deviations, enumerated elsewhere with 60 digits."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from hf_corefel.trees import SpanningTreeDistribution


def close(expected: float) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=1e-9)


def test_log_weights(oracle_case: dict[str, Any], oracle: Any, space: str) -> None:
    graph, cluster_ids, entity_rows = oracle
    expected = oracle_case["expected"]
    distribution = graph.distribution()
    assert distribution.log_partition.dtype == torch.float64
    assert distribution.log_partition.item() == close(expected["log_partition"])
    numerators = [-math.inf if value is None else value for value in expected["log_numerators"]]
    assert distribution.log_numerator(cluster_ids, entity_rows).item() == close(sum(numerators))
    loss = math.inf if expected["loss"] is None else expected["loss"]
    assert -distribution.log_prob(cluster_ids, entity_rows).item() == close(loss)


def test_each_numerator(oracle_case: dict[str, Any], oracle: Any) -> None:
    """A cluster alone: the other spans are masked, so they neither help nor hinder."""
    graph, cluster_ids, entity_rows = oracle
    for number, expected in enumerate(oracle_case["expected"]["log_numerators"]):
        distribution = graph.distribution(mask=cluster_ids == number)
        numerator = distribution.log_numerator(cluster_ids, entity_rows).item()
        assert numerator == close(-math.inf if expected is None else expected)


def probabilities(oracle_case: dict[str, Any], root: Any, pairs: Any, candidates: Any) -> list[tuple[float, float]]:
    """Pairs of computed and expected values; an edge that is not in the file must not have any."""
    result = []
    for child, expected in enumerate(oracle_case["expected"]["marginals"]):
        result.append((root[child].item(), expected.get("root", 0.0)))
        for k in range(candidates.shape[1]):
            result.append((candidates[child, k].item(), expected.get(f"entity:{k}", 0.0)))
        for parent in range(len(root)):
            result.append((pairs[parent, child].item(), expected.get(f"span:{parent}", 0.0)))
    return result


def test_marginals(oracle_case: dict[str, Any], oracle: Any, space: str) -> None:
    marginals = oracle[0].distribution().edge_marginals
    values = probabilities(
        oracle_case, marginals.root[0], marginals.span_to_span[0], marginals.candidate_probabilities[0]
    )
    for computed, expected in values:
        assert computed == pytest.approx(expected, abs=1e-8)


def test_gradients(oracle_case: dict[str, Any], oracle: Any, space: str) -> None:
    """The partition's gradient are the marginals; the loss has the gold trees' marginals taken off."""
    graph, cluster_ids, entity_rows = oracle
    root, pairs, candidates, ids = graph.tensors(requires_grad=True)
    scores = [root, pairs, candidates]
    distribution = SpanningTreeDistribution(root, pairs, candidates, ids)
    gradients = torch.autograd.grad(distribution.log_partition.sum(), scores)
    for computed, expected in probabilities(oracle_case, *(gradient[0] for gradient in gradients)):
        assert computed == pytest.approx(expected, abs=1e-8)

    loss = -distribution.log_prob(cluster_ids, entity_rows)
    of_loss = torch.autograd.grad(loss.sum(), scores)
    if oracle_case["expected"]["loss"] is None:
        assert all((gradient == 0).all() for gradient in of_loss)
        return
    numerator = distribution.log_numerator(cluster_ids, entity_rows).sum()
    of_gold = torch.autograd.grad(numerator, scores)
    for gradient, all_trees, gold_trees in zip(of_loss, gradients, of_gold, strict=True):
        torch.testing.assert_close(gradient, all_trees - gold_trees, atol=1e-12, rtol=0)
    # Every gold tree has one edge into each span, all from inside its cluster or from above.
    into = of_gold[0] + of_gold[1].sum(dim=1) + of_gold[2].sum(dim=2)
    torch.testing.assert_close(into, torch.ones_like(into), atol=1e-8, rtol=0)
    same = cluster_ids[:, :, None] == cluster_ids[:, None, :]
    assert (of_gold[1][~same] == 0).all()


def test_best_tree(oracle_case: dict[str, Any], oracle: Any) -> None:
    graph = oracle[0]
    best = oracle_case["expected"]["best_tree"]
    parents, score = graph.distribution().argmax
    n = len(graph.root)
    assert score.item() == close(best["score"])
    names = {n: "root"} | {i: f"span:{i}" for i in range(n)}
    names |= {n + 1 + k: f"entity:{k}" for k in range(graph.candidate_scores.shape[1])}
    assert [names[parent] for parent in parents[0].tolist()] == best["parents"]
