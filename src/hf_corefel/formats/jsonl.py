"""JSON lines: one document a line, as `Document.to_dict` and `AnnotatedDocument.to_dict` give it."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

from ..documents import AnnotatedDocument, Document, DocumentError

__all__ = ["documents_of_lines", "read_jsonl", "write_jsonl"]

D = TypeVar("D", Document, AnnotatedDocument)


@overload
def read_jsonl(path: str | Path, *, strict: bool = True) -> Iterator[Document]: ...


@overload
def read_jsonl(path: str | Path, kind: type[D], *, strict: bool = True) -> Iterator[D]: ...


def read_jsonl(path: str | Path, kind: type[Any] = Document, *, strict: bool = True) -> Iterator[Any]:
    """Reads documents from JSON lines, one by one.

    Blank lines are passed over. A byte order mark at the beginning is left out.

    Args:
        path: The file, UTF-8; one that ends in ``.gz`` is decompressed.
        kind: What a line holds: `Document` (input and gold) or `AnnotatedDocument` (results).
        strict: Raises on a line that is no such document; otherwise warns and leaves the line out.

    Yields:
        The documents in the order of the lines.

    Raises:
        DocumentError: When a line is not UTF-8, no JSON, or no valid document; the message names the file, the
            line, the field and the fix.
        OSError: When the file cannot be read.
    """
    path = Path(path)
    with _open(path, "rb") as file:
        for number, found in documents_of_lines(file, kind):
            if not isinstance(found, DocumentError):
                yield found
            elif strict:
                raise DocumentError(f"{path}:{number}: {found}") from found
            else:
                warnings.warn(f"skipped: {path}:{number}: {found}", stacklevel=2)


def documents_of_lines(file: Iterable[bytes], kind: type[D]) -> Iterator[tuple[int, D | DocumentError]]:
    """The documents of a file of JSON lines with the numbers of their lines; for an invalid line what is wrong.

    Args:
        file: The lines, as an opened binary file gives them.
        kind: What a line holds.

    Yields:
        Numbers from 1, without those of blank lines, each with the document or with the error that says which field
        is wrong and how to mend it.
    """
    # Only line feeds end a line: JSON may hold the other separators of Unicode.
    for number, raw in enumerate(file, start=1):
        if raw.strip():
            try:
                found: D | DocumentError = kind.from_dict(_parse(raw, first=number == 1))
            except DocumentError as error:
                found = error
            yield number, found


def write_jsonl(path: str | Path, documents: Iterable[Document | AnnotatedDocument]) -> int:
    """Writes documents as JSON lines; `read_jsonl` gives equal ones back.

    Each line is written when its document comes, so that long runs may be watched. The same documents give the same
    bytes, compressed or not.

    Args:
        path: The file, replaced when it exists; one that ends in ``.gz`` is compressed.
        documents: The documents, of either kind.

    Returns:
        How many were written.

    Raises:
        OSError: When the file cannot be written.
    """
    number = 0
    with _open(Path(path), "wb") as file:
        for number, document in enumerate(documents, start=1):  # noqa: B007  the last number is the count
            file.write(_format(document.to_dict()))
    return number


def _open(path: Path, mode: str) -> IO[bytes]:
    if path.suffix.lower() != ".gz":
        return cast(IO[bytes], path.open(mode))
    # Without the time, which would differ from run to run.
    return cast(IO[bytes], gzip.GzipFile(path, mode, mtime=0))


def _parse(raw: bytes, *, first: bool) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig" if first else "utf-8").rstrip())
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start})") from error
    except json.JSONDecodeError as error:
        raise DocumentError(f"no valid JSON: {error.msg} (column {error.colno})") from error
    except ValueError as error:  # an integer of thousands of digits
        raise DocumentError(f"no valid JSON: {error}") from error
    except RecursionError as error:
        raise DocumentError("no document: lists or objects are nested too deeply") from error


def _format(data: dict[str, Any]) -> bytes:
    line = json.dumps(data, ensure_ascii=False) + "\n"
    try:
        return line.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate, which broken extractors leave in texts: JSON can escape what UTF-8 cannot hold.
        return (json.dumps(data) + "\n").encode("ascii")
