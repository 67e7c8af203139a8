"""Facts of the pages of one unit of a dump, written as Parquet: what a worker process does.

A unit's folder holds

- ``pages``: every article, redirect and disambiguation page (`PAGES`);
- ``aliases``: surfaces that titles stand for, other than by links (`ALIASES`);
- ``links``: surfaces and targets of links, with how often (`LINKS`), counted in parts that fit memory;
- ``sample``: texts of a random sample of the articles, to see how often a surface is no link (`SAMPLE`);
- ``summary.json``: how many pages of each kind, and what was left out and why.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import xxhash

from ..kb.normal_form import normal_form
from ..kb.short_forms import short_forms
from . import dumps
from .facts import PageFacts, page_facts
from .problem_counts import ProblemCounts
from .table_files import TableFile

__all__ = [
    "ALIASES",
    "KINDS",
    "LINKS",
    "LINK_WEIGHT",
    "LONGEST_SURFACE",
    "PAGES",
    "PLACES_OF_UNIT",
    "SAMPLE",
    "TABLES",
    "TITLE_WEIGHT",
    "UnitOptions",
    "is_usable",
    "write_unit",
]

PAGES = pa.schema(
    {
        "place": pa.int64(),
        "page_id": pa.int64(),
        "title": pa.string(),
        "kind": pa.string(),
        "target": pa.string(),
        "description": pa.string(),
        "type": pa.string(),
    }
)
# The weight is in thousandths of a link.
ALIASES = pa.schema(
    {
        "surface": pa.string(),
        "title": pa.string(),
        "source": pa.string(),
        "weight": pa.int32(),
    }
)
LINKS = pa.schema({"surface": pa.string(), "target": pa.string(), "count": pa.int64()})
SAMPLE = pa.schema({"text": pa.string(), "title": pa.string(), "surfaces": pa.list_(pa.string())})
TABLES = {"pages": PAGES, "aliases": ALIASES, "links": LINKS, "sample": SAMPLE}

# What the report calls pages of each kind.
KINDS = {
    "article": "articles",
    "redirect": "redirects",
    "disambiguation": "disambiguation pages",
    "other_namespace": "pages of other namespaces",
    "skipped": "pages that are no text",
}
LINK_WEIGHT = 1000
TITLE_WEIGHT = 1000
_REDIRECT_WEIGHT = 500
_DISAMBIGUATION_WEIGHT = 100
_INITIALISM_WEIGHT = 500
LONGEST_SURFACE = 100
_LONGEST_DESCRIPTION = 500
_LINKS_AT_ONCE = 300_000
_PAGES_BETWEEN_REPORTS = 50
# Pages are numbered over all units, in their order.
PLACES_OF_UNIT = 1 << 40
# Beyond every byte of a unit.
_END = 1 << 62


@dataclass(frozen=True)
class UnitOptions:
    """What workers need to know beside the unit.

    Attributes:
        site: What the dump says of the wiki.
        sampled: The share of articles whose text is kept, 0..1.
        limit: Read at most that many pages of the unit.
    """

    site: Any
    sampled: float
    limit: int | None = None


class _Writer:
    """Takes the facts of one page after the other."""

    def __init__(self, folder: Path, options: UnitOptions) -> None:
        self._folder = folder
        self._sampled = int(options.sampled * (1 << 64))
        self._pages, self._aliases, self._links, self._sample = (
            TableFile(folder / f"{name}.parquet", schema) for name, schema in TABLES.items()
        )
        self._counts: Counter[tuple[str, str]] = Counter()
        self.totals: Counter[str] = Counter()

    def add(self, place: int, page_id: int, facts: PageFacts) -> None:
        self.totals[KINDS[facts.kind]] += 1
        if facts.kind == "redirect":
            self._pages.add(place, page_id, facts.title, "redirect", facts.redirect, None, None)
            self._alias(facts.title, facts.title, "redirects", _REDIRECT_WEIGHT)
        elif facts.kind == "disambiguation":
            self._pages.add(place, page_id, facts.title, "disambiguation", None, None, None)
            name = facts.title.partition(" (")[0] or facts.title
            for target in dict.fromkeys(target for _, target in facts.links):
                self._alias(name, target, "disambiguation pages", _DISAMBIGUATION_WEIGHT)
        elif facts.kind == "article":
            self._article(place, page_id, facts)

    def _article(self, place: int, page_id: int, facts: PageFacts) -> None:
        title = facts.title
        self._pages.add(place, page_id, title, "article", None, _description(facts), facts.type)
        self._alias(title, title, "titles", TITLE_WEIGHT)
        for form in short_forms(title, facts.type):
            self._alias(form.surface, title, "short forms", round(form.discount * LINK_WEIGHT))
        for initialism in facts.initialisms:
            self._alias(initialism, title, "initialisms", _INITIALISM_WEIGHT)
        surfaces: dict[str, str] = {}
        for written, target in facts.links:
            surface = surfaces.get(written)
            if surface is None:
                surface = surfaces[written] = normal_form(written)
            self.totals["links"] += 1
            if is_usable(surface):
                self._counts[surface, target] += 1
            else:
                self.totals["links with no usable text"] += 1
        if len(self._counts) >= _LINKS_AT_ONCE:
            self._flush_counts()
        if xxhash.xxh3_64_intdigest(title.encode()) < self._sampled:
            self._sample.add(facts.plain_text, title, sorted(set(surfaces.values())))

    def _alias(self, written: str, title: str, source: str, weight: int) -> None:
        surface = normal_form(written)
        # What is the name of something is one, signs only or not.
        if surface and len(surface) <= LONGEST_SURFACE and "\0" not in surface:
            self._aliases.add(surface, title, source, weight)
        else:
            self.totals["names with no usable text"] += 1

    def _flush_counts(self) -> None:
        # In this order the file is smaller, and the same whatever the order of a hash.
        for (surface, target), count in sorted(self._counts.items()):
            self._links.add(surface, target, count)
        self._counts.clear()

    def close(self) -> None:
        self._flush_counts()
        for table in (self._pages, self._aliases, self._links, self._sample):
            table.close()


def is_usable(surface: str) -> bool:
    """Return whether the text of a link may be a name: not too long, and with a letter or digit in it."""
    return (
        0 < len(surface) <= LONGEST_SURFACE
        and "\0" not in surface
        and (surface.isalnum() or any(character.isalnum() for character in surface))
    )


def _description(facts: PageFacts) -> str | None:
    """The short description and the beginning of the lead, as far as there are any."""
    short, lead = facts.short_description.strip(), facts.lead.strip()
    if short and short[-1] not in ".!?":
        short += "."
    text = " ".join(f"{short} {lead}".split())
    if len(text) > _LONGEST_DESCRIPTION:
        text = text[: _LONGEST_DESCRIPTION + 1].rpartition(" ")[0] or text[:_LONGEST_DESCRIPTION]
    return text or None


def write_unit(
    folder: Path, unit: dumps.Unit, number: int, options: UnitOptions, progress: Callable[[int, int], None]
) -> None:
    """Read a unit of a dump and write the facts of its pages into a folder.

    Args:
        folder: An empty folder.
        unit: One of `hf_corefel.wikipedia.dumps.split`.
        number: Which one of them.
        options: What else to know.
        progress: Called now and then with how many pages were read and at which byte of the unpacked unit.

    Raises:
        OSError: When the dump cannot be read or the folder not written.
    """
    problems = ProblemCounts()
    writer = _Writer(folder, options)
    first = number * PLACES_OF_UNIT
    read = 0
    pages: Iterable[dumps.Page] = dumps.read_pages(unit, on_problem=problems.add)
    for read, page in enumerate(islice(pages, options.limit), start=1):
        try:
            facts = page_facts(page, options.site)
        # One page that nobody foresaw does not end the work of hours.
        except Exception as error:  # noqa: BLE001
            problems.count("failed", f"{unit.path}: page {page.title!r}", f"{type(error).__name__}: {error}")
            continue
        writer.add(first + read, page.page_id, facts)
        if read % _PAGES_BETWEEN_REPORTS == 0:
            progress(read, page.offset)
    writer.close()
    progress(read, _END)
    summary = {"totals": {"pages": read, **writer.totals}, "problems": problems.to_dict()}
    (folder / "summary.json").write_text(json.dumps(summary, ensure_ascii=False), encoding="utf-8")
