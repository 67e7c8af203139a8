"""Size and speed of a knowledge base of 1 million entities and 5 million surfaces.

    python benchmarks/knowledge_base.py [--surfaces 5000000] [--entities 1000000] [--keep FOLDER]

Builds it from a fixed seed, in a temporary folder unless told otherwise, and measures in fresh processes: how long
opening takes, with the checksums of all files compared and with those of the tries only, how much resident memory
opening and 10,000 look-ups add, and how many surfaces a second one thread looks up in batches of 2,000: surfaces that
are in the table, and their lower-cased forms through the fallback on case folding. Resident memory is that of the
process and counts the mapped pages that it touched: at most all of the alias table, since the kernel maps the pages
around each one that is read.
"""

# ruff: noqa: E402 - the number of threads must be set before numpy is imported

from __future__ import annotations

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hf_corefel.kb import KnowledgeBase

SEED = 7
VECTOR_SIZE = 16
ASKED = 200_000
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]
_CHUNK = 100_000

# Runs in a process of its own. argv: folder, file of surfaces.
MEASURE = """
import json, resource, sys, time
import numpy as np
from hf_corefel.kb import KnowledgeBase

PAGE = resource.getpagesize()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE / 1e6

def rate(surfaces, fallback):
    # Of one core: what the processor spent, the kernel's part included, so that other programs do not count.
    start, found = time.process_time(), 0
    for begin in range(0, len(surfaces), 2000):
        ids, _ = kb.lookup(surfaces[begin : begin + 2000], fallback=fallback)
        found += int(np.count_nonzero(ids[:, 0] >= 0))
    seconds = time.process_time() - start
    assert found == len(surfaces), (found, len(surfaces))
    return len(surfaces) / seconds

folder, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    surfaces = file.read().split("\\n")
lowered = [surface.lower() for surface in surfaces]
before = resident()
start = time.perf_counter()
kb = KnowledgeBase.from_pretrained(folder)
opened = time.perf_counter() - start
after_opening = resident()
start = time.perf_counter()
KnowledgeBase.from_pretrained(folder, check=False)
unchecked = time.perf_counter() - start
for begin in range(0, 10_000, 100):
    kb.lookup(surfaces[begin : begin + 100], fallback="none")
after_lookups = resident()
exact = max(rate(surfaces, "none") for _ in range(3))
after_all = resident()
print(json.dumps({
    "open_s": opened,
    "unchecked_s": unchecked,
    "open_mb": after_opening - before,
    "lookups_mb": after_lookups - before,
    "all_mb": after_all - before,
    "exact": exact,
    "casefold": max(rate(lowered, "casefold") for _ in range(3)),
    "torch": "torch" in sys.modules,
}))
"""


def words(random: np.random.Generator, count: int) -> np.ndarray:
    """Different made-up words, capitalised."""
    found: set[str] = set()
    while len(found) < count:
        lengths = random.integers(2, 5, size=count)
        drawn = random.integers(len(_SYLLABLES), size=int(lengths.sum())).tolist()
        begin = 0
        for length in lengths.tolist():
            found.add("".join(_SYLLABLES[i] for i in drawn[begin : begin + length]).title())
            begin += length
    return np.array(sorted(found)[:count], dtype=object)


def rows(surfaces: int, entities: int, seed: int = SEED) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Alias rows with different surfaces of one to three words; every entity is a candidate of at least one.

    A surface has 1.6 candidates on average; entities are drawn so that few are frequent, as in Wikipedia.
    """
    random = np.random.default_rng(seed)
    vocabulary = words(random, max(200, surfaces // 50))
    seen: set[str] = set()
    while len(seen) < surfaces:
        lengths = random.choice([1, 2, 2, 3], size=_CHUNK).tolist()
        drawn = iter(vocabulary[random.integers(len(vocabulary), size=sum(lengths))].tolist())
        counts = random.choice([0, 0, 0, 1, 2], size=_CHUNK).tolist()
        frequent = (entities * random.random(size=sum(counts)) ** 3).astype(np.int64).tolist()
        priors = random.random(size=sum(counts)).tolist()
        position = 0
        for length, count in zip(lengths, counts, strict=True):
            surface = " ".join(next(drawn) for _ in range(length))
            end = position + count
            if surface not in seen and len(seen) < surfaces:
                chosen = dict(zip(frequent[position:end], priors[position:end], strict=True))
                chosen[len(seen) % entities] = 0.9
                total = sum(chosen.values())
                seen.add(surface)
                yield surface, [(f"Entity_{entity:07d}", prior / total) for entity, prior in chosen.items()]
            position = end


def build(folder: Path, surfaces: int, entities: int) -> list[str]:
    """Saves the knowledge base, and returns up to 200,000 of its surfaces in random order."""
    random = np.random.default_rng(SEED + 1)
    names = [f"Entity_{entity:07d}" for entity in range(entities)]
    vectors = random.standard_normal((entities, VECTOR_SIZE), dtype=np.float32)
    kb = KnowledgeBase.build(rows(surfaces, entities), vectors=(names, vectors), fallback="casefold")
    kb.save_pretrained(folder)
    sample = list(itertools.islice(kb.surfaces(), 0, None, max(1, surfaces // ASKED)))[:ASKED]
    return [sample[i] for i in random.permutation(len(sample)).tolist()]


def measure(folder: Path, asked: Path) -> dict[str, float]:
    """Runs `MEASURE` in a fresh process."""
    command = [sys.executable, "-c", MEASURE, str(folder), str(asked)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(result.stdout.splitlines()[-1]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Builds, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surfaces", type=int, default=5_000_000)
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="build it there, or measure what is there already")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary) / "kb"
        asked = folder.with_name(f"{folder.name}.surfaces.txt")
        if not asked.is_file():
            start = time.perf_counter()
            surfaces = build(folder, options.surfaces, options.entities)
            asked.write_text("\n".join(surfaces), encoding="utf-8")
            print(f"build and save           {time.perf_counter() - start:10.1f} s")
        kb = KnowledgeBase.from_pretrained(folder)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"entities                 {kb.num_entities:10,}")
        print(f"surfaces                 {kb.num_surfaces:10,}")
        print(f"candidates               {kb.num_candidates:10,}")
        print(f"on disk                  {size:10.1f} MB")
        runs = [measure(folder, asked) for _ in range(3)]
        best = {
            key: min(run[key] for run in runs) for key in ("open_s", "unchecked_s", "open_mb", "lookups_mb", "all_mb")
        }
        print(f"open                     {best['open_s'] * 1000:10.1f} ms")
        print(f"open, check=False        {best['unchecked_s'] * 1000:10.1f} ms")
        print(f"memory, opened           {best['open_mb']:+10.1f} MB")
        print(f"memory, 10,000 look-ups  {best['lookups_mb']:+10.1f} MB")
        print(f"memory, all look-ups     {best['all_mb']:+10.1f} MB")
        print(f"look-ups, one core       {max(run['exact'] for run in runs):10,.0f} surfaces/s")
        print(f"look-ups that fall back  {max(run['casefold'] for run in runs):10,.0f} surfaces/s")
        print(f"torch imported           {'yes' if runs[0]['torch'] else 'no':>10}")


if __name__ == "__main__":
    main()
