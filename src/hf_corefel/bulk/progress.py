"""How far a job is: documents, documents a second, and the time that is left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["JobProgress", "Meter"]

# Reports that the speed is that of.
_RECENT = 200


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is.

    Attributes:
        documents: How many are done, by earlier runs too.
        failed: How many of them failed.
        per_second: Documents a second of late; None before there are any.
        fraction: How much of the input that is, from 0 to 1; None where nobody knows its end.
        seconds_left: How long the rest takes at that speed; None where nobody knows.

    Example:
        >>> from hf_corefel.bulk import JobProgress
        >>> JobProgress(documents=50, failed=0, per_second=2.0, fraction=0.5, seconds_left=25.0).fraction
        0.5
    """

    documents: int
    failed: int
    per_second: float | None
    fraction: float | None
    seconds_left: float | None


class Meter:
    """Counts documents and tells somebody.

    Args:
        tell: Called after each report.
    """

    def __init__(self, tell: Callable[[JobProgress], None] | None) -> None:
        self._tell = tell
        self.documents = self.failed = 0
        self._read = 0  # documents of the input so far, and how much of it they are
        self._fraction: float | None = None
        self._marks: deque[tuple[float, int]] = deque(maxlen=_RECENT)

    def start(self) -> None:
        """Begin to measure the speed; what was done before was done by an earlier run."""
        self._marks.clear()
        self._marks.append((time.monotonic(), self.documents))

    def has_read(self, documents: int, fraction: float | None) -> None:
        """Note how many documents of the input have been handed out in all, and how much of it they are."""
        if documents > self._read:  # shards of other machines come in any order
            self._read, self._fraction = documents, fraction

    def has_done(self, documents: int, failed: int) -> None:
        """Note what is done, or with numbers below 0 what has to be done once more."""
        self.documents, self.failed = self.documents + documents, self.failed + failed
        self._marks.append((time.monotonic(), self.documents))
        if self._tell is not None:
            self._tell(self.now())

    def now(self) -> JobProgress:
        """Return how far the job is."""
        if not self._marks:
            return JobProgress(self.documents, self.failed, None, None, None)
        (began, before), (ended, after) = self._marks[0], self._marks[-1]
        speed = (after - before) / (ended - began) if ended > began and after > before else None
        if self._fraction is None or not self._read:
            return JobProgress(self.documents, self.failed, speed, None, None)
        # Documents that are read ahead are not done yet.
        fraction = min(1.0, self._fraction * self.documents / self._read)
        left = None
        if speed and fraction:
            left = self.documents * (1 - fraction) / fraction / speed
        return JobProgress(self.documents, self.failed, speed, fraction, left)
