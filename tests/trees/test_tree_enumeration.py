"""Every method against the list of all trees of random small graphs, with missing edges, ties and padding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# The fixture `space` stays the same for all examples of a test.
random_graphs = settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
seeds = st.integers(0, 2**32 - 1)


@random_graphs
@given(seed=seeds)
def test_log_partition_and_marginals(seed: int, make_graph: Any, enumerated: Any, space: str) -> None:
    graph = make_graph(seed)
    trees = enumerated(graph)
    distribution = graph.distribution()
    assert distribution.log_partition.item() == pytest.approx(trees.log_partition, rel=1e-12, abs=1e-12)
    root, candidates, pairs = (part[0].numpy() for part in distribution.edge_marginals)
    n = len(graph.root)
    columns = np.hstack([pairs.T, root[:, None], candidates])
    for child, parent in np.ndindex(columns.shape):
        expected = trees.probability(lambda i, child=child, parent=parent: trees.trees[i][child] == parent)
        assert columns[child, parent] == pytest.approx(expected, abs=1e-12)
    assert columns.sum() == pytest.approx(n if trees.trees else 0.0)


@random_graphs
@given(seed=seeds)
def test_entity_marginals(seed: int, make_graph: Any, enumerated: Any, space: str) -> None:
    graph = make_graph(seed)
    trees = enumerated(graph)
    marginals = graph.distribution().entity_marginals
    entities = sorted(set(graph.candidate_rows[graph.candidate_rows >= 0].tolist()))
    assert marginals.entity_rows.tolist() == [entities]
    for span in range(len(graph.root)):
        for column, entity in enumerate([*entities, None]):
            expected = trees.probability(
                lambda i, span=span, entity=entity: any(
                    span in members and link == entity for members, link in trees.clusterings[i]
                )
            )
            computed = marginals.nil[0, span] if entity is None else marginals.probability[0, span, column]
            assert computed.item() == pytest.approx(expected, abs=1e-12)


@random_graphs
@given(seed=seeds)
def test_entropy(seed: int, make_graph: Any, enumerated: Any, space: str) -> None:
    graph = make_graph(seed)
    trees = enumerated(graph)
    entropy = graph.distribution().entropy.item()
    if not trees.trees:
        assert math.isnan(entropy)
    else:
        assert entropy == pytest.approx(trees.entropy(), abs=1e-11)
        assert entropy >= 0


@random_graphs
@given(seed=seeds)
def test_log_prob(seed: int, make_graph: Any, enumerated: Any, as_gold: Any, space: str) -> None:
    """For every clustering that some tree decodes to; together they make up all trees."""
    graph = make_graph(seed)
    trees = enumerated(graph)
    distribution = graph.distribution()
    total = 0.0
    for clustering in set(trees.clusterings):
        gold = as_gold(clustering, len(graph.root))
        expected = trees.log_numerator(clustering)
        assert distribution.log_numerator(*gold).item() == pytest.approx(expected, rel=1e-12, abs=1e-12)
        log_prob = distribution.log_prob(*gold).item()
        assert log_prob == pytest.approx(expected - trees.log_partition, rel=1e-12, abs=1e-11)
        total += math.exp(log_prob)
    assert total == pytest.approx(1.0 if trees.trees else 0.0, abs=1e-11)


@random_graphs
@given(seed=seeds, gold_seed=seeds)
def test_log_prob_of_any_gold(
    seed: int, gold_seed: int, make_graph: Any, enumerated: Any, as_gold: Any, space: str
) -> None:
    """Gold drawn at random is often impossible; it is -inf then, and no gradient comes of it."""
    graph = make_graph(seed)
    n = len(graph.root)
    rng = np.random.default_rng(gold_seed)
    ids = rng.integers(0, 3, size=n)
    entities = rng.permutation(4)[:3] - 1
    clustering = frozenset(
        (frozenset(np.flatnonzero(ids == c).tolist()), int(entities[c]) if entities[c] >= 0 else None)
        for c in set(ids.tolist())
    )
    cluster_ids, entity_rows = as_gold(clustering, n)
    *scores, candidate_ids = graph.tensors(requires_grad=True)
    distribution = type(graph.distribution())(*scores, candidate_ids)
    log_prob = distribution.log_prob(cluster_ids, entity_rows)
    trees = enumerated(graph)
    expected = trees.log_numerator(clustering)
    log_prob.sum().backward()
    if expected == -math.inf:
        assert log_prob.item() == -math.inf
        assert all((score.grad == 0).all() for score in scores)
    else:
        assert log_prob.item() == pytest.approx(expected - trees.log_partition, rel=1e-12, abs=1e-11)
        for score, part in zip(scores, (0, 2, 1), strict=True):
            gold_share = torch.autograd.grad(distribution.log_numerator(cluster_ids, entity_rows), score)[0]
            difference = gold_share - distribution.edge_marginals[part]
            torch.testing.assert_close(score.grad, difference, atol=1e-12, rtol=0)


@random_graphs
@given(seed=seeds)
def test_argmax(seed: int, make_graph: Any, enumerated: Any) -> None:
    graph = make_graph(seed)
    trees = enumerated(graph)
    distribution = graph.distribution()
    if not trees.trees:
        with pytest.raises(ValueError, match="document 0 has no spanning tree"):
            _ = distribution.argmax
        return
    parents, score = distribution.argmax
    found = trees.trees.index(tuple(parents[0].tolist()))
    assert score.item() == trees.scores[found]
    assert score.item() == pytest.approx(max(trees.scores), rel=1e-13, abs=1e-13)
