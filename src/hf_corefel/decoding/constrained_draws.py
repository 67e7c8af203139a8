"""Exact draws of trees under constraints on clusters.

Draws that break a constraint are thrown away. Where constraints are improbable that alone would take for ever, so the
trees are parted by the questions of `hf_corefel.decoding.constrained_tree`: a tree that fulfils the constraints agrees
with exactly one of the parts' answers. A part is drawn with the weight of the trees that its edges allow, then a tree
of these; it is kept if it agrees with the answers. Every fulfilling tree is thus kept with a chance in proportion to
its weight, however the trees are parted. A part whose draw is thrown away is parted further, by a question that the
draw brings up, and so fewer are thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..trees.arborescence import IntArray
from ..trees.graph import EdgeArrays, TreeGraph
from ..trees.sampling import draw, sample_trees
from .constrained_tree import Answers, ConstraintSearch

__all__ = ["constrained_draws"]

MOST_PARTS = 3000
"""Parts beyond which no more are made, also where they take little memory."""

_MOST_NUMBERS = 5_000_000
"""Numbers of spans squared that parts hold in all; of 60 spans that is 1,400 parts, which take 200 MB."""

_AT_ONCE = 16


@dataclass(frozen=True)
class _Part:
    answers: Answers
    graph: TreeGraph


def constrained_draws(search: ConstraintSearch, most: int, random: np.random.Generator) -> Iterator[IntArray]:
    """Yield trees that fulfil the constraints of a search, drawn independently of one another.

    Args:
        search: Has the scores and the constraints.
        most: How many trees are drawn before the draws end, those that are thrown away with them.
        random: Where the randomness comes from.
    """
    parts = _parts(search, [search.first()])
    limit = min(MOST_PARTS, _MOST_NUMBERS // max(len(search.candidate_rows) ** 2, 1))
    for _ in range(0, most, _AT_ONCE):
        if not parts:
            return
        weights = np.array([[part.graph.log_weight for part in parts]])
        chosen = draw(np.repeat(weights, _AT_ONCE, axis=0), random)
        kept: list[tuple[int, IntArray]] = []
        further: dict[int, list[Answers]] = {}
        for number in np.unique(chosen).tolist():
            part, places = parts[number], np.flatnonzero(chosen == number)
            drawn = sample_trees(part.graph.elimination, len(places), random)
            for place, parents in zip(places.tolist(), part.graph.choose_above(drawn, random), strict=True):
                asked = search.questions(part.answers, parents)
                if asked is None:
                    kept.append((place, parents))
                else:
                    further.setdefault(number, asked)
        # In the order of the choice of parts, so that the first are like all others.
        yield from (parents for _, parents in sorted(kept, key=lambda item: item[0]))
        if len(parts) < limit:
            stay = [part for number, part in enumerate(parts) if number not in further]
            parts = stay + _parts(search, [answers for asked in further.values() for answers in asked])


def _parts(search: ConstraintSearch, several: list[Answers]) -> list[_Part]:
    """Those answers that agree with one another and leave a tree."""
    parts = []
    for answers in several:
        settled = search.settled(answers)
        if settled is None:
            continue
        columns = search.allowed(settled)
        n = len(columns)
        graph = TreeGraph(EdgeArrays(columns[:, n], columns[:, n + 1 :], columns[:, :n].T), search.candidate_rows)
        if graph.log_weight > -np.inf:
            parts.append(_Part(settled, graph))
    return parts
