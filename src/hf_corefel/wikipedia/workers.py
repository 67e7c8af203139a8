"""Units of a dump in worker processes; see `hf_corefel.utils.worker_processes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..utils.worker_processes import Task, WorkerDiedError, completed
from ..utils.worker_processes import sendable as _sendable  # noqa: F401
from .problems import WikipediaError

__all__ = ["Progress", "Task", "run_tasks"]

# Called with the number of a task, the pages that it has read and where it is, in bytes.
Progress = Callable[[int, int, int], None]


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
    numbers = {id(task): number for number, task in enumerate(tasks)}
    report = progress or (lambda task, pages, place: None)
    processes = 0 if workers == 1 or len(tasks) <= 1 else min(workers, len(tasks))
    try:
        for _ in completed(tasks, function, processes, on_report=lambda task, *said: report(numbers[id(task)], *said)):
            pass
    except WorkerDiedError as error:
        raise WikipediaError(
            f"{error}; run the same command again, which goes on where this one was, with fewer --workers"
        ) from error
