"""What is known of earlier attempts at a shard, which ended with the process that made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["MOST_FALSE_STARTS", "Attempts", "AttemptsFile", "cannot_start", "false_start"]

_BEGINS = "begins"
# How often a document may end the worker that reads it by itself: the first time may have been by chance.
_MOST_DEATHS = 2
MOST_FALSE_STARTS = 3
"""How often workers may be ended before they read anything."""


@dataclass
class Attempts:
    """What a new attempt at a shard has to know of those before it.

    Attributes:
        alone: Places of documents that are read by themselves, before the others, for one of them may have ended a
            worker.
        lost: Errors of documents that are not read any more, by their places.
    """

    alone: tuple[int, ...] = ()
    lost: dict[int, str] = field(default_factory=dict)
    _deaths: Counter[int] = field(default_factory=Counter)

    def has_ended(self, last: Sequence[Any], why: str) -> bool:
        """Learn that the worker was ended in an attempt.

        Args:
            last: What it reported last; see `ShardWorker.__call__`.
            why: What ended it, such as ``by SIGKILL``.

        Returns:
            Whether it was reading documents.
        """
        kind, *places = last or ("",)
        if kind != "reads":
            return False
        if len(places) > 1:
            self.alone = (*self.alone, *places)
            return True
        (place,) = places
        self._deaths[place] += 1
        if self._deaths[place] == _MOST_DEATHS:
            self.lost[place] = (
                f"the worker process that read it was ended twice ({why}), as happens when memory runs out"
            )
        # First, so that another death costs little.
        self.alone = (place, *(other for other in self.alone if other != place))
        return True


class AttemptsFile:
    """What attempts at a shard report, in a file that the next one reads, on whatever machine that is.

    Args:
        path: The file, which is there as long as the shard is not done.

    Attributes:
        attempts: What is known of the attempts before.
        false_starts: How many of them were ended while they did not read a document.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.attempts, self.false_starts = Attempts(), 0

    def begin(self) -> None:
        """Learn from the attempts before, and note that there is another one.

        Raises:
            OSError: When the file cannot be read or written.
        """
        found = self._path.read_text(encoding="ascii", errors="replace") if self._path.exists() else ""
        # A line that is not whole was cut when a machine stopped: it says nothing.
        lines = found[: found.rfind("\n") + 1].splitlines()
        for line, following in pairwise([*lines, _BEGINS]):
            if following == _BEGINS:
                kind, *places = line.split()
                if not self.attempts.has_ended((kind, *map(int, places)), "by the machine or the engine"):
                    self.false_starts += 1
        self._append(_BEGINS if found.endswith("\n") or not found else f"\n{_BEGINS}")

    def note(self, kind: str, *places: int) -> None:
        """Note what `ShardWorker.__call__` reports, before what may end the process.

        Raises:
            OSError: When it cannot be written.
        """
        if kind in ("reads", "writes"):
            self._append(" ".join([kind, *map(str, places)]))

    def remove(self) -> None:
        """Remove the file of a shard that is done."""
        with suppress(OSError):
            self._path.unlink()

    def _append(self, line: str) -> None:
        with self._path.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode("ascii"))


def false_start(why: str) -> str:
    """Return the message about workers that are ended again and again before they read a document."""
    return (
        f"worker processes are ended before they read a document ({why}), as happens when memory runs out; try fewer "
        "workers"
    )


def cannot_start() -> str:
    """Return the message about workers that end by an error of Python before they are given anything to read."""
    return (
        "worker processes end as they start (exit status 1), for an error that standard error shows: a script is run "
        'again by each of them, so put its call under if __name__ == "__main__":, or give workers=0'
    )
