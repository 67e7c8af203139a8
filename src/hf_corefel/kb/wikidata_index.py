"""Which entities have a Wikidata id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .checking import check_offsets
from .text_table import TextTable

__all__ = ["WikidataIndex"]


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
        begins = table.offsets[:-1].astype(np.int64)
        lengths = table.offsets[1:].astype(np.int64) - begins
        entity_ids = np.flatnonzero(lengths)
        keys = _keys(table.text, begins[entity_ids], lengths[entity_ids])
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], entity_ids[order].astype(np.uint32))

    def find(self, identifier: str) -> list[int]:
        """Return the entities that may have a Wikidata id: two ids may, in theory, have one number."""
        text = np.frombuffer(identifier.encode("utf-8", "replace"), dtype=np.uint8)
        if not len(text):
            return []
        key = _keys(text, np.zeros(1, np.int64), np.array([len(text)]))[0]
        begin, end = np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, side="right")
        found: list[int] = self.entity_ids[begin:end].tolist()
        return found


def _keys(text: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return a number for each slice of a text, uint64: polynomial hashes, so that no string has to be made."""
    keys = np.zeros(len(begins), dtype=np.uint64)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        keys[longer] = keys[longer] * np.uint64(1_000_003) + text[begins[longer] + place]
    return keys
