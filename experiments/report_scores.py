"""From stored counts to scores: of each seed, over seeds, and how far other documents and seeds move differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run_files import Run, what_is_done
from stored_results import SHARES, SIZES, PartCounts, read_counts, read_record

__all__ = [
    "METRICS",
    "Difference",
    "Stored",
    "System",
    "difference",
    "gain_over",
    "load",
    "spread",
]

RESAMPLES = 10_000
_CONFIDENCE = 0.95

Numbers = NDArray[np.float64]
# Counts by name, each with any shape of its own: of one document, of all, or of all in each resample.
Counts = Callable[[str], Numbers]
Metric = Callable[[Counts], Numbers]


def _ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)


def _f1(name: str) -> Metric:
    def score(counts: Counts) -> Numbers:
        precision = _ratio(counts(f"{name}_precision_numerator"), counts(f"{name}_precision_denominator"))
        recall = _ratio(counts(f"{name}_recall_numerator"), counts(f"{name}_recall_denominator"))
        return _ratio(2 * precision * recall, precision + recall)

    return score


def _share(found: str, total: str) -> Metric:
    return lambda counts: _ratio(counts(found), counts(total))


def _coreference(counts: Counts) -> Numbers:
    return (_f1("muc")(counts) + _f1("b_cubed")(counts) + _f1("ceaf_e")(counts)) / 3


def _size(least: int) -> Metric:
    name = f"size_{least}"
    return lambda counts: _ratio(2 * counts(f"{name}_found"), counts(f"{name}_predicted") + counts(f"{name}_gold"))


METRICS: dict[str, Metric] = {
    "coref": _coreference,
    "el_m": _f1("el_mention"),
    "el_h": _f1("el_hard"),
    "S": _share("singleton_found", "singleton_gold"),
    "M": _share("multi_mention_found", "multi_mention_gold"),
    "hard": _share("hard_correct", "hard_total"),
    "candidates": _share("linked_mentions_with_candidate", "linked_mentions"),
    **{f"size_{least}": _size(least) for least in SIZES},
    **{f"share_{most:g}": _share(f"share_{most:g}_found", f"share_{most:g}_gold") for most in SHARES},
}


# What is stored ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """The results of one run: its record, and the counts of each part."""

    run: Run
    record: Mapping[str, Any]
    parts: Mapping[str, PartCounts]

    @property
    def seed(self) -> int:
        """The seed of its model."""
        return int(self.run.settings["seed"])


def load(queue: Sequence[Run], results: Path) -> tuple[list[Stored], list[str]]:
    """Return the results that are stored, and the names of the runs without any.

    Raises:
        ValueError: When a result is damaged, of other settings than its run has now, or of no run.
    """
    known = {run.name for run in queue}
    # One that begins with a dot is what a stop left of a run that was being stored.
    folders = {path.parent.name for path in results.glob("*/run.json") if not path.parent.name.startswith(".")}
    if strange := sorted(folders - known):
        raise ValueError(f"{results}: {', '.join(strange)}: there is no such run")
    stored, missing = [], []
    for run in queue:
        record = read_record(results / run.name)
        if record is None:
            missing.append(run.name)
            continue
        if what_is_done(record["run"]) != what_is_done(run.to_dict()):
            raise ValueError(
                f"{results / run.name}: it was run with other settings than its file has now; remove it"
                f"{f' and {run.name} in the folder --work of run.py' if run.trains else ''}, then run it again"
            )
        parts = {part: read_counts(results / run.name / f"{part}.counts.json.gz") for part in run.parts}
        stored.append(Stored(run, record, parts))
    return stored, missing


@dataclass
class System:
    """What a row of a table is made from: for each metric the counts of each seed, on one part.

    Attributes:
        title: What the row is called.
        seeds: By metric, the counts of each seed.
    """

    title: str
    seeds: dict[str, dict[int, PartCounts]] = field(default_factory=dict)

    def values(self, metric: str) -> list[float]:
        """Return the score of each seed, as a fraction."""
        return [float(METRICS[metric](_total(counts))) for _, counts in sorted(self.seeds.get(metric, {}).items())]

    def total(self, metric: str, name: str) -> int:
        """Return what a count adds up to over the documents, of any seed."""
        return int(next(iter(self.seeds[metric].values()))[name].sum())


def _total(counts: PartCounts) -> Counts:
    return lambda name: np.asarray(counts[name].sum())


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return mean and standard deviation (of a sample, so none of one value)."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


# Bootstrap --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """How much higher one score is than another, as a fraction, with its interval over documents and seeds.

    Attributes:
        value: The difference, a mean over seeds.
        low: 2.5 % of the resamples are lower.
        high: 2.5 % are higher.
        seeds: How many seeds both sides have.
    """

    value: float
    low: float
    high: float
    seeds: int

    @property
    def sign(self) -> int:
        """1 or -1 where the interval is above or below 0, 0 where it has 0 inside or at an end."""
        return (self.low > 0) - (self.high < 0)

    @property
    def is_clear(self) -> bool:
        """Whether 0 lies outside; never of one seed, for another seed alone can move a score as far."""
        return self.seeds > 1 and self.sign != 0

    @property
    def is_none(self) -> bool:
        """Whether both sides have the same score in every resample."""
        return self.value == self.low == self.high == 0


@cache
def draws(number: int, stream: int = 0) -> Numbers:
    """Return how often each of so many things is drawn in each resample, [resamples, number]; the same every time.

    Args:
        number: How many documents, or seeds, there are.
        stream: Another one gives other draws, which are independent of the first.
    """
    # The legacy generator, whose stream no release of numpy changes.
    chosen = np.random.RandomState(stream).randint(number, size=(RESAMPLES, number))
    return np.stack([np.bincount(row, minlength=number) for row in chosen]).astype(np.float64)


def difference(metric: str, system: System, other: System) -> Difference | None:
    """Compare two systems on the same documents, by the seeds that both have; None where there is no such seed.

    Each resample draws documents and seeds, the same for both sides (a paired bootstrap, percentile method).

    Raises:
        ValueError: When they were evaluated on different documents.
    """
    return _compared([(metric, system, 1.0), (metric, other, -1.0)])


def gain_over(first: str, second: str, system: System, other: System) -> Difference | None:
    """Compare what a system gains over another on one metric with what it gains on a second one."""
    sides = [(first, system, 1.0), (first, other, -1.0), (second, system, -1.0), (second, other, 1.0)]
    return _compared(sides)


def _compared(sides: Sequence[tuple[str, System, float]]) -> Difference | None:
    shared = set.intersection(*(set(system.seeds.get(metric, {})) for metric, system, _ in sides))
    if not shared:
        return None
    ids = {tuple(system.seeds[metric][seed].documents) for metric, system, _ in sides for seed in shared}
    if len(ids) > 1:
        raise ValueError("two runs to be compared were evaluated on different documents")
    documents = _with_all(draws(len(next(iter(ids)))))
    seeds = _with_all(_widened(draws(len(shared), stream=1))) / len(shared)
    values = np.zeros(len(documents))
    for metric, system, sign in sides:
        for share, seed in zip(seeds.T, sorted(shared), strict=True):
            counts = system.seeds[metric][seed]
            values += sign * share * METRICS[metric](lambda name, c=counts: documents @ c[name])  # type: ignore[misc]
    tail = (1 - _CONFIDENCE) / 2
    # What is left of equal sums is no difference.
    values = values.round(12) + 0.0
    low, high = np.quantile(values[1:], [tail, 1 - tail])
    return Difference(float(values[0]), float(low), float(high), len(shared))


def _widened(drawn: Numbers) -> Numbers:
    """Draws of a few things with the spread that many would have: a small sample shows less than there is."""
    number = drawn.shape[1]
    return drawn if number == 1 else 1.0 + (drawn - 1.0) * np.sqrt(number / (number - 1))


def _with_all(drawn: Numbers) -> Numbers:
    """The resamples behind a first row in which each thing is drawn once: what was measured."""
    return np.vstack([np.ones(drawn.shape[1]), drawn])
