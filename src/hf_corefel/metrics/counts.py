"""Numerators and denominators of precision and recall, which add up over documents."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PrecisionRecallF1", "Share", "ratio"]


def ratio(numerator: float, denominator: float) -> float:
    """The quotient, with 0/0 = 0: nothing predicted, or nothing to find, earns nothing."""
    return numerator / denominator if denominator else 0.0


@dataclass(frozen=True, slots=True)
class PrecisionRecallF1:
    """Counts of a metric; the sum of two is the micro-accumulation over both sets of documents.

    The two numerators differ for metrics that weigh from each side (B³, LEA, EL_s).

    Attributes:
        precision_numerator: Credit of the prediction.
        precision_denominator: Most credit that the prediction could have earned.
        recall_numerator: Credit of the gold annotation.
        recall_denominator: Most credit that the gold annotation could have earned.

    Example:
        >>> from hf_corefel.metrics import PrecisionRecallF1
        >>> round(PrecisionRecallF1(1.0, 2.0, 1.0, 1.0).f1, 3)
        0.667
    """

    precision_numerator: float = 0.0
    precision_denominator: float = 0.0
    recall_numerator: float = 0.0
    recall_denominator: float = 0.0

    @property
    def precision(self) -> float:
        """Between 0 and 1; 0 when nothing was predicted."""
        return ratio(self.precision_numerator, self.precision_denominator)

    @property
    def recall(self) -> float:
        """Between 0 and 1; 0 when there was nothing to find."""
        return ratio(self.recall_numerator, self.recall_denominator)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 when both are 0."""
        precision, recall = self.precision, self.recall
        return ratio(2.0 * precision * recall, precision + recall)

    def __add__(self, other: PrecisionRecallF1) -> PrecisionRecallF1:
        if not isinstance(other, PrecisionRecallF1):
            return NotImplemented
        return PrecisionRecallF1(
            self.precision_numerator + other.precision_numerator,
            self.precision_denominator + other.precision_denominator,
            self.recall_numerator + other.recall_numerator,
            self.recall_denominator + other.recall_denominator,
        )


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a number of things were found; the sum of two is the share of both together.

    Attributes:
        found: Those that were found.
        total: All of them.

    Example:
        >>> from hf_corefel.metrics import Share
        >>> (Share(1.0, 2.0) + Share(2.0, 2.0)).found
        3.0
    """

    found: float = 0.0
    total: float = 0.0

    @property
    def value(self) -> float:
        """Between 0 and 1; 0 when there was nothing to find."""
        return ratio(self.found, self.total)

    def __add__(self, other: Share) -> Share:
        if not isinstance(other, Share):
            return NotImplemented
        return Share(self.found + other.found, self.total + other.total)
