"""What ``hf-corefel kb build`` makes of its files: entities, vectors, and the table itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..kb import AliasRow, KnowledgeBase, KnowledgeBaseError, Vectorizer, read_jsonl, read_wikipedia2vec_text
from ..kb.importers import title_rows
from ..kb.readers import shown

__all__ = ["ADDITIONS", "FIELDS", "build_table", "not_empty", "read_additions", "read_entities"]

# The fields of an entity in a file, with the argument of `KnowledgeBase.build` that takes each and its type.
FIELDS: dict[str, tuple[str, type]] = {
    "description": ("descriptions", str),
    "wikidata": ("wikidata", str),
    "url": ("urls", str),
    "type": ("types", str),
    "links": ("links", int),
}
_VECTORS_AT_ONCE = 256


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _surfaces(value: object) -> bool:
    priors = list(value.values()) if isinstance(value, dict) else []
    return all(prior is None or _number(prior) for prior in priors) and (isinstance(value, dict) or _strings(value))


def _string(value: object) -> bool:
    return isinstance(value, str)


# The fields of an entity that is added: what each is, and whether a value is that.
ADDITIONS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "entity": ("a string", _string),
    "surfaces": ("a list of strings, or an object of strings and priors", _surfaces),
    "prior": ("a number", _number),
    "description": ("a string", _string),
    "wikidata": ("a string", _string),
    "url": ("a string", _string),
    "type": ("a string", _string),
    "links": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "redirects": ("a list of strings", _strings),
    "vector": ("a list of numbers", lambda value: isinstance(value, list) and all(map(_number, value))),
}

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
        wanted = wanted or set(options["vectors"][0])
    _warn_of_unnamed(wanted, options)
    if known is not None:
        wanted.update(*(options.get(argument, {}) for argument, _ in FIELDS.values()))
        if not wanted:
            raise KnowledgeBaseError("the tables have no entity")
        options["vectors"] = _vectors_of(known, sorted(wanted), options.get("descriptions", {}), vectorizer, progress)
        options["projection"] = known.projection
    return KnowledgeBase.build(rows, **options)


def _warn_of_unnamed(named: Set[str], options: Mapping[str, Any]) -> None:
    """Say how many entities have facts and no surface, which blanks in place of underscores are a reason for."""
    described = {entity: None for argument, _ in FIELDS.values() for entity in options.get(argument, ())}
    unnamed = [entity for entity in described if entity not in named]
    if not unnamed:
        return
    written = {entity.replace(" ", "_"): entity for entity in named}
    other = next((entity for entity in unnamed if entity.replace(" ", "_") in written), None)
    shown_one = shown(unnamed[0] if other is None else other)
    reason = "" if other is None else f", which the tables write {shown(written[other.replace(' ', '_')])}"
    warnings.warn(
        f"{len(unnamed):,} of {len(described):,} entities with facts have no surface, such as {shown_one}{reason}",
        stacklevel=2,
    )


def _vectors_of(
    known: KnowledgeBase,
    names: list[str],
    descriptions: dict[str, str],
    vectorizer: Vectorizer | None,
    progress: Callable[[int, int], None],
) -> tuple[list[str], np.ndarray]:
    """The vectors that a knowledge base has of entities; those that it lacks are made, or drawn as it draws them."""
    # What is written with blanks here may have underscores there.
    there = {name: name if name in known else name.replace(" ", "_") for name in names}
    ids = {name: known.entity_id(there[name]) for name in names}
    new = [name for name, number in ids.items() if number is None or not known.has_vector([number])[0]]
    if len(new) == len(names) and vectorizer is None:
        raise KnowledgeBaseError("the knowledge base of --vectors-of has none of these entities; --model makes vectors")
    # Drawn here, for the new table's draws would be like the few vectors that it has.
    vectors = {name: known.vector_for(there[name]) for name in names}
    for start in range(0, len(new) if vectorizer is not None else 0, _VECTORS_AT_ONCE):
        part = new[start : start + _VECTORS_AT_ONCE]
        assert vectorizer is not None
        vectors.update(zip(part, vectorizer(part, [descriptions.get(name) for name in part]), strict=True))
        progress(start + len(part), len(new))
    return names, np.stack([vectors[name] for name in names])


def read_additions(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of a file of entities that are added: where each stands, and what `KnowledgeBase.add` takes.

    Raises:
        KnowledgeBaseError: When a line has another form; the message names it.
    """
    for where, data in read_jsonl(path):
        if not isinstance(data, dict) or not isinstance(data.get("entity"), str):
            raise KnowledgeBaseError(f"{where}: expected an object with the string 'entity', got {shown(data)}")
        row: dict[str, Any] = {}
        for field, value in data.items():
            if field not in ADDITIONS:
                raise KnowledgeBaseError(
                    f"{where}: unknown field {shown(field)}; the known fields are {', '.join(ADDITIONS)}"
                )
            expected, good = ADDITIONS[field]
            if value is not None and not good(value):
                raise KnowledgeBaseError(f"{where}: field {field!r}: expected {expected}, got {shown(value)}")
            if value is not None:
                row[field] = value
        if isinstance(row.get("surfaces"), dict):
            if "prior" in row:
                raise KnowledgeBaseError(f"{where}: field 'prior': the priors stand in 'surfaces' here")
            row["prior"] = row["surfaces"]
        yield where, row


def read_entities(path: Path) -> dict[str, dict[str, Any]]:
    """Return the keyword arguments of `KnowledgeBase.build` that a file of entities gives.

    Raises:
        KnowledgeBaseError: When a line is none of an entity, or two lines say different things of one.
    """
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
                before = found[argument].setdefault(data["entity"], value)
                if before != value:
                    raise KnowledgeBaseError(
                        f"{where}: field {field!r}: an earlier line says {shown(before)} of {shown(data['entity'])}, "
                        f"this one {shown(value)}; leave one of them out"
                    )
    return found
