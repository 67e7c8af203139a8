"""A knowledge base from a dump of Wikipedia."""

from __future__ import annotations

import errno
import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..kb.knowledge_base import KnowledgeBase
from . import dumps
from .base_building import BaseOptions, Stage, Step, build_base
from .item_facts import write_items, write_props
from .languages import database_of
from .occurrences import SAMPLED_ARTICLES
from .problems import WikipediaError
from .site import Site
from .unit_facts import UnitOptions, write_unit
from .work_folder import WorkFolder, identify, writing_unit
from .workers import Progress, Task, run_tasks

__all__ = [
    "build_from_wikipedia",
    "check_output",
    "default_work_folder",
    "do_unit",
    "item_units",
    "wikipedia_address",
]

# Bytes of a dump that are one unit of work; a run that was killed repeats the units that it was in.
_UNIT_BYTES = 24_000_000
# Bytes that one byte of a compressed dump becomes when it is unpacked, about.
_UNPACKED = 4.5
# The address of a main page: its title, which may hold slashes, comes after a name that wikis have for that place, or
# after the last slash, or as an argument of the wiki's program.
_MAIN_PAGE = re.compile(
    r"(?:(?P<scheme>https?):)?//(?P<host>[^/?#{}]+)"
    r"(?P<path>/(?:[^?#{}]*/)?(?:wiki|index\.php)/|/(?:[^?#{}]*/)?|/[^?#{}]*\?title=)[^?#&={}]+"
)
_WIKIMEDIA = re.compile(r".*\.wik(?:ibooks|idata|imedia|inews|ipedia|iquote|isource|iversity|ivoyage|tionary)\.org")
# Bytes of a dump, compressed, of an article and what lies between it and the next: a rule of thumb for the sample.
_BYTES_OF_ARTICLE = 3000


def build_from_wikipedia(
    dump: Sequence[str | Path],
    out: str | Path,
    *,
    page_props: str | Path | None = None,
    wikidata: str | Path | None = None,
    min_links: int = 0,
    limit: int | None = None,
    language: str | None = None,
    workers: int | None = None,
    work_dir: str | Path | None = None,
    max_candidates: int | None = 30,
    vectors_of: KnowledgeBase | None = None,
    stage: Stage | None = None,
) -> dict[str, Any]:
    """Build a knowledge base from a dump of Wikipedia and save it.

    The same command goes on where one was that was killed; see `WorkFolder`.

    Args:
        dump: The files of ``pages-articles``, one or several parts.
        out: The folder of the knowledge base.
        page_props: The SQL dump of ``page_props``, for Wikidata ids.
        wikidata: A dump of Wikidata in JSON, for labels, aliases, descriptions, types, and ids where `page_props` has
            none.
        min_links: Leave entities out that fewer links lead to.
        limit: Read only the first so many pages.
        language: That of the dump, such as ``en``; needed only where the dump does not say it.
        workers: Processes that work at once; as many as the machine has cores when None.
        work_dir: Where finished work is kept; ``OUT.work`` when None, and then it is removed at the end.
        max_candidates: How many candidates a surface keeps; None keeps all.
        vectors_of: A knowledge base whose vectors are taken.
        stage: Told what is being done, see `Step`.

    Returns:
        What ``report.json`` in the folder says: what was read, kept, and left out, and why.

    Raises:
        WikipediaError: When the dump or the work folder cannot be used; the message says what to do.
        OSError: When a file cannot be read or written.
    """
    files, out = [Path(path) for path in dump], Path(out)
    if not files:
        raise WikipediaError("there is no dump to read")
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise WikipediaError(f"{files[0]}: a file of the dump is given twice")
    place = Path(work_dir) if work_dir is not None else default_work_folder(out)
    check_output(out, place)
    processes = workers or os.cpu_count() or 1
    site = _site(files[0], language)
    language = site.language
    inputs = [identify(path) for path in files]
    size = sum(file.bytes for file in inputs)
    sampled = min(1.0, SAMPLED_ARTICLES * _BYTES_OF_ARTICLE / max(size, 1))
    work = WorkFolder(place, {"dump": inputs, "limit": limit, "language": language})
    tell = stage or (lambda step: None)
    with work.held():
        work.remove_unfinished()
        units = dumps.split(files, max(1, size // _UNIT_BYTES))
        names = [f"pages-{number:05d}" for number in range(len(units))]
        beside: dict[str, list[str]] = {}
        tasks = []
        if page_props is not None:
            name = f"props-{identify(Path(page_props)).hash}"
            beside["props"] = [name]
            if not work.is_done(name):
                tasks.append(Task(str(page_props), (work.path, name, write_props, (Path(page_props),))))
        if wikidata is not None:
            # A work folder that was kept may have items of another wiki, which earlier releases took by the language.
            parts = {f"{site.sitelinks}-{name}": unit for name, unit in item_units(Path(wikidata)).items()}
            beside["items"] = list(parts)
            for name, unit in parts.items():
                if not work.is_done(name):
                    tasks.append(Task(str(wikidata), (work.path, name, _items, (unit, language, site.sitelinks))))
        _read(work, names, units, tasks, UnitOptions(site, sampled, limit), processes, tell)
        provenance = {
            "dump": [file._asdict() for file in inputs],
            "page_props": None if page_props is None else identify(Path(page_props))._asdict(),
            "wikidata": None if wikidata is None else identify(Path(wikidata))._asdict(),
            "language": language,
            "limit": limit,
            "min_links": min_links,
        }
        options = BaseOptions(
            min_links=min_links,
            max_candidates=max_candidates,
            workers=processes,
            vectors_of=vectors_of,
            url_template=_url_template(site),
            source=site.name or "Wikipedia",
            provenance=provenance,
        )
        report = build_base(out, work, [name for name in names if work.is_done(name)], beside, options, tell)
        if work_dir is None:
            work.remove()
    if wikidata is not None and not report["read"]["items"]:
        warnings.warn(
            f"{wikidata}: no item in it has an article in {site.sitelinks}, so it gave nothing; is it the dump of "
            "Wikidata, and this that wiki's?",
            stacklevel=2,
        )
    return report


def default_work_folder(out: Path) -> Path:
    """Where work is kept when nobody says where: beside the output, on the same disk."""
    out = Path(os.path.realpath(out))
    return out.with_name(f"{out.name}.work")


def _site(path: Path, language: str | None) -> Site:
    """What the dump says of its wiki.

    Raises:
        WikipediaError: When it is of another language than was asked for.
    """
    site = dumps.read_site(path)
    if language is None or site.language == language or (site.described and site.sitelinks == database_of(language)):
        return site
    if site.described:
        raise WikipediaError(
            f"{path}: the dump says that its language is {site.language!r}, not {language!r}; leave --language out, or "
            "give the dump of that Wikipedia"
        )
    return replace(site, language=language)


def wikipedia_address(database: str) -> str:
    """Where readers find an article of the Wikipedia of a database, such as ``enwiki``, by its name."""
    return f"https://{database.removesuffix('wiki').replace('_', '-')}.wikipedia.org/wiki/{{entity}}"


def _url_template(site: Site) -> str | None:
    """Where readers find a page: beside the main page; None where its address does not show how pages' are made.

    A dump that says nothing of its wiki is one of Wikipedia.
    """
    if not site.base:
        return wikipedia_address(database_of(site.language))
    found = _MAIN_PAGE.fullmatch(site.base)
    if found is None:
        return None
    # Older dumps of Wikimedia's wikis have addresses from before they were encrypted.
    scheme = "https" if _WIKIMEDIA.fullmatch(found["host"]) else found["scheme"] or "https"
    return f"{scheme}://{found['host']}{found['path']}{{entity}}"


def check_output(out: Path, work: Path) -> None:
    """Find out before the work of hours that its end would fail.

    Args:
        out: The folder of the knowledge base.
        work: The folder of finished work.

    Raises:
        WikipediaError: When DuckDB is not installed, or cannot have a file in the work folder.
        NotADirectoryError: When the output is a file.
    """
    if find_spec("duckdb") is None:
        raise WikipediaError(
            "merging the facts of a dump takes DuckDB, which is not installed: pip install 'hf-corefel[wikipedia]'"
        )
    if "?" in os.path.abspath(work):
        raise WikipediaError(
            f"{work}: DuckDB, which merges the facts there, cannot write where a path has a question mark; name "
            "another --out or --work-dir"
        )
    if os.path.lexists(out) and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a knowledge base is saved to a folder, and this is none", str(out))


def item_units(path: Path) -> dict[str, dumps.Unit]:
    """The units of a dump of Wikidata, by the names of their folders."""
    file = identify(path)
    units = dumps.split([path], max(1, file.bytes // _UNIT_BYTES))
    return {f"items-{file.hash}-{number:05d}": unit for number, unit in enumerate(units)}


def _items(folder: Path, unit: dumps.Unit, language: str, wiki: str, progress: Callable[[int, int], None]) -> None:
    write_items(folder, unit, 0, language, progress, wiki=wiki, only_with_article=True)


def do_unit(
    work: Path, name: str, function: Callable[..., None], arguments: tuple[Any, ...], progress: Progress
) -> None:
    """What a worker does: fill the folder of a unit with a function of a module."""
    with writing_unit(work, name) as folder:
        function(folder, *arguments, progress)


def _read(
    work: WorkFolder,
    names: Sequence[str],
    units: Sequence[dumps.Unit],
    beside: Sequence[Task],
    options: UnitOptions,
    workers: int,
    tell: Stage,
) -> None:
    """Do what is not done yet of the units; with a limit one after the other, for that shows how far it reaches."""
    reading = _Reading(sum(unit.size for unit in units), tell)
    tasks = list(beside)
    read: list[dumps.Unit | None] = [None] * len(beside)
    left = options.limit
    for number, (name, unit) in enumerate(zip(names, units, strict=True)):
        if left is not None and left <= 0:
            break
        if work.is_done(name):
            reading.finished += unit.size
        else:
            tasks.append(
                Task(
                    f"{unit.path}, from byte {unit.start} on",
                    (work.path, name, write_unit, (unit, number, replace(options, limit=left))),
                )
            )
            read.append(unit)
        if left is not None:
            run_tasks(tasks, do_unit, workers, reading.following(read))
            tasks, read = [], []
            left -= work.summary(name)["totals"]["pages"]
    run_tasks(tasks, do_unit, workers, reading.following(read))


class _Reading:
    """How much of a dump is read, in pages and bytes of its files; those of the units in work are estimated."""

    def __init__(self, total: int, tell: Stage) -> None:
        self._total, self._tell = total, tell
        self._pages = 0
        self.finished = 0

    def following(self, units: Sequence[dumps.Unit | None]) -> Progress:
        """What to call with pages and unpacked bytes of tasks; None stands for what is no unit."""
        sizes = [unit.size if unit else 0 for unit in units]
        ratios = [1.0 if unit and unit.path.suffix == ".xml" else _UNPACKED for unit in units]
        pages, reached = [0] * len(units), [0] * len(units)

        def report(task: int, read: int, place: int) -> None:
            if sizes[task]:
                place = min(int(place / ratios[task]), sizes[task])
                self._pages += read - pages[task]
                self.finished += place - reached[task]
                pages[task], reached[task] = read, place
                self._tell(Step("Reading", self.finished, self._total, self._pages))

        return report
