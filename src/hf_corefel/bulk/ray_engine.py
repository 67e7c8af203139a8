"""A job on a cluster of Ray: one task reads and cuts the inputs, stateful actors of Ray Data annotate shards.

Inputs and output lie where all machines see them under the same names. Actors write shards as worker processes of one
machine do; this process, the driver, notes which are done, so that any run goes on with what another one has begun.
What went wrong comes back as a value: an exception would have Ray end the job with a traceback, or try again for ever.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

from ..documents.extra_fields import ExtraFields
from ..utils.worker_processes import sendable
from .annotator import BulkError
from .attempts import MOST_FALSE_STARTS, AttemptsFile, false_start
from .inputs import Inputs
from .job_folder import JOURNAL_FILE, ShardEntry, unfinished
from .shards import Cut, ShardWorker, cut_and_checked
from .sources import STDIN

__all__ = ["Outcome", "RayJob", "check_for_ray"]

# The column of what is handed from step to step, pickled: a row each.
_COLUMN = "item"


def check_for_ray(source: Inputs, workers: int) -> None:
    """Raise an error about a job that cannot be done on a cluster.

    Raises:
        BulkError: When there is no Ray or no worker, or only this process can read an input.
    """
    _ray()
    if not workers:
        raise BulkError("workers: engine ray needs at least 1, got 0")
    if not isinstance(source.given, list | tuple):
        raise BulkError("inputs: engine ray reads names of files, or a list of documents; engine local reads streams")
    for name in source.names or ():
        if name == STDIN or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)):
            raise BulkError(
                f"{name}: engine ray reads files and folders that all machines see; write it to a file first"
            )


def _ray() -> Any:
    # Set before it is imported: nobody is told of what is run.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Nor is standard error of what its parts tell each other.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise BulkError(f"engine ray: it needs the package ray ({error}): pip install 'hf-corefel[ray]'") from error
    return ray


class Outcome(NamedTuple):
    """A shard that is done.

    Attributes:
        number: Its number.
        read: Documents of the input up to its end.
        fraction: How much of the input that is; None where nobody knows.
        entry: What the journal says of it; None when an earlier run has done it.
        said: Messages.
    """

    number: int
    read: int
    fraction: float | None
    entry: ShardEntry | None
    said: tuple[str, ...]


@dataclass
class RayJob:
    """What tasks and actors are told of a job; goes to them pickled.

    Args:
        source: The inputs: names, or a list of documents.
        shard_size: Documents of a shard.
        known: Hashes of the shards that are done, by their numbers.
        worker: Annotates shards.
    """

    source: Inputs
    shard_size: int
    known: Mapping[int, str]
    worker: ShardWorker
    place: str = field(default_factory=os.getcwd)
    """The folder that relative names start from."""
    run: str = field(default_factory=lambda: uuid4().hex)

    def outcomes(self, workers: int) -> Iterator[Outcome]:
        """Yield the shards as they are done, in any order.

        Args:
            workers: How many actors.

        Raises:
            BulkError: When there is no cluster or Ray ends the job, a model cannot be loaded, or the inputs are not
                those that the job was begun with.
            OSError: When a file cannot be written.
        """
        with _connected(workers) as ray, _settled(ray):
            # Not more at an actor than it is at: what waits behind a slow shard could be done by others.
            actors = ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1)
            resources = {"num_gpus": 1} if str(self.worker.annotator.loading.get("device")).startswith("cuda") else {}
            # No CPU for the reader: it has little to do, and must not be one with the actors, as steps alike become.
            steps = ray.data.from_items([{"job": 0}]).map_batches(
                _read, batch_format="pyarrow", num_cpus=0, fn_kwargs={"job": self}
            )
            steps = steps.map_batches(
                _ShardActor,
                batch_size=1,
                batch_format="pyarrow",
                compute=actors,
                fn_constructor_kwargs={"job": self},
                num_cpus=1,
                **resources,
            )
            done, shards = set(self.known), None
            for item in _items(steps):
                if isinstance(item, Exception):
                    raise item
                if isinstance(item, Outcome):
                    done.add(item.number)
                    yield item
                else:
                    shards = item
            if shards is None or done != set(range(shards)):
                raise BulkError(
                    f"{self.worker.folder}: Ray has lost some shards; go on by the same command with --resume"
                )

    def enter(self) -> None:
        """Make relative names in another process mean what they mean here.

        Raises:
            BulkError: When the folder is not there.
        """
        try:
            os.chdir(self.place)
        except OSError as error:
            raise BulkError(
                f"{self.place}: not to be found on every machine of the cluster ({error.strerror}); work in a folder "
                "that all of them see"
            ) from error


def _read(table: Any, job: RayJob) -> Iterator[Any]:
    """Yield a table a shard, and at last how many there are, or what went wrong; the same ones when called again."""
    said: list[str] = []
    try:
        job.enter()
        source = Inputs(job.source.given, job.source.reading, ExtraFields(said.append), without=job.source.without)
        shards = 0
        for cut in cut_and_checked(source, job.shard_size, job.known, job.worker.folder):
            shards += 1
            yield _row((_without_items(cut) if cut.is_done else cut, tuple(said)))
        yield _row((shards, ()))
    except Exception as error:  # noqa: BLE001 - whatever it is, the driver raises it
        yield _row((sendable(error), ()))


class _ShardActor:
    """Annotates shards with a pipeline of its own, which is loaded with the first one."""

    def __init__(self, job: RayJob) -> None:
        self._job = job

    def __call__(self, table: Any) -> Any:
        item, said = pickle.loads(table[_COLUMN][0].as_py())
        if isinstance(item, Cut):
            try:
                item = self._done(item, list(said))
            except Exception as error:  # noqa: BLE001 - whatever it is, the driver raises it
                item = sendable(error)
        return _row(item)

    def _done(self, cut: Cut, said: list[str]) -> Outcome:
        job, shard = self._job, cut.shard
        if cut.is_done:
            return Outcome(shard.number, cut.read, cut.fraction, None, tuple(said))
        job.enter()
        if not (job.worker.folder / JOURNAL_FILE).exists():
            raise BulkError(
                f"{job.worker.folder}: not the same folder on all machines of the cluster; name one that is"
            )
        file = AttemptsFile(unfinished(job.worker.folder / f"attempts-{shard.number:06d}", job.run))
        file.begin()
        if file.false_starts >= MOST_FALSE_STARTS:
            raise BulkError(false_start("by the machine or the engine"))

        def report(kind: str, *values: Any) -> None:
            if kind == "says":
                said.append(values[0])
            else:
                file.note(kind, *values)

        entry = job.worker(shard, file.attempts.alone, file.attempts.lost, report)
        file.remove()
        return Outcome(shard.number, cut.read, cut.fraction, entry, tuple(said))


def _without_items(cut: Cut) -> Cut:
    return cut._replace(shard=cut.shard._replace(items=[]))


def _row(item: Any) -> Any:
    import pyarrow as pa

    return pa.table({_COLUMN: pa.array([pickle.dumps(item)], pa.large_binary())})


def _items(steps: Any) -> Iterator[Any]:
    """What the last step of a dataset gives, as soon as it does."""
    rows = iter(steps.iter_batches(batch_size=1, batch_format="pyarrow", prefetch_batches=0))
    while True:
        try:
            table = next(rows, None)
        # All that tasks and actors do is in what they give; this is the engine's, which says it in many lines.
        except Exception as error:
            (reason, *_) = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            raise BulkError(f"Ray has ended the job: {reason}; go on by the same command with --resume") from error
        if table is None:
            return
        yield pickle.loads(table[_COLUMN][0].as_py())


@contextmanager
def _connected(workers: int) -> Iterator[Any]:
    """Give the module of Ray, connected to a cluster: that of this process, of RAY_ADDRESS, or a new one here."""
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    # What this process does when it is told to end, which Ray replaces as it starts; only the main thread may.
    here = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if here}
    with ExitStack() as stack:
        quiet: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
        stack.callback(ray.shutdown)
        address, told = os.environ.get("RAY_ADDRESS") or "local", False
        try:
            # Not one that happens to run here, for it may be another job's and end with it.
            ray.init(
                address, **quiet, **({"num_cpus": workers, "include_dashboard": False} if address == "local" else {})
            )
        except SystemExit:  # its own answer to SIGTERM
            told = True
        except Exception as error:
            raise BulkError(f"engine ray: cannot connect to the cluster {address!r} (RAY_ADDRESS): {error}") from error
        finally:
            for number, handler in handlers.items():
                if handler is not None:  # one that was not set by Python
                    signal.signal(number, handler)
        if told:
            signal.raise_signal(signal.SIGTERM)
        yield ray


@contextmanager
def _settled(ray: Any) -> Iterator[None]:
    """Have Ray Data hand on each row by itself and say nothing, while inside."""
    log = logging.getLogger("ray.data")
    level = log.level
    context = ray.data.DataContext.get_current()
    wanted: dict[str, Any] = {
        # Rows would be gathered until there are many megabytes.
        "target_max_block_size": 1,
        "enable_progress_bars": False,
        "print_on_execution_start": False,
    }
    # Releases differ in what they say.
    before = {name: getattr(context, name) for name in wanted if hasattr(context, name)}
    log.setLevel(logging.CRITICAL + 1)
    for name in before:
        setattr(context, name, wanted[name])
    try:
        yield
    finally:
        log.setLevel(level)
        for name, value in before.items():
            setattr(context, name, value)
