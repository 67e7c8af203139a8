"""What spans have in common, against sets of words and dicts of candidates."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hf_corefel.layers import PairScorer
from hf_corefel.layers.matches import NUM_MATCHES, match_features

Span = tuple[int, int, dict[int, float]]  # first word, words, candidates with priors


def _features(words: list[list[int]], spans: list[list[Span]], slots: int = 3) -> Tensor:
    """Of a padded batch of documents; what stands on padding must not matter."""
    batch, count = len(words), max(map(len, spans))
    forms = torch.full((batch, max(map(len, words))), -1)
    first, width = torch.full((batch, count), 2), torch.full((batch, count), 5)
    rows, priors = torch.full((batch, count, slots), -1), torch.zeros(batch, count, slots)
    mask = torch.zeros(batch, count, dtype=torch.bool)
    for b in range(batch):
        forms[b, : len(words[b])] = torch.tensor(words[b])
        for n, (begin, length, candidates) in enumerate(spans[b]):
            first[b, n], width[b, n], mask[b, n] = begin, length, True
            for k, (entity, prior) in enumerate(candidates.items()):
                rows[b, n, k], priors[b, n, k] = entity, math.log(prior)
    return match_features(forms, first, width, rows, priors, mask)


def _expected(words: list[int], one: Span, other: Span) -> list[float]:
    left, right = (words[begin : begin + length] for begin, length, _ in (one, other))
    shared, union = set(left) & set(right), set(left) | set(right)
    return [
        min(1.0, sum(math.sqrt(prior * other[2].get(entity, 0.0)) for entity, prior in one[2].items())),
        len(shared) / len(union),
        len(shared) / min(len(set(left)), len(set(right))),
        float(set(left) == set(right) and len(left) == len(right)),
        float(left[-1] == right[-1]),
    ]


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[int], list[Span]]:
    words = draw(st.lists(st.integers(0, 5), min_size=1, max_size=8))
    spans = []
    for _ in range(draw(st.integers(0, 5))):
        begin = draw(st.integers(0, len(words) - 1))
        candidates = draw(st.dictionaries(st.integers(0, 4), st.floats(0.01, 1.0), max_size=3))
        spans.append((begin, draw(st.integers(1, len(words) - begin)), candidates))
    return words, spans


@settings(max_examples=60, deadline=None)
@given(st.lists(documents(), min_size=1, max_size=3))
def test_features_are_the_written_out_ones(batch: list[tuple[list[int], list[Span]]]) -> None:
    features = _features([words for words, _ in batch], [spans for _, spans in batch])
    assert features.dtype == torch.float32 and features.shape[-1] == NUM_MATCHES
    assert torch.equal(features, features.transpose(1, 2))
    for b, (words, spans) in enumerate(batch):
        for i, one in enumerate(spans):
            for j, other in enumerate(spans):
                assert features[b, i, j].tolist() == pytest.approx(_expected(words, one, other), abs=1e-6)
        assert not features[b, len(spans) :].any() and not features[b, :, len(spans) :].any()


def test_no_words_and_no_spans() -> None:
    assert _features([[]], [[]]).shape == (1, 0, 0, NUM_MATCHES)
    assert _features([[], [1]], [[], [(0, 1, {})]])[1, 0, 0].tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]


def test_half_precision_around_it_changes_nothing() -> None:
    words, spans = [0, 1, 2, 0], [(0, 2, {0: 0.7, 3: 0.3}), (1, 3, {3: 0.123}), (3, 1, {})]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = _features([words], [spans])
    assert torch.equal(half, _features([words], [spans]))


def _scorer() -> PairScorer:
    torch.manual_seed(0)
    return PairScorer(6, 5, 2, 0.0, 4, 3, with_root=True, use_matches=True).double()


def test_matches_are_one_more_input_of_the_pair_scorer() -> None:
    scorer, spans = _scorer(), torch.randn(2, 4, 6, dtype=torch.float64)
    nn.init.normal_(scorer.root)
    half = torch.rand(2, 4, 4, NUM_MATCHES)
    matches = half + half.transpose(1, 2)
    scores, without = scorer(spans, matches=matches), scorer(spans)
    assert scorer.match is not None and scorer.factor is not None
    factor = scorer.factor(spans)
    for b in range(2):
        for i in range(4):
            for j in range(4):
                if i == j:
                    continue
                hidden = scorer.child(spans[b, j]) + scorer.parent(spans[b, i])
                hidden = hidden + scorer.product(factor[b, i] * factor[b, j])
                # Distances up to four have a bucket each.
                hidden = hidden + scorer.distance_project(scorer.distance.weight[abs(i - j)])
                hidden = hidden + scorer.match(matches[b, i, j].double())
                torch.testing.assert_close(scores[b, i, j], scorer.ffnn(hidden), rtol=1e-10, atol=1e-12)
    assert not torch.allclose(scores, without)
    # The root has neither words nor candidates.
    assert torch.equal(scorer(spans, matches=matches, of_root=True), scorer.score_root(spans))
