"""The job: many documents through one pipeline, or one a process, into a folder of shards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..documents import Document
from ..documents.extra_fields import ExtraFields
from ..utils.worker_processes import Task, completed, why_ended
from ..version import __version__
from .annotator import MAX_DOCUMENT_WORDS, Annotator, BulkError
from .inputs import Inputs
from .job_folder import JobFolder, ShardEntry
from .progress import JobProgress, Meter
from .shards import FORMATS_OF_SHARDS, ShardWorker, cut
from .sources import Reading

__all__ = ["SHARD_SIZE", "BulkReport", "annotate_many"]

SHARD_SIZE = 1000
"""Documents of a shard unless told otherwise."""
_BATCH_SIZE = 16
# How often a document may end the worker that reads it by itself: the first time may have been by chance.
_MOST_DEATHS = 2
# How often workers may be ended before they read anything.
_MOST_FALSE_STARTS = 3


@dataclass(frozen=True, slots=True)
class BulkReport:
    """What a job has done.

    Attributes:
        folder: Where the results are.
        documents: How many documents the inputs hold, those that failed among them.
        failed: How many of them failed; ``failed-*.jsonl`` says why.
        shards: The shards of results.
        earlier: How many documents were done by earlier runs.
        seconds: How long this run took.

    Example:
        >>> from pathlib import Path
        >>> from hf_corefel.bulk import BulkReport
        >>> report = BulkReport(Path("annotated"), documents=12, failed=1, shards=[], earlier=0, seconds=3.0)
        >>> report.documents - report.failed
        11
    """

    folder: Path
    documents: int
    failed: int
    shards: list[ShardEntry]
    earlier: int
    seconds: float


def annotate_many(
    inputs: str | Path | Iterable[str | Path | Document | Mapping[str, Any]],
    output: str | Path,
    *,
    model: str | Path | None = None,
    workers: int = 1,
    resume: bool = False,
    format: str = "jsonl",
    shard_size: int = SHARD_SIZE,
    batch_size: int | None = None,
    pack: bool | None = None,
    max_document_words: int | None = MAX_DOCUMENT_WORDS,
    loading: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    pipeline: Callable[..., Any] | None = None,
    progress: Callable[[JobProgress], None] | None = None,
    say: Callable[[str], None] | None = None,
    **parameters: Any,
) -> BulkReport:
    """Annotate any number of documents into a folder of shards, in worker processes, to be gone on with when stopped.

    The input is read as a stream and cut into shards of `shard_size` documents. A shard is written beside its place
    and renamed when it is whole; a journal, which becomes the manifest at the end, says which are done. So whatever
    ends a run (a kill, Ctrl-C, a full disk), what it has finished is whole, and the same call with ``resume=True`` does
    the rest. The results do not depend on how often that happens, nor on the number of workers.

    A document that cannot be read or annotated, or that ends its worker, as happens when memory runs out, is listed
    with its error in ``failed-*.jsonl``, and the others are done.

    A script needs ``if __name__ == "__main__":`` around the call, as for all processes that `multiprocessing` spawns,
    unless ``workers=0``.

    Args:
        inputs: Names of what is read: files of a text each, of JSON lines or Parquet (also ``.gz`` and ``.zst``),
            folders, datasets; see `hf_corefel.bulk.sources.read_documents`. Or documents, or their dicts, which may
            come from a generator without an end.
        output: The folder, made when it does not exist.
        model: A saved model or its Hub id; the bundled checkpoint when None.
        workers: Processes that annotate, each with a model of its own and one thread (OMP_NUM_THREADS, if that is set,
            says how many). 0 annotates in this process.
        resume: Goes on with what an earlier run has begun in the folder with the same inputs and options; begins where
            there is none.
        format: ``jsonl``, ``jsonl.gz`` or ``parquet``.
        shard_size: Documents of a shard.
        batch_size: Documents that the model reads at once, where it reads several; 16 when None.
        pack: Whether the model reads documents of similar length at once. Then probabilities depend on which these
            are, by rounding; otherwise each is read by itself, and its result is the same to the byte. By default
            documents are packed on an accelerator only, for a CPU gains nothing.
        max_document_words: A longer document is listed as failed.
        loading: Further arguments of `load_pipeline`, such as ``device`` or the name of a ``knowledge_base``.
        reading: How inputs are read.
        pipeline: A pipeline that is there already; only with ``workers=0``.
        progress: Told how far it is.
        say: Told of fields that are not read, and what the pipeline warns of when it is loaded.
        **parameters: `AnnotationParameters` of the pipeline.

    Returns:
        What was done, by earlier runs too.

    Raises:
        BulkError: When the folder holds something else, the model cannot be loaded, or the inputs or options are not
            those that the job was begun with.
        FileBusyError: When another run is writing into the folder.
        OSError: When the folder cannot be written; a note says how to go on.
        KeyboardInterrupt: When the process is stopped; a note says the same.

    Example:
        >>> from hf_corefel.bulk import annotate_many
        >>> annotate_many("news.jsonl", "annotated", workers=4, resume=True)  # doctest: +SKIP
    """
    if format not in FORMATS_OF_SHARDS:
        raise BulkError(f"format: expected one of {', '.join(FORMATS_OF_SHARDS)}, got {format!r}")
    for name, value, least in (("workers", workers, 0), ("shard_size", shard_size, 1), ("batch_size", batch_size, 1)):
        if value is not None and (not isinstance(value, int) or value < least):
            raise BulkError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    if pipeline is not None and workers:
        raise BulkError("pipeline: one that is there already stays in this process; give workers=0, or a model")
    model = None if model is None else str(model)
    folder, said = Path(output), {name: value for name, value in parameters.items() if value is not None}
    options = dict(loading or {})
    source = Inputs(inputs, reading or Reading(), ExtraFields(say), without=folder)
    begun_for = {
        "inputs": source.names,
        "model": model,
        "knowledge_base": _named(options.get("knowledge_base")),
        "revision": options.get("revision"),
        "backend": options.get("backend"),
        "dtype": _named(options.get("dtype")),
        "parameters": {name: sorted(value) if isinstance(value, set) else value for name, value in said.items()},
        "format": format,
        "shard_size": shard_size,
        "max_document_words": max_document_words,
        "release": __version__,
    }
    annotator = Annotator(model, options, said, max_document_words, pack, pipeline)
    worker = ShardWorker(folder, format, annotator, batch_size or _BATCH_SIZE, in_process=workers == 0)
    with JobFolder.held(folder, begun_for, resume=resume) as job:
        run = _Run(job, worker, Meter(progress), say)
        try:
            return run.do(source, shard_size, workers)
        except (KeyboardInterrupt, OSError) as error:
            done = sum(entry.documents for entry in job.entries.values())
            error.add_note(f"{done:,} documents are done in {folder}; go on by the same command with --resume")
            raise


class _Run:
    """One run of a job."""

    def __init__(self, job: JobFolder, worker: ShardWorker, meter: Meter, say: Callable[[str], None] | None) -> None:
        self._job, self._worker, self._meter = job, worker, meter
        self._say, self._said = say, set[str]()
        self._deaths: Counter[tuple[int, int]] = Counter()
        self._false_starts = 0
        self._counted: Counter[int] = Counter()  # documents of shards at work, as far as reported
        self._failed: Counter[int] = Counter()

    def do(self, source: Inputs, shard_size: int, workers: int) -> BulkReport:
        began = time.monotonic()
        earlier = sum(entry.documents for entry in self._job.entries.values())
        if not self._job.complete:
            tasks = self._tasks(source, shard_size)
            done = completed(tasks, self._worker, workers, on_report=self._reported, on_death=self._after_death)
            with closing(done):  # which ends the workers
                for _, entry in done:
                    self._job.add(entry)
                    self._counted.pop(entry.shard, None)
                    self._failed.pop(entry.shard, None)
            self._job.complete_it()
        entries = [self._job.entries[number] for number in sorted(self._job.entries)]
        return BulkReport(
            self._job.path,
            sum(entry.documents for entry in entries),
            sum(entry.failed for entry in entries),
            entries,
            earlier,
            time.monotonic() - began,
        )

    def _tasks(self, source: Inputs, shard_size: int) -> Iterator[Task]:
        """The shards that are not done, in their order."""
        number, started = -1, False
        for shard in cut(source, shard_size):
            number = shard.number
            self._meter.has_read(len(shard.items), source.fraction)
            entry = self._job.entries.get(number)
            if entry is None:
                if not started:
                    started = True
                    self._meter.start()
                yield Task(f"shard {number}", (shard, (), {}))
            elif entry.input != shard.digest:
                raise BulkError(
                    f"{self._job.path}: the inputs are not those that the job was begun with: the documents of shard "
                    f"{number} differ; name another folder"
                )
            else:
                self._meter.has_done(entry.documents, entry.failed)
        if any(known > number for known in self._job.entries):
            raise BulkError(
                f"{self._job.path}: the inputs are not those that the job was begun with: they end before shard "
                f"{max(self._job.entries)}; name another folder"
            )

    def _reported(self, task: Task, kind: str, *values: Any) -> None:
        if kind == "says":
            if self._say is not None and values[0] not in self._said:
                self._said.add(values[0])
                self._say(values[0])
        elif kind == "read":
            number = task.arguments[0].number
            self._counted[number] += values[0]
            self._failed[number] += values[1]
            self._false_starts = 0
            self._meter.has_done(*values)

    def _after_death(self, task: Task, status: int | None, last: tuple[Any, ...]) -> Task:
        """The task that takes the place of one whose worker was ended: without the document that ends workers."""
        shard, alone, lost = task.arguments
        number = shard.number
        self._meter.has_done(-self._counted.pop(number, 0), -self._failed.pop(number, 0))
        kind, *places = last or ("",)
        if kind != "reads":
            self._false_starts += 1
            if self._false_starts == _MOST_FALSE_STARTS:
                raise BulkError(
                    f"worker processes are ended before they read a document ({why_ended(status)}), as happens when "
                    "memory runs out; try fewer workers"
                )
            return task
        if len(places) > 1:
            return Task(task.name, (shard, (*alone, *places), lost))
        (place,) = places
        self._deaths[number, place] += 1
        if self._deaths[number, place] == _MOST_DEATHS:
            reason = f"the worker process that read it was ended twice ({why_ended(status)}), as happens when memory"
            lost = {**lost, place: f"{reason} runs out"}
        # First, so that another death costs little.
        return Task(task.name, (shard, (place, *(other for other in alone if other != place)), lost))


def _named(value: Any) -> str | None:
    return None if value is None else str(value)
