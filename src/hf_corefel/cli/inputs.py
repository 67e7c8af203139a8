"""Reads the texts and documents that the command is given."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import IO, cast
from zlib import error as ZlibError

from ..documents import Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..formats.jsonl import MAX_LINE_BYTES, documents_of_lines
from ..utils.files import FileIdentity, file_identity

__all__ = [
    "STDIN",
    "InputFormat",
    "UnreadableInputError",
    "count_documents",
    "input_identities",
    "read_documents",
]

STDIN = "-"
_PART = 64 * 1024
# A second or a few; after that the bar goes without a total.
_MOST_COUNTED_BYTES = 1_000_000_000


class InputFormat(StrEnum):
    """What a file holds: one text, or a document a line."""

    TEXT = "text"
    JSONL = "jsonl"


class UnreadableInputError(Exception):
    """A file, or a line of one, cannot be read; the message names the place and the reason."""


def _format(name: str, kind: InputFormat | None) -> InputFormat:
    """JSON lines where the name ends in ``.jsonl`` or ``.jsonl.gz``, else text, unless the kind is given."""
    return kind or (InputFormat.JSONL if name.lower().endswith((".jsonl", ".jsonl.gz")) else InputFormat.TEXT)


@contextmanager
def _opened(name: str, kind: InputFormat) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of standard input; JSON lines in a file that ends in ``.gz`` are decompressed.

    Raises:
        UnreadableInputError: When the file cannot be opened or, while inside, read.
    """
    try:
        if name == STDIN:
            if sys.stdin is None:
                raise UnreadableInputError(f"{name}: standard input is closed")
            yield sys.stdin.buffer
            return
        if "\0" in name:
            raise UnreadableInputError(f"{name}: no file has a null character in its name")
        with Path(name).open("rb") as file:
            if kind is InputFormat.JSONL and name.lower().endswith(".gz"):
                with gzip.open(file) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield file
    except (EOFError, ZlibError, gzip.BadGzipFile) as error:
        raise UnreadableInputError(f"{name}: damaged gzip file: {error}") from error
    except OSError as error:
        raise UnreadableInputError(f"{name}: {error.strerror or error}") from error


def input_identities(names: Sequence[str]) -> set[FileIdentity]:
    """What the files are told by, under whatever names; see `file_identity`."""
    try:
        stdin = sys.stdin.fileno() if STDIN in names and sys.stdin is not None else None
    except (OSError, ValueError):  # there may be something else in its place
        stdin = None
    files = [*(name for name in names if name != STDIN), *([] if stdin is None else [stdin])]
    return {identity for file in files if (identity := file_identity(file)) is not None}


def count_documents(names: Sequence[str], kind: InputFormat | None = None) -> int | None:
    """How many documents the files hold, for a progress bar.

    None when only reading can tell, as from a pipe, or when counting would take long.
    """
    total, left = 0, _MOST_COUNTED_BYTES
    for name in names:
        if _format(name, kind) is InputFormat.TEXT or (not os.path.exists(name) and name != STDIN):
            total += 1
        elif not os.path.isfile(name):
            return None
        else:
            # What can be read of a damaged file counts; that it is damaged is said when it is read.
            with suppress(UnreadableInputError), _opened(name, InputFormat.JSONL) as file:
                blank = True
                while left > 0 and (part := file.readline(_PART)):
                    left -= len(part)
                    blank = blank and not part.strip()
                    if part.endswith(b"\n"):
                        total += not blank
                        blank = True
                total += not blank
            if left <= 0:
                return None
    return total


def read_documents(
    name: str,
    kind: InputFormat | None = None,
    max_bytes: int = MAX_LINE_BYTES,
    extra: ExtraFields | None = None,
) -> Iterator[Document | UnreadableInputError]:
    """The documents of a file, each with an id; in the place of one that cannot be read, the error.

    A text is one document, with the file's name as id. Its line ends are kept as they are, so that offsets count the
    code points of the file itself; a byte order mark at the beginning is no part of the text. A line of JSON lines is
    what `Document.to_dict` gives, of which only ``text`` has to be there; the id is the file's name and the number of
    the line where it has none.

    Args:
        name: The file; ``-`` is standard input.
        kind: What it holds; what its name says when None.
        max_bytes: Bytes that a text, or a line of documents, may have. More are never in memory.
        extra: Names the fields that a document does not have.
    """
    try:
        holds = _format(name, kind)
        with _opened(name, holds) as file:
            if holds is InputFormat.TEXT:
                data = file.read(max_bytes + 1)
                if len(data) > max_bytes:
                    raise UnreadableInputError(f"{name}: longer than {max_bytes:,} bytes (--max-line-bytes)")
                yield Document(data.decode("utf-8-sig"), id=name)
                return
            for number, found in documents_of_lines(file, Document, max_bytes, extra):
                if isinstance(found, DocumentError):
                    hint = "; say --input-format text for a file of plain text" if "no valid JSON" in str(found) else ""
                    yield UnreadableInputError(f"{name}:{number}: {found}{hint}")
                else:
                    yield found if found.id is not None else replace(found, id=f"{name}:{number}")
    except UnicodeDecodeError as error:
        place = f"byte 0x{error.object[error.start]:02x} at position {error.start}"
        yield UnreadableInputError(f"{name}: not UTF-8 text ({place})")
    except UnreadableInputError as error:
        yield error
