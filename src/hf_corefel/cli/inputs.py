"""Reads the texts and documents that the command is given."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ..bulk import sources
from ..bulk.sources import STDIN, InputFormat, Reading, format_of_input, is_dataset
from ..bulk.unpacking import UnreadableInputError, opened
from ..documents import Document
from ..documents.extra_fields import ExtraFields
from ..formats.jsonl import MAX_LINE_BYTES
from ..utils.files import FileIdentity, file_identity

__all__ = [
    "STDIN",
    "InputFormat",
    "Reading",
    "UnreadableInputError",
    "count_documents",
    "input_identities",
    "read_documents",
]

_PART = 64 * 1024
# A second or a few; after that the bar goes without a total.
_MOST_COUNTED_BYTES = 1_000_000_000


def input_identities(names: Sequence[str]) -> set[FileIdentity]:
    """What the files are told by, under whatever names; of a folder, all that lie in it. See `file_identity`."""
    try:
        stdin = sys.stdin.fileno() if STDIN in names and sys.stdin is not None else None
    except (OSError, ValueError):  # there may be something else in its place
        stdin = None
    files: list[str | int] = [] if stdin is None else [stdin]
    for name in names:
        if os.path.isdir(name):
            files += [os.path.join(folder, file) for folder, _, found in os.walk(name) for file in found]
        elif name != STDIN:
            files.append(name)
    return {identity for file in files if (identity := file_identity(file)) is not None}


def count_documents(names: Sequence[str], kind: InputFormat | None = None) -> int | None:
    """How many documents the files hold, for a progress bar.

    None when only reading can tell, as from a pipe, or when counting would take long.
    """
    total, left = 0, _MOST_COUNTED_BYTES
    for name in names:
        holds = format_of_input(name, kind)
        if is_dataset(name) or os.path.isdir(name):
            return None
        if holds is InputFormat.TEXT or (not os.path.exists(name) and name != STDIN):
            total += 1
        elif holds is InputFormat.PARQUET or not os.path.isfile(name):
            return None
        else:
            # What can be read of a damaged file counts; that it is damaged is said when it is read.
            with suppress(UnreadableInputError), opened(name) as file:
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
    **tables: Any,
) -> Iterator[Document | UnreadableInputError]:
    """Yield the documents of an input; see `hf_corefel.bulk.sources.read_documents`.

    Args:
        name: Of a file, a folder or a dataset; ``-`` is standard input.
        kind: What it holds; what its name says when None.
        max_bytes: Bytes that a text, or a line of documents, may have. More are never in memory.
        extra: Names the fields that a document does not have.
        **tables: ``text_column`` and ``split`` of `Reading`.
    """
    return sources.read_documents(name, Reading(kind=kind, max_bytes=max_bytes, **tables), extra)
