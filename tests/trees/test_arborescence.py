"""The maximum arborescence against networkx, on graphs with ties, missing edges and deep contractions."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from hf_corefel.trees import SpanningTreeDistribution
from hf_corefel.trees.arborescence import UnreachableError, maximum_arborescence, unreachable_nodes


def networkx_score(scores: np.ndarray) -> float:
    """Score of the best tree by networkx, -inf if there is none.

    networkx 3.6 misses the tree of some sparse graphs in `maximum_spanning_arborescence`, since a branching of fewer
    but heavier edges outweighs it; here every edge is worth more than all differences of scores together.
    """
    n = scores.shape[1]
    edges = [(i, j) for i, j in np.ndindex(scores.shape) if i != j and scores[i, j] > -np.inf]
    if not edges:
        return -math.inf
    values = [scores[edge] for edge in edges]
    worth = (n + 1) * (max(values) - min(values) + 1)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((i, j, float(scores[i, j] - min(values) + worth)) for i, j in edges)
    branching = nx.maximum_branching(graph)
    if branching.number_of_edges() < n:
        return -math.inf
    return math.fsum(scores[edge] for edge in branching.edges)


def score_of(parents: np.ndarray, scores: np.ndarray) -> float:
    """Score of a tree, checked to be one."""
    n = len(parents)
    for node in range(n):
        steps = 0
        while node != n:
            node = parents[node]
            steps += 1
            assert steps <= n, "the parents make a cycle"
    return math.fsum(scores[parent, child] for child, parent in enumerate(parents))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("levels", [2, 5, None])
def test_same_score_as_networkx(seed: int, levels: int | None) -> None:
    """3,000 graphs in all: few levels of scores mean many ties, None means none."""
    rng = np.random.default_rng([seed, levels or 0])
    for _ in range(100):
        n = int(rng.integers(1, 8))
        scores = rng.integers(levels, size=(n + 1, n)).astype(float) if levels else rng.normal(size=(n + 1, n)) * 50
        scores[rng.random(scores.shape) < rng.choice([0.0, 0.3, 0.7])] = -np.inf
        expected = networkx_score(scores)
        if expected == -math.inf:
            with pytest.raises(UnreachableError):
                maximum_arborescence(scores)
        else:
            parents = maximum_arborescence(scores)
            assert score_of(parents, scores) == pytest.approx(expected, rel=1e-13, abs=1e-12)
            assert parents.tolist() == maximum_arborescence(scores.copy()).tolist()


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("far", [0.0, 30.0])
def test_same_score_as_networkx_on_larger_graphs(n: int, far: float) -> None:
    """`far` holds clusters of three together, so that cycles are contracted within contracted cycles."""
    rng = np.random.default_rng(n)
    scores = rng.normal(size=(n + 1, n)) * 5
    groups = np.arange(n) // 3
    scores[:n] += far * (groups[:, None] == groups) + far / 2 * (groups[:, None] // 3 == groups // 3)
    assert score_of(maximum_arborescence(scores), scores) == pytest.approx(networkx_score(scores), rel=1e-13)


@pytest.mark.parametrize("n", [2, 9, 300])
def test_nested_cycles(n: int) -> None:
    """A chain in both directions, entered only at its far end: each cycle contracts into the next."""
    scores = np.full((n + 1, n), -np.inf)
    for i in range(n - 1):
        scores[i, i + 1] = 2.0 * n - i
        scores[i + 1, i] = 2.0 * n - i
    scores[n, n - 1] = -5.0
    assert maximum_arborescence(scores).tolist() == [*range(1, n), n]
    scores[n, 0] = -4.0
    assert maximum_arborescence(scores).tolist() == [n, *range(n - 1)]


def test_more_than_one_root_edge() -> None:
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    assert maximum_arborescence(scores).tolist() == [2, 2]


def test_ties_prefer_root_then_candidates_then_spans() -> None:
    candidate_rows = torch.tensor([[[4, 3], [9, 8], [1, 2]]])
    zeros = torch.zeros(1, 3), torch.zeros(1, 3, 3), torch.zeros(1, 3, 2)
    assert SpanningTreeDistribution(*zeros, candidate_rows).argmax.parents.tolist() == [[3, 3, 3]]
    without_root = SpanningTreeDistribution(zeros[0] - 1, *zeros[1:], candidate_rows)
    assert without_root.argmax.parents.tolist() == [[4, 4, 4]]
    last = torch.tensor([[[-1.0, 0.0], [-5.0, -5.0], [-5.0, -5.0]]])
    spans_left = SpanningTreeDistribution(zeros[0] - 1, zeros[1], last, candidate_rows)
    assert spans_left.argmax.parents.tolist() == [[5, 0, 0]]
    assert spans_left.argmax.score.tolist() == [0.0]


def test_unreachable_spans_are_named_by_their_place_in_the_document() -> None:
    root = torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -math.inf, -math.inf]])
    pairs = torch.full((2, 4, 4), -math.inf)
    pairs[1, 2, 3] = pairs[1, 3, 2] = 5.0
    mask = torch.tensor([[True] * 4, [True, False, True, True]])
    distribution = SpanningTreeDistribution(root, pairs, mask=mask)
    with pytest.raises(ValueError, match=r"document 1 has no spanning tree: .* spans \[2, 3\]"):
        _ = distribution.argmax
    assert unreachable_nodes(np.array([[-np.inf, 1.0], [-np.inf, -np.inf], [0.0, -np.inf]])) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_broken_scores(bad: float) -> None:
    with pytest.raises(ValueError, match="NaN"):
        maximum_arborescence(np.array([[0.0, bad], [0.0, 0.0], [0.0, 0.0]]))


def test_empty_graph() -> None:
    result: Any = maximum_arborescence(np.empty((1, 0)))
    assert result.shape == (0,)
