"""Texts of entities, such as descriptions: one block of UTF-8 and where each text begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..documents.plain_values import plain
from .checking import check_offsets, check_slices, refuse
from .errors import KnowledgeBaseError
from .storage import offsets_of

__all__ = ["TextTable", "check_wikidata", "encode_text"]

_WIKIDATA_ID = re.compile(r"[QPL][0-9]+")


def check_wikidata(value: object, entity: str) -> str:
    """Returns a Wikidata id.

    Raises:
        KnowledgeBaseError: When it does not look like one.
    """
    if not isinstance(value, str) or not _WIKIDATA_ID.fullmatch(value):
        raise KnowledgeBaseError(f"Wikidata id of {entity!r}: expected an id such as 'Q42', got {value!r}")
    return value


def encode_text(text: object, entity: str, what: str) -> bytes:
    """A text of an entity in UTF-8.

    Raises:
        KnowledgeBaseError: When it is no string, or no valid Unicode.
    """
    if not isinstance(text, str):
        raise KnowledgeBaseError(f"{what} of {entity!r}: expected a string, got {text!r}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise KnowledgeBaseError(f"{what} of {entity!r}: no valid Unicode: {error.reason}") from error


@dataclass(frozen=True, slots=True)
class TextTable:
    """Texts of the entities 0..E-1; an empty one is none.

    Attributes:
        offsets: uint32 or uint64 [E+1], where a text begins and ends in `text`.
        text: uint8, the texts in UTF-8 one after the other.
        file: Where the arrays come from, for messages.
    """

    offsets: np.ndarray
    text: np.ndarray
    file: str = "descriptions.safetensors"

    @classmethod
    def build(cls, entities: Any, texts: Mapping[str, str], what: str = "description") -> TextTable:
        """Stores texts by name of entity.

        Args:
            entities: The `marisa_trie.Trie` that numbers the entities.
            texts: Texts of some of them.
            what: How messages call a text.

        Raises:
            KnowledgeBaseError: When a text is no string, or no valid Unicode.
        """
        encoded = {entities[plain(name)]: encode_text(text, name, what) for name, text in texts.items()}
        return cls.of(len(entities), encoded)

    @classmethod
    def of(cls, num_entities: int, encoded: Mapping[int, bytes]) -> TextTable:
        """Stores texts in UTF-8 by entity id."""
        lengths = np.zeros(num_entities, dtype=np.int64)
        text = bytearray()
        for entity_id in sorted(encoded):
            lengths[entity_id] = len(encoded[entity_id])
            text += encoded[entity_id]
        return cls(offsets_of(lengths), np.frombuffer(bytes(text), dtype=np.uint8))

    def get(self, entity_id: int) -> str | None:
        """Return the text of an entity, or None.

        Raises:
            KnowledgeBaseError: When it cannot be right: the file is damaged.
        """
        begin, end = self.offsets[entity_id : entity_id + 2].astype(np.int64).tolist()
        check_slices(np.array([begin]), np.array([end]), len(self.text), self.file)
        return self._decode(begin, end) if end > begin else None

    def check(self) -> None:
        """Read it all.

        Raises:
            KnowledgeBaseError: When a value cannot be right: the file is damaged.
        """
        check_offsets(self.offsets, len(self.text), self.file)
        for begin, end in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            self._decode(begin, end)

    def _decode(self, begin: int, end: int) -> str:
        try:
            return self.text[begin:end].tobytes().decode("utf-8")
        except UnicodeDecodeError:
            refuse(self.file, "text", f"bytes {begin}..{end} are no UTF-8")

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        yield "offsets", self.offsets
        yield "text", self.text
