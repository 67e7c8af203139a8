"""What stores say of entities beyond the protocol `EntityStore`: types, redirects, and entities by foreign ids.

Stores of other packages need not have any of it; of them nothing is known then.
"""

from __future__ import annotations

from .protocols import EntityStore

__all__ = ["canonical_name", "entity_of", "entity_type", "wikidata_id"]


def wikidata_id(store: EntityStore, entity: str) -> str | None:
    """Return the Wikidata id of an entity, such as ``Q42``; None when it has none, or is unknown."""
    return store.identifiers(entity).get("wikidata")


def entity_type(store: EntityStore, entity: str) -> str | None:
    """Return the coarse type of an entity, such as ``person``; None when it is not known."""
    ask = getattr(store, "type", None)
    found: str | None = ask(entity) if callable(ask) else None
    return found


def canonical_name(store: EntityStore, name: str) -> str:
    """Return the entity that a name stands for: itself, or where the store redirects it to; else the name."""
    ask = getattr(store, "canonical", None)
    return str(ask(name)) if callable(ask) else name


def entity_of(store: EntityStore, catalogue: str, identifier: str) -> str | None:
    """Return the entity that another catalogue calls so; None when there is none, or the store cannot say."""
    ask = getattr(store, "entity_of", None)
    found: str | None = ask(catalogue, identifier) if callable(ask) else None
    return found
