"""From the facts of all units to a saved knowledge base and its report: what both kinds of dumps have in common."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from ..kb.knowledge_base import KnowledgeBase
from ..utils.files import whole_file
from .merging import DEFAULT_MEMORY, Merger
from .occurrences import count_sample, link_probabilities
from .problem_counts import ProblemCounts
from .problems import WikipediaError
from .saving_columns import Described, save_merged
from .work_folder import WorkFolder
from .workers import Task, run_tasks

__all__ = ["REPORT_FILE", "BaseOptions", "Stage", "Step", "build_base"]

REPORT_FILE = "report.json"
_SCRATCH = "scratch"
_ROWS_AT_ONCE = 200


class Step(NamedTuple):
    """Where the work is.

    Attributes:
        name: What is being done.
        done: How much of it, in bytes or articles.
        total: Of how much; 0 = nobody knows.
        pages: How many pages were read, where pages are read.
    """

    name: str
    done: int = 0
    total: int = 0
    pages: int = 0


Stage = Callable[[Step], None]


@dataclass(frozen=True)
class BaseOptions:
    """What is made of the facts.

    Attributes:
        min_links: Entities with fewer links to them are left out.
        max_candidates: How many candidates a surface keeps; None keeps all.
        unseen: How many more times a surface counts, for something that was not seen.
        workers: Processes that work at once.
        memory: Bound on the memory of the merging, in MB.
        vectors_of: A knowledge base whose vectors are taken; None: they are computed when they are first needed.
        url_template: Where readers find an entity.
        source: Where the facts come from, in a word; labels and aliases come from Wikidata in any case.
        provenance: Where they come from, in more words.
    """

    min_links: int = 0
    max_candidates: int | None = 30
    unseen: float = 1.0
    workers: int = 1
    memory: int = DEFAULT_MEMORY
    vectors_of: KnowledgeBase | None = None
    url_template: str | None = None
    source: str = "Wikipedia"
    provenance: Mapping[str, Any] = field(default_factory=dict)


def build_base(
    out: Path,
    work: WorkFolder,
    units: Sequence[str],
    extra: Mapping[str, Sequence[str]],
    options: BaseOptions,
    stage: Stage,
) -> dict[str, Any]:
    """Merge the facts of finished units, save the knowledge base, and write the report into its folder.

    Args:
        out: The folder of the knowledge base.
        work: Where the units are.
        units: The names of those of pages.
        extra: The names of units of other tables: ``props`` and ``items``.
        options: What is made of them.
        stage: Told what is being done.

    Returns:
        The report: what was read, kept and left out, and why.

    Raises:
        WikipediaError: When the facts cannot be merged, or nothing is left.
        OSError: When the folder cannot be written.
    """
    scratch = work.path / _SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    folders = [work.unit(name) for name in (*units, *(name for names in extra.values() for name in names))]
    tables = {
        table: [folder / f"{table}.parquet" for folder in folders if (folder / f"{table}.parquet").exists()]
        for table in ("pages", "aliases", "links", "props", "items", "item_names")
    }
    try:
        with Merger(scratch, memory=options.memory, threads=options.workers) as merger:
            merger.merge(tables, options.min_links, lambda name: stage(Step(f"Merging {name}")))
            if not merger.found_anything():
                raise WikipediaError("nothing was found that could be linked to; nothing was saved")
            samples = [folder / "sample.parquet" for folder in folders if (folder / "sample.parquet").exists()]
            probabilities, sampled = _link_probabilities(merger, scratch, samples, options.workers, stage)
            stage(Step("Making priors"))
            candidates = merger.candidates(probabilities, unseen=options.unseen, max_candidates=options.max_candidates)
            report = _report(work, [*units, *(name for names in extra.values() for name in names)], merger)
            report["sampled articles"] = sampled
            report["candidates"] = len(candidates.entities)
            report["left out"]["candidates beyond the most that a surface may have"] = candidates.left_out
            stage(Step("Saving"))
            described = Described(options.url_template, {**options.provenance, "sources": _sources(report, options)})
            save_merged(out, merger, candidates, described, options.vectors_of)
        with whole_file(out / REPORT_FILE) as file:
            file.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return report


def _link_probabilities(
    merger: Merger, scratch: Path, samples: Sequence[Path], workers: int, stage: Stage
) -> tuple[np.ndarray, int]:
    """The link probability of every surface, and the number of sampled articles."""
    keys, numbers = np.unique(merger.surface_keys(), return_inverse=True)
    np.save(scratch / "keys.npy", keys)
    tasks = [
        Task(str(path), (path, scratch / "keys.npy", scratch / f"counts-{i}.npz")) for i, path in enumerate(samples)
    ]
    done: dict[int, int] = {}

    def report(task: int, articles: int, place: int) -> None:
        done[task] = articles
        stage(Step("Counting where surfaces are no links", sum(done.values())))

    run_tasks(tasks, count_file, workers, report)
    occurring, linked = np.zeros(len(keys), dtype=np.uint32), np.zeros(len(keys), dtype=np.uint32)
    for _, _, counts in (task.arguments for task in tasks):
        with np.load(counts) as saved:
            occurring[saved["places"]] += saved["occurring"].astype(np.uint32)
            linked[saved["places"]] += saved["linked"].astype(np.uint32)
    return link_probabilities(occurring, linked)[numbers], sum(done.values())


def count_file(sample: Path, keys: Path, out: Path, progress: Callable[[int, int], None]) -> None:
    """Count what surfaces occur in a file of sampled articles; see `occurrences.count_sample`."""
    articles = 0

    def rows() -> Iterator[tuple[str, str, list[str]]]:
        nonlocal articles
        for batch in pq.ParquetFile(sample).iter_batches(_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                yield row["text"], row["title"], row["surfaces"]
            articles += batch.num_rows
            progress(articles, 0)

    places, occurring, linked = count_sample(rows(), np.load(keys, mmap_mode="r"))
    np.savez(out, places=places, occurring=occurring, linked=linked)
    progress(articles, 0)


# Of the texts, and so of titles and what is made of them.
_LICENCES = {"Wikipedia": "CC BY-SA 4.0", "Wikidata": "CC0 1.0"}


def _sources(report: Mapping[str, Any], options: BaseOptions) -> list[dict[str, Any]]:
    """What a knowledge base says of its sources, as `hf_corefel.kb.summary` reads it."""
    listed = []
    for name, counts in report["sources"].items():
        source = "Wikidata" if name == "Wikidata" else options.source
        listed.append(
            {
                "name": "Wikidata: labels and aliases" if name == "Wikidata" else f"{source}: {name}",
                "licence": _LICENCES.get(source, ""),
                "entities": counts["entities"],
                "surfaces": counts["surfaces"],
            }
        )
    return listed


# Of the counts of `Merger`, those of what is not in the knowledge base.
_LEFT_OUT = (
    "redirects that go in a circle",
    "redirects to nothing",
    "redirects to disambiguation pages",
    "links to nothing",
    "entities with too few links",
    "titles that came more than once",
    "QIDs that page_props and Wikidata give differently",
)


def _report(work: WorkFolder, names: Sequence[str], merger: Merger) -> dict[str, Any]:
    totals: dict[str, int] = {}
    problems = ProblemCounts()
    for name in names:
        summary = work.summary(name)
        for key, count in summary["totals"].items():
            totals[key] = totals.get(key, 0) + count
        problems.update(summary["problems"])
    counts = merger.counts()
    left_out = {key: counts.pop(key) for key in _LEFT_OUT}
    return {
        "read": dict(sorted(totals.items())),
        **counts,
        "sources": merger.by_source(),
        "left out": left_out,
        "examples": {key: shown for key, shown in merger.examples().items() if shown},
        "problems": problems.to_dict(),
    }
