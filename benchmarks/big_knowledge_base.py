"""What a knowledge base of Wikipedia's size costs: ``python benchmarks/big_knowledge_base.py --folder SCRATCH``.

Writes a synthetic one by columns, in a process of its own whose peak memory is measured, and opens it in others: how
long opening takes with the files in the page cache, and what 10,000 look-ups take of the processor, of names that it
has, has in other letter case, and lacks. ``--entities 7000000 --surfaces 25000000`` is the size of the English
Wikipedia. The folder takes about 1.3 GB then; ``--keep`` leaves it there.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hf_corefel.kb import KnowledgeBase
from hf_corefel.kb.columns import Columns, write_columns

WORDS = 20_000
LOOKUPS = 10_000


def vocabulary() -> list[str]:
    """Returns words of two to four syllables, ascending."""
    draw, words = random.Random(0), set[str]()
    while len(words) < WORDS:
        syllables = (draw.choice("bcdfghjklmnprstvwz") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
        words.add("".join(syllables).capitalize())
    return sorted(words)


def names(count: int, joint: str) -> Iterator[str]:
    """Yields names of two words, ascending, none twice."""
    words, draw = vocabulary(), random.Random(1)
    for number, first in enumerate(words):
        seconds = count * (number + 1) // WORDS - count * number // WORDS
        for second in sorted(draw.sample(words, seconds)):
            yield f"{first}{joint}{second}"


def write(folder: Path, entities: int, surfaces: int) -> None:
    """Writes the knowledge base: one candidate a surface, two of each third one, with Zipf's popularity."""
    draw = np.random.default_rng(0)
    lengths = np.ones(surfaces, dtype=np.uint64)
    lengths[::3] = 2
    offsets = np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths)])
    total = int(offsets[-1])
    numbers = np.empty(total, dtype=np.uint32)
    for begin in range(0, total, 1 << 20):
        part = numbers[begin : begin + (1 << 20)]
        part[:] = (entities * draw.random(len(part)) ** 3).astype(np.uint32)
    firsts = offsets[:-1:3].astype(np.int64)
    numbers[firsts + 1] = (numbers[firsts] + 1) % entities
    priors = draw.random(total, dtype=np.float32) / 2
    write_columns(
        folder,
        Columns(
            names(entities, "_"),
            names(surfaces, " "),
            offsets,
            numbers,
            priors,
            descriptions=(f"the {number:,}th of {entities:,} things that are known" for number in range(entities)),
            wikidata=(f"Q{number + 1}" for number in range(entities)),
            types=("place" if number % 3 else "person" for number in range(entities)),
            links=np.arange(entities, dtype=np.int32)[::-1],
            redirects=((number, f"Old {number:08}") for number in range(0, entities, 2)),
            provenance={"source": "benchmarks/big_knowledge_base.py"},
        ),
    )


def ask(folder: Path) -> dict[str, float]:
    """Returns how long opening and looking up take, in seconds."""
    start = time.perf_counter()
    kb = KnowledgeBase.from_pretrained(folder)
    opened = time.perf_counter() - start
    draw = random.Random(2)
    known = [kb._tables.aliases.surfaces.restore_key(draw.randrange(kb.num_surfaces)) for _ in range(LOOKUPS)]
    asked = {"known": known, "other case": [name.upper() for name in known], "unknown": [f"{n} x" for n in known]}
    took = {"opening": opened}
    for what, surfaces in asked.items():
        for turn in ("first", "again"):
            start = time.process_time()
            kb.lookup(surfaces)
            took[f"{what}, {turn}"] = time.process_time() - start
    start = time.process_time()
    for name in known:
        kb.candidates(name)
    took["one by one"] = time.process_time() - start
    took["peak GB"] = peak()
    return took


def peak() -> float:
    """Returns the most memory that this process had, in GB; pages of mapped files count."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def apart(*arguments: str) -> dict[str, float]:
    """Returns what this program says in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="A scratch folder, made and removed.")
    parser.add_argument("--entities", type=int, default=700_000)
    parser.add_argument("--surfaces", type=int, default=2_500_000)
    parser.add_argument("--keep", action="store_true", help="Leave the folder there, and use one that is there.")
    parser.add_argument("--step", choices=("write", "ask"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step == "write":
        start = time.perf_counter()
        write(given.folder, given.entities, given.surfaces)
        print(json.dumps({"seconds": time.perf_counter() - start, "peak GB": peak()}))
    elif given.step == "ask":
        print(json.dumps(ask(given.folder)))
    else:
        sizes = ("--folder", str(given.folder), "--entities", str(given.entities), "--surfaces", str(given.surfaces))
        print(f"{given.entities:,} entities, {given.surfaces:,} surfaces")
        if not (given.folder / "kb_config.json").exists():
            written = apart(*sizes, "--step", "write")
            print(f"  writing            {written['seconds']:8.1f} s    {written['peak GB']:.2f} GB at most")
        size = sum(path.stat().st_size for path in given.folder.iterdir()) / 1e9
        print(f"  folder             {size:8.2f} GB")
        for turn in ("first opening", "page cache warm"):
            print(f"  {turn}")
            for what, took in apart(*sizes, "--step", "ask").items():
                unit, scale = {"opening": ("s", 1.0), "peak GB": ("GB", 1.0)}.get(what, ("µs a name", 1e6 / LOOKUPS))
                print(f"    {what:18}{took * scale:8.2f} {unit}")
        if not given.keep:
            shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
