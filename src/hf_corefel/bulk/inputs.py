"""The inputs of a job as one stream of documents, and how much of it has been read."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..documents import Document, DocumentError
from ..documents.extra_fields import ExtraFields
from .annotator import BulkError, Failure
from .sources import STDIN, Reading, files_of, is_dataset, read_documents
from .unpacking import UnreadableInputError, Watch

__all__ = ["Inputs"]

Given = str | Path | Document | Mapping[str, Any]


class Inputs:
    """A stream of documents, each with an id, and of failures in place of what cannot be read.

    Args:
        given: Names of inputs, or documents.
        reading: How inputs are read.
        extra: Names the fields that a document does not have.
        without: A folder that is not read.

    Attributes:
        given: Names of inputs, or documents.
        reading: How inputs are read.
        without: A folder that is not read.
        names: What was given, as names; None for documents.

    Raises:
        BulkError: When nothing is given, or something else.
    """

    def __init__(self, given: Given | Iterable[Given], reading: Reading, extra: ExtraFields, *, without: Path) -> None:
        self.reading, self.without, self._extra = reading, without.resolve(), extra
        listed = [given] if isinstance(given, str | Path) else given
        if isinstance(listed, Document | Mapping) or not isinstance(listed, Iterable):
            raise BulkError("inputs: expected names of files, or many documents; put a single one into a list")
        self.given: Iterable[Given] = listed
        self.names: list[str] | None = None
        if isinstance(listed, list | tuple) and all(isinstance(item, str | Path) for item in listed):
            if not listed:
                raise BulkError("inputs: there are none")
            self.names = [str(item) for item in listed]
            for name in self.names:
                if name != STDIN and not is_dataset(name) and not os.path.exists(name):
                    raise BulkError(f"cannot read {name}: {os.strerror(errno.ENOENT)}")
        self._sizes = self._sizes_of(self.names)
        self._total = sum(self._sizes) if self._sizes is not None else 0
        self._read = 0  # bytes of the files that are read to their ends
        self._watch = Watch()

    def __getstate__(self) -> dict[str, Any]:
        # What is open, and who is told of it, stays in this process.
        return {name: getattr(self, name) for name in ("given", "reading", "without", "names")}

    @property
    def fraction(self) -> float | None:
        """How much of the input has been read, by bytes of files; None where nobody knows."""
        return None if not self._total else min(1.0, (self._read + self._watch.position()) / self._total)

    def _sizes_of(self, names: list[str] | None) -> list[int] | None:
        try:
            if names is None or any(name == STDIN or is_dataset(name) for name in names):
                return None
            return [os.path.getsize(file) for name in names for file in self._files(name)]
        except OSError:
            return None

    def _files(self, name: str) -> Iterator[str]:
        yield from files_of(name, self.without) if os.path.isdir(name) and not is_dataset(name) else [name]

    def __iter__(self) -> Iterator[Document | Failure]:
        for number, item in enumerate(self.given, 1):
            if isinstance(item, str | Path):
                yield from self._documents(str(item))
            else:
                yield self._document(item, number)

    def _documents(self, name: str) -> Iterator[Document | Failure]:
        for file in self._files(name):
            for found in read_documents(file, self.reading, self._extra, without=self.without, watch=self._watch):
                if not isinstance(found, UnreadableInputError):
                    yield found
                elif found.passing:
                    # What comes after it would be missing from a job that is complete.
                    raise BulkError(f"cannot read {found}")
                else:
                    yield Failure(found.place, str(found))
            self._watch.file = None
            if self._sizes is not None:
                self._read += _size(file)

    def _document(self, item: Document | Mapping[str, Any], number: int) -> Document | Failure:
        try:
            found = item if isinstance(item, Document) else Document.from_dict(item, extra=self._extra)
            self._extra.say()
        except DocumentError as error:
            return Failure(f"document-{number}", str(error))
        return found if found.id is not None else replace(found, id=f"document-{number}")


def _size(file: str) -> int:
    try:
        return os.path.getsize(file)
    except OSError:
        return 0
