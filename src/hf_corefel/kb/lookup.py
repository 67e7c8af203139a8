"""Candidates of many surfaces at once: the exact surface, then what its folded form leads to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .fallback import FallbackIndex, fold
from .tables import Tables

__all__ = ["find_candidates"]


def find_candidates(
    tables: Tables, surfaces: Sequence[str], limit: int, index: FallbackIndex | None
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of M surfaces.

    Args:
        tables: The tables.
        surfaces: The M surfaces.
        limit: K.
        index: Where surfaces without candidates fall back; None = nowhere.

    Returns:
        entity_ids int32 [M, K], by descending prior, then by name, -1 = padding; priors float32 [M, K], 0 there.
    """
    stripped = [surface.strip() for surface in surfaces]
    rows = tables.aliases.find(stripped)
    if index is None:
        return tables.aliases.take(rows, limit)
    merged: dict[int, list[int]] = {}
    for position in np.flatnonzero(rows < 0).tolist():
        group = index.find(fold(stripped[position], index.fallback))
        if len(group) == 1:
            rows[position] = group[0]
        elif len(group) > 1:
            merged[position] = group.tolist()
    entity_ids, priors = tables.aliases.take(rows, limit)
    for position, numbers in merged.items():
        best = _merge(tables, numbers)[:limit]
        entity_ids[position, : len(best)] = [entity for entity, _ in best]
        priors[position, : len(best)] = [prior for _, prior in best]
    return entity_ids, priors


def _merge(tables: Tables, group: Sequence[int]) -> list[tuple[int, float]]:
    """The candidates of several surfaces with the best prior of each, by descending prior, then by name."""
    best: dict[int, float] = {}
    for row in group:
        for entity, prior in zip(*(part.tolist() for part in tables.aliases.row(row)), strict=True):
            best[entity] = max(prior, best.get(entity, 0.0))
    return sorted(best.items(), key=lambda pair: (-pair[1], tables.entities.restore_key(pair[0])))
