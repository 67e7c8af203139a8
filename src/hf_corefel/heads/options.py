"""What a head may be told: its own options, each with a default and what it may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["HeadOption"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadOption:
    """An option of a head, such as the margin of its loss.

    >>> HeadOption(default=0.5, doc="how far apart", least=0.0).check(-1.0, "margin")
    Traceback (most recent call last):
    ValueError: margin must be a number of at least 0.0; got -1.0

    Attributes:
        default: Its value where nothing is said: a truth value, a whole number, a number or a string, and it takes no
            other type.
        doc: What it does, for the model card and the documentation.
        choices: All that it may be; anything of the type when None.
        least: The least that a number may be.
        most: The most that a number may be.
        is_field: Whether it is a field of `CorefELConfig`, as the options of the global head are, which are older than
            ``head_options``. All others are kept there.
    """

    default: bool | int | float | str
    doc: str
    choices: tuple[Any, ...] | None = None
    least: float | None = None
    most: float | None = None
    is_field: bool = False

    def check(self, value: Any, where: str) -> Any:
        """Return the value, as a float where the default is one.

        Raises:
            ValueError: When it is of another type or out of range; the message calls it `where`.
        """
        kind = type(self.default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        within = type(value) is kind and (self.choices is None or value in self.choices)
        if within and isinstance(value, int | float) and kind is not bool:
            within = math.isfinite(value) and not self._outside(value)
        if not within:
            raise ValueError(f"{where} must be {self.expected}; got {value!r}")
        return value

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        if self.choices is not None:
            return f"one of {', '.join(map(str, self.choices))}"
        kinds = {bool: "True or False", int: "an integer", float: "a number", str: "a string"}
        bounds = [f"at least {self.least}"] if self.least is not None else []
        bounds += [f"at most {self.most}"] if self.most is not None else []
        return kinds[type(self.default)] + (f" of {' and '.join(bounds)}" if bounds else "")

    def _outside(self, value: float) -> bool:
        return (self.least is not None and value < self.least) or (self.most is not None and value > self.most)
