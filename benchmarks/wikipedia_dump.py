"""Speed and memory of building a knowledge base from a dump of Wikipedia, on synthetic dumps of any size.

    python benchmarks/wikipedia_dump.py [--pages 50000] [--workers 2] [--length 8000] [--keep FOLDER]

Writes a multistream dump from a fixed seed: articles with an infobox, references, lists, a table and links, of which the
popularity of the targets follows Zipf's law, and redirects (four pages of ten). Links are as dense as in real articles
(one in 183 characters of wikitext, counted in an excerpt of the English Wikipedia), and lengths are log-normal with the
given mean. Then it runs ``hf-corefel kb from-wikipedia`` in a process of its own, adds up the resident memory of it and
its workers ten times a second, and prints a table and a projection to the English Wikipedia: 7 million articles, 11
million redirects, and 75 GB of wikitext.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

SEED = 7
PAGES_OF_STREAM = 100
CHARACTERS_OF_LINK = 183
REDIRECTS = 0.4
HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname><base>https://en.wikipedia.org/wiki/Main_Page</base>
<case>first-letter</case><namespaces><namespace key="0" case="first-letter" />
<namespace key="14" case="first-letter">Category</namespace></namespaces></siteinfo>
"""
PAGE = """<page><title>{title}</title><ns>0</ns><id>{number}</id>{redirect}<revision><id>{number}</id>
<text bytes="{bytes}" xml:space="preserve">{text}</text></revision></page>
"""
# The English Wikipedia of the middle of the twenties, roughly.
ARTICLES, ALL_PAGES, WIKITEXT_MB = 7_000_000, 18_000_000, 75_000
CORES = (2, 16, 64)
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]
_SMALL = "the of and in to was is a for as on with by he that it at from his an were which also be this or".split()


class Dump:
    """Titles and texts from a fixed seed."""

    def __init__(self, pages: int, length: int) -> None:
        self.pages, self.length = pages, length
        self.draws = np.random.default_rng(SEED)
        self.articles = int(pages * (1 - REDIRECTS))
        self._words = np.array([*_SMALL, *(self._word(i) for i in range(20_000))])
        # The rank of a word or an article is its number; the weight of rank r is 1 / r.
        self._targets = self._shares(self.articles)

    @staticmethod
    def _word(number: int) -> str:
        parts = []
        while number or not parts:
            number, syllable = divmod(number, len(_SYLLABLES))
            parts.append(_SYLLABLES[syllable])
        return "".join(parts)

    @staticmethod
    def _shares(size: int) -> np.ndarray:
        shares = np.cumsum(1 / np.arange(1, size + 1))
        return shares / shares[-1]

    def title(self, number: int) -> str:
        first, last = divmod(number, 997)
        name = f"{self._word(first + 120).capitalize()} {self._word(last + 120).capitalize()}"
        return f"{name} (band)" if number % 29 == 0 else f"{name}, {self._word(first % 50).capitalize()}" if number % 31 == 0 else name

    def _sentences(self, characters: int) -> str:
        """Running text with a link every so often."""
        parts, size = [], 0
        while size < characters:
            words = self._words[(self.draws.zipf(1.3, 400) - 1) % len(self._words)]
            targets = np.searchsorted(self._targets, self.draws.random(14))
            for i, target in enumerate(targets.tolist()):
                piece = " ".join(words[i * 28 : i * 28 + 24])
                title = self.title(target)
                last = title.partition(" (")[0].split()[-1]
                link = f"[[{title}]]" if target % 3 else f"[[{title}|{last}]]"
                part = f"{piece.capitalize()} {link}. "
                if i % 5 == 0:
                    part += f"&lt;ref&gt;{{{{cite book|title={piece[:40]}|year=1999|isbn=0-123}}}}&lt;/ref&gt;\n\n"
                parts.append(part)
                size += len(part)
                if size >= characters:
                    break
        return "".join(parts)

    def article(self, number: int) -> str:
        title = self.title(number)
        length = max(400, int(self.draws.lognormal(np.log(self.length) - 0.5, 1.0)))
        kind = "person" if number % 3 == 0 else "settlement"
        lead = f"'''{title}''' is a {'Bodan writer' if number % 3 == 0 else 'town in [[' + self.title(number % 50) + ']]'}."
        head = f"{{{{Short description|{kind} of note}}}}\n{{{{Infobox {kind}|name={title}|born=1950|place=[[{self.title(number % 97)}]]}}}}\n"
        body = self._sentences(min(length, 60_000))
        table = '{| class="wikitable"\n! A !! B\n|-\n| 1 || [[' + self.title(number % 1009) + "]]\n|}\n"
        return f"{head}{lead} {body}\n== History ==\n{table}* [[{self.title(number % 211)}]]\n== See also ==\n* [[{self.title(0)}]]\n[[Category:Things]]"

    def page(self, number: int) -> str:
        """The XML of a page; redirects are mixed with articles."""
        if number % 10 < REDIRECTS * 10:
            target = self.title(int(np.searchsorted(self._targets, self.draws.random())))
            title = f"{target.split()[0]} {self._word(number).upper()}"
            text = f"#REDIRECT [[{target}]]"
            return PAGE.format(title=title, number=number, redirect=f'<redirect title="{target}" />', bytes=len(text), text=text)
        place = number // 10 * 6 + number % 10 - 4
        text = self.article(place)
        return PAGE.format(title=self.title(place), number=number, redirect="", bytes=len(text), text=text)

    def streams(self) -> Iterator[str]:
        """The parts of a multistream dump: the head, a hundred pages each, the end."""
        yield HEAD
        for begin in range(0, self.pages, PAGES_OF_STREAM):
            yield "".join(self.page(number) for number in range(begin, min(begin + PAGES_OF_STREAM, self.pages)))
        yield "</mediawiki>\n"


def write_dump(path: Path, pages: int, length: int) -> int:
    """Write a dump; return its size in characters of XML."""
    size = 0
    with path.open("wb") as file:
        for part in Dump(pages, length).streams():
            encoded = part.encode()
            size += len(encoded)
            file.write(bz2.compress(encoded, 5))
    return size


def measured_run(command: list[str]) -> tuple[float, float, list[tuple[float, str]]]:
    """Run a command; return seconds, the peak of resident memory in MB of it and its children, and what it reported."""
    start, peak = time.perf_counter(), 0
    process = psutil.Popen(command)
    while process.poll() is None:
        total = 0
        try:
            for one in (process, *process.children(recursive=True)):
                total += one.memory_info().rss
        except psutil.Error:
            pass
        peak = max(peak, total)
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"the command failed with {process.returncode}")
    return time.perf_counter() - start, peak / 1e6, []


def main() -> None:
    """Write, build, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--length", type=int, default=8000, help="Mean characters of an article.")
    parser.add_argument("--keep", type=Path, help="A folder for the dump and the knowledge base; they stay there.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        dump, out = folder / f"pages-{arguments.pages}-{arguments.length}.xml.bz2", folder / f"kb-{arguments.pages}-{arguments.length}"
        if not dump.exists():
            partial = dump.with_suffix(".part")
            start = time.perf_counter()
            size = write_dump(partial, arguments.pages, arguments.length)
            os.replace(partial, dump)
            dump.with_suffix(".json").write_text(json.dumps({"characters": size}))
            print(f"wrote {dump.name}: {size / 1e6:,.0f} MB of XML in {time.perf_counter() - start:,.0f} s", flush=True)
        size = json.loads(dump.with_suffix(".json").read_text())["characters"]
        build(dump, size, out, arguments.workers)


def build(dump: Path, size: int, out: Path, workers: int) -> None:
    """Run the command and print the tables."""
    report_file = out.with_suffix(".times.json")
    command = [sys.executable, __file__, "--inner", str(dump), str(out), str(workers), str(report_file)]
    seconds, peak, _ = measured_run(command)
    times = json.loads(report_file.read_text())
    report = json.loads((out / "report.json").read_text())
    reading = times.pop("Reading")
    merging = sum(times.values())
    pages, articles = report["read"]["pages"], report["read"]["articles"]
    megabytes = size / 1e6
    core = reading * workers
    print(f"\n{pages:,} pages ({articles:,} articles), {megabytes:,.0f} MB of XML, {workers} workers")
    print(f"{report['entities']:,} entities, {report['surfaces']:,} surfaces, {report['candidates']:,} candidates")
    print(f"reading: {reading:,.0f} s; {pages / core:,.0f} pages, {articles / core:,.0f} articles and {megabytes / core:,.2f} MB a second and core")
    print(f"merging and saving: {merging:,.0f} s: " + ", ".join(f"{name} {value:,.0f}" for name, value in times.items()))
    print(f"whole: {seconds:,.0f} s; peak of resident memory {peak:,.0f} MB\n")
    print("| cores | reading 7 M articles | merging and saving | together |\n|---:|---:|---:|---:|")
    for cores in CORES:
        read = WIKITEXT_MB / (megabytes / core) / cores / 3600
        merge = merging * ARTICLES / articles / 3600
        print(f"| {cores} | {read:,.1f} h | {merge:,.1f} h | {read + merge:,.1f} h |")


def inner(dump: str, out: str, workers: str, report_file: str) -> None:
    """What the measured process does: build, and note when each stage began."""
    from hf_corefel.wikipedia.from_dump import build_from_wikipedia

    begun: list[tuple[str, float]] = []

    def stage(step: object) -> None:
        name = getattr(step, "name")  # noqa: B009
        if not begun or begun[-1][0] != name:
            begun.append((name, time.perf_counter()))

    begun.append(("Reading", time.perf_counter()))
    build_from_wikipedia([dump], out, workers=int(workers), stage=stage)
    begun.append(("end", time.perf_counter()))
    times: dict[str, float] = {}
    for (name, start), (_, end) in zip(begun, begun[1:], strict=False):
        times[name] = times.get(name, 0.0) + end - start
    Path(report_file).write_text(json.dumps(times))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inner"]:
        inner(*sys.argv[2:])
    else:
        main()
