"""Several clients at a service for a while: is anything lost or out of order, and how long does an answer take?

    python benchmarks/serving_load.py [--seconds 60] [--clients 8] [--documents 1]

It starts ``hf-corefel serve`` on this machine, asks one document after another for the time of a single call, then has
all clients ask at once, each again as soon as it is answered. Figures are multiples of the single call.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

TEXT = "Angela Merkel met Barack Obama in Berlin on {}. Merkel said that NATO would meet in Brussels."
_ANSWERING = re.compile(r"answering on (http://\S+) ")
_SINGLE_CALLS = 20


@dataclass
class Load:
    """What clients saw.

    Attributes:
        seconds: How long each request took.
        wrong: What was answered otherwise than it should have been.
        asked: How many documents were sent.
        answered: How many came back, each in its place.
    """

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    asked: int = 0
    answered: int = 0

    def percentile(self, percent: int) -> float:
        """Return the seconds in which so many percent of the requests were answered."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, len(self.seconds) * percent // 100)]


def ask(address: str, documents: Sequence[Any]) -> Any:
    """Return what the service answers to a list of documents."""
    body = json.dumps(documents).encode()
    request = urllib.request.Request(f"{address}/annotate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def put_under_load(address: str, clients: int, seconds: float, documents: int = 1, text: str = TEXT) -> Load:
    """Have clients ask a service for some seconds, each again as soon as it is answered.

    Args:
        address: Where the service answers.
        clients: How many there are.
        seconds: How long they go on.
        documents: Documents of a request.
        text: Their text, each with a name of its own for ``{}``.
    """
    load, lock = Load(), threading.Lock()
    until = time.monotonic() + seconds

    def client(number: int) -> None:
        turn = 0
        while time.monotonic() < until:
            sent = [
                {"text": text.format(f"{number}-{turn}-{i}"), "id": f"{number}-{turn}-{i}"} for i in range(documents)
            ]
            started = time.perf_counter()
            try:
                found = ask(address, sent)
            except OSError as error:
                found, problem = [], [f"{number}-{turn}: {error}"]
            else:
                problem = []
            spent = time.perf_counter() - started
            right = [(item["id"], item["text"]) for item in sent]
            came = [(item.get("id"), item.get("text")) for item in found]
            if not problem and came != right:
                problem = [f"{number}-{turn}: {came} in place of {right}"]
            with lock:
                load.seconds.append(spent)
                load.wrong += problem
                load.asked += documents
                load.answered += sum(a == b for a, b in zip(came, right, strict=False))
            turn += 1

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return load


def single_call(address: str, documents: int = 1, text: str = TEXT) -> float:
    """Return the median seconds of requests one after the other."""
    times = []
    for turn in range(_SINGLE_CALLS):
        started = time.perf_counter()
        ask(address, [text.format(f"{turn}-{i}") for i in range(documents)])
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def served(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of ``hf-corefel serve`` with these options on a free port, and its process, while inside."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hf_corefel", "serve", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    try:
        assert process.stderr is not None
        said = ""
        while (found := _ANSWERING.search(said)) is None:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"the service did not start: {said}")
            said += line
        yield found[1], process
    finally:
        process.kill()
        process.communicate()


def main() -> int:
    """Prints the figures; returns the exit status, which is 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--documents", type=int, default=1)
    given, options = parser.parse_known_args()
    with served(*options) as (address, _):
        single = single_call(address, given.documents)
        load = put_under_load(address, given.clients, given.seconds, given.documents)
    print(f"a single call: {single * 1000:.0f} ms")
    print(
        f"{given.clients} clients, {given.seconds:g} s: {load.asked} documents sent, {load.answered} answered in place"
    )
    print(
        f"documents a second: {load.answered / given.seconds * single / given.documents:.2f} times one after the other"
    )
    for percent in (50, 95, 99):
        print(f"p{percent}: {load.percentile(percent) / single:.2f} times a single call")
    print("\n".join(load.wrong[:5]), end="")
    return 1 if load.wrong or load.asked != load.answered else 0


if __name__ == "__main__":
    sys.exit(main())
