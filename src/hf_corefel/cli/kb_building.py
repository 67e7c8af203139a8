"""What ``hf-corefel kb build`` makes of its files: entities, vectors, and the table itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..kb import AliasRow, KnowledgeBase, KnowledgeBaseError, Vectorizer, read_jsonl, read_wikipedia2vec_text
from ..kb.importers import title_rows
from ..kb.readers import shown

__all__ = ["FIELDS", "build_table", "not_empty", "read_entities"]

# The fields of an entity in a file, with the argument of `KnowledgeBase.build` that takes each and its type.
FIELDS: dict[str, tuple[str, type]] = {
    "description": ("descriptions", str),
    "wikidata": ("wikidata", str),
    "url": ("urls", str),
    "type": ("types", str),
    "links": ("links", int),
}
_VECTORS_AT_ONCE = 256

_Row = TypeVar("_Row")


def not_empty(path: Path, rows: Iterable[_Row]) -> Iterator[_Row]:
    """Yield the rows of a file.

    Raises:
        KnowledgeBaseError: When it has none.
    """
    row = None
    for row in rows:
        yield row
    if row is None:
        raise KnowledgeBaseError(f"{path}: the file holds no rows; nothing was saved")


def build_table(
    rows: list[AliasRow],
    wikipedia2vec: Path | None,
    known: KnowledgeBase | None,
    options: dict[str, Any],
    vectorizer: Vectorizer | None,
    progress: Callable[[int, int], None],
) -> KnowledgeBase:
    """Build a knowledge base of rows, with the vectors of a file of Wikipedia2Vec or of another knowledge base.

    Args:
        rows: The alias table.
        wikipedia2vec: The file, whose titles are the surfaces where there are no rows.
        known: The other knowledge base.
        options: Further arguments of `KnowledgeBase.build`.
        vectorizer: Makes vectors of entities that the other knowledge base does not know.
        progress: Called with the vectors made and their number.
    """
    wanted = {entity for row in rows for entity, _ in row.candidates}
    if wikipedia2vec is not None:
        options["vectors"] = read_wikipedia2vec_text(wikipedia2vec, wanted if rows else None)
        rows = rows or list(title_rows(options["vectors"][0]))
    if known is not None:
        wanted.update(*(options.get(argument, {}) for argument, _ in FIELDS.values()))
        if not wanted:
            raise KnowledgeBaseError("the tables have no entity")
        options["vectors"] = _vectors_of(known, sorted(wanted), options.get("descriptions", {}), vectorizer, progress)
        options["projection"] = known.projection
    return KnowledgeBase.build(rows, **options)


def _vectors_of(
    known: KnowledgeBase,
    names: list[str],
    descriptions: dict[str, str],
    vectorizer: Vectorizer | None,
    progress: Callable[[int, int], None],
) -> tuple[list[str], np.ndarray]:
    """The vectors that a knowledge base has of entities; those that it lacks are made, or drawn as it draws them."""
    ids = {name: known.entity_id(name) for name in names}
    new = [name for name, number in ids.items() if number is None or not known.has_vector([number])[0]]
    if len(new) == len(names) and vectorizer is None:
        raise KnowledgeBaseError("the knowledge base of --vectors-of has none of these entities; --model makes vectors")
    # Drawn here, for the new table's draws would be like the few vectors that it has.
    vectors = {name: known.vector_for(name) for name in names}
    for start in range(0, len(new) if vectorizer is not None else 0, _VECTORS_AT_ONCE):
        part = new[start : start + _VECTORS_AT_ONCE]
        assert vectorizer is not None
        vectors.update(zip(part, vectorizer(part, [descriptions.get(name) for name in part]), strict=True))
        progress(start + len(part), len(new))
    return names, np.stack([vectors[name] for name in names])


def read_entities(path: Path) -> dict[str, dict[str, Any]]:
    """Return the keyword arguments of `KnowledgeBase.build` that a file of entities gives."""
    found: dict[str, dict[str, Any]] = {argument: {} for argument, _ in FIELDS.values()}
    for where, data in not_empty(path, read_jsonl(path)):
        if not isinstance(data, dict) or not isinstance(data.get("entity"), str):
            raise KnowledgeBaseError(f"{where}: expected an object with the string 'entity', got {shown(data)}")
        unknown = sorted(set(data) - {"entity", *FIELDS})
        if unknown:
            raise KnowledgeBaseError(
                f"{where}: unknown field {shown(unknown[0])}; the known fields are {', '.join(FIELDS)}"
            )
        for field, (argument, kind) in FIELDS.items():
            value = data.get(field)
            if value is not None:
                if not isinstance(value, kind) or isinstance(value, bool):
                    expected = "a string" if kind is str else "a whole number"
                    raise KnowledgeBaseError(f"{where}: field {field!r}: expected {expected}, got {shown(value)}")
                found[argument][data["entity"]] = value
    return found
