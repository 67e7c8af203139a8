"""Writes each file of a knowledge base from columns, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np

from .checking import check_ids, check_offsets, check_priors
from .errors import KnowledgeBaseError
from .fallback import Fallback, fold_all
from .number_tables import COARSE_TYPES
from .projection import Projection
from .spooling import CHUNK, KeySpool, chunks
from .storage import find_keys, map_trie, offsets_of
from .tensor_file import TensorFile
from .vector_table import VectorTable

__all__ = [
    "write_aliases",
    "write_fallback",
    "write_keys",
    "write_links",
    "write_projection",
    "write_redirects",
    "write_types",
    "write_vectors",
]


def write_keys(path: Path, spool: KeySpool, keys: Iterable[str]) -> tuple[Any, np.ndarray]:
    """Write a trie of distinct keys.

    Args:
        path: The file.
        spool: Takes the keys, for whoever needs them again.
        keys: The keys.

    Returns:
        The trie, memory-mapped, and the ids that it gives to the keys in their order, uint32 [N].

    Raises:
        KnowledgeBaseError: When a key comes twice.
    """
    marisa_trie.Trie(spool.through(keys)).save(str(path))
    trie = map_trie(path)
    if len(trie) != spool.count:
        raise KnowledgeBaseError(f"{spool.count - len(trie):,} of {spool.count:,} names come twice")
    ids = np.empty(spool.count, dtype=np.uint32)
    for start, chunk in _numbered_chunks(spool):
        ids[start : start + len(chunk)] = find_keys(trie, chunk)
    return trie, ids


def _numbered_chunks(keys: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    start = 0
    for chunk in chunks(keys):
        yield start, chunk
        start += len(chunk)


def write_types(path: Path, ids: np.ndarray, types: Iterable[tuple[int, str]]) -> None:
    """Write a `TypeTable` of types that come after the numbers of their entities, whose ids are `ids`."""
    known = {name: code for code, name in enumerate(COARSE_TYPES, start=1)}
    codes = np.zeros(len(ids), dtype=np.uint8)
    for number, kind in types:
        codes[ids[number]] = known[kind]
    _write_arrays(path, codes=codes)


def write_links(path: Path, ids: np.ndarray, links: Iterable[tuple[int, int]]) -> None:
    """Write a `LinkTable` of numbers of links that come after the numbers of their entities, whose ids are `ids`."""
    counts = np.full(len(ids), -1, dtype=np.int32)
    for number, count in links:
        counts[ids[number]] = count
    _write_arrays(path, counts=counts)


def write_redirects(
    trie_file: Path,
    path: Path,
    waiting: Path,
    redirects: Iterable[tuple[int, str]],
    entities: Any,
    ids: np.ndarray,
) -> None:
    """Write a `RedirectTable` without the titles that are entities' names.

    Args:
        trie_file: The file of the titles.
        path: The file of where they lead to.
        waiting: Where titles may wait meanwhile.
        redirects: The number of an entity, and a title of it.
        entities: The `marisa_trie.Trie` of the entities.
        ids: The ids of the entities by their numbers.

    Raises:
        KnowledgeBaseError: When a title comes twice.
    """
    numbers: list[np.ndarray] = []

    def titles() -> Iterator[str]:
        for chunk in chunks(redirects):
            known = find_keys(entities, [title for _, title in chunk]) >= 0
            kept = [pair for pair, is_entity in zip(chunk, known.tolist(), strict=True) if not is_entity]
            numbers.append(np.array([number for number, _ in kept], dtype=np.uint32))
            yield from (title for _, title in kept)

    spool = KeySpool(waiting)
    try:
        _, rows = write_keys(trie_file, spool, titles())
    except KnowledgeBaseError as error:
        raise KnowledgeBaseError(f"redirects: {error}") from error
    spool.remove()
    targets = np.zeros(len(rows), dtype=np.uint32)
    targets[rows] = ids[np.concatenate([*numbers, np.zeros(0, dtype=np.uint32)])]
    _write_arrays(path, targets=targets)


def write_projection(path: Path, projection: Projection) -> None:
    """Write the arrays of a projection."""
    projection.check()
    _write_arrays(path, **dict(projection.items()))


def write_vectors(
    path: Path, count: int, projection: Projection | None, mean: np.ndarray | None, std: np.ndarray | None
) -> None:
    """Write a `VectorTable` of entities that have no vectors yet.

    Args:
        path: The file.
        count: E.
        projection: What their vectors will come from; they have no width without it.
        mean: float32 [D], of the vectors that they will have; the projection's offset when None.
        std: float32 [D], their standard deviation; when None, that of projected vectors [H] of length 1 that point
            anywhere.
    """
    none = np.zeros(0, dtype=np.float32)
    distribution = (none, none) if projection is None else projection.distribution(mean, std)
    _write_arrays(path, **dict(VectorTable.without_vectors(count, *distribution).items()))


def write_aliases(
    path: Path, offsets: np.ndarray, numbers: np.ndarray, priors: np.ndarray, rows: np.ndarray, ids: np.ndarray
) -> None:
    """Write an `AliasTable`, the candidates of each surface by descending prior, then by name.

    Args:
        path: The file.
        offsets: [S+1], where the candidates of a surface begin and end.
        numbers: [C], the numbers of candidates in the order of the entities' names.
        priors: [C].
        rows: [S], the ids of the surfaces.
        ids: [E], the ids of the entities.

    Raises:
        KnowledgeBaseError: When a value cannot be right, a surface has no candidate, or one twice.
    """
    check_offsets(offsets, len(numbers), "columns")
    order = np.empty(len(rows), dtype=np.uint32)
    order[rows] = np.arange(len(rows), dtype=np.uint32)
    lengths = np.diff(offsets).astype(np.uint32)
    if not lengths.all():
        raise KnowledgeBaseError(f"offsets[{int(np.argmin(lengths))}]: the surface has no candidates")
    ends = offsets_of(lengths[order])
    count = len(numbers)
    arrays = {"offsets": (ends.dtype.str, ends.shape), "entity_ids": ("<u4", (count,)), "priors": ("<f4", (count,))}
    with TensorFile(path, arrays) as written:
        written.write("offsets", 0, ends)
        for start in range(0, len(order), CHUNK):
            places = order[start : start + CHUNK]
            length = lengths[places].astype(np.int64)
            begins = offsets[places].astype(np.int64) - (np.cumsum(length) - length)
            positions = np.repeat(begins, length) + np.arange(length.sum())
            row = np.repeat(np.arange(len(places)), length)
            number, prior = numbers[positions], priors[positions].astype(np.float32)
            check_ids(number, 0, len(ids), "columns", "candidate_numbers")
            check_priors(prior, "columns")
            _check_once(row, number, places)
            best_first = np.lexsort((number, -prior, row))
            written.write("entity_ids", int(ends[start]), ids[number[best_first]])
            written.write("priors", int(ends[start]), prior[best_first])


def _check_once(row: np.ndarray, number: np.ndarray, places: np.ndarray) -> None:
    order = np.lexsort((number, row))
    row, number = row[order], number[order]
    twice = (row[1:] == row[:-1]) & (number[1:] == number[:-1])
    if twice.any():
        place = int(places[row[int(np.argmax(twice))]])
        raise KnowledgeBaseError(f"surfaces[{place}]: entity {number[int(np.argmax(twice))]} is its candidate twice")


def write_fallback(trie_file: Path, path: Path, surfaces: Iterable[str], rows: np.ndarray, fallback: Fallback) -> None:
    """Write a `FallbackIndex`.

    Args:
        trie_file: The file of the folded forms.
        path: The file of the surfaces that have each.
        surfaces: The surfaces, in normal form.
        rows: [S], their ids.
        fallback: How to fold them.
    """
    folded = (form for chunk in chunks(surfaces) for form in fold_all(chunk, fallback) if form)
    marisa_trie.Trie(folded).save(str(trie_file))
    keys = map_trie(trie_file)
    # A surface without a folded form comes last, after the forms.
    numbers = np.full(len(rows), len(keys), dtype=np.uint32)
    for start, chunk in _numbered_chunks(surfaces):
        found = find_keys(keys, fold_all(chunk, fallback))
        numbers[rows[start : start + len(chunk)]] = np.where(found >= 0, found, len(keys))
    lengths = np.bincount(numbers, minlength=len(keys))[: len(keys)]
    order = np.argsort(numbers, kind="stable")[: int(lengths.sum())]
    _write_arrays(path, offsets=offsets_of(lengths), rows=order.astype(np.uint32))


def _write_arrays(path: Path, **arrays: np.ndarray) -> None:
    with TensorFile(path, {name: (array.dtype.str, array.shape) for name, array in arrays.items()}) as written:
        for name, array in arrays.items():
            written.write(name, 0, array)
