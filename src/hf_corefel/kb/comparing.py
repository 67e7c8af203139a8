"""What two knowledge bases do not say alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

__all__ = ["Differences", "compare"]

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
    for entity in sorted(ours & theirs):
        told = [(name, getattr(first, name)(entity), getattr(second, name)(entity)) for name in _FACTS]
        changed: dict[str, tuple[Any, Any]] = {name: (old, new) for name, old, new in told if old != new}
        vectors = [_own_vector(kb, entity) for kb in (first, second)]
        if not _equal(*vectors):
            changed["vector"] = (vectors[0] is not None, vectors[1] is not None)
        if changed:
            found.entities_changed[entity] = changed
    ours, theirs = set(first.surfaces()), set(second.surfaces())
    found.surfaces_added, found.surfaces_removed = sorted(theirs - ours), sorted(ours - theirs)
    for surface in sorted(ours & theirs):
        rows = [_row(kb, surface) for kb in (first, second)]
        if rows[0] != rows[1]:
            pairs = {entity: (rows[0].get(entity), rows[1].get(entity)) for entity in sorted({*rows[0], *rows[1]})}
            found.surfaces_changed[surface] = {entity: pair for entity, pair in pairs.items() if pair[0] != pair[1]}
    leads = [dict(kb.redirects()) for kb in (first, second)]
    titles = {title: (leads[0].get(title), leads[1].get(title)) for title in sorted({*leads[0], *leads[1]})}
    found.redirects_changed = {title: pair for title, pair in titles.items() if pair[0] != pair[1]}
    return found


def _row(kb: KnowledgeBase, surface: str) -> dict[str, float]:
    listed = kb.candidates(surface, limit=kb.num_candidates + 1, fallback="none")
    return {candidate.entity: candidate.prior for candidate in listed}


def _own_vector(kb: KnowledgeBase, entity: str) -> np.ndarray | None:
    known = kb.entity_id(entity)
    return kb.vectors([known])[0] if known is not None and kb.has_vector([known])[0] else None


def _equal(left: np.ndarray | None, right: np.ndarray | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)
