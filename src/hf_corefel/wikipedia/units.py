"""Parts of a dump for many processes, and what each unpacks to."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .bz2_blocks import unpacked_blocks
from .problems import OnProblem, Problem
from .streams import compression_of, stream_starts, unpacked

__all__ = ["SMALLEST_PART", "Unit", "lines_of", "pieces_of", "split"]

_LONGEST_LINE = 64 << 20
SMALLEST_PART = 4 << 20
"""Bytes below which a single bz2 stream is not cut: a few of its blocks."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a dump file for one process: the pages that begin in some of its bytes."""

    path: Path
    start: int = 0
    end: int | None = None
    """Before which byte of the file the last stream or block, in a plain file the last page, begins; None: the end."""
    blocks: bool = False
    """Whether it is a part of one single bz2 stream: the blocks that begin in these bytes."""

    @property
    def size(self) -> int:
        """Bytes of the file that it stands for."""
        return (self.path.stat().st_size if self.end is None else self.end) - self.start


def split(paths: Iterable[str | Path], parts: int) -> list[Unit]:
    """Cut dumps into units of about equal size for worker processes; every page is in exactly one.

    Plain files are cut anywhere, bz2 files where a stream begins (those named ``multistream`` have one for every 100
    pages) or, when they are one single stream, where a block of it begins. Others are one unit each.

    Args:
        paths: The dump's files.
        parts: Units that are wanted; there are fewer where files cannot be cut so often, more where there are more
            files.
    """
    files = [Path(path) for path in paths]
    total = sum(path.stat().st_size for path in files)
    target = max(1, -(-total // max(1, parts)))
    units: list[Unit] = []
    for path in files:
        size = path.stat().st_size
        pieces = min(max(1, parts), max(1, round(size / target)))
        units += _units(path, size, pieces)
    return units


def _units(path: Path, size: int, pieces: int) -> list[Unit]:
    compression = compression_of(path)
    if pieces == 1 or compression in ("gz", "zst"):
        return [Unit(path)]
    blocks = False
    if compression == "bz2":
        starts = stream_starts(path)
        blocks = len(starts) == 1
        if blocks:
            pieces = max(1, min(pieces, size // SMALLEST_PART))
    cuts = [size * piece // pieces for piece in range(1, pieces)]
    if compression == "bz2" and not blocks:
        cuts = _at_streams(cuts, starts)
    bounds: list[int | None] = [0, *sorted({cut for cut in cuts if cut > 0}), None]
    blocks = blocks and len(bounds) > 2
    return [Unit(path, start or 0, end, blocks) for start, end in itertools.pairwise(bounds)]


def _at_streams(cuts: Iterable[int], starts: list[int]) -> list[int]:
    found = (bisect_left(starts, cut) for cut in cuts)
    return [starts[index] for index in found if index < len(starts)]


def pieces_of(unit: Unit, on_problem: OnProblem) -> Iterator[tuple[bool, bytes]]:
    """Unpack a unit, and on from there: what begins in a unit may end beyond it.

    Args:
        unit: One of `split`.
        on_problem: Told of what cannot be unpacked.

    Yields:
        Whether a piece stands beyond the unit, and the piece; an empty one says that something before it was lost.
    """
    unpack = unpacked_blocks if unit.blocks else unpacked
    plain = compression_of(unit.path) == ""
    for position, piece in unpack(unit.path, on_problem, unit.start):
        if plain and unit.end is not None and position < unit.end < position + len(piece):
            yield False, piece[: unit.end - position]
            yield True, piece[unit.end - position :]
        else:
            yield unit.end is not None and position >= unit.end, piece


def lines_of(unit: Unit, on_problem: OnProblem, longest: int = _LONGEST_LINE) -> Iterator[tuple[str, bytes]]:
    """Unpack a unit line by line; every line of a file is in exactly one of its units.

    Args:
        unit: One of `split`, or a whole file.
        on_problem: Told of what could not be unpacked, and of lines that are too long, which are left out.
        longest: Bytes of the longest line that is given.

    Yields:
        Where the line stands, for messages, and the line without its end.
    """
    held: list[bytes] = []
    size = begins = total = 0
    number = 1
    limit: int | None = None  # where the unit ends; a line that begins just there is still its own
    cut = unit.start > 0  # whether a part of this line is missing: the unit before has it, or it was lost
    counted = f"{unit.path}, line " if unit.start == 0 else f"{unit.path}, after byte {unit.start}: line "
    for beyond, piece in pieces_of(unit, on_problem):
        if beyond and limit is None:
            limit = total
        cut = cut or not piece
        *ended, rest = piece.split(b"\n")
        for end in ended:
            size += len(end)
            if limit is not None and begins > limit:
                return
            if not cut and size <= longest:
                yield f"{counted}{number}", b"".join([*held, end])
            elif not cut:
                message = f"the line has {size:,} bytes, more than {longest:,}; it is left out"
                on_problem(Problem("too_big", f"{counted}{number}", message))
            begins += size + 1
            held, size, cut = [], 0, False
            number += 1
        size += len(rest)
        held = [*held, rest] if size <= longest else []
        total += len(piece)
        if limit is not None and begins > limit:
            return
    if size and not cut and size <= longest:
        yield f"{counted}{number}", b"".join(held)
