"""A smaller knowledge base: some entities of another, with all that it says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import marisa_trie
import numpy as np

from .alias_table import AliasTable
from .errors import KnowledgeBaseError
from .merging import merge_texts, merge_vectors
from .number_tables import COARSE_TYPES, LinkTable, TypeTable, check_type
from .overlay import Overlay
from .redirect_table import RedirectTable
from .storage import offsets_of
from .tables import TEXTS, Tables

__all__ = ["of_type", "select_entities", "with_links"]


def of_type(tables: Tables, types: Iterable[str]) -> np.ndarray:
    """Return whether entities are of one of some coarse types, bool ``[E]``.

    Raises:
        KnowledgeBaseError: When there is no such type, or the types of entities are not known.
    """
    wanted = [types] if isinstance(types, str) else list(types)
    codes = [COARSE_TYPES.index(check_type(kind, "subset")) + 1 for kind in wanted]
    if tables.types is None:
        raise KnowledgeBaseError("types: the knowledge base does not say of what type its entities are")
    return np.isin(tables.types.codes, codes)


def with_links(tables: Tables, least: int) -> np.ndarray:
    """Return whether so many links lead to entities, bool ``[E]``; not to those of which nothing says so.

    Raises:
        KnowledgeBaseError: When there are no numbers of links.
    """
    if tables.links is None:
        raise KnowledgeBaseError("min_links: the knowledge base does not say how many links lead to its entities")
    return np.asarray(tables.links.counts >= max(least, 0))


def select_entities(tables: Tables, kept: np.ndarray) -> Tables:
    """Return tables with some entities only; ids are others than before. Surfaces without any are left out.

    Args:
        tables: The tables.
        kept: Whether an entity is kept, bool ``[E]``.
    """
    names = [tables.entities.restore_key(number) for number in np.flatnonzero(kept).tolist()]
    entities = marisa_trie.Trie(names)
    new_ids = np.full(tables.num_entities, -1, dtype=np.int64)
    new_ids[kept] = np.fromiter((entities[name] for name in names), dtype=np.int64, count=len(names))
    old_ids = np.empty(len(names), dtype=np.int64)
    old_ids[new_ids[kept]] = np.flatnonzero(kept)
    unchanged = Overlay()
    texts = {name: merge_texts(getattr(tables, name), unchanged, name, old_ids) for name in TEXTS}
    redirects = None
    if tables.redirects is not None:
        pairs = ((title, int(new_ids[target])) for title, target in tables.redirects.pairs())
        left = {title: target for title, target in pairs if target >= 0}
        redirects = RedirectTable.of(len(names), left) if left else None
    return Tables(
        entities=entities,
        aliases=_select_aliases(tables.aliases, new_ids),
        vectors=merge_vectors(tables.vectors, unchanged, old_ids),
        **texts,
        url_template=tables.url_template,
        provenance=tables.provenance,
        projection=tables.projection,
        types=None if tables.types is None else TypeTable(tables.types.codes[old_ids]),
        links=None if tables.links is None else LinkTable(tables.links.counts[old_ids]),
        redirects=redirects,
        lazy_vectors=tables.lazy_vectors,
    )


def _select_aliases(aliases: AliasTable, new_ids: np.ndarray) -> AliasTable:
    aliases.check()
    ids = new_ids[aliases.entity_ids]
    offsets = aliases.offsets.astype(np.int64)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(ids >= 0)])
    lengths = before[offsets[1:]] - before[offsets[:-1]]
    rows = np.flatnonzero(lengths)
    names: Sequence[str] = [aliases.surfaces.restore_key(row) for row in rows.tolist()]
    surfaces = marisa_trie.Trie(names)
    order = np.empty(len(rows), dtype=np.int64)
    order[np.fromiter((surfaces[name] for name in names), dtype=np.int64, count=len(names))] = rows
    length = lengths[order]
    starts = np.cumsum(length) - length
    # Positions among the candidates that are left.
    positions = np.repeat(before[offsets[order]] - starts, length) + np.arange(length.sum())
    left = ids >= 0
    return AliasTable(
        surfaces,
        offsets_of(length),
        ids[left][positions].astype(np.uint32),
        aliases.priors[left][positions],
        int(np.count_nonzero(new_ids >= 0)),
        surface_form=aliases.surface_form,
    )
