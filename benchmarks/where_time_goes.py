"""The parts of a call, of a training step and of the command, beside the encoder alone or the imports alone."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from pipeline_ratios import encoder_alone, losses, whole, windows_of
from starting import IMPORTS, SHORT
from timing import Row, best, text

from hf_corefel.long_documents import scoring
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

BEFORE = "words, subwords, spans, candidates"
ENCODER = "the encoder within the pipeline"
SPANS = "span vectors, mention scores, retained spans"
ENTITIES = "scores of entities"
PAIRS = "scores of pairs"
REST = "features of pairs, and all else"
AFTER = "tree, probabilities, result"
BACKWARD = "the backward pass of all of it"
MODULE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


class Clock:
    """Adds up what the parts of a call take, each without the parts within it.

    Attributes:
        seconds: Seconds of the processor, by part.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._within: list[float] = []

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call whose time is added to a part."""

        @wraps(call)
        def measured(*arguments: Any, **named: Any) -> Any:
            self._within.append(0.0)
            start = time.process_time()
            try:
                return call(*arguments, **named)
            finally:
                spent = time.process_time() - start
                self.seconds[part] += spent - self._within.pop()
                if self._within:
                    self._within[-1] += spent

        return measured


@contextmanager
def watched(pipeline: CorefELPipeline) -> Iterator[Clock]:
    """Time the parts of a pipeline, and of its model, meanwhile."""
    clock, model = Clock(), pipeline.model
    places: list[tuple[str, Any, str]] = [
        (BEFORE, pipeline, "preprocess"),
        (ENCODER, model.encoder, "forward"),
        (SPANS, model, "prune"),
        (SPANS, scoring, "read_spans"),
        (ENTITIES, model.entities, "forward"),
        (PAIRS, model.pairs, "forward"),
        (PAIRS, scoring, "_pairs_to_score"),
        (PAIRS, scoring, "score_pair_list"),
        (BACKWARD, torch.Tensor, "backward"),
        (AFTER, pipeline, "postprocess"),
    ]
    with ExitStack() as stack:
        for part, owner, name in places:
            stack.enter_context(mock.patch.object(owner, name, clock.timed(part, getattr(owner, name))))
        yield clock


def parts(
    pipeline: CorefELPipeline, call: Callable[[], Any], alone: Callable[[], Any], rounds: int
) -> dict[str, float]:
    """Return what each part of a call takes beside another call, of the round that took least.

    Args:
        pipeline: Whose parts they are.
        call: The whole.
        alone: What it is compared with.
        rounds: How many times both are measured; they run once before.
    """
    call(), alone()
    runs, others = [], []
    for _ in range(rounds):
        with watched(pipeline) as clock:
            clock.timed(REST, call)()
        runs.append(clock.seconds)
        other = Clock()
        other.timed("alone", alone)()
        others.append(other.seconds["alone"])
    least = min(runs, key=lambda run: sum(run.values()))
    return {part: seconds / min(others) for part, seconds in least.items()}


def rows(title: str, beside: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Yield a figure of each part in the order in which they run, and their sum."""
    for part in (BEFORE, ENCODER, SPANS, ENTITIES, PAIRS, REST, BACKWARD, AFTER):
        if part in found:
            yield Row("g", f"{title}: {part}", beside, found[part])
    yield Row("g", f"{title}: **all**", beside, sum(found.values()))


def calls() -> Iterator[Row]:
    """Yield the parts of calls of the bundled checkpoint, and what a batch gains the encoder itself."""
    pipeline, beside = load_pipeline(), "its encoder alone"
    for words, rounds in ((600, 7), (10_000, 3)):
        document = [text(words)]
        alone = encoder_alone(pipeline, document)
        yield from rows(f"{words:,} words", beside, parts(pipeline, whole(pipeline, document), alone, rounds))
    short = [text(20 + 40 * n // 15, n) for n in range(16)]
    alone = encoder_alone(pipeline, short)
    yield from rows("16 texts of 20 to 60 words", beside, parts(pipeline, whole(pipeline, short), alone, 7))
    windows = [window[0] for window in windows_of(pipeline, short)]
    ids = torch.nn.utils.rnn.pad_sequence(windows, batch_first=True)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(window) for window in windows], batch_first=True)

    def together() -> None:
        with torch.inference_mode():
            pipeline.model.encoder.model(input_ids=ids, attention_mask=mask)

    times = best({"single": alone, "batch": together}, 7)
    what = "the encoder alone, 16 texts of 20 to 60 words one by one"
    yield Row("g", what, "the same as a batch", times["single"] / times["batch"])


def training() -> Iterator[Row]:
    """Yield the parts of a training step."""
    pipeline = load_pipeline()
    ours, encoder = losses(pipeline)
    beside = "forward and backward pass of the encoder alone"
    found = parts(pipeline, lambda: ours().backward(), lambda: encoder().backward(), 5)
    yield from rows("training step", beside, found)


def imports() -> Iterator[Row]:
    """Yield what the modules of each package take that `hf-corefel annotate` imports beyond torch and transformers."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "short.txt")
        place.write_text(SHORT, encoding="utf-8")
        command = import_times("-m", "hf_corefel.cli", "annotate", str(place))
    alone = import_times("-c", IMPORTS)
    whole_time = sum(alone.values())
    packages: dict[str, float] = defaultdict(float)
    # Of these both import the same; Python does not time all of it.
    both = {module.split(".")[0] for module in alone}
    for module, seconds in command.items():
        if (package := module.split(".")[0]) not in both:
            packages[package] += seconds
    for package, seconds in sorted(packages.items(), key=lambda item: -item[1])[:5]:
        what = f"`hf-corefel annotate`: imports of {package}"
        yield Row("g", what, "importing torch and transformers' classes", seconds / whole_time)


def import_times(*code: str) -> dict[str, float]:
    """Return the seconds that each module of a fresh process took to import, without those that it imports."""
    command = [sys.executable, "-X", "importtime", *code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = map(MODULE.match, done.stderr.splitlines())
    return {match[2]: int(match[1]) / 1e6 for match in found if match}


def where_time_goes() -> Iterator[Row]:
    """Yield all of these."""
    yield from calls()
    yield from training()
    yield from imports()
