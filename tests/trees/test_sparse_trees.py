"""The best tree and the probabilities of a list of edges, against the dense search and against all trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.trees import sparse_marginals
from hf_corefel.trees.arborescence import UnreachableError, maximum_arborescence, unreachable_nodes
from hf_corefel.trees.elimination import eliminate
from hf_corefel.trees.sparse_arborescence import SparseSearch, sparse_search
from hf_corefel.trees.sparse_marginals import SparseMarginals

Scores = np.ndarray


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> Scores:
    """Scores ``[n + 1, n]``, the root last: few or many edges, few or many equal scores, the root near or far."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(0, most))
    scores = rng.integers(-2, 3, (n + 1, n)).astype(float) if draw(st.booleans()) else rng.normal(0, 3, (n + 1, n))
    scores[:n][rng.random((n, n)) < draw(st.sampled_from([0.0, 0.5, 0.9]))] = -np.inf
    scores[n] -= draw(st.sampled_from([0.0, 4.0, 50.0]))
    scores[n][rng.random(n) < draw(st.sampled_from([0.0, 0.5]))] = -np.inf
    np.fill_diagonal(scores[:n], -np.inf)
    return scores


def _search(scores: Scores) -> SparseSearch:
    source, target = np.nonzero(scores[:-1] > -np.inf)
    return sparse_search(scores[-1], source, target, scores[source, target])


def _total(scores: Scores, parents: np.ndarray) -> float:
    return float(scores[parents, np.arange(len(parents))].sum())


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_as_good_as_the_dense_search(scores: Scores) -> None:
    if unreachable_nodes(scores):
        with pytest.raises(UnreachableError) as caught:
            _search(scores)
        assert caught.value.nodes == unreachable_nodes(scores)
        return
    found = _search(scores)
    assert _total(scores, found.parents) == pytest.approx(_total(scores, maximum_arborescence(scores)), abs=1e-9)
    # The same tree where only one is best; sums of whole numbers may be equal though no two of these are.
    if (scores[scores > -np.inf] % 1 != 0).all():
        np.testing.assert_array_equal(found.parents, maximum_arborescence(scores))


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_prices_prove_that_the_tree_is_best(scores: Scores) -> None:
    if unreachable_nodes(scores):
        return
    found = _search(scores)
    source, target = np.nonzero(scores[:-1] > -np.inf)
    assert (scores[source, target] <= found.prices(source, target) + 1e-9).all()
    assert (scores[-1] <= found.thresholds + 1e-9).all()
    # No tree scores more than the sum of all values, and the one that was found scores as much.
    assert found.bound == pytest.approx(_total(scores, found.parents), abs=1e-9)
    assert found.dropped_gain(source, target, scores[source, target]) == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(graphs(8), st.integers(0, 2**32 - 1))
def test_no_more_is_lost_by_dropped_edges_than_their_prices_say(scores: Scores, seed: int) -> None:
    n = scores.shape[1]
    few = scores.copy()
    few[:n][np.random.default_rng(seed).random((n, n)) < 0.5] = -np.inf
    if unreachable_nodes(few):
        return
    found = _search(few)
    source, target = np.nonzero((scores[:n] > -np.inf) & (few[:n] == -np.inf))
    most = found.dropped_gain(source, target, scores[source, target])
    loss = _total(scores, maximum_arborescence(scores)) - _total(scores, found.parents)
    assert -1e-9 <= loss <= most + 1e-9


def test_what_no_edge_helps_is_certified() -> None:
    found = sparse_search(np.array([0.0, -5.0]), np.array([0]), np.array([1]), np.array([1.0]))
    assert found.parents.tolist() == [2, 0]
    # An edge from the second to the first would have to beat the first one's edge from the root.
    assert found.prices(np.array([1]), np.array([0])).tolist() == [0.0]
    assert found.dropped_gain(np.array([1]), np.array([0]), np.array([-0.5])) == 0.0
    assert found.dropped_gain(np.array([1]), np.array([0]), np.array([0.5])) == 0.5


def test_deep_contractions_take_no_recursion() -> None:
    """A chain of which each node is best entered from the next: n contractions, one within the other."""
    n = 3_000
    places = np.arange(n - 1)
    source, target = np.concatenate([places, places + 1]), np.concatenate([places + 1, places])
    score = np.concatenate([np.full(n - 1, 5.0) + places, np.full(n - 1, 5.0) + places])
    found = sparse_search(np.full(n, -1.0), source, target, score)
    assert np.count_nonzero(found.parents == n) == 1
    assert found.bound == pytest.approx(score[: n - 1].sum() - 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_scores(bad: float) -> None:
    with pytest.raises(ValueError, match="must not be NaN or \\+inf"):
        sparse_search(np.array([bad]), np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    with pytest.raises(ValueError, match="must not be NaN or \\+inf"):
        sparse_search(np.zeros(2), np.array([0]), np.array([1]), np.array([bad]))


def _marginals(graph: Any, limit: int = 1000) -> tuple[SparseMarginals, np.ndarray, np.ndarray]:
    edges = graph.span_to_span.copy()
    np.fill_diagonal(edges, -np.inf)
    source, target = np.nonzero(edges > -np.inf)
    candidates = np.where(graph.candidate_rows < 0, -np.inf, graph.candidate_scores)
    found = SparseMarginals(
        graph.root, candidates, graph.candidate_rows, source, target, edges[source, target], block_limit=limit
    )
    return found, source, target


@pytest.mark.parametrize("seed", range(60))
def test_marginals_are_those_of_all_trees(
    seed: int, make_graph: Callable[..., Any], enumerated: Callable[[Any], Any]
) -> None:
    graph = make_graph(seed)
    trees = enumerated(graph)
    if not trees.trees:
        return
    found, source, target = _marginals(graph)
    n = len(graph.root)
    # Edges that were left out change the sum of all probabilities by no more than that.
    most = found.left_out + 1e-7
    parents = np.array(trees.trees)
    weights = np.exp(np.array(trees.scores) - trees.log_partition)
    for span in range(n):
        assert found.root[span] == pytest.approx(weights[parents[:, span] == n].sum(), abs=most)
        for parent, chance in zip(source[target == span], found.edges[target == span], strict=True):
            assert chance == pytest.approx(weights[parents[:, span] == parent].sum(), abs=most)
    entities, chances = found.entities
    wanted = np.zeros((n, len(entities) + 1))
    columns = {**{entity: column for column, entity in enumerate(entities.tolist())}, None: len(entities)}
    for weight, clustering in zip(weights, trees.clusterings, strict=True):
        for members, entity in clustering:
            wanted[list(members), columns[entity]] += weight
    np.testing.assert_allclose(chances.toarray(), wanted, atol=most)


def _two_groups(between: float) -> tuple[int, np.ndarray]:
    """Eight spans in two groups that hang together tightly, and of the edges between them one, of a given score."""
    rng, n = np.random.default_rng(0), 8
    edges = np.full((n, n), -np.inf)
    for group in (range(4), range(4, 8)):
        for i in group:
            for j in group:
                edges[i, j] = rng.normal(1, 1)
    edges[0, 4] = between
    return n, edges


@pytest.mark.parametrize(("between", "most"), [(-25.0, 1e-9), (-5.0, 1e-2)])
def test_blocks_are_as_good_as_edges_between_them_are_weak(between: float, most: float, graph_type: type[Any]) -> None:
    n, edges = _two_groups(between)
    rows = np.array([[0], *[[-1]] * 3, [1], *[[-1]] * 3])
    graph = graph_type(np.zeros(n), edges, np.where(rows < 0, -np.inf, 1.0), rows)
    exact, (cut, _, target) = _marginals(graph)[0], _marginals(graph, limit=4)
    assert exact.between_blocks == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(cut.edges, exact.edges, atol=most)
    np.testing.assert_allclose(cut.entities[1].toarray(), exact.entities[1].toarray(), atol=most)
    np.testing.assert_allclose(np.asarray(cut.entities[1].sum(axis=1)).ravel(), 1.0)
    # Into each span leads one edge.
    total = cut.root + cut.candidates.sum(axis=1)
    np.add.at(total, target, cut.edges)
    np.testing.assert_allclose(total, 1.0)


@pytest.mark.parametrize("limit", [1000, 24])
def test_blocks_that_fit_together_are_one(limit: int) -> None:
    """Two groups of twelve, whose eight best edges into each span are within the group, are exact up to the limit."""
    n = 24
    group = np.arange(n) // 12
    weights = np.vstack([np.where(group[:, None] == group, 1.0, 0.9), np.zeros(n)])
    np.fill_diagonal(weights[:n], -np.inf)
    source, target = np.nonzero(weights[:n] > -np.inf)
    edges = source, target, weights[source, target]
    nothing = np.zeros((n, 0)), np.zeros((n, 0), dtype=np.int64)
    exact = eliminate(weights).marginals()
    found = SparseMarginals(weights[n], *nothing, *edges, block_limit=limit)
    assert found.between_blocks == found.left_out == 0.0
    np.testing.assert_allclose(found.edges, exact[source, target], atol=1e-12)
    np.testing.assert_allclose(found.root, exact[n], atol=1e-12)
    assert SparseMarginals(weights[n], *nothing, *edges, block_limit=23).between_blocks > 1.0


@pytest.mark.parametrize("seed", range(8))
def test_no_block_is_cut_from_another_beside_which_it_has_room(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[np.ndarray] = []
    monkeypatch.setattr(SparseMarginals, "_sum", lambda self, *values: blocks.append(values[4]))
    monkeypatch.setattr(sparse_marginals, "_STRONGEST", 1 + seed % 3)
    rng = np.random.default_rng(seed)
    n, count, limit = 200, 1200, 20
    source, target, score = rng.integers(0, n, count), rng.integers(0, n, count), rng.normal(-8, 6, count)
    SparseMarginals(
        np.zeros(n), np.zeros((n, 0)), np.zeros((n, 0), dtype=np.int64), source, target, score, block_limit=limit
    )
    (block,) = blocks
    sizes = np.bincount(block, minlength=n)
    assert sizes.max() <= limit
    between = (block[source] != block[target]) & (score > -18.0)
    assert (sizes[block[source]] + sizes[block[target]])[between].min() > limit


def test_cut_blocks_agree_about_the_same_within_a_large_one(graph_type: type[Any]) -> None:
    rng = np.random.default_rng(3)
    n = 60
    edges = rng.normal(-3, 2, (n, n))
    rows = rng.integers(-1, 6, (n, 2))
    graph = graph_type(rng.normal(0, 1, n), edges, np.where(rows < 0, -np.inf, rng.normal(0, 1, (n, 2))), rows)
    exact, cut = _marginals(graph)[0], _marginals(graph, limit=20)[0]
    assert cut.between_blocks > 0.5
    assert np.abs(cut.edges - exact.edges).max() < 0.05
    assert np.abs(cut.entities[1].toarray() - exact.entities[1].toarray()).mean() < 0.02
