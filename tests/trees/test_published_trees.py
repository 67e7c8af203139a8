"""The worked example of the paper's appendix, and losses and trees of the original research code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch


def toy(appendix: dict[str, Any], graph_type: Any) -> Any:
    """The appendix' graph: spans s1..s3, and the entities e1, e2 as each span's candidates 1 and 2."""
    with np.errstate(divide="ignore"):
        scores = np.log(np.array(appendix["exp_weights_rows_parent_cols_child"]["matrix"], dtype=float)[:, 3:])
    candidate_rows = np.where(np.isfinite(scores[1:3].T), [1, 2], -1)
    return graph_type(scores[0], scores[3:], scores[1:3].T, candidate_rows)


def test_appendix(appendix: dict[str, Any], graph_type: Any, enumerated: Any, space: str) -> None:
    graph = toy(appendix, graph_type)
    trees = enumerated(graph)
    assert len(trees.trees) == appendix["n_spanning_trees"]
    distribution = graph.distribution()
    assert distribution.log_partition.item() == pytest.approx(math.log(appendix["total_weight"]), rel=1e-14)
    gold = torch.tensor([[0, 1, 0]]), torch.tensor([[1, 2, 1]])  # {e1} is spanless, {e2, s2}, {s1, s3} is unlinked
    unlinked = torch.tensor([[0, 1, 0]]), torch.tensor([[-1, 2, -1]])
    assert distribution.log_numerator(*unlinked).item() == pytest.approx(math.log(appendix["gold_weight"]), rel=1e-14)
    assert -distribution.log_prob(*unlinked).item() == pytest.approx(appendix["loss"], abs=1e-12)
    assert distribution.log_numerator(*gold).item() == -math.inf  # e1 is a candidate of s2 only


@pytest.mark.parametrize(("spans", "total"), [([0, 2], "det_c1"), ([0, 1], "c1_if_s1_s2")])
def test_appendix_clusters(appendix: dict[str, Any], graph_type: Any, spans: list[int], total: str) -> None:
    """A single-root cluster alone; the text's {s1, s2} gives 34, the figure's {s1, s3} the 101 it calculates."""
    mask = torch.zeros(1, 3, dtype=torch.bool)
    mask[0, spans] = True
    distribution = toy(appendix, graph_type).distribution(mask)
    gold = torch.zeros(1, 3, dtype=torch.int64), torch.full((1, 3), -1)
    assert distribution.log_numerator(*gold).exp().item() == pytest.approx(appendix[total], rel=1e-13)


def test_appendix_best_tree(appendix: dict[str, Any], graph_type: Any) -> None:
    best = toy(appendix, graph_type).distribution().argmax
    assert best.parents.tolist() == [[2, 0, 3]]  # r -> s3 -> s1 -> s2
    assert best.score.exp().item() == pytest.approx(appendix["max_tree"]["weight"], rel=1e-13)


def original_graph(case: dict[str, Any], graph_type: Any) -> Any:
    """Rows of the file are children; columns the root, the candidates and the spans; weights exp(asinh(score))."""
    n = case["n_spans"]
    matrix = np.arcsinh(np.array(case["scores"]))
    width = matrix.shape[1] - 1 - n
    candidate_rows = np.full((n, width), -1)
    for span, candidates in enumerate(case["candidates"]):
        candidate_rows[span, : len(candidates)] = candidates
    return graph_type(matrix[:, 0], matrix[:, 1 + width :].T, matrix[:, 1 : 1 + width], candidate_rows)


def test_loss_of_the_original_code(original_case: dict[str, Any], graph_type: Any, space: str) -> None:
    """Its gold entities that no span of the cluster has as a candidate count as none."""
    graph = original_graph(original_case, graph_type)
    links = {int(name): link for name, link in original_case["gold_link_of_cluster"].items() if link is not None}
    cluster_ids = [-1 if c is None else c for c in original_case["gold_cluster_of_span"]]
    entity_rows = []
    for gold in cluster_ids:
        reachable = {e for span, c in enumerate(cluster_ids) if c == gold for e in graph.candidate_rows[span].tolist()}
        entity_rows.append(links[gold] if links.get(gold) in reachable else -1)
    log_prob = graph.distribution().log_prob(torch.tensor([cluster_ids]), torch.tensor([entity_rows]))
    assert -log_prob.item() == pytest.approx(original_case["loss"], abs=1e-8, rel=0)


def test_decoding_of_the_original_code(original_case: dict[str, Any], graph_type: Any, decoded: Any) -> None:
    graph = original_graph(original_case, graph_type)
    clusters = decoded(tuple(graph.distribution().argmax.parents[0].tolist()), graph.candidate_rows)
    expected = original_case["decode_no_filter"]
    assert sorted(sorted(spans) for spans, _ in clusters) == sorted(expected["clusters"])
    links = sorted([span, entity] for spans, entity in clusters for span in spans if entity is not None)
    assert links == sorted(expected["links"])
