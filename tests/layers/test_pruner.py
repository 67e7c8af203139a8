"""The mention score, and pruning against a slow and obvious greedy."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.layers import MentionPruner
from hf_corefel.layers.pruner import prune_spans

Span = tuple[int, int]


def _cross(left: Span, right: Span) -> bool:
    return left[0] < right[0] < left[1] < right[1] or right[0] < left[0] < right[1] < left[1]


def _greedy(scores: list[float], spans: list[Span], limit: int) -> list[int]:
    order = sorted(range(len(spans)), key=lambda i: (-scores[i], *spans[i]))
    retained: list[int] = []
    for i in order:
        if len(retained) < limit and not any(_cross(spans[i], spans[k]) for k in retained):
            retained.append(i)
    return retained


# Few distinct scores, so that ties are common.
_DOCUMENTS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda x: (x[0], x[0] + x[1])), unique=True, max_size=25
).flatmap(
    lambda spans: st.tuples(
        st.just(spans),
        st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=len(spans), max_size=len(spans)),
        st.integers(0, 12),
    )
)


def _prune(scores: list[float], spans: list[Span], limit: int) -> list[int]:
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return prune_spans(np.array(scores, dtype=np.float32), table[:, 0], table[:, 1], limit).tolist()


@settings(max_examples=200, deadline=None)
@given(_DOCUMENTS)
def test_equals_brute_force(document: tuple[list[Span], list[float], int]) -> None:
    spans, scores, limit = document
    retained = _prune(scores, spans, limit)
    assert retained == _greedy(scores, spans, limit)
    assert len(set(retained)) == len(retained) <= limit
    assert not any(_cross(spans[i], spans[j]) for i in retained for j in retained)


@settings(max_examples=50, deadline=None)
@given(_DOCUMENTS, st.randoms(use_true_random=False))
def test_rounding_does_not_choose_among_equals(document: tuple[list[Span], list[float], int], random: Random) -> None:
    spans, scores, limit = document
    rounded = [score + random.uniform(-3e-6, 3e-6) for score in scores]
    assert _prune(rounded, spans, limit) == _prune(scores, spans, limit)


@settings(max_examples=50, deadline=None)
@given(_DOCUMENTS, st.randoms(use_true_random=False))
def test_order_of_the_spans_does_not_matter(document: tuple[list[Span], list[float], int], random: object) -> None:
    spans, scores, limit = document
    order = list(range(len(spans)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = _prune([scores[i] for i in order], [spans[i] for i in order], limit)
    assert [spans[order[i]] for i in shuffled] == [spans[i] for i in _prune(scores, spans, limit)]


def test_nested_spans_stay_and_crossing_ones_go() -> None:
    spans = [(0, 4), (1, 3), (0, 2), (2, 6), (3, 5), (4, 6)]
    assert _prune([5.0, 4.0, 3.0, 2.0, 1.0, 0.0], spans, 9) == [0, 1, 5]
    assert _prune([5.0, 4.0, 0.0, 0.0, 0.0, 0.0], spans, 2) == [0, 1]
    assert _prune([0.0, 4.0, 0.0, 5.0, 0.0, 0.0], spans, 9) == [3, 2, 4]


def test_ties_go_to_the_earlier_then_the_shorter_span() -> None:
    assert _prune([1.0, 1.0, 1.0], [(2, 3), (0, 2), (0, 1)], 2) == [2, 1]


def _select(
    scores: list[list[float]], spans: list[list[Span]], limits: list[int], keep_all: list[bool] | None = None
) -> list[list[int]]:
    size = max(map(len, spans))
    padded = [row + [(0, 1)] * (size - len(row)) for row in spans]
    table = torch.tensor(padded).reshape(len(spans), size, 2)
    mask = torch.arange(size) < torch.tensor([len(row) for row in spans]).unsqueeze(1)
    # Padding has the best score of all and must still not win.
    values = torch.tensor([row + [99.0] * (size - len(row)) for row in scores])
    flags = torch.tensor(keep_all or [False] * len(spans))
    retained = MentionPruner.select(values, table[..., 0], table[..., 1], mask, torch.tensor(limits), flags)
    return retained.tolist()


def test_selection_is_in_reading_order_and_padded_with_minus_one() -> None:
    spans = [[(0, 1), (0, 2), (1, 3), (4, 5)], [(0, 1), (2, 3)]]
    assert _select([[0.0, 1.0, 3.0, 2.0], [0.0, 1.0]], spans, [3, 3]) == [[0, 2, 3], [0, 1, -1]]
    assert _select([[0.0, 1.0, 3.0, 2.0], [0.0, 1.0]], spans, [3, 1]) == [[0, 2, 3], [1, -1, -1]]


def test_fewer_spans_than_wanted_are_not_doubled() -> None:
    assert _select([[1.0, 2.0]], [[(0, 2), (1, 3)]], [50]) == [[1]]


def test_given_mentions_all_stay_even_where_they_cross() -> None:
    spans = [[(1, 3), (0, 2), (0, 4)], [(0, 2), (1, 3), (5, 6)]]
    assert _select([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], spans, [1, 2], [True, False]) == [[1, 2, 0], [1, 2, -1]]


def test_documents_without_spans() -> None:
    empty = torch.zeros(2, 0)
    none = torch.zeros(2, 0, dtype=torch.long)
    retained = MentionPruner.select(empty, none, none, none.bool(), torch.ones(2), torch.zeros(2, dtype=torch.bool))
    assert retained.shape == (2, 0)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_score_is_the_feed_forward_network(depth: int) -> None:
    torch.manual_seed(0)
    pruner = MentionPruner(6, 5, depth, 0.0, 4, 0)
    spans, width = torch.randn(2, 3, 6), torch.ones(2, 3, dtype=torch.long)
    hidden = pruner.project(spans)
    for layer in [m for m in pruner.ffnn.layers if isinstance(m, torch.nn.Linear)]:
        hidden = torch.relu(hidden) @ layer.weight.T + layer.bias
    torch.testing.assert_close(pruner(spans, width), hidden.squeeze(-1))
    assert sum(isinstance(m, torch.nn.Linear) for m in pruner.ffnn.layers) == depth


def test_width_prior_depends_on_the_width_alone() -> None:
    torch.manual_seed(0)
    pruner, spans = MentionPruner(6, 5, 2, 0.0, 3, 4), torch.randn(1, 5, 6)
    width = torch.tensor([[1, 2, 3, 4, 9]])
    prior = pruner(spans, width) - pruner.ffnn(pruner.project(spans))
    assert pruner.width is not None
    expected = pruner.width_ffnn(pruner.width_project(pruner.width.weight[[1, 2, 3, 3, 3]]))
    torch.testing.assert_close(prior[0], expected)
    assert len(set(expected[:3].tolist())) == 3
