"""What a knowledge base knows of entities: names, texts, identifiers, links, vectors."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from ..documents.plain_values import plain
from .errors import KnowledgeBaseError
from .lazy_vectors import LazyVectors, Vectorizer
from .overlay import Overlay
from .projection import Projection
from .tables import Tables
from .vector_table import draw_vector
from .wikidata_index import WikidataIndex

__all__ = ["Changes", "EntityView"]

_WIKIDATA = re.compile(r"wikidata:([QPL][0-9]+)")


class Changes:
    """The state of the changes to tables, and the lock of those who change it.

    Attributes:
        state: What stands now. Readers take it once for each question.
        lock: Held by the one writer.
    """

    def __init__(self, state: Overlay | None = None) -> None:
        self.state = state or Overlay()
        self.lock = threading.Lock()


class EntityView:
    """Reads what tables and the changes to them say of entities. Use `KnowledgeBase`."""

    vectorizer: Vectorizer | None = None

    def __init__(self, tables: Tables, changes: Changes) -> None:
        self._lazy = LazyVectors()
        self._tables = tables
        self._changes = changes
        self._wikidata_index: WikidataIndex | None = None

    @property
    def num_entities(self) -> int:
        """The number of entities."""
        return self.num_ids - len(self._changes.state.removed)

    @property
    def num_ids(self) -> int:
        """E: ids of entities are 0..E-1. More than entities once one was removed: its id goes to no other."""
        return self._tables.num_entities + len(self._changes.state.names)

    @property
    def vector_size(self) -> int:
        """D, the width of the entity vectors; 0 when there are none."""
        return self._tables.vector_size

    @property
    def vector_changes(self) -> int:
        """How many vectors were given since it was opened or built: an index of the vectors is old when it grows."""
        return self._changes.state.vector_changes

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the data come from."""
        return dict(self._tables.provenance)

    @property
    def projection(self) -> Projection | None:
        """From an encoder's vectors of texts to entity vectors; None when it is not known."""
        return self._tables.projection

    def entities(self) -> Iterator[str]:
        """The names of the entities, by id."""
        return (name for _, name in self._changes.state.living_entities(self._tables))

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and self.entity_id(entity) is not None

    def entity_name(self, entity_id: int) -> str:
        """The name of an entity, also of one that was removed.

        Raises:
            IndexError: When no entity has that id.
        """
        state = self._changes.state
        count = self._tables.num_entities + len(state.names)
        if not 0 <= entity_id < count:
            raise IndexError(f"entity id {entity_id} is outside 0..{count - 1}")
        return state.entity_name(self._tables, entity_id)

    def entity_id(self, name: str) -> int | None:
        """The id of an entity, None when it is unknown."""
        return self._changes.state.entity_id(self._tables, plain(name))

    @property
    def vector_distribution(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation float32 [D] of the vectors, which those of unknown entities are drawn from."""
        return self._tables.vectors.mean, self._tables.vectors.std

    @property
    def lazy_vectors(self) -> bool:
        """Whether an entity without a vector of its own gets one when it is needed first, from `vectorizer`."""
        return self._tables.lazy_vectors

    def vectors(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Vectors of entities, dequantised.

        Args:
            ids: int, any shape; -1 = padding, which gets zeros.

        Returns:
            float32 [*ids.shape, D]. An entity that was given no vector gets a draw from N(mean, std) of
            those given, fixed by its name, or, where vectors are lazy, the one that the vectorizer makes.

        Raises:
            IndexError: When no entity has an id.
            KnowledgeBaseError: When vectors are lazy and there is no vectorizer.
        """
        return self._all_vectors(ids, only_known=False)

    def vectors_so_far(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Like `vectors`, but where vectors are lazy and one was not made yet, it is NaN."""
        return self._all_vectors(ids, only_known=True)

    def _all_vectors(self, ids: np.ndarray | Sequence[int], *, only_known: bool) -> np.ndarray:
        checked, state = self._check_ids(ids)
        flat, count = checked.ravel(), self._tables.num_entities
        lazy = self._tables.lazy_vectors
        name_of = None if lazy else lambda entity_id: state.entity_name(self._tables, entity_id)
        found = self._tables.vectors.take(np.where(flat < count, flat, -1), name_of)
        if self.vector_size and (state.names or state.vectors):
            for position, entity_id in enumerate(flat.tolist()):
                own = state.vectors.get(entity_id)
                if own is not None:
                    found[position] = own[0].astype(np.float32) * np.float32(own[1])
                elif entity_id >= count:
                    found[position] = np.nan if lazy else self._draw(state.entity_name(self._tables, entity_id))
        if lazy and self.vector_size:
            missing = np.flatnonzero(np.isnan(found[:, 0]))
            names = [state.entity_name(self._tables, entity_id) for entity_id in flat[missing].tolist()]
            texts = [self.description(name) for name in names]
            vectorizer, table = self.vectorizer, self._tables.vectors
            found[missing] = self._lazy.make(vectorizer, table, names, texts, only_known=only_known)
        return found.reshape(*checked.shape, self.vector_size)

    def vector_for(self, name: str) -> np.ndarray:
        """The vector float32 [D] of an entity by name, also of one that is unknown here: its fixed draw."""
        entity_id = self.entity_id(name)
        return self._draw(name) if entity_id is None else np.asarray(self.vectors([entity_id])[0])

    def has_vector(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Whether entities were given vectors of their own: bool, the shape of `ids`; False for -1."""
        checked, state = self._check_ids(ids)
        in_tables = (checked >= 0) & (checked < self._tables.num_entities)
        found = np.zeros(checked.shape, dtype=bool)
        found[in_tables] = self._tables.vectors.rows_of(checked[in_tables]) >= 0
        if state.vectors:
            found |= np.isin(checked, list(state.vectors))
        return found

    def ids_with_vectors(self) -> np.ndarray:
        """The ids of the entities that were given vectors and not removed, int64, ascending."""
        ids = np.setdiff1d(np.arange(self.num_ids), list(self._changes.state.removed))
        return np.asarray(ids[self.has_vector(ids)])

    def description(self, entity: str) -> str | None:
        """The description of an entity; None when it has none or is unknown."""
        known: str | None = self._fact(entity, "descriptions")
        return known

    def type(self, entity: str) -> str | None:
        """The coarse type of an entity, one of `COARSE_TYPES`; None when it has none or is unknown."""
        known: str | None = self._fact(entity, "types")
        return known

    def links(self, entity: str) -> int | None:
        """How many links lead to an entity; None when nothing says so, or it is unknown."""
        known: int | None = self._fact(entity, "links")
        return known

    def redirect(self, title: str) -> str | None:
        """The entity that an old or other title leads to; None when it leads nowhere, or is an entity's name itself."""
        state = self._changes.state
        target = state.redirect(self._tables, plain(title))
        return None if target is None else state.entity_name(self._tables, target)

    def canonical(self, name: str) -> str:
        """An entity's name here: `name` itself if it is one, else where it redirects to, else `name` as it is."""
        target = self.redirect(name)
        return name if target is None else target

    def redirects(self) -> Iterator[tuple[str, str]]:
        """The old and other titles with the entities that they lead to, in no particular order."""
        state = self._changes.state
        for title, target in state.living_redirects(self._tables):
            yield title, state.entity_name(self._tables, target)

    def wikidata(self, entity: str) -> str | None:
        """The Wikidata id of an entity, such as ``Q42``; None when it has none or is unknown."""
        named = _WIKIDATA.fullmatch(entity)
        if named:
            return named[1]
        known: str | None = self._fact(entity, "wikidata")
        return known

    def identifiers(self, entity: str) -> dict[str, str]:
        """What other catalogues call an entity: its Wikidata id, as ``{"wikidata": "Q42"}``, if it has one."""
        known = self.wikidata(entity)
        return {} if known is None else {"wikidata": known}

    def entity_of(self, catalogue: str, identifier: str) -> str | None:
        """The entity that another catalogue calls so: the other way round from `identifiers`.

        Of several entities with one identifier, that is the one that most links lead to, then the first by name.

        Args:
            catalogue: Its name; ``wikidata`` is the one that there is.
            identifier: The identifier there, such as ``Q42``.

        Raises:
            KnowledgeBaseError: When there is no such catalogue here, or a file is damaged.
        """
        if catalogue != "wikidata":
            raise KnowledgeBaseError(f"catalogue: expected 'wikidata', the one that is known, got {catalogue!r}")
        found = [entity for entity in self._with_wikidata(identifier) if self.wikidata(entity) == identifier]
        return min(found, key=lambda entity: (-(self.links(entity) or 0), entity), default=None)

    def find_entity(self, given: str) -> str | None:
        """The entity that a name, a title that leads to it, or a Wikidata id such as ``Q42`` means; None = none."""
        name = self.canonical(given)
        return name if name in self else self.entity_of("wikidata", given.removeprefix("wikidata:"))

    def _with_wikidata(self, identifier: str) -> Iterator[str]:
        """Entities that may have a Wikidata id, and no other than these have it."""
        state, table = self._changes.state, self._tables.wikidata
        if f"wikidata:{identifier}" in self:
            yield f"wikidata:{identifier}"
        ids = list(state.with_wikidata(identifier))
        if table is not None:
            index = self._wikidata_index
            if index is None:
                index = self._wikidata_index = WikidataIndex.of(table)
            ids += index.find(identifier)
        for entity_id in ids:
            if entity_id not in state.removed:
                yield state.entity_name(self._tables, entity_id)

    def url(self, entity: str) -> str | None:
        """Where readers find an entity: its own URL, else what the template gives, also for one that is unknown here.

        ``wikidata:Q42`` goes to Wikidata, and so does an entity with a Wikidata id when there is no template.
        """
        own: str | None = self._fact(entity, "urls")
        if own is not None:
            return own
        wikidata, template = _WIKIDATA.fullmatch(entity), self._tables.url_template
        if wikidata is None and template is not None:
            # A lone surrogate, which no UTF-8 URL can hold, becomes a question mark instead of an error.
            return template.replace("{entity}", quote(entity, safe="/:(),", errors="replace"))
        known = self.wikidata(entity)
        return None if known is None else f"https://www.wikidata.org/wiki/{known}"

    def _fact(self, entity: str, field: str) -> Any:
        state = self._changes.state
        entity_id = state.entity_id(self._tables, entity)
        if entity_id is None:
            return None
        if entity_id in state.facts[field]:
            known = state.facts[field][entity_id]
            return None if known == "" else known
        table = getattr(self._tables, field)
        return None if table is None or entity_id >= self._tables.num_entities else table.get(entity_id)

    def _draw(self, name: str) -> np.ndarray:
        return draw_vector(name, self._tables.vectors.mean, self._tables.vectors.std)

    def _check_ids(self, ids: np.ndarray | Sequence[int]) -> tuple[np.ndarray, Overlay]:
        """Ids as int64, and the state that has them all."""
        checked, state = np.asarray(ids), self._changes.state
        if checked.size == 0:
            return checked.astype(np.int64), state
        if checked.dtype.kind not in "iu":
            raise TypeError(f"entity ids: expected integers, got {checked.dtype}")
        count = self._tables.num_entities + len(state.names)
        if checked.min() < -1 or checked.max() >= count:
            bad = checked.min() if checked.min() < -1 else checked.max()
            raise IndexError(f"entity id {bad} is outside 0..{count - 1} (-1 = padding)")
        return checked.astype(np.int64), state
