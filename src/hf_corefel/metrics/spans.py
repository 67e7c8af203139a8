"""How many gold mentions are still there after spans are enumerated, and after they are pruned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..moved import renamed_argument, renamed_field
from .counts import ratio

__all__ = ["SpanRecall", "span_recall"]


@renamed_field("kept", "retained")
@dataclass(frozen=True, slots=True)
class SpanRecall:
    """Counts of gold mentions, which add up over documents; ``SpanRecall()`` is the empty sum.

    Attributes:
        gold: All of them.
        enumerated: Those among the enumerated spans: not longer than the limit, at word boundaries.
        retained: Those among the spans that the pruner retained.

    Example:
        >>> from hf_corefel.metrics import span_recall
        >>> span_recall([(0, 4), (8, 11)], [(0, 4), (8, 11)], [(0, 4)]).after_pruning
        0.5
    """

    gold: float = 0.0
    enumerated: float = 0.0
    retained: float = 0.0

    @property
    def after_enumeration(self) -> float:
        """Most recall that any pruner could reach, between 0 and 1; 0 without gold mentions."""
        return ratio(self.enumerated, self.gold)

    @property
    def after_pruning(self) -> float:
        """Most mention recall that any head could reach, between 0 and 1; 0 without gold mentions."""
        return ratio(self.retained, self.gold)

    def __add__(self, other: SpanRecall) -> SpanRecall:
        if not isinstance(other, SpanRecall):
            return NotImplemented
        return SpanRecall(self.gold + other.gold, self.enumerated + other.enumerated, self.retained + other.retained)

    def to_counts(self) -> list[float]:
        """The 3 numbers that add up over documents."""
        return [self.gold, self.enumerated, self.retained]

    def from_counts(self, counts: Sequence[float]) -> SpanRecall:
        """The inverse of `to_counts`."""
        return SpanRecall(*counts)

    def to_dict(self) -> dict[str, float]:
        """Flat scores: ``enumerated_span_recall``, ``kept_span_recall`` and the number of ``gold_spans``."""
        return {
            "enumerated_span_recall": self.after_enumeration,
            "kept_span_recall": self.after_pruning,
            "gold_spans": self.gold,
        }


@renamed_argument("kept", "retained")
def span_recall(
    gold: Iterable[Sequence[int]], enumerated: Iterable[Sequence[int]], retained: Iterable[Sequence[int]]
) -> SpanRecall:
    """Counts the gold mentions of one document among its enumerated and its retained spans.

    Spans are matched exactly; one that comes twice counts once. Without spans no mention is found; without
    gold mentions all counts are 0.

    Args:
        gold: Offsets (begin, end) of the gold mentions. All three may also be integer arrays [spans, 2].
        enumerated: Offsets of all spans that were looked at.
        retained: Offsets of those that the pruner retained.

    Raises:
        ValueError: When something is no pair of offsets, or a retained span is not among the enumerated ones.
    """
    gold_spans, all_spans, retained_spans = (
        _spans(gold, "gold"),
        _spans(enumerated, "enumerated"),
        _spans(retained, "retained"),
    )
    if not retained_spans <= all_spans:
        stray = min(retained_spans - all_spans)
        raise ValueError(f"retained: span {stray} is not among the enumerated spans; are the offsets of one kind?")
    return SpanRecall(
        float(len(gold_spans)), float(len(gold_spans & all_spans)), float(len(gold_spans & retained_spans))
    )


def _spans(spans: Iterable[Sequence[int]], name: str) -> set[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    for span in spans:
        try:
            begin, end = span
            pairs.add((int(begin), int(end)))
        except (TypeError, ValueError):
            raise ValueError(f"{name}: expected pairs of offsets (begin, end), got {span!r}") from None
    return pairs
