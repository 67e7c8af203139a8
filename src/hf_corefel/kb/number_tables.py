"""What is known of each entity in one number: its coarse type, and how many pages link to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..documents.plain_values import plain
from .checking import check_ids
from .errors import KnowledgeBaseError

__all__ = ["COARSE_TYPES", "MOST_LINKS", "LinkTable", "TypeTable", "check_links", "check_type"]

# The order is part of the file format: a type is stored as its place here, counted from 1.
COARSE_TYPES = ("person", "organization", "place", "work", "event", "product", "species", "other")
MOST_LINKS = int(np.iinfo(np.int32).max)


def check_type(value: object, entity: str) -> str:
    """Return a coarse type.

    Raises:
        KnowledgeBaseError: When it is none of `COARSE_TYPES`.
    """
    value = plain(value)
    if not isinstance(value, str) or value not in COARSE_TYPES:
        raise KnowledgeBaseError(f"type of {entity!r}: expected one of {', '.join(COARSE_TYPES)}, got {value!r}")
    return value


def check_links(value: object, entity: str) -> int:
    """Return a number of links to an entity.

    Raises:
        KnowledgeBaseError: When it is no whole number from 0 to `MOST_LINKS`.
    """
    number = value.item() if isinstance(value, np.integer) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST_LINKS:
        raise KnowledgeBaseError(
            f"links of {entity!r}: expected a whole number from 0 to {MOST_LINKS:,}, got {value!r}"
        )
    return number


@dataclass(frozen=True, slots=True)
class TypeTable:
    """Coarse types of the entities 0..E-1.

    Attributes:
        codes: uint8 [E], 0 = not known, else the place in `COARSE_TYPES`, counted from 1.
        file: Where the array comes from, for messages.
    """

    codes: np.ndarray
    file: str = "types.safetensors"

    @classmethod
    def build(cls, entities: Any, types: Mapping[str, str]) -> Self:
        """Store types by name of entity; `entities` is the `marisa_trie.Trie` that numbers them.

        Raises:
            KnowledgeBaseError: When a type is none of `COARSE_TYPES`.
        """
        return cls.of(len(entities), {entities[plain(name)]: check_type(kind, name) for name, kind in types.items()})

    @classmethod
    def of(cls, num_entities: int, types: Mapping[int, str]) -> Self:
        """Store types by entity id; an empty one is none."""
        codes = np.zeros(num_entities, dtype=np.uint8)
        for entity_id, kind in types.items():
            codes[entity_id] = COARSE_TYPES.index(kind) + 1 if kind else 0
        return cls(codes)

    def get(self, entity_id: int) -> str | None:
        """Return the type of an entity, or None.

        Raises:
            KnowledgeBaseError: When it cannot be right: the file is damaged.
        """
        code = self.codes[entity_id : entity_id + 1]
        check_ids(code, 0, len(COARSE_TYPES) + 1, self.file, "codes")
        return COARSE_TYPES[int(code[0]) - 1] if code[0] else None

    def check(self) -> None:
        """Raise KnowledgeBaseError when a value cannot be right: the file is damaged."""
        check_ids(self.codes, 0, len(COARSE_TYPES) + 1, self.file, "codes")

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        yield "codes", self.codes


@dataclass(frozen=True, slots=True)
class LinkTable:
    """How many links lead to the entities 0..E-1.

    Attributes:
        counts: int32 [E], -1 = not known.
        file: Where the array comes from, for messages.
    """

    counts: np.ndarray
    file: str = "links.safetensors"

    @classmethod
    def build(cls, entities: Any, links: Mapping[str, int]) -> Self:
        """Store numbers by name of entity; `entities` is the `marisa_trie.Trie` that numbers them.

        Raises:
            KnowledgeBaseError: When one is no whole number from 0 to `MOST_LINKS`.
        """
        return cls.of(len(entities), {entities[plain(name)]: check_links(n, name) for name, n in links.items()})

    @classmethod
    def of(cls, num_entities: int, links: Mapping[int, int]) -> Self:
        """Store numbers by entity id."""
        counts = np.full(num_entities, -1, dtype=np.int32)
        for entity_id, number in links.items():
            counts[entity_id] = number
        return cls(counts)

    def get(self, entity_id: int) -> int | None:
        """Return how many links lead to an entity, or None when that is not known.

        Raises:
            KnowledgeBaseError: When it cannot be right: the file is damaged.
        """
        count = self.counts[entity_id : entity_id + 1]
        check_ids(count, -1, MOST_LINKS + 1, self.file, "counts")
        return int(count[0]) if count[0] >= 0 else None

    def check(self) -> None:
        """Raise KnowledgeBaseError when a value cannot be right: the file is damaged."""
        check_ids(self.counts, -1, MOST_LINKS + 1, self.file, "counts")

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        yield "counts", self.counts
