"""Open a dump and unpack it piece by piece: bz2 of one or many streams, gzip, zstandard or plain.

What cannot be unpacked is reported and passed over where the format has a place to go on from.
"""

from __future__ import annotations

import bz2
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .problems import OnProblem, Problem, WikipediaError

__all__ = ["BZ2_STREAM", "compression_of", "stream_starts", "unpacked"]

# The head of a bz2 stream that holds something: its mark, the block size and the mark of the first block. An empty
# stream lacks the last, but nothing begins in it.
BZ2_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_LONGEST_HEAD = 10
_READ = 1 << 18
_READ_ZSTANDARD = 1 << 14  # which unpacks to half a gibibyte at worst
# So that a small file that unpacks to very much is unpacked in pieces.
_PIECE = 1 << 20


def compression_of(path: Path) -> str:
    """Return ``bz2``, ``gz``, ``zst`` or ``""``, by how the file begins, whatever its name is.

    Raises:
        WikipediaError: When it is packed in a way that is not read here.
    """
    with path.open("rb") as file:
        head = file.read(6)
    for magic, name in ((b"BZh", "bz2"), (b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f\xfd", "zst")):
        if head.startswith(magic):
            return name
    for magic, name in ((b"7z\xbc\xaf", "7z"), (b"\xfd7zXZ", "xz"), (b"PK\x03\x04", "zip")):
        if head.startswith(magic):
            raise WikipediaError(f"{path}: is packed as {name}; unpack it, or pack it as bz2, gz or zst")
    return ""


def stream_starts(path: Path) -> list[int]:
    """Return the byte at which each bz2 stream of a file begins, in ascending order."""
    starts: list[int] = []
    with path.open("rb") as file:
        kept = b""
        position = 0
        while piece := file.read(_READ * 16):
            window = kept + piece
            starts += [position - len(kept) + found.start() for found in BZ2_STREAM.finditer(window)]
            position += len(piece)
            kept = window[-(_LONGEST_HEAD - 1) :]
    return starts


def unpacked(path: Path, on_problem: OnProblem, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Unpack a file from a byte on.

    Args:
        path: The file.
        on_problem: Told of what could not be unpacked.
        start: Where to begin: where a bz2 stream begins, any byte of a plain file, otherwise 0.

    Yields:
        The byte of the file at which the packed stream begins, or for a plain file the piece itself, and the piece.
        An empty piece says that something before it was lost.
    """
    compression = compression_of(path)
    with path.open("rb") as file:
        file.seek(start)
        if compression == "bz2":
            yield from _bz2(path, file, start, on_problem)
        elif compression == "gz":
            yield from _gzip(path, file, on_problem)
        elif compression == "zst":
            yield from _zstandard(path, file, on_problem)
        else:
            position = start
            while piece := file.read(_PIECE):
                yield position, piece
                position += len(piece)


def _bz2(path: Path, file: BinaryIO, start: int, on_problem: OnProblem) -> Iterator[tuple[int, bytes]]:
    waiting = b""  # read, not yet unpacked
    position = start  # of its first byte
    while True:
        waiting = waiting or file.read(_READ)
        if len(waiting) < 4:
            waiting += file.read(_READ)
        if not waiting:
            return
        if not waiting.startswith(b"BZh"):
            lost = position
            position, waiting = _next_stream(file, position, waiting)
            on_problem(Problem("damaged", f"{path}, byte {lost}", _passed_over(position - lost, bool(waiting))))
            yield lost, b""
            continue
        unpacker = bz2.BZ2Decompressor()
        stream = position
        try:
            piece = unpacker.decompress(waiting, _PIECE)
            taken = waiting
            while True:
                if piece:
                    yield stream, piece
                if unpacker.eof:
                    break
                if unpacker.needs_input:
                    position += len(taken)
                    taken = file.read(_READ)
                    if not taken:
                        message = "the file ends in the midst of a bz2 stream; what came before is read"
                        on_problem(Problem("truncated", f"{path}, byte {position}", message))
                        yield stream, b""
                        return
                piece = unpacker.decompress(taken if unpacker.needs_input else b"", _PIECE)
        except (OSError, EOFError, ValueError) as error:
            # Back to just after the head that led here, to find the next one.
            file.seek(stream + 1)
            position, waiting = _next_stream(file, stream + 1, b"")
            on_problem(
                Problem(
                    "damaged", f"{path}, byte {stream}", f"{error}; {_passed_over(position - stream, bool(waiting))}"
                )
            )
            yield stream, b""
            continue
        waiting = unpacker.unused_data
        position += len(taken) - len(waiting)


def _next_stream(file: BinaryIO, position: int, waiting: bytes) -> tuple[int, bytes]:
    """Return where the next bz2 stream begins and what was read from there on; the end of the file and nothing."""
    while True:
        found = BZ2_STREAM.search(waiting)
        if found:
            return position + found.start(), waiting[found.start() :]
        kept = waiting[-(_LONGEST_HEAD - 1) :]
        position += len(waiting) - len(kept)
        piece = file.read(_READ)
        if not piece:
            return position + len(kept), b""
        waiting = kept + piece


def _passed_over(count: int, more: bool) -> str:
    return f"{count} bytes are left out" + ("" if more else ", to the file's end")


def _gzip(path: Path, file: BinaryIO, on_problem: OnProblem) -> Iterator[tuple[int, bytes]]:
    waiting = file.read(_READ)
    member = position = 0
    while waiting:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            while not unpacker.eof:
                if not waiting:
                    message = "the file ends in the midst of a gzip stream; what came before is read"
                    on_problem(Problem("truncated", f"{path}, byte {position}", message))
                    yield member, b""
                    return
                piece = unpacker.decompress(waiting, _PIECE)
                position += len(waiting) - len(unpacker.unconsumed_tail) - len(unpacker.unused_data)
                waiting = unpacker.unconsumed_tail or unpacker.unused_data
                if not waiting:
                    waiting = file.read(_READ)
                if piece:
                    yield member, piece
        except zlib.error as error:
            if waiting.strip(b"\0") or file.read(_READ).strip(b"\0"):  # zeros pad some archives
                message = f"{error}; what follows is left out, as gzip has no place to go on from"
                on_problem(Problem("damaged", f"{path}, byte {position}", message))
                yield member, b""
            return
        member = position


def _zstandard(path: Path, file: BinaryIO, on_problem: OnProblem) -> Iterator[tuple[int, bytes]]:
    try:
        import zstandard
    except ImportError as error:
        raise WikipediaError(
            f"{path}: reading .zst needs the package zstandard: pip install 'hf-corefel[wikipedia]'"
        ) from error
    # The package's readers take the end of a cut file for its end; these objects unpack all that they are given.
    waiting = file.read(_READ_ZSTANDARD)
    position = 0
    while waiting:
        frame = position
        unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        try:
            while not unpacker.eof:
                if not waiting:
                    message = "the file ends in the midst of a zstandard frame; what came before is read"
                    on_problem(Problem("truncated", f"{path}, byte {position}", message))
                    yield frame, b""
                    return
                piece = unpacker.decompress(waiting)
                position += len(waiting) - len(unpacker.unused_data)
                waiting = unpacker.unused_data or file.read(_READ_ZSTANDARD)
                if piece:
                    yield frame, piece
        except zstandard.ZstdError as error:
            message = f"{error}; what follows is left out, as zstandard has no place to go on from"
            on_problem(Problem("damaged", f"{path}, byte {position}", message))
            yield frame, b""
            return
