"""Columns of small tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from hf_corefel.kb.columns import Columns

__all__ = ["Table", "columns_of"]

Table = dict[str, dict[str, float]]


def columns_of(table: Table, **given: Any) -> Columns:
    """The columns of a table of priors by surface and entity, and what else is given."""
    entities = sorted({entity for row in table.values() for entity in row})
    numbers = {entity: number for number, entity in enumerate(entities)}
    pairs = [(numbers[entity], prior) for surface in sorted(table) for entity, prior in table[surface].items()]
    lengths = [len(table[surface]) for surface in sorted(table)]
    return Columns(
        iter(entities),
        iter(sorted(table)),
        np.cumsum([0, *lengths]).astype(np.uint64),
        np.array([number for number, _ in pairs], dtype=np.uint32),
        np.array([prior for _, prior in pairs], dtype=np.float32),
        **given,
    )
