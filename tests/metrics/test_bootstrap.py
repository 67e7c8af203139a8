from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hf_corefel.metrics import Scores, bootstrap_interval, score_clusters

RIGHT = score_clusters([(["a", "b"], "E")], [(["a", "b"], "E")], candidates={"a": {"E"}, "b": set[str]()}.get)
WRONG = score_clusters([(["a", "b"], "E")], [(["a"], "F"), (["b"], None)], candidates={"a": {"E"}, "b": set[str]()}.get)
MIXED = [RIGHT, WRONG] * 50


def test_equal_documents_have_no_spread() -> None:
    assert bootstrap_interval([RIGHT] * 5, "coref_f1") == (1.0, 1.0)
    assert bootstrap_interval([RIGHT], "hard_cases") == (1.0, 1.0)


@pytest.mark.parametrize("key", ["el_mention_recall", "hard_case_accuracy"])
def test_width_is_that_of_the_binomial(key: str) -> None:
    """Half of 100 documents right: the share has a standard error of 0.05."""
    low, high = bootstrap_interval(MIXED, key, resamples=4000)
    assert low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.012)
    assert high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.012)


def test_resamples_are_of_the_micro_score() -> None:
    """Against a plain loop over drawn documents, with the same generator."""
    documents = [RIGHT, WRONG, RIGHT + WRONG, RIGHT + RIGHT]
    weights = np.random.default_rng(3).multinomial(4, [0.25] * 4, size=200)
    values = [
        sum((s for s, times in zip(documents, row, strict=True) for _ in range(times)), Scores()).coref_f1
        for row in weights
    ]
    expected = np.quantile(values, [0.1, 0.9])
    assert bootstrap_interval(documents, "coref_f1", confidence=0.8, resamples=200, seed=3) == pytest.approx(expected)


def test_seed_decides() -> None:
    few: dict[str, Any] = {"scores": MIXED, "key": "el_mention_precision", "resamples": 50}
    assert bootstrap_interval(**few, seed=1) == bootstrap_interval(**few, seed=1)
    assert bootstrap_interval(**few, seed=1) != bootstrap_interval(**few, seed=2)


def test_more_confidence_is_wider() -> None:
    narrow, wide = (bootstrap_interval(MIXED, "el_mention_recall", confidence=c) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": []}, "scores: a bootstrap needs at least one document"),
        ({"key": "f2"}, "key: unknown score 'f2'; the known ones are coref_f1, "),
        ({"confidence": 1.0}, "confidence: expected a number between 0 and 1"),
        ({"confidence": 0.0}, "confidence: expected a number between 0 and 1"),
        ({"confidence": "0.9"}, "confidence: expected a number between 0 and 1, both excluded, got '0.9'"),
        ({"resamples": 0}, "resamples: expected a whole number of at least 1, got 0"),
        ({"resamples": "10"}, "resamples: expected a whole number of at least 1, got '10'"),
        ({"resamples": 10.0}, "resamples: expected a whole number of at least 1, got 10.0"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
    ],
)
def test_bad_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(**{"scores": MIXED, "key": "coref_f1", **change})
