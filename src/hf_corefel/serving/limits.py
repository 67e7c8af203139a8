"""How much a service takes on at once, and how long it works on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["ServingLimits"]

# JSON may write a character as two escapes of six bytes, and a document has more fields than its text.
_BYTES_OF_A_CHARACTER = 16
_BYTES_BESIDE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLimits:
    """How much a service takes on at once, and how long it works on it.

    Attributes:
        max_queue: Documents that may wait for the model; a request that would make it more is refused (429). No request
            may have more documents than this (413).
        max_characters: Characters of the texts of one request, all together; more are refused (413).
        timeout: Seconds from the beginning of a request to its answer; what takes longer is answered without its
            results (504), and what of it waits still is taken out of the queue.
        batch_size: Documents that the model reads at once, at most.
        batch_wait: Seconds that a document waits for others to be read with, at most; the queue of a busy model waits
            no longer for it.

    Raises:
        ValueError: When a limit is too small, or no number.

    Example:
        >>> from hf_corefel.serving import ServingLimits
        >>> ServingLimits(timeout=5.0).max_queue
        64
    """

    max_queue: int = 64
    max_characters: int = 100_000
    timeout: float = 60.0
    batch_size: int = 8
    batch_wait: float = 0.004

    def __post_init__(self) -> None:
        for name in ("max_queue", "max_characters", "batch_size"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: expected a whole number from 1, got {value!r}")
        for name, least in (("timeout", "more than 0"), ("batch_wait", "0 or more")):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or value < 0 or (name == "timeout" and value == 0):
                raise ValueError(f"{name}: expected a number of seconds, {least}, got {value!r}")

    @property
    def max_bytes(self) -> int:
        """Bytes that the body of a request may have, whatever it holds."""
        return _BYTES_OF_A_CHARACTER * self.max_characters + _BYTES_BESIDE
