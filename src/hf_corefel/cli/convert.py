"""``hf-corefel convert``: documents of one format, or a corpus, in another format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from ..corpora import CorpusError, detect_format, read_gold
from ..corpora.registry import CORPORA
from ..formats.files import read_documents
from ..formats.registry import FORMATS, can_read, format_of
from ..formats.writer import AnyDocument
from .messages import complain, fail, warnings_as_messages, with_notes
from .options import OutputFormatOption, QuietOption, chosen_format
from .outputs import Output, UnwritableOutputError

__all__ = ["convert"]

_STDOUT = "-"


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A file of results or documents, or a corpus as its authors ship it.")
    ],
    target: Annotated[
        str,
        typer.Argument(metavar="OUT", help="A file, or a folder (DIR/) for a file a document; - is standard output."),
    ],
    kind: OutputFormatOption = None,
    source_kind: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="Format or corpus of IN; what its name or files say if left out."),
    ] = None,
    split: Annotated[str, typer.Option(help="The part of a corpus to convert.")] = "all",
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out documents of a corpus that are malformed, with a warning.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Convert documents: results, gold of a corpus, or what another program has annotated.

    All of a corpus' mentions are taken. What the format of OUT cannot hold is counted on standard error. The first
    document that cannot be read ends the command, and OUT stays as it was.
    """
    if target == _STDOUT and kind is None:
        fail("to standard output in which format? say --format")
    chosen = chosen_format(kind, None if target == _STDOUT else target, default="jsonl")
    if not os.path.exists(source):
        fail(f"cannot read {source}: No such file or directory")
    try:
        with warnings_as_messages(quiet=quiet):
            output = Output(chosen, None if target == _STDOUT else target, [source], legend=False)
            documents = _Readable(source, _read(source, source_kind, split, lenient=lenient))
            output.take(documents)
    except _UnreadableError as error:
        fail(with_notes(f"cannot read {error}", error))
    except UnwritableOutputError as error:
        fail(f"cannot write {error}")
    if not documents.any:
        fail(f"nothing to convert: {source} holds no document")
    if output.losses and not quiet:
        complain(f"warning: {output.losses.message(chosen)}")


def _read(source: str, kind: str | None, split: str, *, lenient: bool) -> Iterator[AnyDocument]:
    """The documents of a format that can be read, or of a corpus."""
    named = kind or (None if os.path.isdir(source) else format_of(source))
    if kind is None and named == "json" and is_corpus(source):  # corpora come in such files, too
        named = None
    if named in FORMATS and (can_read(str(named)) or named not in CORPORA):
        if split != "all":
            raise ValueError(f"{source}: --split is for corpora, and {named} is a format of one file")
        yield from read_documents(source, named)
        return
    corpus = kind or detect_format(source)
    yield from read_gold(source, split, mention_scope="all", corpus_format=corpus, strict=not lenient)


def is_corpus(source: str) -> bool:
    try:
        return bool(detect_format(source))
    except CorpusError:
        return False


class _UnreadableError(Exception):
    """The input cannot be read; the message says where and why."""


class _Readable:
    """Documents, whose errors are told from those of writing them.

    Attributes:
        any: Whether there was one.
    """

    def __init__(self, source: str, documents: Iterator[AnyDocument]) -> None:
        self._source, self._documents = source, documents
        self.any = False

    def __iter__(self) -> Iterator[AnyDocument]:
        return self

    def __next__(self) -> AnyDocument:
        try:
            document = next(self._documents)
        except (OSError, ValueError, ImportError) as error:
            # Not every library says which file it means; and what the readers call the option.
            text = str(error).replace("strict=False", "--lenient")
            raise _UnreadableError(text if self._source in text else f"{self._source}: {text}") from error
        self.any = True
        return document
