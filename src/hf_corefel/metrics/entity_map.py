"""Which names of entities mean one thing, so that old titles, new ones and foreign ids are scored as one entity."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..documents import AnnotatedDocument, Candidate, Cluster, Document

__all__ = ["EntityMap", "MappedLinks", "entity_map_from", "plain_entity"]

_WIKIDATA = re.compile(r"wikidata:(?=[QPL][0-9]+$)", re.IGNORECASE)
# What a message shows of a loop.
_MOST_SHOWN = 8

AnyDocument = TypeVar("AnyDocument")


def plain_entity(name: str) -> str:
    """Return a name as maps compare it: a title has underscores for its blanks, and ``wikidata:Q42`` is ``Q42``."""
    return _WIKIDATA.sub("", name.strip().replace(" ", "_")) or name


@dataclass(frozen=True, slots=True)
class MappedLinks:
    """How many links an `EntityMap` has given another name; counts add up.

    Attributes:
        links: Clusters with an entity.
        changed: Those whose entity has another name by the map.

    Example:
        >>> from hf_corefel.metrics import MappedLinks
        >>> MappedLinks(3, 1) + MappedLinks(2, 0)
        MappedLinks(links=5, changed=1)
    """

    links: int = 0
    changed: int = 0

    def __add__(self, other: MappedLinks) -> MappedLinks:
        return MappedLinks(self.links + other.links, self.changed + other.changed)


class EntityMap:
    """Gives each entity one name, whichever of its names a corpus or a model calls it by.

    Blanks in titles and underscores are the same, and so are ``wikidata:Q42`` and ``Q42``. A name that the map does not
    have stays.

    Args:
        names: Old names and the new ones that they lead to, as a mapping or as pairs. A new name may be old itself:
            chains are followed to their end.
        known: Asked last, of the name at the end of a chain: returns the name that a knowledge base has for it.
        where: What the names come from, for messages.

    Raises:
        ValueError: When names lead to one another in a loop, or one leads to two others; the message names them.

    Example:
        >>> from hf_corefel.metrics import EntityMap
        >>> entities = EntityMap({"TSV 1860 München": "TSV_1860_Munich", "TSV_1860_Munich": "Q170477"})
        >>> entities("TSV_1860_München"), entities("wikidata:Q170477"), entities("Oslo")
        ('Q170477', 'Q170477', 'Oslo')
    """

    def __init__(
        self,
        names: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        known: Callable[[str], str] | None = None,
        *,
        where: str = "entity_map",
    ) -> None:
        self._names: dict[str, str] = {}
        for old, new in names.items() if isinstance(names, Mapping) else names:
            for value in (old, new):
                if not isinstance(value, str) or not value.strip():
                    raise ValueError(f"{where}: expected two names of an entity, got {old!r} and {new!r}")
            key, target = plain_entity(old), plain_entity(new)
            if key != target and self._names.setdefault(key, target) != target:
                raise ValueError(
                    f"{where}: {old!r} leads to two entities, {self._names[key]!r} and {target!r}; leave one of the "
                    "lines out"
                )
        self._known = known
        self._resolve(where)

    def _resolve(self, where: str) -> None:
        """Let each name lead to the end of its chain."""
        ends: dict[str, str] = {}
        for name in self._names:
            chain: dict[str, None] = {}
            while name in self._names and name not in ends:
                if name in chain:
                    loop = [*list(chain)[list(chain).index(name) :], name]
                    shown = loop if len(loop) <= _MOST_SHOWN else [*loop[: _MOST_SHOWN - 2], "…", loop[-1]]
                    raise ValueError(f"{where}: names lead in a loop, {' → '.join(shown)}; leave one of the lines out")
                chain[name] = None
                name = self._names[name]
            end = ends.get(name, name)
            ends.update(dict.fromkeys(chain, end))
        self._names = ends

    def __call__(self, name: str) -> str:
        """Return the one name of an entity."""
        plain = plain_entity(name)
        end = self._names.get(plain, plain)
        return end if self._known is None else plain_entity(self._known(end))

    def then(self, other: EntityMap) -> EntityMap:
        """Return the map that asks the other one about the names that this one gives."""
        first, second = self, other
        return EntityMap(known=lambda name: second(first(name)))

    def document(self, document: AnyDocument) -> AnyDocument:
        """Return a copy of a document whose links, and given candidates, have the names of the map.

        Args:
            document: A document, a result or an annotation (`hf_corefel.corpora.ArticleAnnotation`).
        """
        given: Any = document
        changed: dict[str, Any] = {
            "clusters": given.clusters and [self._cluster(cluster) for cluster in given.clusters]
        }
        if listed := getattr(given, "candidates", None):
            changed["candidates"] = {span: [self._candidate(c) for c in items] for span, items in listed.items()}
        renamed: AnyDocument = replace(given, **changed)
        return renamed

    def count(self, document: Document | AnnotatedDocument) -> MappedLinks:
        """Return how many links a document has, and how many of them the map gives another name."""
        names = [cluster.entity for cluster in document.clusters or () if cluster.entity is not None]
        return MappedLinks(len(names), sum(self(name) != plain_entity(name) for name in names))

    def _cluster(self, cluster: Cluster) -> Cluster:
        return cluster if cluster.entity is None else replace(cluster, entity=self(cluster.entity))

    def _candidate(self, candidate: Candidate) -> Candidate:
        return replace(candidate, entity=self(candidate.entity))


def entity_map_from(value: Any) -> EntityMap | None:
    """Return an `EntityMap` of itself or of a mapping of old names to new ones; None of None.

    Raises:
        TypeError: When it is something else.
        ValueError: As `EntityMap`.
    """
    if value is None or isinstance(value, EntityMap):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(
            f"entity_map: expected an EntityMap or a dict of old names to new ones, got {type(value).__name__}; "
            "hf_corefel.evaluation.open_entity_map reads files and knowledge bases"
        )
    return EntityMap(value)
