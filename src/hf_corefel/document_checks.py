"""Checks of the document schema: each raises `DocumentError` with the document, the field and the fix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "DocumentError",
    "Offsets",
    "check_head",
    "check_list",
    "check_offsets",
    "check_probability",
    "check_spans",
    "check_string",
    "check_text",
    "join_surrogates",
    "name_of",
    "or_empty",
    "prune",
    "reject_unknown",
    "require",
]

Offsets = tuple[int, int]

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class DocumentError(ValueError):
    """A document breaks the schema. The message names the document, the field and the fix."""


def reject_unknown(data: Any, allowed: Iterable[str], where: str) -> None:
    """Raises unless ``data`` is an object whose fields are all ``allowed``."""
    if not isinstance(data, Mapping):
        raise DocumentError(f"{where}: expected an object with fields, got {type(data).__name__}")
    unknown = sorted(set(data) - set(allowed), key=str)
    if unknown:
        raise DocumentError(f"{where}: unknown field {unknown[0]!r}; the known fields are {', '.join(sorted(allowed))}")


def require(data: Mapping[str, Any], name: str, where: str) -> Any:
    """The field of an object; raises when it is missing."""
    if name not in data:
        raise DocumentError(f"{where}: missing field {name!r}")
    return data[name]


def or_empty(data: Mapping[str, Any], name: str) -> Any:
    """The field of an object, or an empty list where it is missing or null, as tables fill absent fields."""
    return [] if data.get(name) is None else data[name]


def prune(data: dict[str, Any], optional: Iterable[str]) -> dict[str, Any]:
    """Leave out optional fields that are None, so that files stay readable."""
    return {key: value for key, value in data.items() if key not in optional or value is not None}


def check_list(value: Any, where: str) -> Sequence[Any]:
    """The value; raises when it is no list (or other sequence, a string left out)."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise DocumentError(f"{where}: expected a list, got {type(value).__name__}")
    return value


def check_offsets(begin: Any, end: Any, where: str, length: int | None = None) -> None:
    """Raises unless begin and end are code-point offsets of a piece of text that is not empty."""
    for name, value in (("begin", begin), ("end", end)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise DocumentError(f"{where}.{name}: expected an integer code-point offset, got {value!r}")
    if begin < 0 or (length is not None and end > length):
        limit = "" if length is None else f" of {length} code points"
        raise DocumentError(f"{where}: offsets {begin}..{end} lie outside the text{limit}")
    if end <= begin:
        raise DocumentError(f"{where}: offsets {begin}..{end} are empty; end is exclusive and must exceed begin")


def check_spans(spans: Iterable[Offsets], length: int, where: str, label: str) -> None:
    """Raises when offsets lie outside a text of ``length`` code points or stand there twice."""
    seen: dict[Offsets, int] = {}
    for i, (begin, end) in enumerate(spans):
        check_offsets(begin, end, f"{where}[{i}]", length)
        first = seen.setdefault((begin, end), i)
        if first != i:
            raise DocumentError(f"{where}[{i}]: duplicate {label} {begin}..{end}, already at {where}[{first}]")


def check_probability(value: Any, where: str, *, or_none: str = " or None") -> None:
    """Raises unless the value is a number between 0 and 1; None passes when ``or_none`` says so."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (value is None and or_none) and not (number and 0.0 <= value <= 1.0):
        raise DocumentError(f"{where}: expected a probability between 0 and 1{or_none}, got {value!r}")


def check_string(value: Any, where: str, *, or_none: str = "") -> None:
    """Raises unless the value is a string that is not empty; None passes when ``or_none`` says what it means."""
    if not (value is None and or_none) and (not isinstance(value, str) or not value):
        raise DocumentError(f"{where}: expected a non-empty string{or_none}, got {value!r}")
    _check_surrogates(value, where)


def check_text(value: Any, where: str, *, or_none: str = "") -> None:
    """Raises unless the value is a string, which may be empty; None passes when ``or_none`` says so."""
    if not (value is None and or_none) and not isinstance(value, str):
        raise DocumentError(f"{where}: expected a string{or_none}, got {type(value).__name__}")
    _check_surrogates(value, where)


def join_surrogates(text: str) -> str:
    """The text with each high surrogate and the low one behind it as the one character that they stand for."""
    return _HALVES.sub(lambda halves: halves[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _check_surrogates(value: str | None, where: str) -> None:
    """Raises where two surrogates are the halves of one character: JSON cannot tell the two, and offsets would shift.

    Strings that were decoded wrongly have such halves; a lone surrogate is kept as it is.
    """
    if value and not value.isascii() and (found := _HALVES.search(value)) is not None:
        raise DocumentError(
            f"{where}: code points {found.start()} and {found.start() + 1} are the two halves of one character "
            f"({join_surrogates(found[0])!r}); join them with text.encode('utf-16', 'surrogatepass').decode('utf-16', "
            "'replace'), and count offsets in what this gives"
        )


def name_of(document: Any) -> str:
    """How messages call a document or its data."""
    identifier = document.get("id") if isinstance(document, Mapping) else getattr(document, "id", None)
    return "document" if identifier is None else f"document {identifier!r}"


def check_head(document: Any, where: str) -> None:
    """Raises unless text and id are strings; the id may be None."""
    check_text(document.text, f"{where}.text")
    if document.id is not None and not isinstance(document.id, str):
        raise DocumentError(f"{where}.id: expected a string or None, got {document.id!r}")
    check_text(document.id, f"{where}.id", or_none=" or None")
