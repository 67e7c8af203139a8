"""Where the command's results go, and how they are written there: as tables, JSON, JSON lines, or a page."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from io import StringIO
from itertools import chain
from pathlib import Path

from hf_corefel.cli.inputs import STDIN
from hf_corefel.cli.messages import json_for_stdout
from hf_corefel.cli.rendering import LEGEND, show, show_document
from hf_corefel.documents import AnnotatedDocument
from hf_corefel.formats import render_html, write_html, write_jsonl

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


class Output:
    """Puts documents on standard output, into one file, or into a file each.

    Args:
        kind: The format.
        target: A file, replaced when it exists; an existing folder, or a name that ends in a slash (the folder is
            made), for a file a document; None is standard output.
        inputs: The names of the files that are read, none of which is replaced.
        legend: Whether tables on standard output end with what their columns mean.

    Raises:
        UnwritableOutputError: When the folder of the target is missing or cannot be made, or the target is an input or
            a compressed file of a format other than JSON lines.
    """

    def __init__(self, kind: Format, target: str | None, inputs: Sequence[str], *, legend: bool = True) -> None:
        self._kind, self._legend = kind, legend
        self._target = None if target is None else Path(target)
        self._names = frozenset(inputs)
        self._inputs = {Path(name).resolve() for name in inputs if name != STDIN}
        self._taken: set[str] = set()
        self._numbers: Counter[str] = Counter()
        self._is_folder = self._target is not None and (str(target).endswith(("/", "\\")) or self._target.is_dir())
        if self._target is None:
            return
        if self._is_folder:
            try:
                self._target.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnwritableOutputError(f"{target}: {error.strerror or error}") from error
        elif not self._target.parent.is_dir():
            raise UnwritableOutputError(f"{target}: there is no folder {self._target.parent}; make it first")
        elif self._target.resolve() in self._inputs:
            raise UnwritableOutputError(f"{target}: that is a file to annotate; choose another name")
        elif kind is not Format.JSONL and self._target.suffix.lower() == ".gz":
            raise UnwritableOutputError(
                f"{target}: only JSON lines are compressed; choose --format jsonl, or a name without .gz"
            )

    def take(self, documents: Iterator[AnnotatedDocument]) -> None:
        """Writes documents, each as soon as it comes where the format allows it; none at all leaves a file as it was.

        Raises:
            UnwritableOutputError: When a file cannot be written.
        """
        first = next(documents, None)
        if first is None:
            return
        documents = chain([first], documents)
        try:
            if self._target is None:
                self._print(documents)
            elif self._is_folder:
                for document in documents:
                    self._write(self._path_for(document.id or STDIN), [document])
            else:
                self._write(self._target, documents)
        except BrokenPipeError:
            raise  # whoever read has seen enough; no message
        except OSError as error:
            place = error.filename or self._target or "to standard output"
            raise UnwritableOutputError(f"{place}: {error.strerror or error}") from error

    def _print(self, documents: Iterable[AnnotatedDocument]) -> None:
        if self._kind is Format.HTML:
            print(render_html(documents), end="", flush=True)
        elif self._kind is Format.JSON:
            print(json_for_stdout([document.to_dict() for document in documents], indent=2), flush=True)
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

    def _write(self, path: Path, documents: Iterable[AnnotatedDocument]) -> None:
        if self._kind is Format.JSONL:
            write_jsonl(path, documents)
        elif self._kind is Format.HTML:
            write_html(path, documents)
        elif self._kind is Format.JSON:
            path.write_bytes(f"{_json(documents)}\n".encode(errors="backslashreplace"))
        else:
            tables = StringIO()
            for document in documents:
                show_document(document, tables)
            path.write_bytes(tables.getvalue().encode(errors="backslashreplace"))

    def _path_for(self, name: str) -> Path:
        """A file of its own for a document, in the folder; documents whose files would have one name get numbers."""
        assert self._target is not None
        stem, suffix = self._stem(name), _SUFFIXES[self._kind]
        while True:
            number = self._numbers[stem] = self._numbers[stem] + 1
            path = self._target / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
            # Disks may take names that differ by case for one.
            if path.name.casefold() not in self._taken and path.resolve() not in self._inputs:
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


def _json(documents: Iterable[AnnotatedDocument]) -> str:
    """One list of all documents, indented."""
    return json.dumps([document.to_dict() for document in documents], ensure_ascii=False, indent=2)
