"""How long pages of many clusters, and of a deep chain of evidence, take to write and to open in Chromium.

    python benchmarks/page_size.py

Needs Chromium and its chromedriver. Every page is opened three times in a fresh profile, and the best figures count:
seconds until it has loaded, until something is painted, until all of it stands there, until the browser has answered to
the pointer over the first mention; and of opening, the seconds that the page's thread computed, which say more than the
others where many programs share a machine.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_corefel import AnnotatedDocument, Cluster, Mention
from hf_corefel.documents import Alternative, Parent
from hf_corefel.formats import render_html

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
QUIET += " --disable-component-update --disable-sync --hide-scrollbars --window-size=1280,1000"
TRIES = 3
TIMEOUT = 300
FRAMES = """
const done = arguments[0], start = performance.now();
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
"""
FIRST = """
const {x, y, width, height} = document.querySelector(".text .m").getBoundingClientRect();
arguments[0]([x + width / 2, y + height / 2]);
"""
OPENED = """
const done = arguments[0];
document.documentElement.offsetHeight;
requestAnimationFrame(() => requestAnimationFrame(() => {
  const [page] = performance.getEntriesByType("navigation");
  const paints = performance.getEntriesByType("paint").map(paint => paint.startTime);
  done({load: page.loadEventEnd / 1000, paint: Math.min(...paints) / 1000});
}));
"""
COLUMNS = ("load", "paint", "open", "point", "thread")


def many_clusters(clusters: int, mentions: int) -> AnnotatedDocument:
    """A text with so many clusters of so many mentions each, in turns, ten a line, with evidence and alternatives."""
    words, found = [], [[] for _ in range(clusters)]
    at = 0
    for number in range(clusters * mentions):
        cluster = number % clusters
        name = f"Name{cluster}"
        parent = Parent("entity", entity=name) if number < clusters else found[cluster][-1]
        if isinstance(parent, Mention):
            parent = Parent("mention", parent.begin, parent.end)
        found[cluster].append(Mention(at, at + len(name), None, 0.9, 0.8, 0.7, parent))
        words.append(f"{name} said that the talks would go on" + (",\n"[number % 10 == 9]))
        at += len(words[-1]) + 1
    others = tuple(Alternative(entity, 0.1) for entity in ("Somebody", None))
    made = [
        Cluster(tuple(group), f"Name{c}", 0.7, f"https://en.wikipedia.org/wiki/Name{c}", others)
        for c, group in enumerate(found)
    ]
    return AnnotatedDocument(" ".join(words), made, f"{clusters} clusters, {clusters * mentions} mentions")


def deep_chain(depth: int) -> AnnotatedDocument:
    """One cluster in which every mention hangs from the one before it."""
    document = many_clusters(1, depth)
    return AnnotatedDocument(document.text, document.clusters, f"a chain of {depth} mentions")


class Browser:
    """A Chromium under chromedriver's protocol (WebDriver), which is HTTP and JSON."""

    def __init__(self, address: str, binary: str, profile: str) -> None:
        options = {"binary": binary, "args": [*QUIET.split(), f"--user-data-dir={profile}"]}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self._address = address
        self._session = f"/session/{self._send('/session', wanted)['sessionId']}"

    def _send(self, path: str, body: Any = None, method: str = "POST") -> Any:
        data = None if method == "DELETE" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        self._send(f"{self._session}/url", {"url": url})

    def run(self, script: str) -> Any:
        return self._send(f"{self._session}/execute/async", {"script": script, "args": []})

    def computed(self) -> float:
        """Seconds that the page's thread has computed since it was made."""
        found = self._send(f"{self._session}/goog/cdp/execute", {"cmd": "Performance.getMetrics", "params": {}})
        return next(item["value"] for item in found["metrics"] if item["name"] == "TaskDuration")

    def count(self) -> None:
        """Begins to count them."""
        command = {"cmd": "Performance.enable", "params": {"timeDomain": "threadTicks"}}
        self._send(f"{self._session}/goog/cdp/execute", command)

    def point_at(self, x: int, y: int) -> None:
        moves = [{"type": "pointerMove", "duration": 0, "x": x, "y": y}]
        source = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        self._send(f"{self._session}/actions", {"actions": [source]})

    def console(self) -> list[str]:
        """What the browser complained of since it was asked last, such as what a policy kept out."""
        return [entry["message"] for entry in self._send(f"{self._session}/se/log", {"type": "browser"})]

    def close(self) -> None:
        self._send(self._session, method="DELETE")


@contextmanager
def driver(program: str) -> Iterator[str]:
    """Address of a chromedriver that runs while inside."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([program, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{address}/status", timeout=5).close()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def measure(address: str, binary: str, page: Path) -> dict[str, float]:
    """Seconds of one opening."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(address, binary, profile)
        try:
            browser.count()
            start = time.perf_counter()
            browser.open(page.as_uri())
            times = browser.run(OPENED)
            times |= {"open": time.perf_counter() - start, "thread": browser.computed()}
            x, y = browser.run(FIRST)
            start = time.perf_counter()
            browser.point_at(round(x), round(y))
            browser.run(FRAMES)
            return {**times, "point": time.perf_counter() - start}
        finally:
            browser.close()


def main() -> int:
    """Writes the pages, opens them, prints the table; returns the exit status."""
    binary, program = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if binary is None or program is None:
        print("needs Chromium and chromedriver, which are not installed", file=sys.stderr)
        return 1
    documents = [many_clusters(500, 4), many_clusters(5_000, 1), many_clusters(5_000, 4), deep_chain(5_000)]
    print(f"{'page':34}{'MB':>7}{'render':>8}{''.join(f'{name:>8}' for name in COLUMNS)}")
    with tempfile.TemporaryDirectory() as folder, driver(program) as address:
        for document in documents:
            spent = []
            for _ in range(TRIES):
                start = time.perf_counter()
                text = render_html([document])
                spent.append(time.perf_counter() - start)
            page = Path(folder) / "page.html"
            page.write_text(text, encoding="utf-8")
            tries = [measure(address, binary, page) for _ in range(TRIES)]
            best = "".join(f"{min(times[name] for times in tries):8.2f}" for name in COLUMNS)
            print(f"{document.id:34}{len(text) / 1e6:7.1f}{min(spent):8.2f}{best}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
