"""Vectors that were made of texts, in a file that many processes read and add to.

The file is derived: without it the same vectors are made again. It begins with a header and goes on with records of
one size, which are only ever added at its end, by the holder of its lock. A record names the text that it is of by two
hashes and has a checksum: what a process that was killed left half-written is passed over, and cut off by the next
that adds.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xxhash

from ..utils.files import FileBusyError, locked

__all__ = ["VectorCache", "text_keys"]

# So many newer keys are kept beside the sorted ones.
SETTLED = 1 << 16
_MAGIC = b"corefel vectors\1"
# Bytes that are read at once.
_BLOCK = 1 << 24
# Seconds that are waited for another process that adds; then these vectors are made again next time.
_WAIT = 10.0


def text_keys(names: Sequence[str], descriptions: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return two hashes of what vectors are made of, uint64 [M] and uint32 [M]."""
    texts = [f"{name}\0{text or ''}".encode("utf-8", "replace") for name, text in zip(names, descriptions, strict=True)]
    keys = np.fromiter(map(xxhash.xxh3_64_intdigest, texts), dtype=np.uint64, count=len(texts))
    return keys, np.fromiter(map(xxhash.xxh32_intdigest, texts), dtype=np.uint32, count=len(texts))


class VectorCache:
    """Quantised vectors [D] by the hashes of their texts. Threads may share one.

    Args:
        path: The file.
        codes: The type of the numbers.
        size: D.
    """

    def __init__(self, path: Path, codes: np.dtype, size: int) -> None:
        self.path = path
        self._record = np.dtype(
            [
                ("key", "<u8"),
                ("check", "<u4"),
                ("sum", "<u4"),
                ("scale", "<f4"),
                ("codes", codes.newbyteorder("<"), (size,)),
            ]
        )
        self._header = _MAGIC + f"{codes.str} {size}".encode().ljust(16)
        self._lock = threading.Lock()
        self._warned = False
        # Rows by key: sorted arrays of those that were there for long, and the newer ones.
        self._keys, self._rows = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._newer: dict[int, int] = {}
        self._count = 0

    def find(self, keys: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what is known of M texts, by the hashes that `text_keys` gives.

        Returns:
            Codes [M, D], scales float32 [M], and whether they are known, bool [M].
        """
        codes = np.zeros((len(keys), *self._record["codes"].shape), dtype=self._record["codes"].base)
        scales, known = np.zeros(len(keys), np.float32), np.zeros(len(keys), bool)
        with self._lock:
            try:
                with self.path.open("rb", buffering=0) as file:
                    rows = self._rows_of(keys)
                    if (rows < 0).any():
                        self._read_new(file.fileno())
                        rows = self._rows_of(keys)
                    for place in np.flatnonzero(rows >= 0).tolist():
                        record = self._read(file.fileno(), int(rows[place]), keys[place], checks[place])
                        if record is not None:
                            codes[place], scales[place], known[place] = record["codes"], record["scale"], True
            except OSError:
                # There is no file yet, or it may not be read.
                pass
        return codes, scales, known

    def add(self, keys: np.ndarray, checks: np.ndarray, codes: np.ndarray, scales: np.ndarray) -> None:
        """Keep vectors of texts that the file lacks; where it cannot be written, say so once and go on."""
        records = np.zeros(len(keys), dtype=self._record)
        records["key"], records["check"], records["scale"], records["codes"] = keys, checks, scales, codes
        for place in range(len(records)):
            records["sum"][place] = _sum_of(records[place])
        try:
            with locked(self.path, timeout=_WAIT), self._lock:
                self._append(records)
        except FileBusyError:
            pass
        except OSError as error:
            if not self._warned:
                warnings.warn(
                    f"{self.path}: vectors that were computed cannot be kept there ({error.strerror or error}); every "
                    "process computes them anew",
                    stacklevel=2,
                )
            self._warned = True

    def _append(self, records: np.ndarray) -> None:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            count = self._read_new(descriptor)
            if count < 0:
                os.ftruncate(descriptor, 0)
                _write_at(descriptor, self._header, 0)
                count = self._read_new(descriptor)
            end = len(self._header) + count * self._record.itemsize
            # A killed writer left part of a record.
            os.ftruncate(descriptor, end)
            # One that is damaged is put there again: of two the later counts.
            new = [
                place
                for place, row in enumerate(self._rows_of(records["key"]).tolist())
                if row < 0 or self._read(descriptor, row, records["key"][place], records["check"][place]) is None
            ]
            _write_at(descriptor, records[new].tobytes(), end)
            self._read_new(descriptor)
        finally:
            os.close(descriptor)

    def _read_new(self, descriptor: int) -> int:
        """Read the keys that were added since; return how many records there are, -1 in another kind of file."""
        size, start = os.fstat(descriptor).st_size, len(self._header)
        if _read_at(descriptor, start, 0) != self._header:
            self._forget()
            return -1
        count = (size - start) // self._record.itemsize
        if count < self._count:
            self._forget()
        while self._count < count:
            most = max(1, _BLOCK // self._record.itemsize)
            length = min(most, count - self._count) * self._record.itemsize
            data = _read_at(descriptor, length, start + self._count * self._record.itemsize)
            data = data[: len(data) // self._record.itemsize * self._record.itemsize]
            if not data:
                return self._count
            keys = np.frombuffer(data, dtype=self._record)["key"].tolist()
            self._newer.update(zip(keys, range(self._count, self._count + len(keys)), strict=True))
            self._count += len(keys)
            if len(self._newer) > SETTLED:
                self._settle()
        return count

    def _settle(self) -> None:
        """Put newer keys among the sorted ones; of two rows with one key the later stands."""
        newer = np.fromiter(self._newer, np.uint64, len(self._newer))
        rows = np.fromiter(self._newer.values(), np.int64, len(self._newer))
        keys, rows = np.concatenate([newer, self._keys]), np.concatenate([rows, self._rows])
        self._keys, first = np.unique(keys, return_index=True)
        self._rows, self._newer = rows[first], {}

    def _forget(self) -> None:
        self._keys, self._rows, self._newer, self._count = np.zeros(0, np.uint64), np.zeros(0, np.int64), {}, 0

    def _rows_of(self, keys: np.ndarray) -> np.ndarray:
        """The rows of keys, int64 [M]; -1 = there is none."""
        rows = np.full(len(keys), -1, dtype=np.int64)
        if len(self._keys):
            places = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
            rows = np.where(self._keys[places] == keys, self._rows[places], -1)
        if self._newer:
            for place, key in enumerate(keys.tolist()):
                rows[place] = self._newer.get(key, rows[place])
        return rows

    def _read(self, descriptor: int, row: int, key: np.uint64, check: np.uint32) -> np.void | None:
        """A record, or None when it is not whole or of another text."""
        data = _read_at(descriptor, self._record.itemsize, len(self._header) + row * self._record.itemsize)
        if len(data) < self._record.itemsize:
            return None
        record: np.void = np.frombuffer(data, dtype=self._record)[0]
        same = record["key"] == key and record["check"] == check and record["sum"] == _sum_of(record)
        return record if same else None


def _sum_of(record: np.void) -> int:
    """The checksum of a record but for its own place."""
    data = record.tobytes()
    return xxhash.xxh32_intdigest(data[:12] + data[16:])


def _read_at(descriptor: int, length: int, place: int) -> bytes:
    """Read so many bytes from a place on, or what there is."""
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.read(descriptor, length)


def _write_at(descriptor: int, data: bytes, place: int) -> None:
    os.lseek(descriptor, place, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
