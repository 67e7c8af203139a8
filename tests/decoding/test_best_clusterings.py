"""The search for probable clusterings against all clusterings of small random graphs."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.decoding.best_clusterings import ClusteringWeights, best_clusterings
from hf_corefel.decoding.constrained_tree import tops_of
from hf_corefel.trees.graph import EdgeArrays, TreeGraph


def small_graph(seed: int, n: int) -> TreeGraph:
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.5, 2.0, 6.0]))
    root, pairs, candidates = (rng.normal(size=shape) * scale for shape in ((n,), (n, n), (n, 2)))
    pairs[rng.random(pairs.shape) < 0.2] = -np.inf
    ids = np.stack([rng.permutation([-1, 0, 1, 2])[:2] for _ in range(n)])
    return TreeGraph(EdgeArrays(root, candidates, pairs), ids)


def all_clusterings(weights: ClusteringWeights) -> dict:
    """The probability of every clustering, by a sum over its trees."""
    columns = weights.columns
    n = len(columns)
    totals: dict = defaultdict(list)
    for parents in itertools.product(*(np.flatnonzero(row > -np.inf).tolist() for row in columns)):
        if all(_ends(parents, span, n) for span in range(n)):
            score = math.fsum(columns[span, parent] for span, parent in enumerate(parents))
            totals[weights.of_tree(np.array(parents))].append(math.exp(score - weights.graph.log_weight))
    return {parts: math.fsum(chances) for parts, chances in totals.items()}


def _ends(parents: tuple[int, ...], span: int, n: int) -> bool:
    for _ in range(n):
        if parents[span] >= n:
            return True
        span = parents[span]
    return False


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 4), count=st.integers(1, 6))
def test_probabilities_are_exact_and_the_best_is_found(seed: int, n: int, count: int) -> None:
    weights = ClusteringWeights(small_graph(seed, n))
    every = all_clusterings(weights)
    assert math.fsum(every.values()) == pytest.approx(1.0)
    start = next(iter(every))  # any: the search has to find its way
    found = best_clusterings(weights, [start, max(every, key=every.__getitem__)], count, lambda parts: True)
    assert [chance for _, chance in found] == sorted((chance for _, chance in found), reverse=True)
    for parts, chance in found:
        assert math.exp(chance) == pytest.approx(every[parts], rel=1e-9)
    best = sorted(every.values(), reverse=True)[:count]
    assert math.exp(found[0][1]) == pytest.approx(best[0])
    # A search may miss one; that it does not on graphs this small is what its steps are for.
    assert [math.exp(chance) for _, chance in found[:count]] == pytest.approx(best, abs=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 5))
def test_the_best_tree_of_a_clustering_has_its_clusters(seed: int, n: int) -> None:
    weights = ClusteringWeights(small_graph(seed, n))
    rng = np.random.default_rng(seed)
    for parts in list(all_clusterings(weights))[: int(rng.integers(1, 40))]:
        assert weights.of_tree(weights.best_tree(parts)) == parts


def test_tops() -> None:
    ids = np.array([[7], [8], [9], [7]])
    assert tops_of(np.array([5, 0, 4, 5]), ids) == [(True, 7), (True, 7), (False, 2), (True, 7)]
