"""Tables with the changes to them written in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import marisa_trie
import numpy as np

from .alias_table import AliasTable
from .normal_form import SURFACE_FORM, normal_form
from .number_tables import LinkTable, TypeTable
from .overlay import Overlay, Row, merge_rows
from .redirect_table import RedirectTable
from .storage import offsets_of
from .tables import TEXTS, Tables
from .text_table import TextTable
from .vector_table import VectorTable

__all__ = ["merge_changes", "merge_texts", "merge_vectors"]


def merge_changes(tables: Tables, overlay: Overlay) -> Tables:
    """New tables without what was removed and with what was added; ids of entities are others than before.

    Surfaces of before normal forms get theirs; those that share one are merged, the highest prior stands.
    Vectors keep their codes, and their mean and standard deviation stay, so that no entity's vector changes.
    """
    living = list(overlay.living_entities(tables))
    entities = marisa_trie.Trie(name for _, name in living)
    old_ids = np.empty(len(living), dtype=np.int64)
    for old, name in living:
        old_ids[entities[name]] = old
    new_ids = np.full(tables.num_entities + len(overlay.names), -1, dtype=np.int64)
    new_ids[old_ids] = np.arange(len(living))
    texts = {name: merge_texts(getattr(tables, name), overlay, name, old_ids) for name in TEXTS}
    return Tables(
        entities=entities,
        aliases=_merge_aliases(tables, overlay, new_ids),
        vectors=merge_vectors(tables.vectors, overlay, old_ids),
        **texts,
        url_template=tables.url_template,
        provenance=tables.provenance,
        projection=tables.projection,
        types=_merge_types(tables, overlay, old_ids),
        links=_merge_links(tables, overlay, old_ids),
        redirects=_merge_redirects(tables, overlay, new_ids, len(living)),
        lazy_vectors=tables.lazy_vectors,
    )


def _merge_aliases(tables: Tables, overlay: Overlay, new_ids: np.ndarray) -> AliasTable:
    aliases = tables.aliases
    restore = aliases.surfaces.restore_key
    kept = np.ones(len(aliases.surfaces), dtype=bool)
    kept[list(overlay.rows)] = False
    changed = {restore(number): row for number, row in overlay.rows.items() if row}
    changed.update(overlay.surfaces)
    if aliases.surface_form != SURFACE_FORM:
        changed = _in_normal_form(tables, overlay, changed, kept)
    names = [restore(number) for number in np.flatnonzero(kept).tolist()] + list(changed)
    added = np.fromiter(map(len, changed.values()), dtype=np.int64, count=len(changed))
    offsets = aliases.offsets.astype(np.int64)
    begins = np.concatenate([offsets[:-1][kept], len(aliases.entity_ids) + np.cumsum(added) - added])
    lengths = np.concatenate([np.diff(offsets)[kept], added])
    pairs = [pair for row in changed.values() for pair in row]
    source_ids = np.concatenate([aliases.entity_ids.astype(np.int64), np.array([i for i, _ in pairs], dtype=np.int64)])
    source_priors = np.concatenate([aliases.priors, np.array([prior for _, prior in pairs], dtype=np.float32)])

    surfaces = marisa_trie.Trie(names)
    numbers = np.fromiter((surfaces[name] for name in names), dtype=np.int64, count=len(names))
    order = np.empty(len(names), dtype=np.int64)
    order[numbers] = np.arange(len(names))
    begin, length = begins[order], lengths[order]
    starts = np.cumsum(length) - length
    positions = np.repeat(begin - starts, length) + np.arange(length.sum())
    ids = new_ids[source_ids[positions]]
    count = int(np.count_nonzero(new_ids >= 0))
    return AliasTable(surfaces, offsets_of(length), ids.astype(np.uint32), source_priors[positions], count)


def _in_normal_form(tables: Tables, overlay: Overlay, changed: dict[str, Row], kept: np.ndarray) -> dict[str, Row]:
    """The changed rows by normal form, with those that are not in it yet; these and what they join are kept no more."""
    aliases, rows = tables.aliases, dict[str, list[Row]]()
    for surface, row in changed.items():
        rows.setdefault(normal_form(surface), []).append(row)

    def move(number: int, normal: str) -> None:
        kept[number] = False
        ids, priors = aliases.row(number)
        rows.setdefault(normal, []).append(list(zip(ids.tolist(), priors.tolist(), strict=True)))

    for number in np.flatnonzero(kept).tolist():
        surface = aliases.surfaces.restore_key(number)
        normal = normal_form(surface)
        if normal != surface:
            move(number, normal)
    for normal, number in zip(list(rows), aliases.find(list(rows)).tolist(), strict=True):
        if number >= 0 and kept[number]:
            move(number, normal)
    # Nothing can be seen of a surface without a normal form.
    rows.pop("", None)
    return {normal: merge_rows(several, partial(overlay.entity_name, tables)) for normal, several in rows.items()}


def merge_vectors(vectors: VectorTable, overlay: Overlay, old_ids: np.ndarray) -> VectorTable:
    """Return vectors with the changes to them, of the entities that had some ids before, in the order of these."""
    count, size = len(old_ids), vectors.size
    source = np.full(count, -1, dtype=np.int64)
    in_tables = old_ids < len(vectors.rows)
    source[in_tables] = vectors.rows[old_ids[in_tables]]
    added_codes = [vectors.codes]
    added_scales = [vectors.scales]
    end = len(vectors.codes)
    new_ids = {old: new for new, old in enumerate(old_ids.tolist())} if overlay.vectors else {}
    for old, (codes, scale) in overlay.vectors.items():
        if old in new_ids:
            source[new_ids[old]] = end
            added_codes.append(codes.reshape(1, size))
            if vectors.format == "int8":
                added_scales.append(np.array([scale], dtype=np.float32))
            end += 1
    kept = np.flatnonzero(source >= 0)
    rows = np.full(count, -1, dtype=np.int32)
    rows[kept] = np.arange(len(kept))
    # Nothing is copied as a whole where nothing was added.
    all_codes = np.concatenate(added_codes) if len(added_codes) > 1 else vectors.codes
    all_scales = np.concatenate(added_scales)
    return VectorTable(
        rows,
        all_codes[source[kept]],
        all_scales[source[kept]] if vectors.format == "int8" else all_scales,
        vectors.mean,
        vectors.std,
    )


def merge_texts(table: TextTable | None, overlay: Overlay, name: str, old_ids: np.ndarray) -> TextTable | None:
    """Return the texts of a field with the changes to them, of entities by their ids of before."""
    changed = overlay.facts[name]
    if table is None and not changed:
        return None
    encoded: dict[int, bytes] = {}
    for new, old in enumerate(old_ids.tolist()):
        if old in changed:
            encoded[new] = changed[old].encode("utf-8")
        elif table is not None and old < len(table.offsets) - 1:
            begin, end = int(table.offsets[old]), int(table.offsets[old + 1])
            encoded[new] = table.text[begin:end].tobytes()
    return TextTable.of(len(old_ids), encoded)


def _merge_types(tables: Tables, overlay: Overlay, old_ids: np.ndarray) -> TypeTable | None:
    changed = overlay.facts["types"]
    if tables.types is None and not changed:
        return None
    codes = TypeTable.of(tables.num_entities + len(overlay.names), changed).codes
    return TypeTable(_fill(codes, changed, None if tables.types is None else tables.types.codes)[old_ids])


def _merge_links(tables: Tables, overlay: Overlay, old_ids: np.ndarray) -> LinkTable | None:
    changed = overlay.facts["links"]
    if tables.links is None and not changed:
        return None
    counts = LinkTable.of(tables.num_entities + len(overlay.names), changed).counts
    return LinkTable(_fill(counts, changed, None if tables.links is None else tables.links.counts)[old_ids])


def _fill(values: np.ndarray, changed: Mapping[int, object], before: np.ndarray | None) -> np.ndarray:
    """Put the numbers of before in for the entities of which nothing was changed."""
    if before is not None:
        same = np.setdiff1d(np.arange(len(before)), list(changed))
        values[same] = before[same]
    return values


def _merge_redirects(tables: Tables, overlay: Overlay, new_ids: np.ndarray, count: int) -> RedirectTable | None:
    redirects = {title: int(new_ids[target]) for title, target in overlay.living_redirects(tables)}
    return RedirectTable.of(count, redirects) if redirects else None
