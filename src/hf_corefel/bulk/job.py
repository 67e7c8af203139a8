"""The job: many documents through one pipeline, or one a process, into a folder of shards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..documents import Document
from ..documents.extra_fields import ExtraFields
from ..utils.worker_processes import Task, WorkerDiedError, completed, why_ended
from ..version import __version__
from .annotator import MAX_DOCUMENT_WORDS, Annotator, BulkError
from .attempts import MOST_FALSE_STARTS, Attempts, cannot_start, false_start
from .identities import identity_of_knowledge_base, identity_of_model
from .inputs import Inputs
from .job_folder import JobFolder, ShardEntry
from .progress import JobProgress, Meter
from .ray_engine import RayJob, check_for_ray
from .shards import FORMATS_OF_SHARDS, ShardWorker, cut_and_checked
from .sources import Reading

__all__ = ["ENGINES", "SHARD_SIZE", "BulkReport", "annotate_many"]

SHARD_SIZE = 1000
"""Documents of a shard unless told otherwise."""
_BATCH_SIZE = 16
# Options of loading that are noted under their own names, and those that no result depends on.
_NAMED_BY_THEMSELVES = ("knowledge_base", "revision", "backend", "dtype")
_WITHOUT_EFFECT = ("device", "device_map", "token", "cache_dir", "local_files_only", "trust_remote_code", "verify")
ENGINES = ("local", "ray")
"""What annotates: processes of this machine, or actors of a cluster of Ray."""


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
    engine: str = "local",
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
            there is none. The inputs are read from the beginning, of a job that is complete too: shards that are
            missing are made again, and documents that have come after the last shard are annotated.
        engine: ``local``, or ``ray`` for actors of Ray Data (extra ``ray``) in the cluster that this process is
            connected to, or that RAY_ADDRESS names, or in one that is started here. Its machines see inputs, output and
            model under the same names. The results are the same, and either goes on with what the other has begun.
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
        BulkError: When the folder holds something else, there is no such parameter or value of it, the model cannot be
            loaded, or the inputs, options, model or knowledge base are not those that the job was begun with.
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
    if engine not in ENGINES:
        raise BulkError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if pipeline is not None and workers:
        raise BulkError("pipeline: one that is there already stays in this process; give workers=0, or a model")
    model = None if model is None else str(model)
    folder, said = Path(output), {name: value for name, value in parameters.items() if value is not None}
    options = dict(loading or {})
    annotator = Annotator(model, options, said, max_document_words, pack, pipeline)  # which checks parameters
    source = Inputs(inputs, reading or Reading(), ExtraFields(say), without=folder)
    if engine == "ray":
        check_for_ray(source, workers)
    begun_for = {
        "inputs": source.names,
        "model": model,
        "knowledge_base": _named(options.get("knowledge_base")),
        "revision": options.get("revision"),
        "backend": options.get("backend"),
        "dtype": _named(options.get("dtype")),
        "loading": _noted({name: options[name] for name in options if name not in _NAMED_BY_THEMSELVES}),
        "reading": asdict(source.reading),
        "packing": _packing(pack, batch_size or _BATCH_SIZE, options.get("device")),
        "parameters": {name: sorted(value) if isinstance(value, set) else value for name, value in said.items()},
        "format": format,
        "shard_size": shard_size,
        "max_document_words": max_document_words,
        "release": __version__,
        **_contents(model, options),
    }
    worker = ShardWorker(folder, format, annotator, batch_size or _BATCH_SIZE, in_process=workers == 0)
    with JobFolder.held(folder, begun_for, resume=resume) as job:
        run = _Run(job, worker, Meter(progress), say)
        try:
            return run.do(source, shard_size, workers, engine)
        except (KeyboardInterrupt, OSError) as error:
            done = sum(entry.documents for entry in job.entries.values())
            error.add_note(f"{done:,} documents are done in {folder}; go on by the same command with --resume")
            raise


class _Run:
    """One run of a job."""

    def __init__(self, job: JobFolder, worker: ShardWorker, meter: Meter, say: Callable[[str], None] | None) -> None:
        self._job, self._worker, self._meter = job, worker, meter
        self._say, self._said = say, set[str]()
        self._attempts: dict[int, Attempts] = {}  # at shards at work
        self._false_starts = 0
        self._counted: Counter[int] = Counter()  # documents of shards at work, as far as reported
        self._failed: Counter[int] = Counter()

    def do(self, source: Inputs, shard_size: int, workers: int, engine: str) -> BulkReport:
        began = time.monotonic()
        earlier = sum(entry.documents for entry in self._job.entries.values())
        if engine != "ray" or not self._job.complete or self._lacks_some(source, shard_size):
            on = self._on_ray if engine == "ray" else self._here
            with closing(on(source, shard_size, workers)) as done:  # which ends the workers
                for entry in done:
                    self._job.add(entry)
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

    def _lacks_some(self, source: Inputs, shard_size: int) -> bool:
        """Whether the inputs hold more than what is done; read here, for which no cluster is needed."""
        return any(not cut.is_done for cut in cut_and_checked(source, shard_size, self._known(), self._job.path))

    def _known(self) -> dict[int, str]:
        return {number: entry.input for number, entry in self._job.entries.items()}

    def _here(self, source: Inputs, shard_size: int, workers: int) -> Generator[ShardEntry, None, None]:
        """What is done by processes of this machine."""
        tasks = self._tasks(source, shard_size)
        done = completed(tasks, self._worker, workers, on_report=self._reported, on_death=self._after_death)
        with closing(done):
            try:
                for _, entry in done:
                    yield entry
                    self._counted.pop(entry.shard, None)
                    self._failed.pop(entry.shard, None)
                    self._attempts.pop(entry.shard, None)
            except WorkerDiedError as error:
                raise BulkError(cannot_start()) from error

    def _tasks(self, source: Inputs, shard_size: int) -> Iterator[Task]:
        """The shards that are not done, in their order."""
        started = False
        for cut in cut_and_checked(source, shard_size, self._known(), self._job.path):
            self._meter.has_read(cut.read, cut.fraction)
            if cut.is_done:
                entry = self._job.entries[cut.shard.number]
                self._meter.has_done(entry.documents, entry.failed)
                continue
            if not started:
                started = True
                self._job.reopen()
                self._meter.start()
            yield Task(f"shard {cut.shard.number}", (cut.shard, (), {}))

    def _on_ray(self, source: Inputs, shard_size: int, workers: int) -> Generator[ShardEntry, None, None]:
        """What is done by actors of a cluster, of which is known what they have finished."""
        self._job.reopen()  # actors look for the journal
        job = RayJob(source, shard_size, self._known(), self._worker)
        self._meter.start()
        for outcome in job.outcomes(workers):
            for message in outcome.said:
                self._tell(message)
            self._meter.has_read(outcome.read, outcome.fraction)
            entry = outcome.entry or self._job.entries[outcome.number]
            self._meter.has_done(entry.documents, entry.failed)
            if outcome.entry is None:
                self._meter.start()
            else:
                yield outcome.entry

    def _tell(self, message: str) -> None:
        if self._say is not None and message not in self._said:
            self._said.add(message)
            self._say(message)

    def _reported(self, task: Task, kind: str, *values: Any) -> None:
        if kind == "says":
            self._tell(values[0])
        elif kind == "read":
            number = task.arguments[0].number
            self._counted[number] += values[0]
            self._failed[number] += values[1]
            self._false_starts = 0
            self._meter.has_done(*values)

    def _after_death(self, task: Task, status: int | None, last: tuple[Any, ...]) -> Task:
        """The task that takes the place of one whose worker was ended: without the document that ends workers."""
        shard = task.arguments[0]
        self._meter.has_done(-self._counted.pop(shard.number, 0), -self._failed.pop(shard.number, 0))
        attempts = self._attempts.setdefault(shard.number, Attempts())
        if not attempts.has_ended(last, why_ended(status)):
            self._false_starts += 1
            if self._false_starts == MOST_FALSE_STARTS:
                # Python's own status of an error that nobody caught, here in what the process imports.
                raise BulkError(cannot_start() if status == 1 and not last else false_start(why_ended(status)))
        return Task(task.name, (shard, attempts.alone, attempts.lost))


def _named(value: Any) -> str | None:
    return None if value is None else _text(value)


def _packing(pack: bool | None, batch_size: int, device: Any) -> dict[str, Any]:
    """Which documents are read at once, as far as the options say it: without a word on either, the device does."""
    if pack is None and device is not None:
        pack = str(device).partition(":")[0] not in ("cpu", "-1")  # transformers' number of the CPU
    if pack is False or batch_size == 1:
        return {"pack": False, "batch_size": 1}
    return {"pack": pack, "batch_size": batch_size}


def _noted(value: Any) -> Any:
    """A value of options as JSON: the same in every process that is given the same, and without secrets."""
    if isinstance(value, Mapping):
        kept = {str(name): item for name, item in value.items() if item is not None and name not in _WITHOUT_EFFECT}
        return {name: _noted(item) for name, item in kept.items()}
    if isinstance(value, list | tuple):
        return [_noted(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_noted(item) for item in value), key=str)
    if value is None or isinstance(value, str | int | float):
        return value
    return _text(value)


def _text(value: Any) -> str:
    text = str(value)
    if isinstance(value, str | Path):
        return text
    return type(value).__name__ if " at 0x" in text else text  # an address differs from process to process


def _contents(model: str | None, options: Mapping[str, Any]) -> dict[str, str | None]:
    """What model and knowledge base hold, which their names do not say."""
    knowledge_base, subfolder = options.get("knowledge_base"), options.get("subfolder")
    try:
        return {
            "content_of_the_model": identity_of_model(model, subfolder, own_knowledge_base=knowledge_base is None),
            "content_of_the_knowledge_base": identity_of_knowledge_base(knowledge_base),
        }
    except OSError as error:
        raise BulkError(f"cannot read {error.filename}: {error.strerror or error}") from error
