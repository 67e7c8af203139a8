"""Documents of files, folders, Parquet tables and datasets, one by one, and what cannot be read in its place."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from ..documents import Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..formats.jsonl import MAX_LINE_BYTES, documents_of_lines
from .unpacking import UnreadableInputError, Watch, opened, plain_name

__all__ = ["STDIN", "InputFormat", "Reading", "UnreadableInputError", "format_of_input", "read_documents"]

STDIN = "-"
_DATASETS = "datasets:"
# An id of the Hub, with a configuration after a colon if need be.
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")
_SAVED_DATASET = ("dataset_dict.json", "state.json")
_LINES = (".jsonl", ".ndjson")
_TABLE = ".parquet"
_ROWS = 256


class InputFormat(StrEnum):
    """What a file holds: one text, a document a line, or a document a row."""

    TEXT = "text"
    JSONL = "jsonl"
    PARQUET = "parquet"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How inputs are read.

    Attributes:
        kind: What a file holds; what its name says when None.
        max_bytes: Bytes that a text, or a line of documents, may have. More are never in memory.
        text_column: The column of the texts, in tables and datasets.
        split: Which part of a dataset is read.
    """

    kind: InputFormat | None = None
    max_bytes: int = MAX_LINE_BYTES
    text_column: str = "text"
    split: str = "train"


def format_of_input(name: str, kind: InputFormat | None = None) -> InputFormat:
    """Return what a file holds: what its name says, looking past ``.gz`` and ``.zst``, unless the kind is given."""
    if kind is not None:
        return kind
    plain = plain_name(name)
    if plain.endswith(_TABLE):
        return InputFormat.PARQUET
    return InputFormat.JSONL if plain.endswith(_LINES) else InputFormat.TEXT


def read_documents(
    name: str,
    reading: Reading | None = None,
    extra: ExtraFields | None = None,
    *,
    without: Path | None = None,
    watch: Watch | None = None,
) -> Iterator[Document | UnreadableInputError]:
    """Yield the documents of an input, each with an id; in the place of one that cannot be read, the error.

    A text is one document, with the file's name as id. Its line ends are kept as they are, so that offsets count the
    code points of the file itself; a byte order mark at the beginning is no part of the text. A line of JSON lines, or
    a row of a table, is what `Document.to_dict` gives, of which only ``text`` has to be there; the id is the file's
    name and the number of the line or row where it has none.

    Args:
        name: A file, ``-`` for standard input, a folder, of which every file is read that is not hidden and no pipe, in
            the order of their names, one that `datasets` has saved, or a dataset: its id on the Hub, or ``datasets:``
            before an id or a folder, each with ``:configuration`` behind it if need be.
        reading: How it is read.
        extra: Names the fields that a document does not have.
        without: A folder that is not read.
        watch: Told which file is open.
    """
    reading = reading or Reading()
    try:
        if is_dataset(name):
            yield from _rows_of_dataset(name, reading, extra)
        elif name != STDIN and os.path.isdir(name):
            files = list(files_of(name, without))
            if not files:
                raise UnreadableInputError(f"{name}: the folder holds no files", place=name)
            for file in files:
                yield from read_documents(file, reading, extra, watch=watch)
        elif format_of_input(name, reading.kind) is InputFormat.PARQUET:
            yield from _rows_of_parquet(name, reading, extra, watch)
        else:
            yield from _documents_of_file(name, reading, extra, watch)
    except UnreadableInputError as error:
        yield error


def is_dataset(name: str) -> bool:
    """Return whether a name is that of a dataset, and of no file or folder of texts."""
    if name.startswith(_DATASETS):
        return True
    if os.path.isdir(name):
        return any(os.path.exists(os.path.join(name, file)) for file in _SAVED_DATASET)
    # What looks like a file that is missing is one: its folder is there, or its name ends as files' names do.
    return bool(
        _HUB_ID.fullmatch(name)
        and not os.path.exists(name)
        and not os.path.isdir(name.partition("/")[0])
        and not plain_name(name).endswith((".txt", ".json", _TABLE, *_LINES))
    )


def files_of(folder: str, without: Path | None = None) -> Iterator[str]:
    """Yield the files of a folder and those below it in the order of their names, without hidden ones and pipes."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (without is None or Path(place, name).resolve() != without)
        )
        found = (os.path.join(place, name) for name in sorted(files) if not name.startswith("."))
        yield from (file for file in found if not _is_special(file))


def _is_special(file: str) -> bool:
    """Return whether a file is there and is one, such as a pipe, of which opening may wait for ever."""
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _documents_of_file(
    name: str, reading: Reading, extra: ExtraFields | None, watch: Watch | None
) -> Iterator[Document | UnreadableInputError]:
    with opened(name, _stdin() if name == STDIN else None, watch) as file:
        if format_of_input(name, reading.kind) is InputFormat.TEXT:
            data = file.read(reading.max_bytes + 1)
            if len(data) > reading.max_bytes:
                raise UnreadableInputError(
                    f"{name}: longer than {reading.max_bytes:,} bytes (--max-line-bytes)", place=name
                )
            try:
                yield Document(data.decode("utf-8-sig"), id=name)
            except UnicodeDecodeError as error:
                where = f"byte 0x{error.object[error.start]:02x} at position {error.start}"
                raise UnreadableInputError(f"{name}: not UTF-8 text ({where})", place=name) from error
            return
        for number, found in documents_of_lines(file, Document, reading.max_bytes, extra):
            if isinstance(found, DocumentError):
                hint = "; say --input-format text for a file of plain text" if "no valid JSON" in str(found) else ""
                yield UnreadableInputError(f"{name}:{number}: {found}{hint}", place=f"{name}:{number}")
            else:
                yield found if found.id is not None else replace(found, id=f"{name}:{number}")


def _stdin() -> IO[bytes]:
    if sys.stdin is None:
        raise UnreadableInputError(f"{STDIN}: standard input is closed", place=STDIN)
    return sys.stdin.buffer


def _rows_of_parquet(
    name: str, reading: Reading, extra: ExtraFields | None, watch: Watch | None
) -> Iterator[Document | UnreadableInputError]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(name, watch=watch) as file, pq.ParquetFile(file) as table:
            rows = (row for batch in table.iter_batches(batch_size=_ROWS) for row in batch.to_pylist())
            yield from _rows(name, rows, reading, extra)
    except pa.ArrowException as error:
        raise UnreadableInputError(f"{name}: no Parquet file, or a damaged one: {error}", place=name) from error


def _rows_of_dataset(
    name: str, reading: Reading, extra: ExtraFields | None
) -> Iterator[Document | UnreadableInputError]:
    plain = name.removeprefix(_DATASETS)
    try:
        import datasets

        if os.path.isdir(plain) and any(os.path.exists(os.path.join(plain, file)) for file in _SAVED_DATASET):
            loaded: Any = datasets.load_from_disk(plain)
            loaded = loaded[reading.split] if isinstance(loaded, Mapping) else loaded
        else:
            place, _, configuration = (plain, "", "") if os.path.isdir(plain) else plain.partition(":")
            loaded = datasets.load_dataset(place, configuration or None, split=reading.split, streaming=True)
        yield from _rows(name, iter(loaded), reading, extra)
    # What datasets raises depends on the file system behind it, and on what is wrong with the files.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UnreadableInputError(
            f"{name}: cannot be read as a dataset, and there is no such file: {reason}", place=name, passing=True
        ) from error


def _rows(
    name: str, rows: Iterator[Any], reading: Reading, extra: ExtraFields | None
) -> Iterator[Document | UnreadableInputError]:
    """The documents of rows, which have the number of the row, from 1, where they have no id."""
    extra = extra or ExtraFields()
    for number, row in enumerate(rows, 1):
        place = f"{name}:{number}"
        try:
            if reading.text_column != "text":
                if reading.text_column not in row:
                    raise DocumentError(f"there is no column {reading.text_column!r} (--text-column)")
                row = {**row, "text": row[reading.text_column]}
                del row[reading.text_column]
            elif "text" not in row:
                raise DocumentError("there is no column 'text'; name that of the texts (--text-column)")
            found = Document.from_dict(row, extra=extra)
            extra.say()
        except DocumentError as error:
            yield UnreadableInputError(f"{place}: {error}", place=place)
        else:
            yield found if found.id is not None else replace(found, id=place)
