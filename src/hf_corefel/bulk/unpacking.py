"""Files as they are or packed, by their names: ``.gz``, and ``.zst`` (extra ``bulk``); a cut one is an error."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from zlib import error as ZlibError

__all__ = ["UnreadableInputError", "Watch", "opened", "plain_name"]

_PACKED = (".gz", ".zst")
# Which unpacks to half a gibibyte at worst.
_READ = 1 << 14


class UnreadableInputError(Exception):
    """A file, or a line of one, cannot be read; the message names the place and the reason.

    Attributes:
        place: What could not be read: the file, and the number of the line if it is one line.
        passing: Whether another try may go well, as after a failure of the network.

    Example:
        >>> from hf_corefel.bulk import UnreadableInputError
        >>> UnreadableInputError("cannot read a.jsonl:3: no JSON", "a.jsonl:3").place
        'a.jsonl:3'
    """

    def __init__(self, message: str, place: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.place = place
        self.passing = passing

    def __reduce__(self) -> tuple[Any, ...]:
        # As it stands, an exception is unpickled from its message alone.
        return type(self), (str(self), self.place), vars(self)


@dataclass
class Watch:
    """Tells how many bytes have been read of the file that is open."""

    file: IO[bytes] | None = None

    def position(self) -> int:
        """Return the bytes that have been read of it, packed as they are; 0 where that cannot be told."""
        try:
            return 0 if self.file is None else self.file.tell()
        except (OSError, ValueError):  # a pipe, or closed
            return 0


def plain_name(name: str) -> str:
    """Return the name of a file in lower case, without the ending that says how it is packed."""
    lower = name.lower()
    for ending in _PACKED:
        lower = lower.removesuffix(ending)
    return lower


@contextmanager
def opened(name: str, file: IO[bytes] | None = None, watch: Watch | None = None) -> Iterator[IO[bytes]]:
    """Give the bytes of a file, unpacked where its name says that it is packed.

    Args:
        name: The file.
        file: Read as it is in place of the file of that name.
        watch: Told which file is open.

    Raises:
        UnreadableInputError: When it cannot be opened or, while inside, read or unpacked, or ends too early.
    """
    lower = name.lower()
    try:
        if file is not None:
            yield file
            return
        if "\0" in name:
            raise UnreadableInputError(f"{name}: no file has a null character in its name", place=name)
        with Path(name).open("rb") as packed:
            if watch is not None:
                watch.file = packed
            if lower.endswith(".gz"):
                with gzip.open(packed) as unpacked:
                    yield cast(IO[bytes], unpacked)
            elif lower.endswith(".zst"):
                yield io.BufferedReader(_Zstandard(name, packed), 1 << 20)
            else:
                yield packed
    except (EOFError, ZlibError, gzip.BadGzipFile) as error:
        raise UnreadableInputError(f"{name}: damaged gzip file: {error}", place=name) from error
    except OSError as error:
        raise UnreadableInputError(f"{name}: {error.strerror or error}", place=name) from error


class _Zstandard(io.RawIOBase):
    """The content of a zstandard file. The package's own readers take the end of a cut file for its end."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise UnreadableInputError(
                f"{name}: reading .zst needs the package zstandard: pip install 'hf-corefel[bulk]'", place=name
            ) from error
        self._error: Any = zstandard.ZstdError
        self._name, self._file = name, file
        self._new = lambda: zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._frame: Any = None
        self._waiting, self._ready = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._waiting = self._waiting or self._file.read(_READ)
            if not self._waiting:
                if self._frame is None:
                    return 0
                raise self._damaged("it ends too early")
            self._frame = self._frame or self._new()
            try:
                self._ready = memoryview(self._frame.decompress(self._waiting))
            except self._error as error:
                raise self._damaged(error) from error
            self._waiting = b""
            if self._frame.eof:
                self._waiting, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _damaged(self, why: object) -> UnreadableInputError:
        return UnreadableInputError(f"{self._name}: damaged zstandard file: {why}", place=self._name)
