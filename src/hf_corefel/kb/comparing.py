"""What two knowledge bases do not say alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

__all__ = ["Differences", "compare"]

_CHUNK = 4096
_FACTS = ("description", "wikidata", "url", "type", "links")


@dataclass(slots=True)
class Differences:
    """How a second knowledge base differs from a first; all by name, ascending.

    Attributes:
        entities_added: Entities that only the second has.
        entities_removed: Entities that only the first has.
        entities_changed: By entity of both, then by field, what the first and the second say; ``vector`` says only
            whether they have one of their own, where it differs in that or in its numbers.
        surfaces_added: Surfaces that only the second has.
        surfaces_removed: Surfaces that only the first has.
        surfaces_changed: By surface of both, then by entity, the priors in the first and the second; None = it is no
            candidate there.
        redirects_changed: By title, where it leads to in the first and in the second; None = nowhere.
    """

    entities_added: list[str] = field(default_factory=list)
    entities_removed: list[str] = field(default_factory=list)
    entities_changed: dict[str, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    surfaces_added: list[str] = field(default_factory=list)
    surfaces_removed: list[str] = field(default_factory=list)
    surfaces_changed: dict[str, dict[str, tuple[float | None, float | None]]] = field(default_factory=dict)
    redirects_changed: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON takes it."""
        return {name: getattr(self, name) for name in self.__slots__}


def compare(first: KnowledgeBase, second: KnowledgeBase) -> Differences:
    """Return how a second knowledge base differs from a first, in what both say of entities and surfaces."""
    found = Differences()
    ours, theirs = set(first.entities()), set(second.entities())
    found.entities_added, found.entities_removed = sorted(theirs - ours), sorted(ours - theirs)
    both = sorted(ours & theirs)
    vectors = _own_vectors(first, second, both)
    for entity, (had, has, same) in zip(both, vectors, strict=True):
        told = [(name, getattr(first, name)(entity), getattr(second, name)(entity)) for name in _FACTS]
        changed: dict[str, tuple[Any, Any]] = {name: (old, new) for name, old, new in told if old != new}
        if not same:
            changed["vector"] = (had, has)
        if changed:
            found.entities_changed[entity] = changed
    rows = [dict(kb.rows()) for kb in (first, second)]
    found.surfaces_added, found.surfaces_removed = sorted(rows[1].keys() - rows[0]), sorted(rows[0].keys() - rows[1])
    for surface in sorted(rows[0].keys() & rows[1]):
        old, new = dict(rows[0][surface]), dict(rows[1][surface])
        if old != new:
            pairs = {entity: (old.get(entity), new.get(entity)) for entity in sorted({*old, *new})}
            found.surfaces_changed[surface] = {entity: pair for entity, pair in pairs.items() if pair[0] != pair[1]}
    leads = [dict(kb.redirects()) for kb in (first, second)]
    titles = {title: (leads[0].get(title), leads[1].get(title)) for title in sorted({*leads[0], *leads[1]})}
    found.redirects_changed = {title: pair for title, pair in titles.items() if pair[0] != pair[1]}
    return found


def _own_vectors(first: KnowledgeBase, second: KnowledgeBase, names: list[str]) -> Iterator[tuple[bool, bool, bool]]:
    """Whether each entity has a vector of its own in the first and in the second, and whether these are the same."""
    for begin in range(0, len(names), _CHUNK):
        part = names[begin : begin + _CHUNK]
        ids = [np.array([kb.entity_id(name) for name in part], dtype=np.int64) for kb in (first, second)]
        had, has = first.has_vector(ids[0]), second.has_vector(ids[1])
        same, shared = had == has, had & has
        if first.vector_size == second.vector_size:
            same[shared] = (first.vectors(ids[0][shared]) == second.vectors(ids[1][shared])).all(axis=1)
        else:
            same[shared] = False
        yield from zip(had.tolist(), has.tolist(), same.tolist(), strict=True)
