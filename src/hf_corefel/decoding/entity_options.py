"""Which entities a result has and what it calls them: the two options of the pipeline that ask the knowledge base."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from ..kb import COARSE_TYPES

__all__ = ["ENTITY_IDS", "check_entity_id", "check_types"]

ENTITY_IDS = ("name", "wikidata")


def check_entity_id(value: Any) -> str:
    """Return what entities are called by; raises unless it is one of `ENTITY_IDS`."""
    if not isinstance(value, str):
        raise TypeError(f"id: expected {_either(ENTITY_IDS)}, got {value!r}")
    if value not in ENTITY_IDS:
        raise ValueError(f"id: expected {_either(ENTITY_IDS)}, got {value!r}")
    return value


def check_types(value: Any) -> tuple[str, ...] | None:
    """Return the types of entities that are wanted, None for all; a single one may stand by itself.

    Raises:
        TypeError: When it is no type, nor a list or other collection of them.
        ValueError: When there is none among them, or one is unknown.
    """
    if value is None:
        return None
    known = ", ".join(COARSE_TYPES)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise TypeError(f"types: expected a list of {known}; got {value!r}")
    types = tuple(dict.fromkeys(list(value)))
    if not types:
        raise ValueError(f"types: expected at least one of {known}; leave it out to have all clusters")
    for name in types:
        if not isinstance(name, str):
            raise TypeError(f"types: expected names of types, {known}; got {name!r}")
        if name not in COARSE_TYPES:
            near = get_close_matches(name[:60].lower(), COARSE_TYPES, n=1, cutoff=0.75)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"types: there is no type {name!r}{hint}; the known ones are {known}")
    return types


def _either(choices: Iterable[str]) -> str:
    return " or ".join(map(repr, choices))
