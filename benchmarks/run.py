"""Measure how fast everything is, as ratios within one run, and store them for docs/performance.md.

    python benchmarks/run.py [--only a,d] [--fcoref FOLDER] [--output FILE]
    python benchmarks/report.py                # writes docs/performance.md

One thread; each ratio is of the least processor's time of calls that take turns. Tables that are not measured stay as
they were. F-coref's model comes from its own package, installed into a folder of its own:
``pip install --no-deps --target FOLDER fastcoref``; without one, its row is left out.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import Row  # noqa: I001 - it sets the number of threads, before torch is imported

import other_models
import pipeline_ratios
import starting
import torch
import transformers
import tree_ratios
import where_time_goes

STORED = Path(__file__).resolve().parent / "performance.json"


def measures(fcoref: str | None) -> dict[str, Callable[[], Iterable[Row]]]:
    """Return what measures each table, by its letter."""
    return {
        "a": lambda: chain(pipeline_ratios.inference(), pipeline_ratios.batches()),
        "b": tree_ratios.trees,
        "c": lambda: other_models.others(fcoref),
        "d": pipeline_ratios.training,
        "e": starting.starting,
        "f": starting.knowledge_base,
        "g": where_time_goes.where_time_goes,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is asked for, prints every ratio when it is known, and stores them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="letters of tables, such as a,d; all by default")
    parser.add_argument("--fcoref", metavar="FOLDER", help="where fastcoref was installed")
    parser.add_argument("--output", type=Path, default=STORED, help="where the ratios are stored, as JSON")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    known = measures(given.fcoref)
    wanted = given.only.split(",") if given.only else list(known)
    stored: dict[str, Any] = json.loads(given.output.read_text(encoding="utf-8")) if given.output.exists() else {}
    stored["versions"] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    for letter in wanted:
        rows: list[dict[str, Any]] = []
        for row in known[letter]():
            rows.append({**row._asdict(), "ratio": round(row.ratio, 3)})
            print(f"{row.group}  {row.ratio:8.3f}  {row.target:7}  {row.what}  |  {row.beside}", flush=True)
            stored.setdefault("tables", {})[letter] = rows
            given.output.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
