"""Checks of numbers that a training, or the cache of its teacher, is given."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

__all__ = ["check_number", "check_words", "is_number"]


def is_number(value: Any) -> bool:
    """Whether a value is a real number, of numpy too, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_number(value: Any, name: str, *, above: float = -math.inf, least: float = -math.inf) -> None:
    """Raise `ValueError` with the name unless a value is a finite number above one bound and not below another."""
    if is_number(value) and math.isfinite(value) and value > above and value >= least:
        return
    bounds = [f"above {above:g}"] * (above > -math.inf) + [f"of at least {least:g}"] * (least > -math.inf)
    raise ValueError(f"{name} must be a finite number {' and '.join(bounds)}; got {value!r}")


def check_words(value: Any, name: str, *, least: int) -> None:
    """Raise `ValueError` with the name unless a value is a number of words, or None for no limit."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < least):
        unlimited = "None" if least else "0 or None"
        raise ValueError(f"{name} must be a number of words from {least} on, {unlimited} for no limit; got {value!r}")
