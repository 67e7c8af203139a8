"""Facts of the identifiers beside a dump, written as Parquet: QIDs of pages, and what Wikidata says of items."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from ..kb.normal_form import normal_form
from ..kb.short_forms import short_forms
from .dumps import Unit
from .page_props import read_qids
from .problem_counts import ProblemCounts
from .site import Site
from .table_files import TableFile
from .unit_facts import ALIASES, LINK_WEIGHT, LONGEST_SURFACE, PAGES, PLACES_OF_UNIT, TITLE_WEIGHT
from .wikidata import Item, read_items

__all__ = ["ITEMS", "ITEM_NAMES", "PROPS", "write_items", "write_props"]

PROPS = pa.schema({"page_id": pa.int64(), "qid": pa.string()})
ITEMS = pa.schema({"qid": pa.string(), "title": pa.string(), "description": pa.string(), "type": pa.string()})
ITEM_NAMES = pa.schema({"surface": pa.string(), "qid": pa.string(), "weight": pa.int32()})

# In thousandths of a link.
_LABEL_WEIGHT = 500
_ALIAS_WEIGHT = 200
_ROWS_BETWEEN_REPORTS = 1000


def write_props(folder: Path, path: Path, progress: Callable[[int, int], None]) -> None:
    """Write the QIDs of pages that a ``page_props`` dump in SQL gives."""
    table = TableFile(folder / "props.parquet", PROPS)
    problems = ProblemCounts()
    totals = {"QIDs of pages": 0}
    for page_id, qid in read_qids(path, on_problem=problems.add):
        table.add(page_id, qid)
        totals["QIDs of pages"] += 1
    table.close()
    _summarize(folder, totals, problems)


def write_items(
    folder: Path,
    unit: Unit,
    number: int,
    language: str,
    progress: Callable[[int, int], None],
    *,
    wiki: str | None = None,
    only_with_article: bool = False,
    as_pages: bool = False,
) -> None:
    """Write the items of a Wikidata dump in JSON that have an article or a label in a language.

    Args:
        folder: An empty folder.
        unit: A unit of the dump.
        number: Which one of them.
        language: Of labels, aliases, descriptions and articles.
        progress: Called now and then with the items read.
        wiki: Database of the Wikipedia whose articles count; that of the language when None.
        only_with_article: Leave items without an article out.
        as_pages: Also write what `unit_facts.write_unit` writes of pages: an article an item, which is named
            ``wikidata:Q42`` when it has none.
    """
    items = TableFile(folder / "items.parquet", ITEMS)
    names = TableFile(folder / "item_names.parquet", ITEM_NAMES)
    pages = _ItemPages(folder, number * PLACES_OF_UNIT) if as_pages else None
    problems = ProblemCounts()
    totals = {"items": 0, "items without label and article": 0, "items that only serve wikis": 0}
    site = Site(language=language)
    found = read_items(unit, language, on_problem=problems.add, only_with_article=only_with_article, wiki=wiki)
    for item in found:
        totals["items"] += 1
        if totals["items"] % _ROWS_BETWEEN_REPORTS == 0:
            progress(totals["items"], 0)
        if as_pages and not (item.is_entity and site.split_title(item.title or "")[0] == 0):
            totals["items that only serve wikis"] += 1
            continue
        if not item.title and not item.label:
            totals["items without label and article"] += 1
            continue
        title = item.title or (f"wikidata:{item.qid}" if as_pages else None)
        items.add(item.qid, title, item.description or None, item.type)
        weights: dict[str, int] = {}
        for written, weight in ((item.label, _LABEL_WEIGHT), *((alias, _ALIAS_WEIGHT) for alias in item.aliases)):
            surface = normal_form(written or "")
            if surface and len(surface) <= LONGEST_SURFACE and "\0" not in surface:
                weights.setdefault(surface, weight)
        for surface, weight in weights.items():
            names.add(surface, item.qid, weight)
        if pages is not None:
            pages.add(item, str(title))
    items.close()
    names.close()
    if pages is not None:
        pages.close()
    _summarize(folder, {name: count for name, count in totals.items() if count or name == "items"}, problems)


class _ItemPages:
    """Items as if each were the article of a dump."""

    def __init__(self, folder: Path, place: int) -> None:
        self._pages = TableFile(folder / "pages.parquet", PAGES)
        self._aliases = TableFile(folder / "aliases.parquet", ALIASES)
        self._place = place

    def add(self, item: Item, title: str) -> None:
        self._place += 1
        self._pages.add(self._place, None, title, "article", None, None, None)
        if item.title:
            self._add_name(item.title, title, "titles", TITLE_WEIGHT)
        for form in short_forms(item.title or item.label or "", item.type):
            self._add_name(form.surface, title, "short forms", round(form.discount * LINK_WEIGHT))

    def _add_name(self, written: str, title: str, source: str, weight: int) -> None:
        surface = normal_form(written)
        if surface and len(surface) <= LONGEST_SURFACE and "\0" not in surface:
            self._aliases.add(surface, title, source, weight)

    def close(self) -> None:
        self._pages.close()
        self._aliases.close()


def _summarize(folder: Path, totals: dict[str, int], problems: ProblemCounts) -> None:
    summary = {"totals": totals, "problems": problems.to_dict()}
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False), encoding="utf-8")
