"""Files of any format: the one rule of compression, and what a file holds when writing ends early."""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..documents import AnnotatedDocument, Document
from ..utils.files import whole_file
from .registry import FORMATS, can_read, find_writer, format_of, known_suffixes
from .writer import AnyDocument, Losses, document_from, name_in

__all__ = ["encoded", "is_compressed", "read_documents", "write_documents", "write_pieces"]

_AS_GZIP = 16 + zlib.MAX_WBITS
_SURROGATES = re.compile("[\ud800-\udfff]")


def is_compressed(path: str | Path) -> bool:
    """Return whether a file is compressed, by its name: one that ends in ``.gz``, whatever it holds."""
    return Path(path).suffix.lower() == ".gz"


def encoded(piece: str | bytes, losses: Losses) -> bytes:
    """Return a piece as bytes: text as UTF-8, in which U+FFFD stands for each lone surrogate."""
    if isinstance(piece, bytes):
        return piece
    try:
        return piece.encode("utf-8")
    except UnicodeEncodeError:
        plain, number = _SURROGATES.subn("\N{REPLACEMENT CHARACTER}", piece)
        losses.count("lone surrogates", number)
        return plain.encode("utf-8")


def write_pieces(path: Path, pieces: Iterable[bytes], *, compressed: bool) -> int:
    """Write pieces into the file itself, and return how many.

    Each piece is with the operating system before the next one is asked for, so that a kill costs none. Whatever ends
    the pieces early, the file then holds those before it; after a failed write, none that is cut. The same pieces give
    the same bytes, compressed or not.
    """
    number = written = 0  # pieces that are whole, and their bytes
    is_cut = False
    # Each piece is flushed by itself; zlib's header has no time, which would differ from run to run.
    packer = zlib.compressobj(wbits=_AS_GZIP) if compressed else None
    file = path.open("wb")
    try:
        for piece in pieces:
            is_cut = True
            if packer is not None:
                piece = packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
            file.write(piece)
            file.flush()
            number, written, is_cut = number + 1, written + len(piece), False
        if packer is not None:
            file.write(packer.flush())
        file.close()
    except BaseException:
        with suppress(OSError, zlib.error):
            if packer is not None and number and not is_cut:
                file.write(packer.flush())
        with suppress(OSError):  # closing tries again to write what could not be written
            file.close()
        if (is_cut or not number) and path.is_file():
            os.truncate(path, written)
        raise
    return number


def write_documents(path: str | Path, documents: Iterable[AnyDocument], format: str | None = None) -> int:
    """Write documents in any format that is registered.

    A file is put in place when it is whole; see `hf_corefel.formats.jsonl.write_jsonl` for what stays of one that is
    not, which holds for every format that streams.

    Args:
        path: The file, replaced when it exists; for a format of folders, the folder, which is made.
        documents: Results, also as the dicts that a pipeline gives, or documents with gold clusters.
        format: The name of the format; what the ending of the path says when None.

    Returns:
        How many documents were written.

    Raises:
        ValueError: When there is no such format, the ending says none, or the format cannot be compressed.
        TypeError: When there is anything else among the documents.
        ImportError: When the format needs a package that is not installed; the message names the extra.
        OSError: When the file cannot be written.

    Warns:
        FormatLossWarning: When the format cannot hold all that the documents say.
        UserWarning: When a folder holds files of other documents.
    """
    kind = format or format_of(str(path))
    if kind is None:
        raise ValueError(f"{path}: no format ends so; end it in {', '.join(known_suffixes())}, or say format=")
    if isinstance(documents, Document | AnnotatedDocument | Mapping | str):
        raise TypeError(f"documents: expected several of them, such as a list; got one {type(documents).__name__}")
    writer, losses, count = find_writer(kind), Losses(), _Count()
    if writer.folder:
        from .folders import FolderNames, plain_stem, write_files

        folder, names = Path(path), FolderNames()
        folder.mkdir(parents=True, exist_ok=True)
        before, written = {path.name for path in folder.iterdir()}, set[str]()
        for document in count.over(documents):
            name = name_in(document, count.number + 1)
            stem = names.take(plain_stem(name))
            losses.count("names of documents that are changed in names of files", stem != name)
            files = writer.files(document, losses)
            write_files(folder, stem, files, losses)
            written |= {stem + suffix for suffix in files}
        endings = {Path(name).suffix for name in written}
        if others := sorted(name for name in before - written if Path(name).suffix in endings):
            warnings.warn(
                f"{path}: {len(others)} files of other documents stay there, such as {others[0]}; who reads the folder "
                "reads them too",
                stacklevel=2,
            )
    else:
        if is_compressed(path) and not writer.streams:
            raise ValueError(f"{path}: files of the format {kind} are not compressed; choose a name without .gz")
        with whole_file(path, keep_partial=writer.streams) as place:
            pieces = (encoded(piece, losses) for piece in writer.write(count.over(documents), losses))
            write_pieces(place, pieces, compressed=is_compressed(path))
    losses.warn(kind)
    return count.number


def read_documents(path: str | Path, format: str | None = None) -> Iterator[AnyDocument]:
    """Read the documents of a file, or folder, in a format that can be read.

    Args:
        path: The file or folder.
        format: The name of the format; what the ending of the path says when None.

    Raises:
        ValueError: When there is no such format, it is written only, or the file is none of its kind.
        OSError: When the file cannot be read.
    """
    kind = format or format_of(str(path))
    readable = [name for name in FORMATS if _is_readable(name)]
    if kind is None:
        raise ValueError(f"{path}: its ending stands for no format; say which of {', '.join(readable)} it is")
    if not can_read(kind):
        raise ValueError(f"{path}: {kind} is written only; formats that can be read are {', '.join(readable)}")
    writer = find_writer(kind)
    if is_compressed(path) and not writer.streams:
        raise ValueError(f"{path}: files of the format {kind} are not read compressed; unpack it first")
    return writer.read(Path(path))


def _is_readable(name: str) -> bool:
    try:
        return can_read(name)
    except (ValueError, TypeError):  # of a package that cannot be imported
        return False


class _Count:
    """How many documents were taken."""

    number = 0

    def over(self, documents: Iterable[AnyDocument]) -> Iterator[AnyDocument]:
        for document in documents:
            yield _document(document)
            self.number += 1


def _document(given: Any) -> AnyDocument:
    """What was given as a document: that itself, or the dict that a pipeline's call gives.

    Raises:
        TypeError: When it is neither.
    """
    if isinstance(given, Mapping):
        return document_from(given)
    if not isinstance(given, Document | AnnotatedDocument):
        raise TypeError(f"documents: expected documents or results, got {type(given).__name__}")
    return given
