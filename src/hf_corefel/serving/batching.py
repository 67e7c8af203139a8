"""Documents of many requests, read by one model together.

One thread runs the model. It takes the document that has waited longest, and with it others that were asked for with
the same parameters, in their order, as many as the model reads at once. Where there are fewer, it waits some
milliseconds.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ..documents import AnnotatedDocument, Document
from .counters import Counters
from .limits import ServingLimits

__all__ = ["Batcher", "QueueFullError", "StoppingError"]

Annotate = Callable[..., Sequence[AnnotatedDocument]]

# A batch with this many characters grows no more: a long document gains nothing from company, and who is with it waits.
_MOST_CHARACTERS = 20_000
# Seconds that stopping waits for what the model is reading, for which nobody waits any more.
_LAST_BATCH = 5.0


class QueueFullError(Exception):
    """So many documents wait that no more are taken on."""


class StoppingError(Exception):
    """The service takes on no more documents, because it is being stopped."""


@dataclass(slots=True, eq=False)
class _Job:
    document: Document
    parameters: Mapping[str, Any]
    result: Future[AnnotatedDocument] = field(default_factory=Future)


class Batcher:
    """Annotates documents in batches, in a thread of its own.

    Args:
        annotate: Takes a list of documents, ``batch_size`` and parameters, and gives their results in the same order;
            such as `CorefELPipeline.annotate`. It is called in one thread only.
        limits: How many documents may wait, and how many are a batch.
        counters: Counts batches, and shows how many documents wait.
    """

    def __init__(self, annotate: Annotate, limits: ServingLimits, counters: Counters) -> None:
        self._annotate, self._limits, self._counters = annotate, limits, counters
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None
        counters.waiting.set_function(lambda: len(self._waiting))

    def start(self) -> None:
        """Begin to annotate, also again after `stop`; without a call of it, the first document begins."""
        with self._changed:
            if self._thread is None:
                self._stopping = False
                self._thread = threading.Thread(target=self._run, name="hf-corefel-model", daemon=True)
                self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether documents are taken on and annotated."""
        return not self._stopping and (self._thread is None or self._thread.is_alive())

    def submit(
        self, documents: Sequence[Document], parameters: Mapping[str, Any] | None = None
    ) -> list[Future[AnnotatedDocument]]:
        """Put documents at the end of the queue, all of them or none.

        Args:
            documents: The documents.
            parameters: What `annotate` is told of them.

        Returns:
            What the result of each will be, or the error that annotating it raised. One that is cancelled before its
            turn leaves the queue.

        Raises:
            QueueFullError: When more documents would wait than may.
            StoppingError: When `stop` was called.
        """
        jobs = [_Job(document, dict(parameters or {})) for document in documents]
        with self._changed:
            if self._stopping:
                raise StoppingError
            if len(self._waiting) + len(jobs) > self._limits.max_queue:
                self._waiting = deque(job for job in self._waiting if not job.result.cancelled())
            if len(self._waiting) + len(jobs) > self._limits.max_queue:
                raise QueueFullError
            self._waiting.extend(jobs)
            self._changed.notify()
            # Who mounts the service in another one runs no lifespan of it.
            self.start()
        return [job.result for job in jobs]

    def stop(self) -> None:
        """Take on no more documents, annotate those that wait, and end the thread."""
        with self._changed:
            self._stopping = True
            waiting = any(not job.result.cancelled() for job in self._waiting)
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread is not None and thread.is_alive():
            # A daemon: what is read for nobody, such as a document whose request is over, holds up nothing.
            thread.join(None if waiting else _LAST_BATCH)

    def _run(self) -> None:
        while batch := self._next_batch():
            started = time.perf_counter()
            self._read(batch)
            self._counters.batch(len(batch), time.perf_counter() - started)

    def _next_batch(self) -> list[_Job]:
        """The next jobs, each with a result that can no more be cancelled; none when there will be none."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._stopping)
                if not self._waiting:
                    return []
                until = time.monotonic() + self._limits.batch_wait
                while not self._stopping and (left := until - time.monotonic()) > 0 and not self._is_full():
                    self._changed.wait(left)
                chosen = self._together()
                taken = {id(job) for job in chosen}
                self._waiting = deque(job for job in self._waiting if id(job) not in taken)
                if batch := [job for job in chosen if job.result.set_running_or_notify_cancel()]:
                    return batch

    def _is_full(self) -> bool:
        return len(self._together()) == self._limits.batch_size

    def _together(self) -> list[_Job]:
        """Those that wait and are read with the first one, in their order."""
        first, characters = self._waiting[0], 0
        found: list[_Job] = []
        for job in self._waiting:
            if job.parameters != first.parameters:
                continue
            characters += len(job.document.text)
            if found and characters > _MOST_CHARACTERS:
                break
            found.append(job)
            if len(found) == self._limits.batch_size:
                break
        return found

    def _read(self, batch: Sequence[_Job]) -> None:
        """Give each job its result, or its error."""
        documents = [job.document for job in batch]
        try:
            found = list(self._annotate(documents, batch_size=len(batch), **batch[0].parameters))
            if len(found) != len(batch):
                raise RuntimeError(f"{len(found)} results of {len(batch)} documents")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what becomes of the document
            if len(batch) == 1:
                batch[0].result.set_exception(error)
                return
            # Each alone, so that a bad one costs no other.
            for job in batch:
                self._read([job])
            return
        for job, result in zip(batch, found, strict=True):
            job.result.set_result(result)
