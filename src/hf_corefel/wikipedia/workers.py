"""Worker processes that do units of work, one at a time each, and end when the process that started them does."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from .problems import WikipediaError

__all__ = ["Progress", "Task", "run_tasks"]

# Called with the number of a task, the pages that it has read and where it is, in bytes.
Progress = Callable[[int, int, int], None]


class Task(NamedTuple):
    """A unit of work: what messages call it, and what the function of the workers is given."""

    name: str
    arguments: tuple[Any, ...]


def run_tasks(
    tasks: Sequence[Task], function: Callable[..., None], workers: int, progress: Progress | None = None
) -> None:
    """Call a function for every task, in this process for one worker, else in that many processes.

    Args:
        tasks: In the order in which they are begun.
        function: One of a module, for processes import it. It gets a task's arguments and then a function to call with
            pages and bytes.
        workers: How many tasks are worked on at once.
        progress: Told what tasks report.

    Raises:
        WikipediaError: When a worker was ended by something else, such as a lack of memory.
        Exception: What the function raises.
    """
    report = progress or (lambda task, pages, place: None)
    if workers == 1 or len(tasks) <= 1:
        for number, task in enumerate(tasks):
            function(*task.arguments, lambda pages, place, number=number: report(number, pages, place))
        return
    context = multiprocessing.get_context("spawn")
    processes: dict[Connection, Any] = {}
    at_work: dict[Connection, int] = {}
    waiting = list(range(len(tasks)))[::-1]
    try:
        for _ in range(min(workers, len(tasks))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, function), daemon=True)
            process.start()
            theirs.close()
            processes[ours] = process
            _give(ours, tasks, waiting, at_work)
        while at_work:
            for connection in wait(list(at_work)):
                assert isinstance(connection, Connection)
                number = at_work[connection]
                try:
                    kind, value = connection.recv()
                except (EOFError, ConnectionResetError) as error:
                    processes[connection].join()
                    raise WikipediaError(
                        f"{tasks[number].name}: the worker process was ended ({_why(processes[connection].exitcode)}); "
                        "run the same command again, which goes on where this one was, with fewer --workers"
                    ) from error
                if kind == "progress":
                    report(number, *value)
                elif kind == "error":
                    raise value
                else:
                    del at_work[connection]
                    _give(connection, tasks, waiting, at_work)
    finally:
        for connection, process in processes.items():
            if connection in at_work:
                process.terminate()
            connection.close()
        for process in processes.values():
            process.join()


def _give(connection: Connection, tasks: Sequence[Task], waiting: list[int], at_work: dict[Connection, int]) -> None:
    if waiting:
        at_work[connection] = waiting.pop()
        connection.send(tasks[at_work[connection]].arguments)


def _why(status: int | None) -> str:
    if status is not None and status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"exit status {status}"


def _serve(connection: Connection, function: Callable[..., None]) -> None:
    """What a worker process does: tasks, until there are no more or nobody listens."""
    # Who presses Ctrl-C stops the parent, which stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            arguments = connection.recv()
            try:
                function(*arguments, lambda pages, place: connection.send(("progress", (pages, place))))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the parent raises it
                connection.send(("error", _sendable(error)))
            else:
                connection.send(("done", None))


def _sendable(error: Exception) -> Exception:
    """The error itself where another process can be given it, else one that says the same."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickling may raise anything
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
