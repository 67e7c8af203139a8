"""Candidates of many surfaces at once: by their normal form, then by what its folded form leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .fallback import FALLBACK_DISCOUNT, FallbackIndex, fold
from .normal_form import normal_form
from .overlay import Overlay, Row
from .tables import Tables

__all__ = ["find_candidates"]


def find_candidates(
    tables: Tables, overlay: Overlay, surfaces: Sequence[str], limit: int, index: FallbackIndex | None
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of M surfaces.

    Args:
        tables: The tables.
        overlay: The changes to them.
        surfaces: The M surfaces.
        limit: K.
        index: Where surfaces without candidates fall back; None = nowhere.

    Returns:
        entity_ids int32 [M, K], by descending prior, then by name, -1 = padding; priors float32 [M, K], 0 there.
    """
    keys = [surface.strip() for surface in surfaces]
    numbers = tables.aliases.find(keys)
    # Tables of before normal forms have surfaces as they were given, and nearly all of those are in normal form too.
    for position in np.flatnonzero(numbers < 0).tolist():
        normal = normal_form(keys[position])
        if normal != keys[position] and keys[position] not in overlay.surfaces:
            keys[position] = normal
            numbers[position] = tables.aliases.find([normal])[0]
    # Most surfaces are as they are in the tables and are gathered at once; the others have rows of their own.
    rows: dict[int, Row] = {}
    if overlay.rows:
        for position, number in enumerate(numbers.tolist()):
            if number in overlay.rows:
                rows[position] = overlay.rows[number]
                numbers[position] = -1
    if overlay.surfaces:
        for position in np.flatnonzero(numbers < 0).tolist():
            row = overlay.surfaces.get(keys[position])
            if row is not None:
                rows[position] = row
    if index is not None:
        added = overlay.folded(index.fallback)
        for position in np.flatnonzero(numbers < 0).tolist():
            if rows.get(position):
                continue
            key = fold(keys[position], index.fallback)
            group = index.find(key).tolist()
            more = [overlay.surfaces[surface] for surface in added.get(key, ())]
            if group or more:
                merged = _merge(tables, overlay, [*more, *(_row(tables, overlay, number) for number in group)])
                rows[position] = [(entity, prior * FALLBACK_DISCOUNT) for entity, prior in merged]
    entity_ids, priors = tables.aliases.take(numbers, limit)
    for position, row in rows.items():
        for column, (entity, prior) in enumerate(row[:limit]):
            entity_ids[position, column] = entity
            priors[position, column] = prior
    return entity_ids, priors


def _row(tables: Tables, overlay: Overlay, number: int) -> Row:
    if number in overlay.rows:
        return overlay.rows[number]
    return list(zip(*(part.tolist() for part in tables.aliases.row(number)), strict=True))


def _merge(tables: Tables, overlay: Overlay, rows: Iterable[Row]) -> Row:
    """The candidates of several surfaces with the best prior of each, by descending prior, then by name."""
    best: dict[int, float] = {}
    for row in rows:
        for entity, prior in row:
            best[entity] = max(prior, best.get(entity, 0.0))
    return sorted(best.items(), key=lambda pair: (-pair[1], overlay.entity_name(tables, pair[0])))
