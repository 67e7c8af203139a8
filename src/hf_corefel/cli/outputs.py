"""Where the command's results go: standard output, one file, or files in a folder, in any format that is registered."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..formats.files import encoded, is_compressed, write_pieces
from ..formats.folders import FolderNames, plain_stem, short_stem, write_files
from ..formats.registry import FORMATS, find_writer
from ..formats.writer import AnyDocument, Losses, as_result, name_in
from ..utils.files import FileIdentity, file_identity, overwrites, whole_file
from .inputs import STDIN, input_identities
from .messages import on_terminal, with_notes, writing_to_stdout
from .rendering import LEGEND, show, show_document

__all__ = ["Output", "UnwritableOutputError"]


_SURROGATES = re.compile("[\ud800-\udfff]")


class UnwritableOutputError(Exception):
    """Results cannot go where they should; the message names the place, the reason and the fix."""


class _NothingError(Exception):
    """There is no document to write, so what is there stays."""


class _Documents:
    """The documents on their way to a file, counted.

    Attributes:
        number: How many were written: the next one was asked for.
        error: The `ImportError` of a document that could not be made, which is none of the format.
    """

    def __init__(self, documents: Iterator[AnyDocument]) -> None:
        self._documents = documents
        self.number = 0
        self.error: ImportError | None = None

    def __iter__(self) -> Iterator[AnyDocument]:
        while (document := self._next()) is not None:
            yield document
            self.number += 1
        if not self.number:
            raise _NothingError

    def _next(self) -> AnyDocument | None:
        try:
            return next(self._documents, None)
        except ImportError as error:
            self.error = error
            raise


class Output:
    """Puts documents on standard output, into one file, or into a file each.

    A file is put in place when all of its documents are in it, and nothing is kept of one that is not; only formats
    that stream, such as JSON lines, stay in a partial file then (`write_pieces`).

    Args:
        kind: The name of the format.
        target: A file, replaced when it exists; an existing folder, or a name that ends in a slash (the folder is
            made), for a file a document; None is standard output. A format of folders takes every name for a folder's.
        inputs: The names of the files that are read, none of which is replaced.
        legend: Whether tables on standard output end with what their columns mean.

    Attributes:
        losses: What the format could not hold of the documents so far.

    Raises:
        UnwritableOutputError: When the target's folder is missing or cannot be made, or the target is an input,
            under this or another name, no place for the format, or a compressed file of one that is not compressed.
        ValueError: When there is no such format.
    """

    def __init__(self, kind: str, target: str | None, inputs: Sequence[str], *, legend: bool = True) -> None:
        self._kind, self._legend = kind, legend
        self._writer = find_writer(kind)
        self.losses = Losses()
        self._names = frozenset(inputs)
        self._inputs = input_identities(inputs)
        self._stems = FolderNames()
        self._number = 0
        self._is_folder = False
        self._target: Path | None = None
        if target is None or is_standard_output(target):
            self._check_stdout(terminal=target is None and on_terminal())
            return
        if "\0" in target:
            raise UnwritableOutputError(f"{target}: no file has a null character in its name")
        self._target = Path(target)
        self._is_folder = self._means_folder(target)
        if self._is_folder:
            try:
                self._target.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnwritableOutputError(f"{target}: {error.strerror or error}") from error
        elif not os.path.isdir(self._target.parent):
            raise UnwritableOutputError(f"{target}: there is no folder {self._target.parent}; make it first")
        elif overwrites(target, self._inputs):
            raise UnwritableOutputError(f"{target}: that is a file to read; choose another name")
        elif is_compressed(target) and not self._writer.streams:
            raise UnwritableOutputError(
                f"{target}: files of the format {kind} are not compressed; choose a name without .gz, or one of "
                f"{', '.join(_compressible())} with --format"
            )

    def _check_stdout(self, *, terminal: bool) -> None:
        """Raises unless standard output takes the format."""
        if self._writer.folder:
            raise UnwritableOutputError(
                f"{self._kind} to standard output: it is a folder of files; name a folder (FOLDER/)"
            )
        if self._writer.binary and terminal:
            raise UnwritableOutputError(f"{self._kind} to a terminal: it is no text; name a file")
        if _stdout_identity() in self._inputs:
            raise UnwritableOutputError("to standard output: that is a file to read; choose another")

    def _means_folder(self, target: str) -> bool:
        """Whether a name is that of a folder: one that is there, that ends in a slash, or of a format of folders."""
        if target.endswith(("/", "\\")) or os.path.isdir(target):
            return True
        if not self._writer.folder:
            return False
        if os.path.exists(target) or target.lower().endswith(tuple(self._writer.suffixes)):
            raise UnwritableOutputError(
                f"{target}: {self._kind} is a folder of files; name a folder ({Path(target).stem}/), with --format "
                f"{self._kind}"
            )
        return True

    def take(self, documents: Iterator[AnyDocument]) -> None:
        """Writes documents, each as soon as it comes where the format allows it; none at all leaves a file as it was.

        Raises:
            UnwritableOutputError: When a file cannot be written.
            KeyboardInterrupt: When the process is stopped meanwhile; a note says what is kept.
        """
        if self._is_folder:
            for document in documents:
                self._write_into_folder(document)
        elif self._target is not None:
            self._write(self._target, documents)
        else:
            with suppress(_NothingError), writing_to_stdout():
                self._print(_Documents(documents))

    def _print(self, documents: _Documents) -> None:
        if self._kind == "text":
            self._print_tables(documents)
            return
        try:
            for piece in self._writer.write(documents, self.losses):
                if isinstance(piece, bytes):
                    sys.stdout.buffer.write(piece)
                    sys.stdout.buffer.flush()
                else:
                    print(_shown(piece, self._writer.escape), end="", flush=True)
        except ImportError as error:
            if error is documents.error:
                raise
            raise UnwritableOutputError(f"{self._kind} to standard output: {error}") from error

    def _print_tables(self, documents: Iterable[AnyDocument]) -> None:
        shown = False
        for document in documents:
            show_document(as_result(document))
            shown = shown or bool(document.clusters)
        if shown and self._legend:
            show(LEGEND)

    def _write(self, path: Path, documents: Iterator[AnyDocument]) -> None:
        """Writes documents to a file, and says of errors what became of the documents."""
        counted, streams = _Documents(documents), self._writer.streams
        try:
            with whole_file(path, keep_partial=streams) as place:
                pieces = (encoded(piece, self.losses) for piece in self._writer.write(counted, self.losses))
                write_pieces(place, pieces, compressed=is_compressed(path))
        except _NothingError:
            return
        except BrokenPipeError:
            raise  # whoever read has seen enough; no message
        except OSError as error:
            raise UnwritableOutputError(with_notes(f"{path}: {error.strerror or error}", error)) from error
        except ImportError as error:
            if error is counted.error:
                raise
            raise UnwritableOutputError(f"{path}: {error}") from error
        except KeyboardInterrupt as error:
            if counted.number and not hasattr(error, "__notes__"):
                error.add_note(
                    f"{counted.number} finished documents are not kept: only {', '.join(_compressible())} are kept "
                    f"when the command is stopped; {path} is as it was"
                )
            raise

    def _write_into_folder(self, document: AnyDocument) -> None:
        assert self._target is not None
        self._number += 1
        name = STDIN if document.id is None and STDIN in self._names else name_in(document, self._number)
        if not self._writer.folder:
            suffix = self._writer.suffixes[0]
            stem = self._stem_for(name, [suffix])
            self._write(self._target / f"{stem}{suffix}", iter([document]))
            return
        files = self._writer.files(document, self.losses)
        stem = self._stem_for(name, files)
        try:
            write_files(self._target, stem, files, self.losses)
        except OSError as error:
            raise UnwritableOutputError(f"{self._target / stem}: {error.strerror or error}") from error

    def _stem_for(self, name: str, suffixes: Iterable[str]) -> str:
        """What the files of a document begin with, in the folder: none of the files that are read is replaced."""
        target, endings = self._target, list(suffixes)
        assert target is not None
        return self._stems.take(
            self._stem(name),
            lambda stem: not any(overwrites(target / f"{stem}{suffix}", self._inputs) for suffix in endings),
        )

    def _stem(self, name: str) -> str:
        """What the name of a document's file begins with: the name of its file, or its id in a file of documents."""
        if name in self._names:
            return "stdin" if name == STDIN else short_stem(Path(name).stem)
        # A line without an id has the name of its file, and its number.
        source = next((file for file in self._names if name.startswith(f"{file}:")), "")
        if source:
            name = ("stdin" if source == STDIN else Path(source).name) + name[len(source) :]
        return plain_stem(name)


def is_standard_output(target: str) -> bool:
    """Whether a name stands for standard output, which goes on where it is, such as at the end of a file."""
    return os.name == "posix" and os.path.abspath(target) in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _stdout_identity() -> FileIdentity | None:
    try:
        return None if sys.stdout is None else file_identity(sys.stdout.fileno())
    except (OSError, ValueError):  # there may be something else in its place
        return None


def _shown(piece: str, escape: Callable[[str], str]) -> str:
    """The piece with escapes of the format for what standard output cannot encode, or a terminal might obey."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("_", "-")
    ascii_only, printable = encoding not in ("utf-8", "utf8"), on_terminal()
    if (piece.isascii() or not ascii_only) and not printable and not _SURROGATES.search(piece):
        return piece
    return "".join(
        character
        if (character.isascii() or not ascii_only)
        and (character.isprintable() or character in "\n\t" or not printable)
        and not "\ud800" <= character <= "\udfff"
        else escape(character)
        for character in piece
    )


def _compressible() -> list[str]:
    """The names of the formats whose files may be compressed, and are kept when the command is stopped."""
    names = []
    for name in FORMATS:
        with suppress(ValueError, TypeError):  # of a package that cannot be imported
            if find_writer(name).streams:
                names.append(name)
    return names
