"""Candidates of many surfaces at once: by their normal form, then by what its folded form leads to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from .fallback import FALLBACK_DISCOUNT, FallbackIndex, fold_all
from .normal_form import is_plain, normal_form, other_normal_forms
from .overlay import Overlay, Row, merge_rows
from .tables import Tables

__all__ = ["find_candidates"]


def find_candidates(
    tables: Tables,
    overlay: Overlay,
    surfaces: Sequence[str],
    limit: int,
    spellings: FallbackIndex | None,
    fallback: FallbackIndex | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of M surfaces.

    Args:
        tables: The tables.
        overlay: The changes to them.
        surfaces: The M surfaces.
        limit: K.
        spellings: The surfaces of the tables that are not in normal form, by theirs; None = all are.
        fallback: Where surfaces without candidates fall back; None = nowhere.

    Returns:
        entity_ids int32 [M, K], by descending prior, then by name, -1 = padding; priors float32 [M, K], 0 there.
    """
    keys, others, numbers = _find(tables, overlay, surfaces)
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
    for index, weight in ((spellings, 1.0), (fallback, FALLBACK_DISCOUNT)):
        if index is not None:
            positions = [position for position in np.flatnonzero(numbers < 0).tolist() if not rows.get(position)]
            forms = [keys[position] for position in positions]
            for position in others.keys() & set(positions):
                positions += [position] * len(others[position])
                forms += others[position]
            rows |= _by_folded_form(tables, overlay, index, weight, positions, forms)
    entity_ids, priors = tables.aliases.take(numbers, limit)
    for position, row in rows.items():
        for column, (entity, prior) in enumerate(row[:limit]):
            entity_ids[position, column] = entity
            priors[position, column] = prior
    return entity_ids, priors


def _find(
    tables: Tables, overlay: Overlay, surfaces: Sequence[str]
) -> tuple[list[str], dict[int, list[str]], np.ndarray]:
    """Return the keys that surfaces have, what else some could be, and the keys' numbers int64 [M] in the tables."""
    keys = [surface.strip() for surface in surfaces]
    # Nearly all surfaces are in normal form as they are, and those of tables of before normal forms need not be.
    numbers = tables.aliases.find(keys)
    odd = [position for position in np.flatnonzero(numbers < 0).tolist() if not is_plain(keys[position])]
    others = {position: forms for position in odd if (forms := other_normal_forms(keys[position]))}
    for position in odd:
        keys[position] = normal_form(keys[position])
    numbers[odd] = tables.aliases.find([keys[position] for position in odd])
    for position, forms in others.items():
        if _is_known(overlay, keys[position], int(numbers[position])):
            continue
        for form, number in zip(forms, tables.aliases.find(forms).tolist(), strict=True):
            if _is_known(overlay, form, number):
                keys[position], numbers[position] = form, number
                break
    return keys, others, numbers


def _is_known(overlay: Overlay, key: str, number: int) -> bool:
    """Whether a surface with a number in the tables, or with none (-1), has candidates that were not removed."""
    row = overlay.rows.get(number) if number >= 0 else overlay.surfaces.get(key, [])
    return row is None or bool(row)


def _by_folded_form(
    tables: Tables, overlay: Overlay, index: FallbackIndex, weight: float, positions: list[int], forms: list[str]
) -> dict[int, Row]:
    """Return the rows of what has the same folded form, by position.

    Args:
        tables: The tables.
        overlay: The changes to them.
        index: Which surfaces have a folded form.
        weight: What the priors are worth.
        positions: Where surfaces are looked up.
        forms: What each may be, in normal form; of several for a position the first that is known counts.
    """
    added = overlay.folded(index.fallback)
    folded = fold_all(forms, index.fallback)
    numbers = index.find(folded)
    known = np.flatnonzero(numbers >= 0).tolist()
    if added:
        known = [place for place, form in enumerate(folded) if numbers[place] >= 0 or form in added]
    name_of = partial(overlay.entity_name, tables)
    rows: dict[int, Row] = {}
    merged: dict[str, Row] = {}
    for place in known:
        form = folded[place]
        if form not in merged:
            found = [_row(tables, overlay, number) for number in index.rows_of(int(numbers[place]))]
            found += [overlay.surfaces[surface] for surface in added.get(form, ())]
            merged[form] = [(entity, prior * weight) for entity, prior in merge_rows(found, name_of)]
        if merged[form]:
            rows.setdefault(positions[place], merged[form])
    return rows


def _row(tables: Tables, overlay: Overlay, number: int) -> Row:
    if number in overlay.rows:
        return overlay.rows[number]
    return list(zip(*(part.tolist() for part in tables.aliases.row(number)), strict=True))
