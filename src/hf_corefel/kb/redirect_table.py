"""Old and other titles of entities, and the entities that they lead to."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import marisa_trie
import numpy as np

from .checking import check_ids
from .errors import KnowledgeBaseError
from .readers import check_key
from .storage import find_key

__all__ = ["RedirectTable", "resolve_redirects"]


@dataclass(frozen=True, slots=True)
class RedirectTable:
    """Titles that lead to entities.

    Attributes:
        titles: A `marisa_trie.Trie` that numbers the R titles; none is the name of an entity.
        targets: uint32 [R], the entities that they lead to.
        num_entities: E, above all targets.
        file: Where the array comes from, for messages.
    """

    titles: Any
    targets: np.ndarray
    num_entities: int
    file: str = "redirects.safetensors"

    @classmethod
    def of(cls, num_entities: int, redirects: Mapping[str, int]) -> Self:
        """Store the ids of entities by titles that lead to them."""
        titles = marisa_trie.Trie(redirects)
        targets = np.zeros(len(titles), dtype=np.uint32)
        for title, entity_id in redirects.items():
            targets[titles[title]] = entity_id
        return cls(titles, targets, num_entities)

    def get(self, title: str) -> int | None:
        """Return the entity that a title leads to, or None.

        Raises:
            KnowledgeBaseError: When it cannot be right: the file is damaged.
        """
        number = find_key(self.titles, title)
        if number < 0:
            return None
        target = self.targets[number : number + 1]
        check_ids(target, 0, self.num_entities, self.file, "targets")
        return int(target[0])

    def pairs(self) -> Iterator[tuple[str, int]]:
        """The titles with the ids of their entities.

        Raises:
            KnowledgeBaseError: When an id cannot be right: the file is damaged.
        """
        self.check()
        return zip(map(self.titles.restore_key, range(len(self.titles))), self.targets.tolist(), strict=True)

    def check(self) -> None:
        """Raise KnowledgeBaseError when a value cannot be right: the file is damaged."""
        check_ids(self.targets, 0, self.num_entities, self.file, "targets")

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        yield "targets", self.targets


def resolve_redirects(redirects: Mapping[str, str], is_entity: Container[str]) -> dict[str, str]:
    """Return the entities at the end of redirects that may lead to one another.

    A title that is an entity's name leads nowhere else and is left out.

    Args:
        redirects: Where titles lead to.
        is_entity: What says with ``in`` whether a name is an entity's.

    Raises:
        KnowledgeBaseError: When a name is empty or holds a NUL, or redirects go in a circle.
    """
    checked = {check_key(a, "redirects", "title"): check_key(b, "redirects", "entity") for a, b in redirects.items()}
    resolved = {}
    for title, target in checked.items():
        if title in is_entity:
            continue
        seen = {title}
        while target not in is_entity and target not in seen and target in checked:
            seen.add(target)
            target = checked[target]
        if target in seen:
            raise KnowledgeBaseError(f"redirects: {title!r} leads to {target!r} in a circle, and to no entity")
        resolved[title] = target
    return resolved
