"""Descriptions of entities: one block of UTF-8 text and where each begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import KnowledgeBaseError
from .storage import offsets_of

__all__ = ["DescriptionTable"]


@dataclass(frozen=True, slots=True)
class DescriptionTable:
    """Descriptions of the entities 0..E-1; an empty one is none.

    Attributes:
        offsets: uint32 or uint64 [E+1], where a description begins and ends in `text`.
        text: uint8, the descriptions in UTF-8 one after the other.
    """

    offsets: np.ndarray
    text: np.ndarray

    @classmethod
    def build(cls, entities: Any, descriptions: Mapping[str, str]) -> DescriptionTable:
        """Stores descriptions by name of entity.

        Args:
            entities: The `marisa_trie.Trie` that numbers the entities.
            descriptions: Texts of some of them.

        Raises:
            KnowledgeBaseError: When a description is no string, or no valid Unicode.
        """
        lengths = np.zeros(len(entities), dtype=np.int64)
        text = bytearray()
        for entity_id, name in sorted((entities[name], name) for name in descriptions):
            description = descriptions[name]
            if not isinstance(description, str):
                raise KnowledgeBaseError(f"description of {name!r}: expected a string, got {description!r}")
            try:
                encoded = description.encode("utf-8")
            except UnicodeEncodeError as error:
                raise KnowledgeBaseError(f"description of {name!r}: no valid Unicode: {error.reason}") from error
            lengths[entity_id] = len(encoded)
            text += encoded
        return cls(offsets_of(lengths), np.asarray(text, dtype=np.uint8))

    def get(self, entity_id: int) -> str | None:
        """The description of an entity, or None."""
        begin, end = int(self.offsets[entity_id]), int(self.offsets[entity_id + 1])
        return self.text[begin:end].tobytes().decode("utf-8") if end > begin else None

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        yield "offsets", self.offsets
        yield "text", self.text
