"""The best tree under constraints against all trees of small random graphs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.decoding.constrained_draws import constrained_draws
from hf_corefel.decoding.constrained_tree import (
    NIL,
    UNKNOWN,
    ConstraintSearch,
    SpanGroup,
    best_constrained_tree,
    holds,
    tops_of,
)

Case = tuple[np.ndarray, np.ndarray, list[SpanGroup], set[tuple[int, int]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Scores of up to four spans, groups of some of them, and pairs of groups that are apart."""
    n, width = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = np.round(rng.normal(size=(n, n + 1 + width)) * 3, draw(st.sampled_from([0, 6])))
    columns[rng.random(columns.shape) < draw(st.sampled_from([0.0, 0.2]))] = -np.inf
    ids = rng.integers(-1, 3, size=(n, width))
    for row in ids:  # an entity stands once among a span's candidates
        for k in range(1, width):
            if row[k] in row[:k]:
                row[k] = -1
    columns[:, n + 1 :][ids < 0] = -np.inf
    columns[np.arange(n), np.arange(n)] = -np.inf
    number = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    entity = st.sampled_from([UNKNOWN, UNKNOWN, NIL, 0, 1, 2])
    groups = [
        SpanGroup(tuple(span for span in range(n) if number[span] == g), draw(entity))
        for g in sorted(set(number) - {2})
    ]
    apart = set(draw(st.lists(st.sampled_from([(0, 1)]), max_size=1))) if len(groups) > 1 else set()
    return columns, ids, groups, apart


def all_trees(columns: np.ndarray) -> Any:
    n = len(columns)
    for parents in itertools.product(*(np.flatnonzero(row > -np.inf).tolist() for row in columns)):
        if all(_ends(parents, span, n) for span in range(n)):
            yield np.array(parents), math.fsum(columns[span, parent] for span, parent in enumerate(parents))


def _ends(parents: tuple[int, ...], span: int, n: int) -> bool:
    for _ in range(n):
        if parents[span] >= n:
            return True
        span = parents[span]
    return False


@settings(max_examples=200, deadline=None, derandomize=True)
@given(case=cases())
def test_is_the_best_of_those_that_fit(case: Case) -> None:
    columns, ids, groups, apart = case
    fitting = [(score, parents) for parents, score in all_trees(columns) if holds(tops_of(parents, ids), groups, apart)]
    found = best_constrained_tree(columns, ids, groups, apart)
    if not fitting:
        assert found is None
        return
    assert found is not None
    parents, is_best = found
    assert is_best
    assert holds(tops_of(parents, ids), groups, apart)
    score = math.fsum(columns[np.arange(len(parents)), parents])
    assert score == pytest.approx(max(score for score, _ in fitting), abs=1e-12)


@pytest.mark.parametrize("limit", [0, 5, 100])
def test_short_of_time_it_takes_one_that_fits(limit: int) -> None:
    rng = np.random.default_rng(7)
    n, width = 30, 2
    columns = rng.normal(size=(n, n + 1 + width)) * 2
    columns[np.arange(n), np.arange(n)] = -np.inf
    ids = np.stack([np.arange(n) % 5, 5 + np.arange(n) % 3], axis=1)
    groups = [SpanGroup((0, 7, 20)), SpanGroup((3, 11), NIL), SpanGroup((5,)), SpanGroup((8, 9), 2)]
    apart = {(0, 1), (0, 2), (1, 2), (2, 3)}
    found = best_constrained_tree(columns, ids, groups, apart, limit=limit)
    assert found is not None
    assert holds(tops_of(found[0], ids), groups, apart)


def test_large_tight_clusters_come_apart() -> None:
    """A mention that has to leave a cluster of 20, each of which would take it, and one that has to join another."""
    rng = np.random.default_rng(1)
    n = 40
    cluster = np.arange(n) // 20
    columns = np.full((n, n + 2), -4.0) + rng.normal(size=(n, n + 2)) * 0.3
    columns[:, :n][cluster[:, None] == cluster] += 8.0
    columns[np.arange(n), np.arange(n)] = -np.inf
    columns[:, n + 1] += 6.0
    ids = cluster[:, None]
    groups = [SpanGroup((0, 21)), SpanGroup((1,)), SpanGroup((25,), NIL)]
    found = best_constrained_tree(columns, ids, groups, {(0, 1)})
    assert found is not None
    tops = tops_of(found[0], ids)
    assert holds(tops, groups, {(0, 1)})


@settings(max_examples=30, deadline=None, derandomize=True)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_draws_have_the_conditional_probabilities(case: Case, seed: int) -> None:
    columns, ids, groups, apart = case
    columns = columns / 2
    fitting = {
        tuple(parents.tolist()): score
        for parents, score in all_trees(columns)
        if holds(tops_of(parents, ids), groups, apart)
    }
    search = ConstraintSearch(columns, ids, groups, apart)
    count = 1500
    drawn = list(itertools.islice(constrained_draws(search, 50 * count, np.random.default_rng(seed)), count))
    if not fitting:
        assert drawn == []
        return
    assert len(drawn) == count
    counts = Counter(tuple(parents.tolist()) for parents in drawn)
    total = math.fsum(math.exp(score) for score in fitting.values())
    for tree, score in fitting.items():
        chance = math.exp(score) / total
        assert abs(counts.pop(tree, 0) / count - chance) < 5.5 * math.sqrt(chance / count) + 1e-3
    assert not counts


def test_draws_under_constraints_of_probability_near_zero() -> None:
    """Four mentions that belong to two clusters are to be one, against odds of e to the 40."""
    rng = np.random.default_rng(0)
    n = 20
    cluster = np.arange(n) // 10
    columns = rng.normal(size=(n, n + 2)) - 10.0
    columns[:, :n][cluster[:, None] == cluster] += 20.0
    columns[np.arange(n), np.arange(n)] = -np.inf
    columns[:, n + 1] += 12.0
    groups = [SpanGroup((0, 1, 12, 13))]
    search = ConstraintSearch(columns, cluster[:, None], groups, set())
    drawn = list(itertools.islice(constrained_draws(search, 10_000, np.random.default_rng(1)), 4))
    assert len(drawn) == 4
    assert all(holds(tops_of(parents, cluster[:, None]), groups, set()) for parents in drawn)
