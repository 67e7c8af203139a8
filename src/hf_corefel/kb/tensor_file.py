"""Safetensors files whose arrays are written piece by piece, for what is larger than memory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from .storage import TENSOR_TYPES

__all__ = ["TensorFile"]


class TensorFile:
    """A new safetensors file, open for writing; what is never written of an array is zeros.

    Args:
        path: The file.
        arrays: The type and the shape of each array, by its name.

    Raises:
        OSError: When it cannot be written.
    """

    def __init__(self, path: Path, arrays: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        names = {np.dtype(dtype): name for name, dtype in TENSOR_TYPES.items()}
        header: dict[str, object] = {"__metadata__": {"format": "np"}}
        self._places: dict[str, tuple[int, np.dtype]] = {}
        end = 0
        # As the library orders them, so that each array begins at a multiple of its numbers' size.
        for name, (kind, shape) in sorted(arrays.items(), key=lambda item: (-np.dtype(item[1][0]).itemsize, item[0])):
            dtype = np.dtype(kind)
            size = math.prod(shape) * dtype.itemsize
            header[name] = {"dtype": names[dtype], "shape": list(shape), "data_offsets": [end, end + size]}
            self._places[name] = (end, dtype)
            end += size
        head = json.dumps(header).encode()
        head += b" " * (-len(head) % 8)
        self._start = 8 + len(head)
        self._file = path.open("wb", buffering=0)
        self._file.write(len(head).to_bytes(8, "little") + head)
        self._file.truncate(self._start + end)

    def write(self, name: str, begin: int, part: np.ndarray) -> None:
        """Write part of an array, from its number `begin` on."""
        offset, dtype = self._places[name]
        data = np.ascontiguousarray(part, dtype=dtype).reshape(-1).view(np.uint8).data
        place = self._start + offset + begin * dtype.itemsize
        while data:
            self._file.seek(place)
            written = self._file.write(data)
            data, place = data[written:], place + written

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
