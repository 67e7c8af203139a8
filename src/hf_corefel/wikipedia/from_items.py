"""A knowledge base from a dump of Wikidata alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..kb.knowledge_base import KnowledgeBase
from .base_building import BaseOptions, Stage, Step, build_base
from .dumps import Unit
from .from_dump import check_output, default_work_folder, do_unit, item_units, wikipedia_address
from .item_facts import write_items
from .languages import database_of
from .work_folder import WorkFolder, identify
from .workers import Task, run_tasks

__all__ = ["build_from_wikidata"]

# In links, as which labels and aliases count a half and a fifth: without links one that was not seen counts as little.
_UNSEEN = 0.25


def build_from_wikidata(
    wikidata: str | Path,
    out: str | Path,
    *,
    language: str = "en",
    workers: int | None = None,
    work_dir: str | Path | None = None,
    max_candidates: int | None = 30,
    vectors_of: KnowledgeBase | None = None,
    stage: Stage | None = None,
) -> dict[str, Any]:
    """Build a knowledge base of the items of a Wikidata dump with a label or an article in a language, and save it.

    An entity has the name of its article, with underscores, or is named ``wikidata:Q42`` where it has none.

    Args:
        wikidata: The dump, in JSON.
        out: The folder of the knowledge base.
        language: That of labels, aliases, descriptions and articles, by the code of its Wikipedia or of its labels.
        workers: Processes that work at once; as many as the machine has cores when None.
        work_dir: Where finished work is kept; ``OUT.work`` when None, and then it is removed at the end.
        max_candidates: How many candidates a surface keeps; None keeps all.
        vectors_of: A knowledge base whose vectors are taken.
        stage: Told what is being done, see `Step`.

    Returns:
        What ``report.json`` in the folder says.

    Raises:
        WikipediaError: When the dump or the work folder cannot be used; the message says what to do.
        OSError: When a file cannot be read or written.
    """
    path, out = Path(wikidata), Path(out)
    place = Path(work_dir) if work_dir is not None else default_work_folder(out)
    check_output(out, place)
    found = identify(path)
    work = WorkFolder(place, {"wikidata": found, "language": language})
    processes = workers or os.cpu_count() or 1
    tell = stage or (lambda step: None)
    with work.held():
        work.remove_unfinished()
        units = item_units(path)
        tasks = [
            Task(str(path), (work.path, name, _items, (unit, number, language)))
            for number, (name, unit) in enumerate(units.items())
            if not work.is_done(name)
        ]
        read: dict[int, int] = {}

        def tell_items(task: int, items: int, place: int) -> None:
            read[task] = items
            tell(Step("Reading items", pages=sum(read.values())))

        run_tasks(tasks, do_unit, processes, tell_items)
        options = BaseOptions(
            max_candidates=max_candidates,
            unseen=_UNSEEN,
            source="Wikidata",
            workers=processes,
            vectors_of=vectors_of,
            url_template=wikipedia_address(database_of(language)),
            provenance={"wikidata": found._asdict(), "language": language},
        )
        report = build_base(out, work, [], {"items": list(units)}, options, tell)
        if work_dir is None:
            work.remove()
    return report


def _items(folder: Path, unit: Unit, number: int, language: str, progress: Callable[[int, int], None]) -> None:
    write_items(folder, unit, number, language, progress, as_pages=True)
