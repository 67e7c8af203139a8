"""Facts of the identifiers beside a dump, written as Parquet: QIDs of pages, and what Wikidata says of items."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from ..kb.normal_form import normal_form
from .page_props import read_qids
from .problem_counts import ProblemCounts
from .table_files import TableFile
from .wikidata import read_items

__all__ = ["ITEMS", "ITEM_NAMES", "PROPS", "write_items", "write_props"]

PROPS = pa.schema({"page_id": pa.int64(), "qid": pa.string()})
ITEMS = pa.schema({"qid": pa.string(), "title": pa.string(), "description": pa.string(), "type": pa.string()})
ITEM_NAMES = pa.schema({"surface": pa.string(), "qid": pa.string(), "weight": pa.int32()})

# In thousandths of a link.
_LABEL_WEIGHT = 500
_ALIAS_WEIGHT = 200
_LONGEST_SURFACE = 100
_ROWS_BETWEEN_REPORTS = 1000


def write_props(folder: Path, path: Path, progress: Callable[[int, int], None]) -> None:
    """Write the QIDs of pages that a ``page_props`` dump in SQL gives."""
    table = TableFile(folder / "props.parquet", PROPS)
    number = 0
    for number, (page_id, qid) in enumerate(read_qids(path), start=1):
        table.add(page_id, qid)
    table.close()
    _summarize(folder, {"QIDs of pages": number}, ProblemCounts())


def write_items(folder: Path, path: Path, language: str, progress: Callable[[int, int], None]) -> None:
    """Write the items of a Wikidata dump in JSON that have an article or a label in a language."""
    items = TableFile(folder / "items.parquet", ITEMS)
    names = TableFile(folder / "item_names.parquet", ITEM_NAMES)
    problems = ProblemCounts()
    number = 0
    for number, item in enumerate(read_items(path, language, on_problem=problems.add), start=1):
        items.add(item.qid, item.title, item.description, item.type)
        weights: dict[str, int] = {}
        for written, weight in ((item.label, _LABEL_WEIGHT), *((alias, _ALIAS_WEIGHT) for alias in item.aliases)):
            surface = normal_form(written or "")
            if surface and len(surface) <= _LONGEST_SURFACE and "\0" not in surface:
                weights.setdefault(surface, weight)
        for surface, weight in weights.items():
            names.add(surface, item.qid, weight)
        if number % _ROWS_BETWEEN_REPORTS == 0:
            progress(number, 0)
    items.close()
    names.close()
    _summarize(folder, {"Wikidata items": number}, problems)


def _summarize(folder: Path, totals: dict[str, int], problems: ProblemCounts) -> None:
    summary = {"totals": totals, "problems": problems.to_dict()}
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False), encoding="utf-8")
