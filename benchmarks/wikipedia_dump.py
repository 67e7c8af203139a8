"""Speed and memory of building a knowledge base from a dump of Wikipedia, on synthetic dumps of any size.

    python benchmarks/wikipedia_dump.py [--pages 50000] [--workers 2] [--length 8000] [--keep FOLDER]

Writes a multistream dump from a fixed seed: articles with an infobox, references, lists, a table and links, whose
targets' popularity follows Zipf's law, and redirects (four pages of ten). Links are as dense as in real articles
(one in 183 characters of wikitext, counted in an excerpt of the English Wikipedia), and lengths are log-normal with the
given mean. Then it builds a knowledge base of it in a process of its own, adds up the resident memory of that and its
workers ten times a second, and prints a table and a projection to the English Wikipedia: 7 million articles, 11
million redirects, and 75 GB of wikitext. Rates are those of a core: of the time that processors spent, which other
programs do not lengthen.

``--merge 1000000`` leaves the reading out: it writes the facts of so many articles, 30 links and two redirects each,
and measures merging and saving alone.
"""

from __future__ import annotations

import argparse
import bz2
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_corefel.wikipedia.occurrences import SAMPLED_ARTICLES
from hf_corefel.wikipedia.unit_facts import ALIASES, LINKS, PAGES

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
ARTICLES_OF_UNIT = 50_000
LINKS_OF_ARTICLE = 30
COUNTING = "Counting where surfaces are no links"
# Seconds, and seconds of processors, of each stage.
Times = dict[str, tuple[float, float]]
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]
_SMALL = ["the", "of", "and", "in", "to", "was", "is", "a", "for", "as", "on", "with", "by", "he", "that", "it", "at"]


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
        """The title of an article; some have a qualifier."""
        first, last = divmod(number, 997)
        name = f"{self._word(first + 120).capitalize()} {self._word(last + 120).capitalize()}"
        if number % 29 == 0:
            return f"{name} (band)"
        return f"{name}, {self._word(first % 50).capitalize()}" if number % 31 == 0 else name

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
        """The wikitext of an article."""
        title = self.title(number)
        length = max(400, int(self.draws.lognormal(np.log(self.length) - 0.5, 1.0)))
        kind, what = (
            ("person", "Bodan writer") if number % 3 == 0 else ("town", f"town of [[{self.title(number % 9)}]]")
        )
        return (
            f"{{{{Short description|{kind} of note}}}}\n"
            f"{{{{Infobox {kind}|name={title}|born=1950|place=[[{self.title(number % 97)}]]}}}}\n"
            f"'''{title}''' is a {what}. {self._sentences(min(length, 60_000))}\n== History ==\n"
            f'{{| class="wikitable"\n! A !! B\n|-\n| 1 || [[{self.title(number % 1009)}]]\n|}}\n'
            f"* [[{self.title(number % 211)}]]\n== See also ==\n* [[{self.title(0)}]]\n[[Category:Things]]"
        )

    def page(self, number: int) -> str:
        """The XML of a page; redirects are mixed with articles."""
        place = number // 10 * 6 + number % 10 - 4
        if number % 10 >= REDIRECTS * 10:
            text, title, redirect = self.article(place), self.title(place), ""
        else:
            target = self.title(int(np.searchsorted(self._targets, self.draws.random())))
            text, title = f"#REDIRECT [[{target}]]", f"{target.split()[0]} {self._word(number).upper()}"
            redirect = f'<redirect title="{target}" />'
        return PAGE.format(title=title, number=number, redirect=redirect, bytes=len(text), text=text)

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


def measured_run(what: str, source: Path, out: Path, workers: int) -> tuple[Times, float]:
    """Build in a process of its own; return what each stage took, and the peak of resident memory in MB."""
    times_file, peak = out.with_suffix(".times.json"), 0
    command = [sys.executable, __file__, "--inner", what, source, out, str(workers), times_file]
    process = psutil.Popen(command)
    while process.poll() is None:
        with suppress(psutil.Error):
            family = (process, *process.children(recursive=True))
            peak = max(peak, sum(one.memory_info().rss for one in family))
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"the command failed with {process.returncode}")
    return json.loads(times_file.read_text()), peak / 1e6


def write_facts(folder: Path, articles: int) -> None:
    """Write what reading a dump of so many articles would give, to measure the merging alone at any size."""
    draws = np.random.default_rng(SEED)
    dump = Dump(10, 0)
    shares = dump._shares(articles)
    titles = pa.array([dump.title(article) for article in range(articles)])
    words = pa.array([dump._word(number) for number in range(1000)])
    for number, begin in enumerate(range(0, articles, ARTICLES_OF_UNIT)):
        unit = folder / f"pages-{number:05d}"
        unit.mkdir(parents=True)
        own = titles[begin : begin + ARTICLES_OF_UNIT]
        targets = titles.take(pa.array(np.searchsorted(shares, draws.random(len(own) * LINKS_OF_ARTICLE))))
        # The first half of the links has the title as its text, others one of some hundred texts a target.
        half = len(targets) // 2
        other = words.take(pa.array(draws.zipf(1.5, len(targets) - half) % 300))
        surfaces = pa.concat_arrays([targets[:half], pc.binary_join_element_wise(targets[half:], other, " ")])
        links = pa.table({"surface": surfaces, "target": targets}).group_by(["surface", "target"])
        twice = pa.concat_arrays([own, own])
        ending = words.take(pa.array(np.arange(len(twice)) % 997))
        redirects = pc.binary_join_element_wise(twice, pc.utf8_upper(ending), " ")
        size, more = len(own), len(twice)
        places = (np.int64(number) << 40) + np.arange(size + more)
        pages = {
            "place": places,
            "page_id": places,
            "title": pa.concat_arrays([own, redirects]),
            "kind": ["article"] * size + ["redirect"] * more,
            "target": pa.concat_arrays([pa.nulls(size, pa.string()), twice]),
            "description": pa.concat_arrays([pc.binary_repeat(own, 15), pa.nulls(more, pa.string())]),
            "type": ["place"] * size + [None] * more,
        }
        names = {
            "surface": pages["title"],
            "title": pages["title"],
            "source": ["titles"] * size + ["redirects"] * more,
            "weight": [1000] * size + [500] * more,
        }
        counted = links.aggregate([([], "count_all")]).rename_columns(["surface", "target", "count"])
        pq.write_table(pa.table(pages, schema=PAGES), unit / "pages.parquet", compression="zstd")
        pq.write_table(pa.table(names, schema=ALIASES), unit / "aliases.parquet", compression="zstd")
        pq.write_table(counted.cast(LINKS), unit / "links.parquet", compression="zstd")
        totals = {"pages": size + more, "articles": size, "links": len(targets)}
        (unit / "summary.json").write_text(json.dumps({"totals": totals, "problems": {}}))


def main() -> None:
    """Write, build, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--length", type=int, default=8000, help="Mean characters of an article.")
    parser.add_argument("--merge", type=int, metavar="ARTICLES", help="Measure the merging of so many articles alone.")
    parser.add_argument("--keep", type=Path, help="A folder for the dump and the knowledge base; they stay there.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.merge:
            facts, out = folder / f"facts-{arguments.merge}", folder / f"kb-facts-{arguments.merge}"
            if not facts.exists():
                write_facts(partial := facts.with_suffix(".part"), arguments.merge)
                partial.rename(facts)
            print_merging(*measured_run("merge", facts, out, arguments.workers), out)
            return
        name = f"pages-{arguments.pages}-{arguments.length}"
        dump, out = folder / f"{name}.xml.bz2", folder / f"kb-{name}"
        if not dump.exists():
            partial = dump.with_suffix(".part")
            size = write_dump(partial, arguments.pages, arguments.length)
            partial.rename(dump)
            dump.with_suffix(".json").write_text(json.dumps({"characters": size}))
        size = json.loads(dump.with_suffix(".json").read_text())["characters"]
        print_all(*measured_run("build", dump, out, arguments.workers), out, size / 1e6)


def print_merging(times: Times, peak: float, out: Path) -> None:
    """Print what the merging took."""
    report = json.loads((out / "report.json").read_text())
    print(f"{report['entities']:,} entities, {report['surfaces']:,} surfaces, {report['candidates']:,} candidates")
    print(f"of {report['read']['links']:,} links and {report['redirects']:,} redirects")
    for name, (seconds, processor) in times.items():
        print(f"{name}: {seconds:,.0f} s, {processor:,.0f} s of processors")
    print(f"peak of resident memory {peak:,.0f} MB")


def print_all(times: Times, peak: float, out: Path, megabytes: float) -> None:
    """Print what reading and merging took, and what they would take of the English Wikipedia."""
    print_merging(times, peak, out)
    report = json.loads((out / "report.json").read_text())
    pages, articles = report["read"]["pages"], report["read"]["articles"]
    core = times["Reading"][1]
    print(f"\n{pages:,} pages ({articles:,} articles), {megabytes:,.0f} MB of XML")
    print(f"a second and core: {pages / core:,.0f} pages, {articles / core:,.0f} articles, {megabytes / core:,.2f} MB")
    # The sample that is counted does not grow with the dump, and is counted by all cores; the rest is by one here.
    counting = times[COUNTING][1] * SAMPLED_ARTICLES / min(articles, report["sampled articles"])
    others = {name: used for name, (_, used) in times.items() if name not in ("Reading", COUNTING)}
    merging = sum(others.values()) * ARTICLES / articles
    print("\n| cores | reading 7 M articles | merging and saving | together |\n|---:|---:|---:|---:|")
    for cores in CORES:
        read = WIKITEXT_MB / (megabytes / core) / cores / 3600
        rest = (merging + counting / cores) / 3600
        print(f"| {cores} | {read:,.1f} h | {rest:,.1f} h | {read + rest:,.1f} h |")


def inner(what: str, source: str, out: str, workers: str, times_file: str) -> None:
    """What the measured process does: build, and note when each stage began."""
    from hf_corefel.wikipedia.base_building import BaseOptions, Step, build_base
    from hf_corefel.wikipedia.from_dump import build_from_wikipedia
    from hf_corefel.wikipedia.work_folder import WorkFolder

    begun: list[tuple[str, float, float]] = []

    def stage(step: Step) -> None:
        if not begun or begun[-1][0] != step.name:
            used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            processor = sum(one.ru_utime + one.ru_stime for one in used)
            begun.append((step.name, time.perf_counter(), processor))

    stage(Step("Reading"))
    if what == "build":
        build_from_wikipedia([source], out, workers=int(workers), stage=stage)
    else:
        work = WorkFolder(Path(out).with_suffix(".work"), {})
        for unit in Path(source).iterdir():
            if not work.is_done(unit.name):
                work.unit(unit.name).symlink_to(unit.resolve())
        names = sorted(unit.name for unit in Path(source).iterdir())
        build_base(Path(out), work, names, {}, BaseOptions(workers=int(workers)), stage)
    stage(Step("end"))
    times: Times = {}
    for (name, start, used), (_, end, used_then) in pairwise(begun):
        seconds, processor = times.get(name, (0.0, 0.0))
        times[name] = (seconds + end - start, processor + used_then - used)
    Path(times_file).write_text(json.dumps(times))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inner"]:
        inner(*sys.argv[2:])
    else:
        main()
