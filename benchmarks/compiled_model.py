"""What ``torch.compile`` gains on the model, and what it costs: ``python benchmarks/compiled_model.py``.

Forward passes of the bundled checkpoint over documents of news, on one thread. Eager and compiled passes take turns, so
that what else the machine does meets both; the ratio is that of their medians.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.utils import counters

from hf_corefel.pipeline_corefel import load_pipeline

LENGTHS = (100, 300, 600, 150, 450)
ROUNDS = 9
NAMES = ("Merkel", "Macron", "Berlin", "Paris", "NATO", "Poland", "Warsaw", "Brussels", "Germany")
FILLER = ("the", "minister", "said", "that", "talks", "about", "a", "plan", "would", "go", "on", "after", "the", "vote")


def document(length: int, seed: int = 0) -> str:
    """Returns a text of so many words, names among filler, in sentences."""
    draw = random.Random(seed)
    words = [draw.choice(NAMES if draw.random() < 0.15 else FILLER) for _ in range(length)]
    return " ".join(f"{word}." if i % 17 == 16 else word for i, word in enumerate(words))


def seconds(run: Callable[[], Any]) -> float:
    """Returns how long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@torch.no_grad()
def main() -> None:
    """Prints a line for every length, in the order in which the compiled model meets them."""
    torch.set_num_threads(1)
    annotate = load_pipeline()
    model = annotate.model
    compiled = torch.compile(model, dynamic=True)
    print("  words    eager  compiled  ratio  first pass  graphs in all")
    for length in LENGTHS:
        batches = [annotate.processor(document(length, seed)) for seed in range(3)]
        model(**batches[0])
        first = seconds(lambda batch=batches[0]: compiled(**batch))
        for batch in batches:
            compiled(**batch)
        times: dict[str, list[float]] = {"eager": [], "compiled": []}
        for turn in range(ROUNDS):
            batch = batches[turn % len(batches)]
            times["eager"].append(seconds(lambda batch=batch: model(**batch)))
            times["compiled"].append(seconds(lambda batch=batch: compiled(**batch)))
        eager, fast = (statistics.median(times[name]) for name in ("eager", "compiled"))
        graphs = counters["stats"]["unique_graphs"]
        print(f"{length:7d} {eager:7.3f}s {fast:8.3f}s {eager / fast:6.2f} {first:10.1f}s {graphs:14d}", flush=True)


if __name__ == "__main__":
    main()
