"""Alias table: surface form -> entities with p(entity | surface), in compressed rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import marisa_trie
import numpy as np

from .checking import check_ids, check_offsets, check_priors, check_slices
from .errors import KnowledgeBaseError
from .normal_form import SURFACE_FORM
from .readers import check_alias_row, check_key
from .redirect_table import resolve_redirects
from .storage import find_keys, offsets_of

__all__ = ["AliasTable", "build_alias_table"]


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Candidates of every surface, by descending prior, then by entity name.

    Attributes:
        surfaces: A `marisa_trie.Trie` that numbers the A surfaces.
        offsets: uint32 or uint64 [A+1], where the candidates of a surface begin and end.
        entity_ids: uint32 [C].
        priors: float32 [C].
        num_entities: E, above all entity ids.
        file: Where the arrays come from, for messages.
        surface_form: Version of the `normal_form` that all surfaces have; 0 = they are only stripped.
    """

    surfaces: Any
    offsets: np.ndarray
    entity_ids: np.ndarray
    priors: np.ndarray
    num_entities: int
    file: str = "tables.safetensors"
    surface_form: int = SURFACE_FORM

    def find(self, surfaces: Sequence[str]) -> np.ndarray:
        """The numbers int64 [M] of M surfaces as they are written in the table, -1 = not in the table."""
        return find_keys(self.surfaces, surfaces)

    def take(self, rows: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """The first `limit` candidates of each of M surfaces.

        Args:
            rows: int64 [M], numbers of surfaces; -1 = none.
            limit: K.

        Returns:
            entity_ids int32 [M, K], -1 = padding, and priors float32 [M, K], 0 there.

        Raises:
            KnowledgeBaseError: When what is taken cannot be right: the file is damaged.
        """
        entity_ids = np.full((len(rows), limit), -1, dtype=np.int32)
        priors = np.zeros((len(rows), limit), dtype=np.float32)
        found = np.flatnonzero(rows >= 0)
        begins = self.offsets[rows[found]].astype(np.int64)
        ends = self.offsets[rows[found] + 1].astype(np.int64)
        check_slices(begins, ends, len(self.entity_ids), self.file)
        lengths = ends - begins
        columns = np.arange(min(limit, lengths.max(initial=0)))
        here, column = np.nonzero(columns < lengths[:, None])
        positions = begins[here] + column
        taken_ids, taken_priors = self.entity_ids[positions], self.priors[positions]
        self._check_candidates(taken_ids, taken_priors)
        entity_ids[found[here], column] = taken_ids
        priors[found[here], column] = taken_priors
        return entity_ids, priors

    def row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all candidates of one surface: entity ids uint32 [C] and priors float32 [C].

        Raises:
            KnowledgeBaseError: When they cannot be right: the file is damaged.
        """
        begin, end = self.offsets[row : row + 2].astype(np.int64).tolist()
        check_slices(np.array([begin]), np.array([end]), len(self.entity_ids), self.file)
        entity_ids, priors = self.entity_ids[begin:end], self.priors[begin:end]
        self._check_candidates(entity_ids, priors)
        return entity_ids, priors

    def check(self) -> None:
        """Read it all.

        Raises:
            KnowledgeBaseError: When a value cannot be right: the file is damaged.
        """
        check_offsets(self.offsets, len(self.entity_ids), self.file)
        self._check_candidates(self.entity_ids, self.priors)

    def _check_candidates(self, entity_ids: np.ndarray, priors: np.ndarray) -> None:
        check_ids(entity_ids, 0, self.num_entities, self.file, "entity_ids")
        check_priors(priors, self.file)

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        for name in ("offsets", "entity_ids", "priors"):
            yield name, getattr(self, name)


def build_alias_table(
    aliases: Iterable[tuple[str, Iterable[tuple[str, float]]]],
    more_entities: Iterable[str] = (),
    *,
    max_candidates: int | None = None,
    redirects: Mapping[str, str] | None = None,
) -> tuple[Any, AliasTable, dict[str, str]]:
    """Numbers the entities and collects the candidates of every surface.

    A surface that comes twice (also only in normal form), or an entity that comes twice under a surface,
    is merged: the highest prior stands. A surface without candidates is the same as none.

    Args:
        aliases: Pairs of a surface and its (entity, prior) pairs.
        more_entities: Entities to know beside those of the aliases.
        max_candidates: Keep at most that many candidates a surface; None keeps all.
        redirects: Entities to know too, by other titles, which may lead to one another.

    Returns:
        The trie that numbers the entities, the table, and the redirects with the entity at the end of each.

    Raises:
        KnowledgeBaseError: When a row is invalid; the message names the row and the surface.
    """
    surface_numbers: dict[str, int] = {}
    entity_numbers: dict[str, int] = {}
    # Flat arrays: a dict a surface would take ten times the memory of a table of millions.
    surface_column, entity_column, prior_column = array("I"), array("I"), array("f")
    for i, row in enumerate(aliases):
        if isinstance(row, str | bytes) or not isinstance(row, tuple | list) or len(row) != 2:
            raise KnowledgeBaseError(f"aliases[{i}]: expected a pair (surface, candidates), got {row!r}")
        surface, candidates = check_alias_row(row[0], row[1], f"aliases[{i}]")
        if not candidates:
            continue
        number = surface_numbers.setdefault(surface, len(surface_numbers))
        for entity, prior in candidates:
            surface_column.append(number)
            entity_column.append(entity_numbers.setdefault(entity, len(entity_numbers)))
            prior_column.append(prior)
    for entity in more_entities:
        entity_numbers.setdefault(check_key(entity, "vectors or descriptions", "entity"), len(entity_numbers))
    resolved = resolve_redirects(redirects or {}, entity_numbers)
    for entity in resolved.values():
        entity_numbers.setdefault(entity, len(entity_numbers))
    if len(entity_numbers) > np.iinfo(np.int32).max:
        raise KnowledgeBaseError(f"too many entities: {len(entity_numbers)}; their ids are int32")

    entities, entity_ids, entity_ranks = _number(entity_numbers)
    surfaces, surface_ids, _ = _number(surface_numbers)
    rows = surface_ids[np.asarray(surface_column)]
    columns = np.asarray(entity_column)
    ranks, columns = entity_ranks[columns], entity_ids[columns]
    priors = np.asarray(prior_column)

    order = np.lexsort((ranks, -priors, rows))
    first = _first_of_pairs(rows[order], columns[order], len(entity_numbers))
    order = order[first]
    if max_candidates is not None:
        lengths = np.bincount(rows[order], minlength=len(surface_numbers))
        starts = np.cumsum(lengths) - lengths
        order = order[np.arange(len(order)) - starts[rows[order]] < max_candidates]
    lengths = np.bincount(rows[order], minlength=len(surface_numbers))
    ids = columns[order].astype(np.uint32)
    table = AliasTable(surfaces, offsets_of(lengths), ids, priors[order], len(entity_numbers))
    return entities, table, resolved


def _number(numbers: dict[str, int]) -> tuple[Any, np.ndarray, np.ndarray]:
    """A trie of the keys, and by running number their ids in the trie and their alphabetical ranks."""
    trie = marisa_trie.Trie(numbers)
    ids = np.fromiter((trie[key] for key in numbers), dtype=np.int64, count=len(numbers))
    ranks = np.empty(len(numbers), dtype=np.int64)
    ranks[np.fromiter((numbers[key] for key in sorted(numbers)), dtype=np.int64, count=len(numbers))] = np.arange(
        len(numbers)
    )
    return trie, ids, ranks


def _first_of_pairs(rows: np.ndarray, columns: np.ndarray, width: int) -> np.ndarray:
    """Positions of the first occurrence of every (row, column) pair, ascending."""
    _, first = np.unique(rows * max(width, 1) + columns, return_index=True)
    return np.sort(first)
