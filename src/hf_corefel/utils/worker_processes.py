"""Worker processes that do tasks, one at a time each, and end when the process that started them does."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

__all__ = ["OnDeath", "OnReport", "Task", "WorkerDiedError", "completed", "sendable", "why_ended"]

_SECONDS_TO_END = 10.0


class Task(NamedTuple):
    """A unit of work: what messages call it, and what the function of the workers is given."""

    name: str
    arguments: tuple[Any, ...]


class WorkerDiedError(RuntimeError):
    """A worker was ended by something else, such as a lack of memory."""


# Called with a task and what it reports.
OnReport = Callable[..., None]
# Called with a task, the exit status of its worker, and what it reported last; returns the task to do in its place.
OnDeath = Callable[[Task, int | None, tuple[Any, ...]], Task]


def completed(
    tasks: Iterable[Task],
    function: Callable[..., Any],
    workers: int,
    *,
    on_report: OnReport | None = None,
    on_death: OnDeath | None = None,
) -> Generator[tuple[Task, Any], None, None]:
    """Yield every task with what a function returns for it, as soon as it is done.

    The next task is asked for when a worker has nothing to do, so that tasks may come from a stream without an end.

    Args:
        tasks: In the order in which they are begun.
        function: Can be pickled, and belongs to a module, for processes import it; each has one copy for all of its
            tasks. It gets a task's arguments and then a function to report with.
        workers: How many processes; 0 does all in this one.
        on_report: Told what tasks report.
        on_death: Asked what to do in place of a task whose worker was ended; a new worker takes its place.

    Raises:
        WorkerDiedError: When a worker was ended and there is no `on_death`.
        Exception: What the function raises.
    """
    report = on_report or (lambda task, *values: None)
    if workers == 0:
        for task in tasks:
            yield task, function(*task.arguments, lambda *values, task=task: report(task, *values))
        return
    pool = _Pool(function)
    waiting = iter(tasks)
    try:
        for task in waiting:
            pool.give(task)
            while len(pool.at_work) == workers:
                yield from _finished(pool, report, on_death)
        while pool.at_work:
            yield from _finished(pool, report, on_death)
    finally:
        pool.end()


def _finished(pool: _Pool, report: OnReport, on_death: OnDeath | None) -> Iterator[tuple[Task, Any]]:
    """Wait for the workers to say something, and yield the tasks that are done."""
    for connection in wait(list(pool.at_work)):
        assert isinstance(connection, Connection)
        task = pool.at_work[connection]
        try:
            kind, value = connection.recv()
        except (EOFError, ConnectionResetError) as error:
            last = pool.reported.get(connection, ())
            status = pool.bury(connection)
            if on_death is None:
                raise WorkerDiedError(f"{task.name}: the worker process was ended ({why_ended(status)})") from error
            pool.give(on_death(task, status, last))
            continue
        if kind == "report":
            pool.reported[connection] = value
            report(task, *value)
        elif kind == "error":
            raise value
        else:
            pool.rest(connection)
            yield task, value


class _Pool:
    """The processes, by the connections to them.

    Attributes:
        at_work: What they work on.
        reported: What they said last of it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._context = multiprocessing.get_context("spawn")
        self._processes: dict[Connection, Any] = {}
        self._idle: list[Connection] = []
        self.at_work: dict[Connection, Task] = {}
        self.reported: dict[Connection, tuple[Any, ...]] = {}

    def give(self, task: Task) -> None:
        """Have a process that has nothing to do begin a task, a new one if there is none."""
        while True:
            connection = self._idle.pop() if self._idle else self._started()
            self.at_work[connection] = task
            try:
                connection.send(task.arguments)
            except (BrokenPipeError, ConnectionResetError):
                if self.bury(connection) == 1 and not self._idle:
                    raise WorkerDiedError(f"{task.name}: a worker process cannot be started") from None
            else:
                return

    def rest(self, connection: Connection) -> None:
        """Note that a process has done its task."""
        del self.at_work[connection]
        self.reported.pop(connection, None)
        self._idle.append(connection)

    def bury(self, connection: Connection) -> int | None:
        """Forget a process that has ended, and return its exit status."""
        self.at_work.pop(connection, None)
        self.reported.pop(connection, None)
        process = self._processes.pop(connection)
        connection.close()
        process.join()
        status: int | None = process.exitcode
        return status

    def end(self) -> None:
        """End all processes, those that are at work too."""
        for connection, process in self._processes.items():
            if connection in self.at_work:
                process.terminate()
            connection.close()
        for process in self._processes.values():
            process.join(_SECONDS_TO_END)
            if process.exitcode is None:
                process.kill()
                process.join()

    def _started(self) -> Connection:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._function), daemon=True)
        with _interrupts_held():
            process.start()
        theirs.close()
        self._processes[ours] = process
        return ours


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C waiting while a process is started, which then never gets one: its parent does, and ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def why_ended(status: int | None) -> str:
    """Return what ended a process, such as ``by SIGKILL``."""
    if status is not None and status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"exit status {status}"


def _serve(connection: Connection, function: Callable[..., Any]) -> None:
    """What a worker process does: tasks, until there are no more or nobody listens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            arguments = connection.recv()
            try:
                result = function(*arguments, lambda *values: connection.send(("report", values)))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the parent raises it
                connection.send(("error", sendable(error)))
            else:
                connection.send(("done", result))


def _end_with_parent() -> None:
    """End this process at once when its parent was killed, whatever it does: another run may begin the same work."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def sendable(error: Exception) -> Exception:
    """Return the error itself where another process can be given it, else one that says the same."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickling may raise anything
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
