"""JSON lines: one document a line, as `Document.to_dict` and `AnnotatedDocument.to_dict` give it."""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar, cast, overload

from ..documents import AnnotatedDocument, Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..utils.files import whole_file
from .files import is_compressed, write_pieces
from .json_text import escaped_in_json, json_text
from .writer import AnyDocument, Losses, Writer, document_from

__all__ = [
    "MAX_LINE_BYTES",
    "JsonLines",
    "document_from",
    "documents_of_lines",
    "is_compressed",
    "limited_lines",
    "read_jsonl",
    "write_jsonl",
    "write_lines",
]

D = TypeVar("D", Document, AnnotatedDocument)

# Bytes of a line unless told otherwise: some hundred times a long book chapter, and as JSON of nothing but empty lists
# less than a gigabyte of memory.
MAX_LINE_BYTES = 32 * 1024 * 1024
_CHUNK = 64 * 1024


@overload
def read_jsonl(
    path: str | Path, *, strict: bool = True, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Document]: ...


@overload
def read_jsonl(
    path: str | Path, kind: type[D], *, strict: bool = True, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[D]: ...


def read_jsonl(
    path: str | Path, kind: type[Any] = Document, *, strict: bool = True, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Any]:
    """Reads documents from JSON lines, one by one.

    Blank lines are passed over. A byte order mark at the beginning is left out. Fields that a document does not have
    are in its ``extra``; an `ExtraFieldWarning` names each of them once.

    Args:
        path: The file, UTF-8; one that ends in ``.gz`` is decompressed.
        kind: What a line holds: `Document` (input and gold) or `AnnotatedDocument` (results).
        strict: Raises on a line that is no such document; otherwise warns and leaves the line out.
        max_line_bytes: Bytes that a line may have, decompressed. A longer one is never in memory as a whole.

    Yields:
        The documents in the order of the lines.

    Raises:
        DocumentError: When a line is too long, not UTF-8, no JSON, or no valid document; the message names the file,
            the line, the field and the fix.
        OSError: When the file cannot be read.
    """
    path = Path(path)
    extra = ExtraFields()
    with _open(path) as file:
        for number, found in documents_of_lines(file, kind, max_line_bytes, extra):
            if not isinstance(found, DocumentError):
                yield found
            elif strict:
                raise DocumentError(f"{path}:{number}: {found}") from found
            else:
                warnings.warn(f"skipped: {path}:{number}: {found}", stacklevel=2)


def documents_of_lines(
    file: IO[bytes], kind: type[D], max_line_bytes: int = MAX_LINE_BYTES, extra: ExtraFields | None = None
) -> Iterator[tuple[int, D | DocumentError]]:
    """The documents of a file of JSON lines with the numbers of their lines; for an invalid line what is wrong.

    Args:
        file: The lines, an opened binary file.
        kind: What a line holds.
        max_line_bytes: Bytes that a line may have.
        extra: Names the fields that a document does not have, over one file or several.

    Yields:
        Numbers from 1, without those of blank lines, each with the document or with the error that says which field
        is wrong and how to mend it.
    """
    extra = extra or ExtraFields()
    for number, raw in limited_lines(file, max_line_bytes):
        if raw is None:
            yield number, DocumentError(f"longer than {max_line_bytes:,} bytes (max_line_bytes)")
        elif raw.strip():
            try:
                found: D | DocumentError = kind.from_dict(_parse(raw, first=number == 1), extra=extra)
                extra.say()
            except DocumentError as error:
                found = error
            except RecursionError:  # lists that are parsed may still be nested too deeply to be talked about
                found = DocumentError(_TOO_DEEP)
            yield number, found


def limited_lines(file: IO[bytes], max_line_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file with their numbers from 1; None for one that is too long, which is passed over in pieces.

    Args:
        file: An opened binary file.
        max_line_bytes: Bytes that a line may have, the line feed at its end left out.
    """
    number = 0
    # Only line feeds end a line: JSON may hold the other separators of Unicode.
    while raw := file.readline(max_line_bytes + 1):
        number += 1
        if len(raw) <= max_line_bytes or raw.endswith(b"\n"):
            yield number, raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(_CHUNK)
        yield number, None


def write_jsonl(path: str | Path, documents: Iterable[Document | AnnotatedDocument]) -> int:
    """Writes documents as JSON lines; `read_jsonl` gives equal ones back.

    The lines go to a partial file beside the path (``NAME.part``), each when its document comes, so that long runs may
    be watched; it is put in place when all are there. Until then an earlier file stays as it is. When the documents
    end with an error, or the process is stopped, the finished lines stay in the partial file, which a note of the
    error names; the next run to the same path replaces it. The same documents give the same bytes, compressed or not.

    Args:
        path: The file, replaced when it exists; one that ends in ``.gz`` is compressed.
        documents: The documents, of either kind.

    Returns:
        How many were written.

    Raises:
        FileBusyError: When another process is writing the same file.
        OSError: When the file cannot be written.
    """
    with whole_file(path, keep_partial=True) as place:
        return write_lines(place, documents, compressed=is_compressed(path))


def write_lines(path: Path, documents: Iterable[AnyDocument], *, compressed: bool) -> int:
    """Writes documents as JSON lines into the file itself, and gives back how many; see `write_jsonl`."""
    pieces = (line.encode("utf-8") for line in JsonLines().write(documents, Losses()))
    return write_pieces(path, pieces, compressed=compressed)


class JsonLines(Writer):
    """One JSON object a line: the format that holds everything, of results and of documents."""

    title = "one JSON object a line"
    suffixes = (".jsonl",)
    streams = True

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        del losses  # there are none
        for document in documents:
            yield json_text(document.to_dict()) + "\n"

    def read(self, path: Path) -> Iterator[AnyDocument]:
        """Yield documents or results, as each line is one."""
        extra = ExtraFields()
        with _open(path) as file:
            for number, raw in limited_lines(file, MAX_LINE_BYTES):
                where = f"{path}:{number}"
                if raw is None:
                    raise DocumentError(f"{where}: longer than {MAX_LINE_BYTES:,} bytes")
                if raw.strip():
                    try:
                        yield document_from(_parse(raw, first=number == 1), extra)
                    except DocumentError as error:
                        raise DocumentError(f"{where}: {error}") from error
        extra.say()

    def escape(self, character: str) -> str:
        return escaped_in_json(character)


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The file, whose name is said where what is compressed is damaged."""
    with cast(IO[bytes], gzip.open(path)) if is_compressed(path) else path.open("rb") as file:
        try:
            yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DocumentError(f"{path}: damaged gzip file: {error}") from error


_TOO_DEEP = "no document: lists or objects are nested too deeply"


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
        raise DocumentError(_TOO_DEEP) from error
