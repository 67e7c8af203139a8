"""Strings that wait in a file: read once from whoever gives them, and then as often as it takes."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from .storage import offsets_of
from .tensor_file import TensorFile

__all__ = ["CHUNK", "KeySpool", "TextSpool", "chunks"]

# So many strings are worked on at once.
CHUNK = 65_536
_BLOCK = 1 << 20

_Item = TypeVar("_Item")


def chunks(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Give items in lists of at most `CHUNK`."""
    left = iter(items)
    while chunk := list(islice(left, CHUNK)):
        yield chunk


class KeySpool:
    """Names that a trie can hold, which have no NUL, in the order in which they were given.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.count = 0

    def through(self, keys: Iterable[str]) -> Iterator[str]:
        """Give the keys as they come, and keep them."""
        with self._path.open("wb") as file:
            for key in keys:
                file.write(key.encode() + b"\0")
                self.count += 1
                yield key

    def __iter__(self) -> Iterator[str]:
        """The keys that went through."""
        rest = b""
        with self._path.open("rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                *whole, rest = (rest + block).split(b"\0")
                for key in whole:
                    yield key.decode()

    def remove(self) -> None:
        """Give the space back."""
        self._path.unlink(missing_ok=True)


class TextSpool:
    """Texts of N things, given in the order of the things.

    Args:
        path: The file.
        count: N.
        texts: The place of a thing, ascending, and its text in UTF-8.
    """

    def __init__(self, path: Path, count: int, texts: Iterable[tuple[int, bytes]]) -> None:
        self._path = path
        self._lengths = np.zeros(count, dtype=np.uint32)
        with path.open("wb") as file:
            for place, text in texts:
                self._lengths[place] = len(text)
                file.write(text)

    def write(self, path: Path, order: np.ndarray) -> None:
        """Write the file of a `TextTable` with the texts in another order, and give the space back.

        Args:
            path: The file.
            order: int [N], which thing is the first, the second, and so on.
        """
        begins = np.cumsum(self._lengths, dtype=np.uint64) - self._lengths
        offsets = offsets_of(self._lengths[order])
        total = int(offsets[-1])
        with TensorFile(path, {"offsets": (offsets.dtype.str, offsets.shape), "text": ("<u1", (total,))}) as written:
            written.write("offsets", 0, offsets)
            if total:
                self._copy(written, begins, offsets, order)
        self._path.unlink()

    def _copy(self, written: TensorFile, begins: np.ndarray, offsets: np.ndarray, order: np.ndarray) -> None:
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            for start in range(0, len(order), CHUNK):
                places = order[start : start + CHUNK]
                parts = zip(begins[places].tolist(), self._lengths[places].tolist(), strict=True)
                joined = b"".join([text[begin : begin + length] for begin, length in parts])
                written.write("text", int(offsets[start]), np.frombuffer(joined, dtype=np.uint8))
