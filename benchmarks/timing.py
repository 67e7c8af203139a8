"""Times of calls that take turns, on one thread: what the processor spent, so that other programs do not count."""

# ruff: noqa: E402 - the number of threads must be set before numpy and torch are imported

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Row", "best", "child", "text"]

REPORT = Path(__file__).resolve().parents[1] / "examples" / "data" / "long_report.txt"


class Row(NamedTuple):
    """A figure of the table.

    Attributes:
        group: The letter of its table.
        what: What was measured.
        beside: What it is compared with.
        ratio: How many times as much it takes; of figures that are no ratio, the figure.
        target: What it should be, "" where nothing is said.
    """

    group: str
    what: str
    beside: str
    ratio: float
    target: str = ""


def best(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the least seconds of each call, which take turns; each runs once before."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if number:
                times[name].append(time.process_time() - start)
    return {name: min(values) for name, values in times.items()}


def child(code: Sequence[str]) -> tuple[float, float]:
    """Return the processor's seconds, and MiB of memory at most, of a Python process with these arguments."""
    command = [sys.executable, "-c", WATCH, *code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, memory = done.stdout.split()[-2:]
    return float(seconds), float(memory)


# Runs a process of Python and says what it took; a process of its own, for the system tells the most of all children.
WATCH = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))
"""


def text(words: int, seed: int = 0) -> str:
    """Return so many words of a report, from another one on for each seed, over and over where it is too short."""
    read = REPORT.read_text(encoding="utf-8").split()
    return " ".join(read[(41 * seed + number) % len(read)] for number in range(words))
