"""Which entities have a Wikidata id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .checking import check_offsets
from .text_table import TextTable

__all__ = ["WikidataIndex"]

# Odd, so that it has an inverse modulo 2^64.
_BASE = 0x9E3779B97F4A7C15
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class WikidataIndex:
    """Entities by a number that their Wikidata ids have.

    Attributes:
        keys: uint64 [V], ascending.
        entity_ids: uint32 [V].
    """

    keys: np.ndarray
    entity_ids: np.ndarray

    @classmethod
    def of(cls, table: TextTable) -> Self:
        """Index the Wikidata ids of a table.

        Raises:
            KnowledgeBaseError: When an offset cannot be right: the file is damaged.
        """
        check_offsets(table.offsets, len(table.text), table.file)
        keys = _keys(table.text, table.offsets)
        entity_ids = np.flatnonzero(table.offsets[1:] > table.offsets[:-1]).astype(np.uint32)
        keys = keys[entity_ids]
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], entity_ids[order])

    def find(self, identifier: str) -> list[int]:
        """Return the entities that may have a Wikidata id: two ids may, in theory, have one number."""
        text = np.frombuffer(identifier.encode("utf-8", "replace"), dtype=np.uint8)
        if not len(text):
            return []
        key = _keys(text, np.array([0, len(text)]))[0]
        begin, end = np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, side="right")
        found: list[int] = self.entity_ids[begin:end].tolist()
        return found


def _keys(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return a number for each slice of a text, uint64: polynomial hashes, so that no string has to be made.

    Args:
        text: uint8 [N].
        offsets: [R+1], where the slices begin and end.
    """
    keys = np.zeros(len(offsets) - 1, dtype=np.uint64)
    for start in range(0, len(keys), _CHUNK):
        bounds = offsets[start : start + _CHUNK + 1].astype(np.int64)
        bounds, begin = bounds - bounds[0], int(bounds[0])
        size = int(bounds[-1])
        # What the hash of a slice is in the sum from the beginning of the chunk on, divided by the power there.
        sums = np.zeros(size + 1, dtype=np.uint64)
        np.cumsum(text[begin : begin + size] * _powers(_BASE, size), out=sums[1:], dtype=np.uint64)
        inverse = _powers(pow(_BASE, -1, 1 << 64), size + 1)
        keys[start : start + _CHUNK] = (sums[bounds[1:]] - sums[bounds[:-1]]) * inverse[bounds[:-1]]
    return keys


def _powers(base: int, count: int) -> np.ndarray:
    """Return the first powers of a number modulo 2^64, from the zeroth on."""
    powers = np.full(count, base, dtype=np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)
