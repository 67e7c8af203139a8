"""Checks of the document schema: each raises `DocumentError` with the document, the field and the fix.

Those that return a value return it in plain Python, whatever library it comes from (`plain_values`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .extra_fields import nearest
from .plain_values import advice, is_missing, plain

__all__ = [
    "DocumentError",
    "Offsets",
    "check_entity",
    "check_head",
    "check_list",
    "check_object",
    "check_offsets",
    "check_probability",
    "check_spans",
    "check_string",
    "check_text",
    "check_wikidata",
    "join_surrogates",
    "name_of",
    "or_empty",
    "or_none",
    "prune",
    "reject_unknown",
    "require",
]

Offsets = tuple[int, int]

_WIKIDATA = re.compile(r"[QPL][0-9]+")
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class DocumentError(ValueError):
    """A document breaks the schema. The message names the document, the field and the fix.

    Example:
        >>> from hf_corefel import Document, DocumentError
        >>> try:
        ...     Document("Anna", mentions=[(0, 9)])
        ... except DocumentError as error:
        ...     print(error)
        document.mentions[0]: offsets 0..9 lie outside the text of 4 code points
    """


def check_object(data: Any, where: str) -> None:
    """Raises unless the value is an object with fields."""
    if not isinstance(data, Mapping):
        raise DocumentError(f"{where}: expected an object with fields, got {type(data).__name__}{advice(data)}")


def reject_unknown(data: Any, allowed: Iterable[str], where: str) -> None:
    """Raises unless ``data`` is an object whose fields are all ``allowed``."""
    check_object(data, where)
    unknown = sorted(set(data) - set(allowed), key=str)
    if unknown:
        near = nearest(unknown[0], [name for name in allowed if name not in data])
        raise DocumentError(
            f"{where}: unknown field {unknown[0]!r}{f' (did you mean {near!r}?)' if near else ''}; "
            f"the known fields are {', '.join(sorted(allowed))}"
        )


def require(data: Mapping[str, Any], name: str, where: str) -> Any:
    """The field of an object; raises when it is missing."""
    if name not in data:
        there = next((other for other in data if nearest(other, [name])), None)
        raise DocumentError(f"{where}: missing field {name!r}" + (f"; is it {there!r}?" if there is not None else ""))
    return data[name]


def or_none(data: Mapping[str, Any], name: str) -> Any:
    """The field of an object; None where it is missing, null or NaN, as tables fill absent fields."""
    value = plain(data.get(name))
    return None if is_missing(value) else value


def or_empty(data: Mapping[str, Any], name: str) -> Any:
    """The field of an object, or an empty list where it is missing, null or NaN."""
    value = or_none(data, name)
    return [] if value is None else value


def prune(data: dict[str, Any], optional: Iterable[str]) -> Any:
    """Leave out optional fields that are None, so that files stay readable; the caller says which `TypedDict` it is."""
    return {key: value for key, value in data.items() if key not in optional or value is not None}


def check_list(value: Any, where: str) -> Sequence[Any]:
    """The value as a list or other sequence; raises when it is none (a string counts as none)."""
    value = plain(value)
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise DocumentError(f"{where}: expected a list, got {type(value).__name__}")
    return value


def check_offsets(begin: Any, end: Any, where: str, length: int | None = None) -> Offsets:
    """The code-point offsets of a piece of text that is not empty; raises when they are none."""
    begin, end = plain(begin), plain(end)
    for name, value in (("begin", begin), ("end", end)):
        if type(value) is not int:
            raise DocumentError(f"{where}.{name}: expected an integer code-point offset, got {value!r}")
    if begin < 0 or (length is not None and end > length):
        limit = "" if length is None else f" of {length} code points"
        raise DocumentError(f"{where}: offsets {begin}..{end} lie outside the text{limit}")
    if end <= begin:
        raise DocumentError(f"{where}: offsets {begin}..{end} are empty; end is exclusive and must exceed begin")
    return begin, end


def check_spans(spans: Iterable[Offsets], length: int, where: str, label: str) -> None:
    """Raises when offsets lie outside a text of ``length`` code points or stand there twice."""
    seen: dict[Offsets, int] = {}
    for i, (begin, end) in enumerate(spans):
        check_offsets(begin, end, f"{where}[{i}]", length)
        first = seen.setdefault((begin, end), i)
        if first != i:
            raise DocumentError(f"{where}[{i}]: duplicate {label} {begin}..{end}, already at {where}[{first}]")


def check_probability(value: Any, where: str, *, or_none: str = " or None") -> Any:
    """The value, a number between 0 and 1; raises when it is none, and None passes when ``or_none`` says so."""
    value = plain(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (value is None and or_none) and not (number and 0.0 <= value <= 1.0):
        raise DocumentError(f"{where}: expected a probability between 0 and 1{or_none}, got {value!r}")
    return value


def check_string(value: Any, where: str, *, or_none: str = "") -> Any:
    """The value, a string that is not empty; raises when it is none, and None passes when ``or_none`` says so."""
    value = plain(value)
    if not (value is None and or_none) and (not isinstance(value, str) or not value):
        raise DocumentError(f"{where}: expected a non-empty string{or_none}, got {value!r}")
    _check_surrogates(value, where)
    return value


def check_entity(value: Any, where: str, *, or_none: str = "") -> Any:
    """The value, a name that a knowledge base may have; raises when it is none. As `check_string` beside that."""
    value = check_string(value, where, or_none=or_none)
    if value is not None and _SURROGATE.search(value):
        raise DocumentError(f"{where}: {value!r} is no valid Unicode; take the lone surrogate out of it")
    return value


def check_wikidata(value: Any, where: str) -> Any:
    """The value, an id of Wikidata or None; raises when it is none."""
    value = plain(value)
    if value is not None and (not isinstance(value, str) or not _WIKIDATA.fullmatch(value)):
        raise DocumentError(f"{where}: expected an id of Wikidata such as 'Q42' or None, got {value!r}")
    return value


def check_text(value: Any, where: str, *, or_none: str = "") -> Any:
    """The value, a string that may be empty; raises when it is none, and None passes when ``or_none`` says so."""
    given, value = value, plain(value)
    if not (value is None and or_none) and not isinstance(value, str):
        raise DocumentError(f"{where}: expected a string{or_none}, got {_kind(given, value)}")
    _check_surrogates(value, where)
    return value


def _kind(given: Any, value: Any) -> str:
    """What was given in place of a string, and what to do about it."""
    kind = type(given).__name__
    if given is not None and is_missing(value):
        return f"a missing value ({kind}); leave the row out, or give an empty string"
    if isinstance(value, list | tuple):
        return f"{kind}; give its items one by one: a document has one text"
    return f"{kind}{advice(given)}"


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
    identifier = plain(identifier)
    # What is no id would make a message of any length.
    return f"document {identifier!r}" if type(identifier) in (str, int) else "document"


def check_head(document: Any, where: str) -> None:
    """Bring text and id into plain form; raises unless they are a string, and a string, an integer or None."""
    document.text = check_text(document.text, f"{where}.text")
    identifier = plain(document.id)
    if type(identifier) is int:
        document.id = identifier
    elif is_missing(identifier):
        document.id = None
    elif isinstance(identifier, str):
        document.id = check_text(identifier, f"{where}.id")
    else:
        raise DocumentError(f"{where}.id: expected a string, an integer or None, got {identifier!r}")
