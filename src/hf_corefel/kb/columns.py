"""The door for knowledge bases that are too large for Python's objects: columns in, a folder out.

Names and texts are read once, in order, and arrays may be memory maps. What has to be put into another order waits in
files of the hidden folder that the new version is written to. Most memory goes to the largest trie while it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .column_files import (
    write_aliases,
    write_fallback,
    write_keys,
    write_links,
    write_projection,
    write_redirects,
    write_types,
    write_vectors,
)
from .errors import KnowledgeBaseError
from .fallback import Fallback, check_fallback
from .folder import map_version
from .knowledge_base import DEFAULT_URL_TEMPLATE
from .normal_form import is_plain, normal_form
from .number_tables import check_links, check_type
from .projection import Projection
from .readers import check_key, shown
from .saving import Described, put_version, writers_lock
from .spooling import KeySpool, TextSpool
from .storage import (
    ENTITY_TRIE_FILE,
    FALLBACK_TRIE_FILE,
    REDIRECT_TRIE_FILE,
    SURFACE_TRIE_FILE,
)
from .tables import (
    ALIASES_FILE,
    FALLBACK_FILE,
    PROJECTION_FILE,
    REDIRECTS_FILE,
    TEXTS,
    VECTORS_FILE,
    check_metadata,
    fact_file,
)
from .text_table import check_wikidata, encode_text

__all__ = ["Aligned", "Columns", "write_columns"]

# What is known of entities: one value for each in their order, None where there is none, or only the values that there
# are, each after the number of its entity, ascending.
Aligned = Iterable[Any]


@dataclass(slots=True)
class Columns:
    """What a knowledge base is written from, for E entities, S surfaces and C candidates.

    Attributes:
        entities: Their names, ascending by code points (as `sorted` puts them, and as UTF-8 is compared), none twice.
        surfaces: In normal form (`hf_corefel.kb.normal_form`), in such an order too.
        offsets: uint64 [S+1], where the candidates of a surface begin and end; each has one at least.
        candidate_numbers: uint32 [C], the places of candidates in `entities`.
        priors: float32 [C], p(entity | surface).
        descriptions: Texts of the entities; see `Aligned`.
        wikidata: Their Wikidata ids.
        urls: Where readers find those that the template does not lead to.
        types: Coarse types, each one of `COARSE_TYPES`.
        links: How many links lead to them.
        redirects: Pairs of the place of an entity and an old or other title of it, each title once. Titles that are
            entities' names are left out.
        provenance: Where the data come from.
        url_template: Where readers find an entity.
        fallback: What surfaces without candidates fall back on.
        projection: From an encoder's vectors to those of the entities.
        mean: float32 [D], of the vectors that entities will have; of a projection its offset when None.
        std: float32 [D], their standard deviation.
        lazy_vectors: Whether an entity gets its vector when a document needs it first, see `KnowledgeBase.build`.
    """

    entities: Iterable[str]
    surfaces: Iterable[str]
    offsets: np.ndarray
    candidate_numbers: np.ndarray
    priors: np.ndarray
    descriptions: Aligned | None = None
    wikidata: Aligned | None = None
    urls: Aligned | None = None
    types: Aligned | None = None
    links: Aligned | None = None
    redirects: Iterable[tuple[int, str]] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    url_template: str | None = DEFAULT_URL_TEMPLATE
    fallback: Fallback = "casefold"
    projection: Projection | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    lazy_vectors: bool = False


def write_columns(folder: str | Path, columns: Columns) -> None:
    """Write the folder that `KnowledgeBase.from_pretrained` opens; it changes in one step, as with `save_pretrained`.

    Raises:
        KnowledgeBaseError: When a name, prior or text is none that `KnowledgeBase.build` would take, names are not in
            order, or arrays do not fit each other. The folder is as before then.
        OSError: When a file cannot be written.
    """
    folder = Path(folder)
    check_fallback(columns.fallback)
    check_metadata(columns.url_template, columns.provenance)
    if columns.projection is not None:
        check_metadata(None, columns.projection.info)
    if columns.candidate_numbers.shape != columns.priors.shape or columns.offsets.ndim != 1:
        raise KnowledgeBaseError(
            "columns: expected offsets [S+1] and as many priors as candidate_numbers, got shapes "
            f"{columns.offsets.shape}, {columns.priors.shape} and {columns.candidate_numbers.shape}"
        )
    files = [ENTITY_TRIE_FILE, SURFACE_TRIE_FILE, ALIASES_FILE, VECTORS_FILE]
    for name in ("descriptions", "wikidata", "urls", "types", "links"):
        if getattr(columns, name) is not None:
            files.append(fact_file(name))
    files += [REDIRECT_TRIE_FILE, REDIRECTS_FILE] if columns.redirects is not None else []
    files += [PROJECTION_FILE] if columns.projection is not None else []
    files += [FALLBACK_TRIE_FILE, FALLBACK_FILE] if columns.fallback != "none" else []
    with writers_lock(folder):
        put_version(folder, files, lambda places: _write(places, columns))


def _write(places: Mapping[str, Path], columns: Columns) -> Described:
    """Write all files, the largest needs of memory one after the other."""
    waiting = places[ENTITY_TRIE_FILE].with_name("waiting")
    spool = KeySpool(waiting)
    entities, ids = write_keys(places[ENTITY_TRIE_FILE], spool, _in_order(columns.entities, "entities", "entity"))
    spool.remove()
    order = np.empty(len(ids), dtype=np.uint32)
    order[ids] = np.arange(len(ids), dtype=np.uint32)
    for name, what in TEXTS.items():
        values = getattr(columns, name)
        if values is not None:
            encoded = _encoded(_numbered(values, len(ids), name), what, check_wikidata if name == "wikidata" else None)
            TextSpool(waiting, len(ids), encoded).write(places[fact_file(name)], order)
    if columns.types is not None:
        write_types(places[fact_file("types")], ids, _checked(columns.types, len(ids), "types", check_type))
    if columns.links is not None:
        write_links(places[fact_file("links")], ids, _checked(columns.links, len(ids), "links", check_links))
    if columns.redirects is not None:
        write_redirects(
            places[REDIRECT_TRIE_FILE],
            places[REDIRECTS_FILE],
            waiting,
            _titles(columns.redirects, len(ids)),
            entities,
            ids,
        )
    if columns.projection is not None:
        write_projection(places[PROJECTION_FILE], columns.projection)
    write_vectors(places[VECTORS_FILE], len(ids), columns.projection, columns.mean, columns.std)

    spool = KeySpool(waiting)
    _, rows = write_keys(places[SURFACE_TRIE_FILE], spool, _in_order(columns.surfaces, "surfaces", "surface"))
    if columns.offsets.shape != (len(rows) + 1,):
        raise KnowledgeBaseError(
            f"offsets: expected {len(rows) + 1:,} for {len(rows):,} surfaces, got {len(columns.offsets):,}"
        )
    write_aliases(places[ALIASES_FILE], columns.offsets, columns.candidate_numbers, columns.priors, rows, ids)
    if columns.fallback != "none":
        write_fallback(places[FALLBACK_TRIE_FILE], places[FALLBACK_FILE], spool, rows, columns.fallback)
    spool.remove()
    tables, index = map_version(
        places,
        fallback=columns.fallback,
        url_template=columns.url_template,
        provenance=dict(columns.provenance),
        projection=None if columns.projection is None else dict(columns.projection.info),
        lazy_vectors=columns.lazy_vectors,
    )
    tables.check()
    if index is not None:
        index.check()
    return Described(tables, columns.fallback, index)


def _in_order(keys: Iterable[str], column: str, what: str) -> Iterator[str]:
    """Give names once it is known that a trie can hold them and that they ascend.

    Raises:
        KnowledgeBaseError: When that is not so; the message says where.
    """
    before = ""
    for place, key in enumerate(keys):
        checked = check_key(key, f"{column}[{place}]", what)
        if checked <= before:
            raise KnowledgeBaseError(
                f"{column}[{place}]: {shown(checked)} comes after {shown(before)}; they must be sorted by code points "
                "and come once"
            )
        if (
            what == "surface"
            and not (is_plain(checked) and checked == checked.strip())
            and normal_form(checked) != checked
        ):
            raise KnowledgeBaseError(
                f"{column}[{place}]: {shown(checked)} is not in normal form, which is {shown(normal_form(checked))}"
            )
        before = checked
        yield checked


def _numbered(values: Aligned, count: int, column: str) -> Iterator[tuple[int, Any]]:
    """Give the values that there are, each after the number of its entity.

    Raises:
        KnowledgeBaseError: When there are too many or too few for the entities, or they are not in order.
    """
    last, paired = -1, None
    for place, item in enumerate(values):
        paired = isinstance(item, tuple) if paired is None else paired
        number, value = item if paired else (place, item)
        if not last < number < count:
            raise KnowledgeBaseError(
                f"{column}[{place}]: entity {number} comes after entity {last} of {count:,}; the numbers of entities "
                f"must ascend and lie in 0..{count - 1}"
            )
        last = int(number)
        if value is not None:
            yield last, value
    if paired is False and last + 1 != count:
        raise KnowledgeBaseError(f"{column}: expected {count:,} values, one for each entity, got {last + 1:,}")


def _encoded(values: Iterator[tuple[int, Any]], what: str, check: Any) -> Iterator[tuple[int, bytes]]:
    for number, text in values:
        name = f"entity {number}"
        if check is not None and text != "":
            check(text, name)
        yield number, encode_text(text, name, what)


def _checked(values: Aligned, count: int, column: str, check: Any) -> Iterator[tuple[int, Any]]:
    return ((number, check(value, f"entity {number}")) for number, value in _numbered(values, count, column))


def _titles(redirects: Iterable[tuple[int, str]], count: int) -> Iterator[tuple[int, str]]:
    for place, (number, title) in enumerate(redirects):
        if not 0 <= number < count:
            raise KnowledgeBaseError(f"redirects[{place}]: entity {number} is outside 0..{count - 1}")
        yield int(number), check_key(title, f"redirects[{place}]", "title")
