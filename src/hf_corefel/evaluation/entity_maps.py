"""Entity maps from files and from knowledge bases."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ..candidates import EntityStore, open_knowledge_base
from ..candidates.entity_facts import canonical_name, entity_of, wikidata_id
from ..metrics.entity_map import EntityMap, entity_map_from

__all__ = ["AnyEntityMap", "knowledge_base_map", "no_map", "open_entity_map", "read_entity_map"]

AnyEntityMap = EntityMap | Mapping[str, str] | EntityStore | str | Path
"""What `open_entity_map` takes, beside a list of these."""

_COLUMNS = ("old", "new")


def open_entity_map(source: AnyEntityMap | Sequence[AnyEntityMap] | None, **access: Any) -> EntityMap | None:
    """Return which names of entities mean one thing, as evaluation takes it; None of None.

    Args:
        source: A file (`read_entity_map`), a knowledge base or its folder or Hub id (`knowledge_base_map`), a dict of
            old names to new ones, or an `EntityMap`; several of these in a list are asked one after the other.
        **access: For one on the Hub: ``revision``, ``token``, ``cache_dir``, ``local_files_only``.

    Raises:
        OSError: When a file cannot be read.
        ValueError: When a line is malformed, names lead to one another in a loop, or there is no such file or
            knowledge base.
    """
    if isinstance(source, Sequence) and not isinstance(source, str):
        maps = [found for each in source if (found := open_entity_map(each, **access)) is not None]
        joined = maps[0] if maps else None
        for each in maps[1:]:
            assert joined is not None
            joined = joined.then(each)
        return joined
    if isinstance(source, str | Path):
        if Path(source).is_file():
            return read_entity_map(source)
        with no_map(source):
            return knowledge_base_map(open_knowledge_base(source, **access))
    if isinstance(source, EntityStore):
        return knowledge_base_map(source)
    return entity_map_from(source)


@contextmanager
def no_map(source: str | Path) -> Iterator[None]:
    """Say of what is no knowledge base, where there is nothing, that it is no file either."""
    try:
        yield
    except (OSError, ValueError) as error:
        if os.path.lexists(source):
            raise
        raise ValueError(f"entity_map: {source}: there is no such file, and no knowledge base: {error}") from error


def knowledge_base_map(knowledge_base: EntityStore) -> EntityMap:
    """Return a map by the redirects and Wikidata ids of a knowledge base.

    An old title is the entity that it redirects to, a Wikidata id (``Q42``, ``wikidata:Q42``) the entity that has it,
    and entities that have one id are one.
    """

    @cache
    def known(name: str) -> str:
        entity = canonical_name(knowledge_base, name)
        spelt = entity.replace("_", " ")
        if entity not in knowledge_base and spelt in knowledge_base:
            entity = spelt  # names of other bases than Wikipedia's may have blanks
        identifier = wikidata_id(knowledge_base, entity)
        if identifier is None:
            return entity_of(knowledge_base, "wikidata", name) or entity
        return entity_of(knowledge_base, "wikidata", identifier) or identifier

    return EntityMap(known=known)


def read_entity_map(path: str | Path) -> EntityMap:
    """Return the map of a file of old names and new ones.

    A line is ``old<TAB>new``, or JSON: ``{"old": …, "new": …}`` or ``["old", "new"]``. Blank lines are passed over. A
    file that ends in ``.gz`` is decompressed.

    Raises:
        OSError: When the file cannot be read.
        ValueError: When a line has another form, a name leads to two others, or names lead in a loop; the message has
            the file, and the line or the names.
    """
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:
            return EntityMap(_pairs(path, file), where=str(path))
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: no text in UTF-8, or damaged: {error}") from error


def _pairs(path: Path, file: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file, start=1):
        line = line.rstrip("\r\n")
        if line.strip():
            pair = _json_pair(line) if line.lstrip().startswith(("{", "[")) and "\t" not in line else line.split("\t")
            if pair is None or len(pair) != 2 or not all(isinstance(name, str) and name.strip() for name in pair):
                raise ValueError(
                    f'{path}:{number}: expected an old name, a tab and the new name, or {{"old": …, "new": …}}; '
                    f"got {line[:200]!r}"
                )
            yield pair[0], pair[1]


def _json_pair(line: str) -> list[Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        return [data[name] for name in _COLUMNS] if set(data) == set(_COLUMNS) else None
    return data if isinstance(data, list) else None
