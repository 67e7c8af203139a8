"""What was added to and removed from tables at run time. A state never changes: an edit makes the next one.

Readers take the state that stands when they begin and need no lock; writers, one at a time, put the next in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import KnowledgeBaseError
from .fallback import Fallback, fold
from .storage import find_key
from .tables import FACTS, Tables

__all__ = ["Addition", "Overlay", "Row", "edit_add", "edit_remove", "edit_remove_surface", "merge_rows"]

# Candidates of a surface, by descending prior, then by name: entity ids [C] and float32 priors.
Row = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A state of the changes to tables of E entities and A surfaces.

    Attributes:
        names: Names of the entities E, E+1, ...; of removed ones too, so that an id always means the same.
        ids: Ids of the new entities that were not removed.
        removed: Ids of entities that were removed.
        rows: By number of a surface of the tables, all its candidates now, if they changed.
        surfaces: Candidates of the surfaces that the tables lack.
        vectors: By entity id, a vector in the format of the tables: codes [D] and their scale, 1 without one.
        facts: By name of the field (`FACTS`), then by entity id, what is known; an empty text is none.
        redirects: By title, the id of the entity that it leads to, where the tables do not say so.
        num_surfaces: How many surfaces with candidates there are more than in the tables.
        num_candidates: How many pairs of surface and entity there are more.
        vector_changes: How many vectors were given since the tables were made.
    """

    names: tuple[str, ...] = ()
    ids: Mapping[str, int] = field(default_factory=dict)
    removed: frozenset[int] = frozenset()
    rows: Mapping[int, Row] = field(default_factory=dict)
    surfaces: Mapping[str, Row] = field(default_factory=dict)
    vectors: Mapping[int, tuple[np.ndarray, float]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[int, Any]] = field(default_factory=lambda: {name: {} for name in FACTS})
    redirects: Mapping[str, int] = field(default_factory=dict)
    num_surfaces: int = 0
    num_candidates: int = 0
    vector_changes: int = 0
    _folded: dict[str, dict[str, list[Any]]] = field(default_factory=dict, compare=False)

    @property
    def empty(self) -> bool:
        """Whether nothing was changed."""
        parts = (self.names, self.removed, self.rows, self.surfaces, self.vectors, self.redirects)
        return not any(parts) and not any(self.facts.values())

    def entity_id(self, tables: Tables, name: str) -> int | None:
        """The id of an entity, None when it is unknown or was removed."""
        entity_id = find_key(tables.entities, name)
        if entity_id >= 0 and entity_id not in self.removed:
            return entity_id
        return self.ids.get(name)

    def entity_name(self, tables: Tables, entity_id: int) -> str:
        """The name of an entity, also of a removed one."""
        number = entity_id - tables.num_entities
        return str(tables.entities.restore_key(entity_id)) if number < 0 else self.names[number]

    def redirect(self, tables: Tables, title: str) -> int | None:
        """The id of the entity that a title leads to; None when it leads nowhere, or is an entity's name itself."""
        if self.entity_id(tables, title) is not None:
            return None
        target = self.redirects.get(title)
        if target is None and tables.redirects is not None:
            target = tables.redirects.get(title)
        return None if target in self.removed else target

    def living_redirects(self, tables: Tables) -> Iterator[tuple[str, int]]:
        """The titles that lead to an entity, with its id."""
        for title, _ in tables.redirects.pairs() if tables.redirects is not None else ():
            target = self.redirect(tables, title)
            if title not in self.redirects and target is not None:
                yield title, target
        for title in self.redirects:
            target = self.redirect(tables, title)
            if target is not None:
                yield title, target

    def with_wikidata(self, identifier: str) -> list[int]:
        """The ids of the entities that were given a Wikidata id."""
        known = self._folded.get("wikidata")
        if known is None:
            known = {}
            for entity_id, given in self.facts["wikidata"].items():
                known.setdefault(given, []).append(entity_id)
            self._folded["wikidata"] = known
        return known.get(identifier, [])

    def folded(self, fallback: Fallback) -> dict[str, list[str]]:
        """The surfaces that the tables lack by their folded forms."""
        known = self._folded.get(fallback)
        if known is None:
            known = {}
            for surface in self.surfaces:
                known.setdefault(fold(surface, fallback), []).append(surface)
            known.pop("", None)
            self._folded[fallback] = known
        return known

    def living_surfaces(self, tables: Tables) -> Iterator[str]:
        """The surfaces that have candidates."""
        for number in range(tables.num_surfaces):
            if number not in self.rows or self.rows[number]:
                yield tables.aliases.surfaces.restore_key(number)
        yield from self.surfaces

    def living_entities(self, tables: Tables) -> Iterator[tuple[int, str]]:
        """Ids and names of the entities that were not removed, by id."""
        for entity_id in range(tables.num_entities + len(self.names)):
            if entity_id not in self.removed:
                yield entity_id, self.entity_name(tables, entity_id)


class _Edit:
    """The next state while it is made: copies of the parts of the last one."""

    def __init__(self, tables: Tables, last: Overlay) -> None:
        self.tables = tables
        self.names, self.ids, self.removed = list(last.names), dict(last.ids), set(last.removed)
        self.rows, self.surfaces = dict(last.rows), dict(last.surfaces)
        self.vectors = dict(last.vectors)
        self.facts = {name: dict(facts) for name, facts in last.facts.items()}
        self.redirects = dict(last.redirects)
        self.num_surfaces, self.num_candidates = last.num_surfaces, last.num_candidates
        self.vector_changes = last.vector_changes

    def finish(self) -> Overlay:
        return Overlay(
            tuple(self.names),
            self.ids,
            frozenset(self.removed),
            self.rows,
            self.surfaces,
            self.vectors,
            self.facts,
            self.redirects,
            self.num_surfaces,
            self.num_candidates,
            self.vector_changes,
        )

    def add(self, addition: Addition) -> None:
        number = find_key(self.tables.entities, addition.entity)
        known = number if number >= 0 and number not in self.removed else self.ids.get(addition.entity)
        if known is None:
            known = self.tables.num_entities + len(self.names)
            self.names.append(addition.entity)
            self.ids[addition.entity] = known
        for surface, prior in addition.surfaces:
            row = dict(self.get_row(surface))
            if prior is None:
                prior = row.get(known, 1.0 / (len(row) + 1))
            row[known] = max(float(np.float32(prior)), row.get(known, 0.0))
            self.set_row(surface, sorted(row.items(), key=lambda pair: (-pair[1], self.name_of(pair[0]))))
        for name, fact in addition.facts.items():
            if fact is not None:
                self.facts[name][known] = fact
        for title in addition.redirects:
            self.redirects[title] = known
        if addition.vector is not None:
            self.vectors[known] = addition.vector
            self.vector_changes += 1

    def base_row(self, number: int) -> Row:
        ids, priors = self.tables.aliases.row(number)
        return list(zip(ids.tolist(), priors.tolist(), strict=True))

    def get_row(self, surface: str) -> Row:
        number = find_key(self.tables.aliases.surfaces, surface)
        if number < 0:
            return self.surfaces.get(surface, [])
        return self.rows[number] if number in self.rows else self.base_row(number)

    def set_row(self, surface: str, row: Row) -> None:
        before = self.get_row(surface)
        self.num_surfaces += bool(row) - bool(before)
        self.num_candidates += len(row) - len(before)
        number = find_key(self.tables.aliases.surfaces, surface)
        if number >= 0:
            self.rows[number] = row
        elif row:
            self.surfaces[surface] = row
        else:
            self.surfaces.pop(surface, None)

    def name_of(self, entity_id: int) -> str:
        number = entity_id - self.tables.num_entities
        return str(self.tables.entities.restore_key(entity_id)) if number < 0 else self.names[number]

    def surfaces_of(self, entity_ids: Set[int]) -> list[str]:
        """The surfaces that have one of some entities among their candidates."""
        aliases = self.tables.aliases
        found = [surface for surface, row in self.surfaces.items() if any(entity in entity_ids for entity, _ in row)]
        numbers = {number for number, row in self.rows.items() if any(entity in entity_ids for entity, _ in row)}
        old = [entity_id for entity_id in entity_ids if entity_id < self.tables.num_entities]
        if old:
            aliases.check()
            positions = np.flatnonzero(np.isin(aliases.entity_ids, old))
            listed = np.searchsorted(aliases.offsets, positions, side="right") - 1
            numbers |= {number for number in listed.tolist() if number not in self.rows}
        return found + [aliases.surfaces.restore_key(number) for number in sorted(numbers)]


@dataclass(frozen=True, slots=True)
class Addition:
    """An entity that is added, or more of one that is known; all of it is checked.

    Attributes:
        entity: Its name.
        surfaces: Its surfaces in normal form, with their priors. None stands for 1, or, where a surface has n
            candidates already, for 1 / (n + 1). An entity that the surface has already keeps the higher prior.
        facts: By name of the field; None leaves what there is.
        vector: Codes [D] and their scale; None leaves what there is.
        redirects: Its other titles.
    """

    entity: str
    surfaces: Sequence[tuple[str, float | None]]
    facts: Mapping[str, Any]
    vector: tuple[np.ndarray, float] | None = None
    redirects: Sequence[str] = ()


def edit_add(tables: Tables, last: Overlay, additions: Iterable[Addition]) -> Overlay:
    """Adds entities, or surfaces, facts, vectors and other titles to ones that are known."""
    edit = _Edit(tables, last)
    for addition in additions:
        edit.add(addition)
    return edit.finish()


def edit_remove(tables: Tables, last: Overlay, entities: Iterable[str]) -> Overlay:
    """Removes entities from all surfaces; a surface that has no other goes with them.

    Raises:
        KnowledgeBaseError: When there is no such entity.
    """
    edit, known = _Edit(tables, last), set()
    for entity in entities:
        entity_id = last.entity_id(tables, entity)
        if entity_id is None:
            raise KnowledgeBaseError(f"entity {entity!r} is not in the knowledge base")
        known.add(entity_id)
        edit.ids.pop(entity, None)
    for surface in edit.surfaces_of(known):
        edit.set_row(surface, [pair for pair in edit.get_row(surface) if pair[0] not in known])
    edit.removed |= known
    return edit.finish()


def edit_remove_surface(tables: Tables, last: Overlay, spellings: Sequence[str]) -> Overlay:
    """Removes a surface, given in all ways that the tables write it; its entities stay.

    Raises:
        KnowledgeBaseError: When no entity has it.
    """
    edit = _Edit(tables, last)
    if not any(edit.get_row(surface) for surface in spellings):
        raise KnowledgeBaseError(f"surface {spellings[0]!r} is not in the knowledge base")
    for surface in spellings:
        edit.set_row(surface, [])
    return edit.finish()


def merge_rows(rows: Iterable[Row], name_of: Callable[[int], str]) -> Row:
    """Return the candidates of several surfaces with the best prior of each, by descending prior, then by name."""
    best: dict[int, float] = {}
    for row in rows:
        for entity, prior in row:
            best[entity] = max(prior, best.get(entity, 0.0))
    return sorted(best.items(), key=lambda pair: (-pair[1], name_of(pair[0])))
