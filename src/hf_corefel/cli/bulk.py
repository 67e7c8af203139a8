"""Many documents into a folder of shards: when ``hf-corefel annotate`` does that, and what it shows meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..bulk import BulkError, JobProgress, annotate_many
from ..bulk.sources import InputFormat, Reading, format_of_input, is_dataset
from ..formats.registry import format_of
from .messages import complain, fail, with_notes
from .options import knowledge_base_folder

__all__ = ["Job", "means_job", "run_job"]

# Where there is no terminal, how many seconds lie between two lines.
_SECONDS_A_LINE = 60


class Job(NamedTuple):
    """What is annotated, and how."""

    inputs: Sequence[str]
    output: str
    kind: str
    model: str | None
    knowledge_base: str | None
    device: str | None
    access: Mapping[str, Any]
    parameters: Mapping[str, Any]
    reading: Reading


def means_job(
    output: str | None,
    inputs: Sequence[str],
    kind: InputFormat | None,
    asked: Mapping[str, Any],
    *,
    formatted: bool,
) -> bool:
    """Return whether results are shards in a folder.

    They are when an option of shards is given; and when the output is no file of a known format, no format is said, and
    an input holds many documents.

    Args:
        output: What is said of it.
        inputs: The names of the inputs.
        kind: What they hold, if that is said.
        asked: The options of shards that are given.
        formatted: Whether a format is said.
    """
    named = output is not None and format_of(output) is not None and not os.path.isdir(output)
    if asked:
        if output is None or named:
            fail(f"--{next(iter(asked)).replace('_', '-')} is for results in a folder; name one with --output")
        return True
    if output is None or named or formatted or (os.path.exists(output) and not os.path.isdir(output)):
        return False
    return Path(output).suffix == "" and any(_holds_many(name, kind) for name in inputs)


def _holds_many(name: str, kind: InputFormat | None) -> bool:
    return is_dataset(name) or os.path.isdir(name) or format_of_input(name, kind) is not InputFormat.TEXT


def run_job(
    job: Job, asked: Mapping[str, Any], *, batch_size: int | None, max_document_words: int, quiet: bool
) -> None:
    """Annotate, show how far it is, and leave with status 1 when a document failed."""
    options = dict(asked)
    compressed = options.pop("compress", False)
    if job.kind not in ("jsonl", "parquet") or (compressed and job.kind != "jsonl"):
        fail(f"shards are jsonl, with --compress if need be, or parquet; convert them to {job.kind} afterwards")
    loading = {**job.access, **({} if job.device is None else {"device": job.device})}
    try:
        if job.knowledge_base is not None:
            folder = knowledge_base_folder(job.knowledge_base, token=job.access.get("token"))
            loading["knowledge_base"] = str(folder)
    except (OSError, ValueError) as error:
        fail(f"cannot read the knowledge base {job.knowledge_base}: {error}")
    try:
        with _shown(quiet=quiet) as screen:
            report = annotate_many(
                list(job.inputs),
                job.output,
                model=job.model,
                format="jsonl.gz" if compressed else job.kind,
                batch_size=batch_size,
                max_document_words=max_document_words,
                loading=loading,
                reading=job.reading,
                progress=screen.update,
                say=screen.warn,
                **options,
                **job.parameters,
            )
    except BulkError as error:
        fail(with_notes(str(error), error))
    except OSError as error:
        where = job.output if error.filename is None else error.filename
        fail(with_notes(f"cannot write {where}: {error.strerror or error}", error))
    if not report.documents:
        fail(f"nothing to annotate: {', '.join(job.inputs)} holds no document")
    new = report.documents - report.earlier
    if not quiet:
        speed = f", {new / report.seconds:,.1f} documents/s" if new and report.seconds else ""
        earlier = f" ({report.earlier:,} of them by earlier runs)" if report.earlier else ""
        complain(
            f"{report.documents:,} documents{earlier}, {report.failed:,} failed, in {_clock(report.seconds)}{speed}: "
            f"{report.folder}"
        )
    if report.failed:
        if quiet:
            complain(f"{report.failed:,} documents failed; {report.folder}/failed-*.jsonl says why")
        else:
            complain(f"{report.folder}/failed-*.jsonl says why documents failed")
        raise typer.Exit(1)


class _Screen:
    """A line on standard error: a bar on a terminal, else a line a minute."""

    def __init__(self, progress: Progress | None, *, quiet: bool) -> None:
        self._progress, self._quiet = progress, quiet
        self._task = None if progress is None else progress.add_task("loading the model", total=None)
        self._last = time.monotonic()

    def update(self, now: JobProgress) -> None:
        """Show how far the job is."""
        if self._quiet:
            return
        if self._progress is not None and self._task is not None:
            total = None if now.fraction is None else 1.0
            self._progress.update(
                self._task, completed=now.fraction or 0.0, total=total, description=progress_line(now)
            )
        elif time.monotonic() - self._last >= _SECONDS_A_LINE:
            self._last = time.monotonic()
            complain(progress_line(now))

    def warn(self, message: str) -> None:
        """Say what is to be known."""
        if not self._quiet:
            complain(f"warning: {message}")


@contextmanager
def _shown(*, quiet: bool) -> Iterator[_Screen]:
    console = Console(stderr=True)
    if quiet or not console.is_interactive:
        yield _Screen(None, quiet=quiet)
        return
    columns = BarColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress:
        yield _Screen(progress, quiet=False)


def progress_line(now: JobProgress) -> str:
    """Return ``1,200 documents, 3 failed, 14.2 documents/s, 0:02:10 left``."""
    parts = [f"{now.documents:,} documents"]
    parts += [f"{now.failed:,} failed"] if now.failed else []
    parts += [f"{now.per_second:,.1f} documents/s"] if now.per_second is not None else []
    parts += [f"{_clock(now.seconds_left)} left"] if now.seconds_left is not None else []
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
