"""Percentile bootstrap over documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import NamedTuple

import numpy as np

from hf_corefel.metrics.counts import PrecisionRecallF1
from hf_corefel.metrics.evaluation import Scores
from hf_corefel.metrics.linking import HardCases

__all__ = ["Interval", "bootstrap_interval"]


class Interval(NamedTuple):
    """A confidence interval, ends included."""

    low: float
    high: float


def bootstrap_interval(
    scores: Sequence[Scores],
    key: str,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """How far a score moves when the documents are drawn anew (Efron 1979, percentile method).

    Documents are drawn with replacement, as many as there are; the counts of the drawn ones are added
    up, so the interval is that of the micro score that `evaluate` reports.

    Args:
        scores: One `Scores` a document, from `score_documents`.
        key: A key of `Scores.to_dict`, for example ``"coref_f1"``.
        confidence: Share of the resamples inside the interval, between 0 and 1.
        resamples: How often the documents are drawn.
        seed: Of the draws; the same seed gives the same interval.

    Raises:
        ValueError: When there are no documents, the key is unknown, or confidence or resamples is out of range.
    """
    if not scores:
        raise ValueError("scores: a bootstrap needs at least one document")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence: expected a number between 0 and 1, both excluded, got {confidence!r}")
    if resamples < 1:
        raise ValueError(f"resamples: expected at least 1, got {resamples!r}")
    known = scores[0].to_dict()
    if key not in known:
        raise ValueError(f"key: unknown score {key!r}; the known ones are {', '.join(known)}")
    names = list(scores[0].counts)
    documents = np.array([_flatten(item, names) for item in scores])  # [B, 4 * metrics + 2]
    generator = np.random.default_rng(seed)
    weights = generator.multinomial(len(scores), np.full(len(scores), 1.0 / len(scores)), size=resamples)
    totals = weights @ documents  # [resamples, 4 * metrics + 2]
    values = [_unflatten(row.tolist(), names).to_dict()[key] for row in totals]
    low, high = np.quantile(values, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return Interval(float(low), float(high))


def _flatten(scores: Scores, names: Sequence[str]) -> list[float]:
    return [value for name in names for value in astuple(scores.counts[name])] + [*map(float, scores.hard_cases)]


def _unflatten(row: list[float], names: Sequence[str]) -> Scores:
    counts = {name: PrecisionRecallF1(*row[4 * i : 4 * i + 4]) for i, name in enumerate(names)}
    return Scores(counts, HardCases(round(row[-2]), round(row[-1])))
