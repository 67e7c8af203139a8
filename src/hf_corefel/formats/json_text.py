"""JSON as text that any UTF-8 file and any terminal can take."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..documents import DocumentError
from ..documents.plain_values import plain
from .writer import AnyDocument, Losses, Writer

__all__ = ["JsonList", "escape_unprintable", "escaped_in_json", "json_list", "json_text"]

_SURROGATES = re.compile("[\ud800-\udfff]")


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False, printable: bool = False) -> str:
    """Return a value as JSON.

    Args:
        value: What `json.dumps` takes.
        indent: As in `json.dumps`.
        ascii_only: Escapes every character beyond ASCII.
        printable: Escapes what a terminal might obey instead of show: control characters, those that turn the
            direction of writing, and other format characters.

    Returns:
        Valid JSON, the same value whatever is escaped. Lone surrogates, which UTF-8 lacks, always are. Numbers and
        arrays of other libraries are plain, what JSON has no form for, such as a date, is a string, and a number that
        is infinite or none at all is null.
    """
    options: dict[str, Any] = {"ensure_ascii": ascii_only, "indent": indent, "default": _as_text, "allow_nan": False}
    try:
        text = json.dumps(value, **options)
    except ValueError:
        try:
            text = json.dumps(_finite(value), **options)
        except RecursionError:
            raise ValueError("Circular reference detected: a value contains itself, or is nested too deeply") from None
    return escape_unprintable(text) if printable else _SURROGATES.sub(escaped_in_json, text)


def json_list(items: Iterable[Any], **options: bool) -> Iterator[str]:
    """Yield the pieces of an indented list, one an item; the keyword arguments are those of `json_text`."""
    before = "[\n  "
    for item in items:
        # Line feeds in strings are escaped, so these are those of the layout.
        yield before + json_text(item, indent=2, **options).replace("\n", "\n  ")
        before = ",\n  "
    yield "[]\n" if before.startswith("[") else "\n]\n"


class JsonList(Writer):
    """One JSON list, indented; it holds everything, of results and of documents."""

    title = "one JSON list"
    suffixes = (".json",)

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        del losses  # there are none
        return json_list(document.to_dict() for document in documents)

    def read(self, path: Path) -> Iterator[AnyDocument]:
        """Yield documents or results, as each object of the list is one; the file is read as a whole."""
        from .jsonl import document_from

        try:
            listed = json.loads(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DocumentError(f"{path}: no valid JSON: {error}") from error
        if not isinstance(listed, list):
            raise DocumentError(f"{path}: expected a list of documents, got {type(listed).__name__}")
        for number, data in enumerate(listed):
            try:
                yield document_from(data)
            except DocumentError as error:
                raise DocumentError(f"{path}: document {number}: {error}") from error

    def escape(self, character: str) -> str:
        return escaped_in_json(character)


def escape_unprintable(text: str) -> str:
    """Return JSON with a ``\\\\u`` escape for each character that cannot be seen; line feeds of the layout stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else escaped_in_json(char) for char in text)


def _as_text(value: Any) -> Any:
    made = plain(value)
    return str(value) if made is value else _finite(made)


def _finite(value: Any) -> Any:
    """The value with None for each number that JSON has no form for."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def escaped_in_json(char: str | re.Match[str]) -> str:
    """Return the escape of a character in a JSON string."""
    char = char if isinstance(char, str) else char[0]
    # In JSON a character beyond the basic plane is escaped as two halves.
    raw = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[i]:02x}{raw[i + 1]:02x}" for i in range(0, len(raw), 2))
