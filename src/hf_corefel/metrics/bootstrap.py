"""Percentile bootstrap over documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

__all__ = ["Addable", "Interval", "bootstrap_interval"]

S = TypeVar("S", bound="Addable")


class Addable(Protocol):
    """Counts of one document: `Scores`, `ClusterAccuracy`, `SpanRecall`.

    Example:
        >>> from hf_corefel.metrics import Addable, Share
        >>> parts: list[Addable] = [Share(1.0, 2.0), Share(2.0, 2.0)]
        >>> parts[0] + parts[1]
        Share(found=3.0, total=4.0)
    """

    def to_counts(self) -> list[float]:
        """Numbers that add up over documents; as many for every document."""
        ...

    def from_counts(self: S, counts: Sequence[float]) -> S:
        """The counts that have these numbers; the inverse of `to_counts`."""
        ...

    def to_dict(self) -> dict[str, float]:
        """The scores of the counts by key."""
        ...


class Interval(NamedTuple):
    """A confidence interval, ends included.

    Example:
        >>> from hf_corefel.metrics import Interval
        >>> f"{Interval(0.81, 0.86).low:.2f}"
        '0.81'
    """

    low: float
    high: float


def bootstrap_interval(
    scores: Sequence[Addable],
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
        scores: Counts of one kind, one a document: `Scores` from `score_documents`, `SpanRecall`, `ClusterAccuracy`.
        key: A key of their ``to_dict``, for example ``"coref_f1"``.
        confidence: Share of the resamples inside the interval, between 0 and 1.
        resamples: How often the documents are drawn.
        seed: Of the draws; the same seed gives the same interval.

    Raises:
        ValueError: When there are no documents, the key is unknown, or confidence, resamples or seed is no number, or
            out of range.
    """
    if not scores:
        raise ValueError("scores: a bootstrap needs at least one document")
    if not _is_between(confidence, 0.0, 1.0):
        raise ValueError(f"confidence: expected a number between 0 and 1, both excluded, got {confidence!r}")
    for name, value, least in (("resamples", resamples, 1), ("seed", seed, 0)):
        if not _is_whole(value, least):
            raise ValueError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    known = scores[0].to_dict()
    if key not in known:
        raise ValueError(f"key: unknown score {key!r}; the known ones are {', '.join(known)}")
    documents = np.array([item.to_counts() for item in scores])  # [B, counts]
    generator = np.random.default_rng(seed)
    weights = generator.multinomial(len(scores), np.full(len(scores), 1.0 / len(scores)), size=resamples)
    totals = weights @ documents  # [resamples, counts]
    values = [scores[0].from_counts(row.tolist()).to_dict()[key] for row in totals]
    low, high = np.quantile(values, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return Interval(float(low), float(high))


def _is_between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float | np.number) and bool(low < value < high)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and bool(value >= least)
