"""What a job of many documents costs a core, measured here, and from that a plan for any number of them.

    python benchmarks/many_documents.py [--words 600] [--documents 24] [--plan 1_000_000_000] [--model FOLDER]

Documents of so many words (news and a report of examples/data, in turns) go through `annotate_many` in one process with
one thread, best of three runs. Seconds are those that the process computed, which other programs on the machine hardly
change. Reading and cutting the input, which one task does for a whole cluster, is measured by itself. A price is not
known here: multiply the core hours by yours.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

from hf_corefel import annotate_many
from hf_corefel.bulk.inputs import Inputs
from hf_corefel.bulk.job import SHARD_SIZE
from hf_corefel.bulk.shards import cut_and_checked
from hf_corefel.bulk.sources import Reading
from hf_corefel.documents.extra_fields import ExtraFields

DATA = Path(__file__).parents[1] / "examples" / "data"
RUNS = 3
READ = 20_000  # documents that are read and cut without being annotated


class Figures(NamedTuple):
    """What was measured.

    Attributes:
        words: Words of a document.
        seconds: Of one core, a document.
        read: Documents that one process reads and cuts a second.
        bytes_in: Of JSON lines, a document.
        bytes_out: Of results as compressed JSON lines, a document.
        private: MiB of memory that each process has for itself.
        mapped: MiB of files that the processes of a machine share in memory, such as those of the knowledge base.
    """

    words: int
    seconds: float
    read: float
    bytes_in: float
    bytes_out: float
    private: float
    mapped: float


def text_of(words: int, number: int) -> str:
    """A text of so many words; texts of other numbers begin elsewhere."""
    found = " ".join((DATA / name).read_text(encoding="utf-8") for name in ("news.txt", "long_report.txt")).split(" ")
    begin = number * 37 % len(found)
    turned = found[begin:] + found[:begin]
    return " ".join((turned * (words // len(turned) + 1))[:words])


def computed(work: Callable[[], Any]) -> float:
    """Seconds that this process computes for something."""
    began = time.process_time()
    work()
    return time.process_time() - began


def memory() -> tuple[float, float]:
    """MiB of this process that are its own, and those of files mapped into memory (Linux; zeros elsewhere)."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0, 0.0
    found = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
    return int(found["RssAnon"].split()[0]) / 1024, int(found["RssFile"].split()[0]) / 1024


def measure(words: int, documents: int, model: str | None, folder: Path) -> Figures:
    """The figures of documents of so many words."""
    from hf_corefel import load_pipeline

    file = folder / "in.jsonl"
    lines = [json.dumps({"id": number, "text": text_of(words, number)}) + "\n" for number in range(documents)]
    file.write_text("".join(lines), encoding="utf-8")
    pipeline = load_pipeline(model)
    pipeline(text_of(words, 0))
    seconds = []
    for run in range(RUNS):
        output = folder / f"out-{run}"
        seconds.append(
            computed(lambda: annotate_many([file], output, workers=0, pipeline=pipeline, format="jsonl.gz"))  # noqa: B023
        )
    private, mapped = memory()
    written = sum(path.stat().st_size for path in output.glob("part-*"))
    many = folder / "many.jsonl"
    with many.open("w", encoding="utf-8") as opened:
        for number in range(READ):
            opened.write(lines[number % documents])
    source = Inputs([many], Reading(), ExtraFields(print), without=folder / "none")
    reading = computed(lambda: list(map(len, cut_and_checked(source, SHARD_SIZE, {}, folder))))
    return Figures(
        words,
        min(seconds) / documents,
        READ / reading,
        sum(map(len, lines)) / documents,
        written / documents,
        private,
        mapped,
    )


def plan(figures: Figures, documents: int) -> list[tuple[str, str]]:
    """What so many documents take, as lines of a table."""
    hours = documents * figures.seconds / 3600
    return [
        ("core hours", f"{hours:,.0f}"),
        ("days on 1,000 cores", f"{hours / 1000 / 24:,.1f}"),
        ("cores that one reader keeps busy", f"{figures.read * figures.seconds:,.0f}"),
        ("input, JSON lines", f"{documents * figures.bytes_in / 1e12:,.2f} TB"),
        ("results, .jsonl.gz", f"{documents * figures.bytes_out / 1e12:,.2f} TB"),
        (f"shards of {SHARD_SIZE:,}", f"{-(-documents // SHARD_SIZE):,}"),
        ("size of a shard", f"{SHARD_SIZE * figures.bytes_out / 1e6:,.1f} MB"),
        ("core hours of a shard, at most lost with a worker", f"{SHARD_SIZE * figures.seconds / 3600:,.2f}"),
        ("memory of 16 workers", f"{(16 * figures.private + figures.mapped) / 1024:,.1f} GiB"),
    ]


def main() -> None:
    """Measures and prints the figures, and the plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=600)
    parser.add_argument("--documents", type=int, default=24)
    parser.add_argument("--plan", type=int, default=1_000_000_000)
    parser.add_argument("--model")
    asked = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked.words, asked.documents, asked.model, Path(folder))
    print(f"documents of {found.words:,} words, one core:")
    print(f"  {1 / found.seconds:,.2f} documents/s ({found.seconds:.3f} s each)")
    print(f"  {found.read:,.0f} documents/s are read and cut")
    print(f"  {found.bytes_in:,.0f} bytes in, {found.bytes_out:,.0f} bytes out")
    print(f"  {found.private:,.0f} MiB of a process itself, {found.mapped:,.0f} MiB of files shared on a machine")
    print(f"{asked.plan:,} documents:")
    for name, value in plan(found, asked.plan):
        print(f"  {name}: {value}")


if __name__ == "__main__":
    main()
