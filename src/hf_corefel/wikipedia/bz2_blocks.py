"""Read a part of a bz2 file that is one single stream: its blocks can be unpacked each by itself.

A stream is a head of four bytes, blocks of up to 900 kB of text, and an end. A block begins with a mark of 48 bits at
any bit. Between a head and an end of its own it is a stream that the standard library unpacks and whose sum it checks.
So the dumps that are not named ``multistream`` are read by many processes too.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .problems import OnProblem, Problem

__all__ = ["unpacked_blocks"]

_BLOCK = 0x314159265359
_END = 0x177245385090
_HEAD = 4  # bytes: "BZh" and the size of blocks
# No block is longer when packed; the mark of the next one, or of the end, is within that.
_LONGEST_BLOCK = 1 << 20
# By chance a mark stands within one of 10,000 dumps of Wikipedia: then what it cuts off is put together again.
_MOST_PARTS = 4


def unpacked_blocks(path: Path, on_problem: OnProblem, start: int) -> Iterator[tuple[int, bytes]]:
    """Unpack the blocks of a single stream from the first one on that begins at or after a byte.

    Args:
        path: The file.
        on_problem: Told of blocks that cannot be unpacked; the next one goes on.
        start: The byte.

    Yields:
        The byte in which a block begins, and what it holds; an empty piece where one was lost.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
        bit = _find(file, max(start, _HEAD) * 8, _BLOCK)
        while bit is not None:
            begins = bit
            piece, bit, message = _block(file, head, begins)
            if piece:
                yield begins // 8, piece
                continue
            where = f"{path}, byte {begins // 8}"
            if bit is None and not message:
                message = "the file ends in the midst of a bz2 stream; what came before is read"
                on_problem(Problem("truncated", where, message))
            else:
                on_problem(Problem("damaged", where, f"{message}; this block of the stream is left out"))
            yield begins // 8, b""


def _block(file: BinaryIO, head: bytes, begins: int) -> tuple[bytes, int | None, str]:
    """Return what a block holds, where the next one begins, and why the block holds nothing."""
    ends = begins
    message = ""
    next_block: int | None = None
    for _ in range(_MOST_PARTS):
        following = _find(file, ends + 1, _BLOCK)
        next_block = next_block or following
        end = following if following is not None else _find(file, ends + 1, _END)
        if end is None:
            return b"", next_block, ""
        try:
            return bz2.decompress(head + _as_stream(file, begins, end)), following, ""
        except (OSError, ValueError) as error:
            message = str(error)
        if following is None:
            return b"", next_block, message
        ends = following
    return b"", next_block, message


def _as_stream(file: BinaryIO, begins: int, ends: int) -> bytes:
    """Return the bits of one block, moved to where a byte begins, and the end of a stream of this block alone."""
    first, last = begins // 8, -(-ends // 8)
    file.seek(first)
    count = ends - begins
    block = (int.from_bytes(file.read(last - first), "big") >> (last * 8 - ends)) & ((1 << count) - 1)
    check_sum = (block >> max(0, count - 80)) & 0xFFFF_FFFF  # after the mark; of one block, it is the stream's too
    stream = (((block << 48) | _END) << 32) | check_sum
    count += 80
    size = -(-count // 8)
    return (stream << (size * 8 - count)).to_bytes(size, "big")


def _find(file: BinaryIO, bit: int, mark: int) -> int | None:
    """Return the bit of a file at which a mark begins first at or after a bit; None where there is none near."""
    first = bit // 8
    file.seek(first)
    window = file.read(_LONGEST_BLOCK * 2)
    found: list[int] = []
    for shift in range(8):
        # Bytes that are wholly of the mark when it begins at this bit of the byte before them.
        whole = ((mark >> shift) & 0xFF_FFFF_FFFF).to_bytes(5, "big")
        place = window.find(whole, 1)
        while place >= 0:
            around = int.from_bytes(window[place - 1 : place + 6].ljust(7, b"\0"), "big")
            begins = (first + place - 1) * 8 + shift
            if (around >> (8 - shift)) & 0xFFFF_FFFF_FFFF == mark and begins >= bit:
                found.append(begins)
                break
            place = window.find(whole, place + 1)
    return min(found, default=None)
