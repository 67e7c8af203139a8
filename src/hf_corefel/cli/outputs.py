"""Where the command's results go, and how they are written there: as tables, JSON, JSON lines, or a page."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from ..documents import AnnotatedDocument
from ..formats import render_html
from ..formats.json_text import json_list
from ..formats.jsonl import is_compressed, write_lines
from ..utils.files import FileIdentity, file_identity, overwrites, whole_file
from .inputs import STDIN, input_identities
from .messages import json_for_stdout, json_options, on_terminal, with_notes, writing_to_stdout
from .rendering import LEGEND, show, show_document

__all__ = ["Format", "Output", "UnwritableOutputError", "format_of"]


class Format(StrEnum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    HTML = "html"


_SUFFIXES = {Format.TEXT: ".txt", Format.JSON: ".json", Format.JSONL: ".jsonl", Format.HTML: ".html"}
_FORMATS = {**{suffix: kind for kind, suffix in _SUFFIXES.items()}, ".htm": Format.HTML}
# Bytes of a file's name without its ending; file systems take names of 255.
_LONGEST_STEM = 200


def format_of(name: str) -> Format | None:
    """The format that the name of a file stands for; None when it stands for none."""
    plain = name.lower().removesuffix(".gz")
    return next((kind for suffix, kind in _FORMATS.items() if plain.endswith(suffix)), None)


class UnwritableOutputError(Exception):
    """Results cannot go where they should; the message names the place, the reason and the fix."""


class _NothingError(Exception):
    """There is no document to write, so what is there stays."""


class _Documents:
    """The documents on their way to a file, counted.

    Attributes:
        number: How many were written: the next one was asked for.
    """

    def __init__(self, documents: Iterator[AnnotatedDocument]) -> None:
        self._documents = documents
        self.number = 0

    def __iter__(self) -> Iterator[AnnotatedDocument]:
        for document in self._documents:
            yield document
            self.number += 1
        if not self.number:
            raise _NothingError


class Output:
    """Puts documents on standard output, into one file, or into a file each.

    A file is put in place when all of its documents are in it, and nothing is kept of one that is not; only JSON lines
    stay in a partial file then (`write_jsonl`).

    Args:
        kind: The format.
        target: A file, replaced when it exists; an existing folder, or a name that ends in a slash (the folder is
            made), for a file a document; None is standard output.
        inputs: The names of the files that are read, none of which is replaced.
        legend: Whether tables on standard output end with what their columns mean.

    Raises:
        UnwritableOutputError: When the folder of the target is missing or cannot be made, or the target is an input,
            under this or another name, or a compressed file of a format other than JSON lines.
    """

    def __init__(self, kind: Format, target: str | None, inputs: Sequence[str], *, legend: bool = True) -> None:
        self._kind, self._legend = kind, legend
        self._names = frozenset(inputs)
        self._inputs = input_identities(inputs)
        self._taken: set[str] = set()
        self._numbers: Counter[str] = Counter()
        self._is_folder = False
        if target is None or is_standard_output(target):
            self._target: Path | None = None
            if _stdout_identity() in self._inputs:
                raise UnwritableOutputError("to standard output: that is a file to annotate; choose another")
            return
        self._target = Path(target)
        self._is_folder = target.endswith(("/", "\\")) or os.path.isdir(target)
        if "\0" in target:
            raise UnwritableOutputError(f"{target}: no file has a null character in its name")
        if self._is_folder:
            try:
                self._target.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnwritableOutputError(f"{target}: {error.strerror or error}") from error
        elif not os.path.isdir(self._target.parent):
            raise UnwritableOutputError(f"{target}: there is no folder {self._target.parent}; make it first")
        elif overwrites(target, self._inputs):
            raise UnwritableOutputError(f"{target}: that is a file to annotate; choose another name")
        elif kind is not Format.JSONL and self._target.suffix.lower() == ".gz":
            raise UnwritableOutputError(
                f"{target}: only JSON lines are compressed; choose --format jsonl, or a name without .gz"
            )

    def take(self, documents: Iterator[AnnotatedDocument]) -> None:
        """Writes documents, each as soon as it comes where the format allows it; none at all leaves a file as it was.

        Raises:
            UnwritableOutputError: When a file cannot be written.
            KeyboardInterrupt: When the process is stopped meanwhile; a note says what is kept.
        """
        if self._is_folder:
            for document in documents:
                self._write(self._path_for(STDIN if document.id is None else str(document.id)), iter([document]))
        elif self._target is not None:
            self._write(self._target, documents)
        else:
            with suppress(_NothingError), writing_to_stdout():
                self._print(_Documents(documents))

    def _print(self, documents: Iterable[AnnotatedDocument]) -> None:
        if self._kind is Format.HTML:
            page = render_html(documents)
            print(_visible_html(page) if on_terminal() else page, end="", flush=True)
        elif self._kind is Format.JSON:
            for piece in json_list((document.to_dict() for document in documents), **json_options()):
                print(piece, end="", flush=True)
        elif self._kind is Format.JSONL:
            for document in documents:
                print(json_for_stdout(document.to_dict()), flush=True)
        else:
            self._print_tables(documents)

    def _print_tables(self, documents: Iterable[AnnotatedDocument]) -> None:
        shown = False
        for document in documents:
            show_document(document)
            shown = shown or bool(document.clusters)
        if shown and self._legend:
            show(LEGEND)

    def _write(self, path: Path, documents: Iterator[AnnotatedDocument]) -> None:
        """Writes documents to a file, and says of errors what became of the documents."""
        counted = _Documents(documents)
        try:
            with whole_file(path, keep_partial=self._kind is Format.JSONL) as place:
                self._fill(place, counted, compressed=is_compressed(path))
        except _NothingError:
            return
        except BrokenPipeError:
            raise  # whoever read has seen enough; no message
        except OSError as error:
            raise UnwritableOutputError(with_notes(f"{path}: {error.strerror or error}", error)) from error
        except KeyboardInterrupt as error:
            if counted.number and not hasattr(error, "__notes__"):
                error.add_note(
                    f"{counted.number} finished documents are not kept: only JSON lines (--format jsonl) are kept when "
                    f"the command is stopped; {path} is as it was"
                )
            raise

    def _fill(self, place: Path, documents: Iterable[AnnotatedDocument], *, compressed: bool) -> None:
        if self._kind is Format.JSONL:
            write_lines(place, documents, compressed=compressed)
        elif self._kind is Format.HTML:
            place.write_bytes(render_html(documents).encode("utf-8"))
        else:
            with place.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                if self._kind is Format.JSON:
                    for piece in json_list(document.to_dict() for document in documents):
                        print(piece, end="", flush=True, file=file)
                else:
                    for document in documents:
                        show_document(document, file)

    def _path_for(self, name: str) -> Path:
        """A file of its own for a document, in the folder; documents whose files would have one name get numbers."""
        assert self._target is not None
        stem, suffix = self._stem(name), _SUFFIXES[self._kind]
        while True:
            number = self._numbers[stem] = self._numbers[stem] + 1
            path = self._target / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
            # Disks may take names that differ by case for one.
            if path.name.casefold() not in self._taken and not overwrites(path, self._inputs):
                self._taken.add(path.name.casefold())
                return path

    def _stem(self, name: str) -> str:
        """What the name of a document's file begins with: the name of its file, or its id in a file of documents."""
        if name in self._names:
            return "stdin" if name == STDIN else Path(name).stem
        # A line without an id has the name of its file, and its number.
        source = next((file for file in self._names if name.startswith(f"{file}:")), "")
        if source:
            name = ("stdin" if source == STDIN else Path(source).name) + name[len(source) :]
        # A dot in an id is no ending and a slash no folder.
        plain = re.sub(r"[^\w.-]", "_", name).lstrip(".").encode(errors="replace")
        return plain[:_LONGEST_STEM].decode(errors="ignore") or "document"


def is_standard_output(target: str) -> bool:
    """Whether a name stands for standard output, which goes on where it is, such as at the end of a file."""
    return os.name == "posix" and os.path.abspath(target) in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _stdout_identity() -> FileIdentity | None:
    try:
        return None if sys.stdout is None else file_identity(sys.stdout.fileno())
    except (OSError, ValueError):  # there may be something else in its place
        return None


def _visible_html(page: str) -> str:
    """The page with references for the characters that a terminal might obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"&#{ord(char)};" for char in page)
