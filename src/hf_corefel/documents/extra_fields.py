"""Fields of a row that a document does not have, such as other columns of a dataset: kept aside and named once."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any

from .plain_values import is_missing, plain

__all__ = ["ExtraFieldWarning", "ExtraFields", "nearest"]

# Files may come with fields of any number and length.
_MOST_NAMED = 20
_LONGEST_NAME = 60


class ExtraFieldWarning(UserWarning):
    """Rows have fields that a document does not have; nothing reads them."""


class ExtraFields:
    """Keeps aside the fields of rows that are none of a document's, and names each of them once in a run.

    Args:
        say: Takes the message; it is an `ExtraFieldWarning` when None.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say or _warn
        self._known: set[str] = set()
        self._new: dict[str, str] = {}

    def take(self, data: Mapping[Any, Any], fields: Collection[str]) -> dict[str, Any]:
        """Return what of a row is in none of the fields, a gap of a table as None, and remember its names for `say`."""
        others = {str(name): plain(value) for name, value in data.items() if name not in fields}
        extra = {name: None if is_missing(value) else value for name, value in others.items()}
        for name in extra:
            if name not in self._known and len(self._known) < _MOST_NAMED:
                self._known.add(name)
                near = nearest(name, [field for field in fields if field not in data])
                self._new[name] = _shown(name) + (f" (did you mean {near!r}?)" if near else "")
        return extra

    def say(self) -> None:
        """Name what was taken since the last time, in one message; nothing when there is nothing new."""
        if self._new:
            names = ", ".join(self._new.values())
            more = " and maybe others" if len(self._known) == _MOST_NAMED else ""
            self._new = {}
            self._say(f"fields that are kept aside and not read, as a document does not have them: {names}{more}")


def nearest(name: object, fields: Collection[str]) -> str | None:
    """Return the field that a name is probably a misspelling of, None when there is none."""
    near = get_close_matches(str(name)[:_LONGEST_NAME].lower(), fields, n=1, cutoff=0.75)
    return near[0] if near else None


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


def _warn(message: str) -> None:
    """Warns at the line of the caller's own code, wherever in the package that leads to here."""
    frame, level = sys._getframe(), 1
    # torch's loader asks for rows that worker processes prepare.
    inner = {__name__.partition(".")[0], "torch"}
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inner:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ExtraFieldWarning, stacklevel=level)
