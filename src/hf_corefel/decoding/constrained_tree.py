"""The best structure under constraints on clusters: branch and bound over trees.

That mentions are in one cluster is not an edge: they may hang from one another in many ways, and by way of other
mentions. So edges alone cannot say it, and no fast exact algorithm is known for the best tree under such constraints
(two mentions under two entities are two paths that share nothing). The search begins with the best tree of all. Where
its clusters break a constraint, a question is asked whose answers each exclude the tree:

1. Which entity, or NIL, has the cluster of a mention of the constraint?
2. Is a span, on the way from that mention up to the top, in its cluster?
3. Which span of a NIL cluster hangs from the root?

An answer forbids edges (no span of a cluster hangs from one that is not in it), and the best tree without them bounds
all trees that agree with the answers. The first tree by score that breaks no constraint is the best one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..trees.arborescence import IntArray, UnreachableError
from ..trees.best_trees import best_tree
from ..trees.elimination import FloatArray

__all__ = [
    "LIMIT",
    "NIL",
    "UNKNOWN",
    "Answers",
    "ConstraintSearch",
    "SpanGroup",
    "Top",
    "UnfinishedSearchError",
    "best_constrained_tree",
    "holds",
    "tops_of",
]

LIMIT = 500
"""Trees that are searched in all before the search goes for any that breaks no constraint; then as many again."""

UNKNOWN, NIL = -2, -1

Top = tuple[bool, int]
"""What makes a cluster one: an entity (True, its row), or the span at its top (False, the span)."""


class UnfinishedSearchError(RuntimeError):
    """No tree was found, but not all were searched."""


@dataclass(frozen=True)
class SpanGroup:
    """Spans that must be in one cluster.

    Attributes:
        spans: The spans.
        entity: Row of the entity of their cluster, `NIL` or `UNKNOWN`.
    """

    spans: tuple[int, ...]
    entity: int = UNKNOWN


@dataclass(frozen=True)
class Answers:
    """What is settled on a way through the search, for each of the G groups.

    Attributes:
        status: ``[G, N]`` 1 for spans in the cluster of a group, -1 for those that are not, 0 where it is open.
        labels: Entity of each cluster, `NIL` or `UNKNOWN`.
        excluded: Entities, or `NIL`, that each cluster does not have.
        heads: The one span of each NIL cluster that hangs from the root, -1 where it is open.
        inner: Spans that do not hang from the root.
    """

    status: IntArray
    labels: tuple[int, ...]
    excluded: tuple[frozenset[int], ...]
    heads: tuple[int, ...]
    inner: frozenset[int] = frozenset()

    def placed(self, group: int, span: int, status: int) -> Answers:
        changed = self.status.copy()
        changed[group, span] = status
        return replace(self, status=changed)

    def labelled(self, group: int, label: int) -> Answers:
        return replace(self, labels=_put(self.labels, group, label))

    def without(self, group: int, label: int) -> Answers:
        return replace(self, excluded=_put(self.excluded, group, self.excluded[group] | {label}))


def _put(values: tuple[Any, ...], place: int, value: object) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def best_constrained_tree(
    columns: FloatArray,
    candidate_rows: IntArray,
    groups: Sequence[SpanGroup],
    apart: Iterable[tuple[int, int]],
    limit: int = LIMIT,
) -> tuple[IntArray, bool] | None:
    """Find the best tree in whose clusters each group is together and some are apart.

    Args:
        columns: ``[N, N + 1 + K]`` scores of the edges into each span from spans, the root and its candidates; -inf for
            no edge.
        candidate_rows: ``[N, K]`` rows of the entities of the candidates, -1 for padding.
        groups: The groups, none with a span of another.
        apart: Pairs of groups that are not in one cluster.
        limit: How many trees are searched before any is taken that fits.

    Returns:
        The parents ``[N]`` and whether the tree is known to be the best; None where there is no such tree.

    Raises:
        UnfinishedSearchError: If none was found in time.
    """
    return ConstraintSearch(columns, candidate_rows, groups, set(apart)).run(limit)


def tops_of(parents: IntArray, candidate_rows: IntArray) -> list[Top]:
    """Return what makes the cluster of each span one."""
    n = len(parents)
    tops: list[Top | None] = [None] * n
    for span in range(n):
        way = [span]
        while tops[way[-1]] is None and parents[way[-1]] < n:
            way.append(int(parents[way[-1]]))
        head = way[-1]
        candidate = int(parents[head]) - n - 1
        top = tops[head] or ((True, int(candidate_rows[head, candidate])) if candidate >= 0 else (False, head))
        for step in way:
            tops[step] = top
    return [top for top in tops if top is not None]


def holds(tops: Sequence[Top], groups: Sequence[SpanGroup], apart: Iterable[tuple[int, int]]) -> bool:
    """Whether clusters break no constraint."""
    for group in groups:
        linked, top = place = tops[group.spans[0]]
        if any(tops[span] != place for span in group.spans) or group.entity not in (UNKNOWN, top if linked else NIL):
            return False
    return not any(
        {tops[span] for span in groups[g].spans} & {tops[span] for span in groups[h].spans} for g, h in apart
    )


class ConstraintSearch:
    """The questions of the search, and what follows from their answers; arguments as of `best_constrained_tree`."""

    def __init__(
        self, columns: FloatArray, candidate_rows: IntArray, groups: Sequence[SpanGroup], apart: set[tuple[int, int]]
    ) -> None:
        self._columns, self.candidate_rows, self._groups, self._apart = columns, candidate_rows, groups, apart
        self._searched = 0
        self._count = itertools.count()

    def run(self, limit: int) -> tuple[IntArray, bool] | None:
        """Search; see `best_constrained_tree`."""
        heap = self._tried([self.first()])
        heapq.heapify(heap)
        while heap and self._searched < limit:
            _, _, answers, parents = heapq.heappop(heap)
            further = self._further(answers, parents)
            if further is None:
                return parents, True
            for item in self._tried(further):
                heapq.heappush(heap, item)
        # Depth first from the best of what is open, the better answer first.
        stack = sorted(heap, reverse=True)
        while stack and self._searched < limit + LIMIT:
            _, _, answers, parents = stack.pop()
            further = self._further(answers, parents)
            if further is None:
                return parents, False
            stack.extend(sorted(self._tried(further), reverse=True))
        if stack:
            raise UnfinishedSearchError(f"{self._searched} trees were searched; leave some constraints out")
        return None

    def first(self) -> Answers:
        """Return what the constraints themselves say."""
        size = len(self._groups)
        status = np.zeros((size, len(self._columns)), dtype=np.int64)
        for g, group in enumerate(self._groups):
            status[g, list(group.spans)] = 1
        labels = tuple(group.entity for group in self._groups)
        return Answers(status, labels, (frozenset(),) * size, (-1,) * size)

    def _tried(self, several: Iterable[Answers]) -> list[tuple[float, int, Answers, IntArray]]:
        """Those answers that agree with one another, with their best trees."""
        found = []
        for answers in several:
            settled = self.settled(answers)
            if settled is None:
                continue
            self._searched += 1
            try:
                parents, score = best_tree(self.allowed(settled))
            except UnreachableError:
                continue
            found.append((-score, next(self._count), settled, parents))
        return found

    def settled(self, answers: Answers) -> Answers | None:
        """Return the answers with all that follows from them; None where they contradict one another."""
        status, labels, excluded = answers.status.copy(), list(answers.labels), list(answers.excluded)
        while True:
            before = status.copy(), tuple(labels), tuple(excluded)
            for g, h in itertools.combinations(range(len(labels)), 2):
                if (g, h) in self._apart or (h, g) in self._apart:
                    for a, b in ((g, h), (h, g)):
                        if (status[b][status[a] == 1] == 1).any():
                            return None
                        status[b][status[a] == 1] = -1
                        if labels[a] >= 0:
                            excluded[b] |= {labels[a]}
                elif ((status[g] == 1) & (status[h] == 1)).any():
                    # Two groups with a span in common are in one cluster.
                    if (status[g] * status[h] == -1).any():
                        return None
                    status[g] = status[h] = np.sign(status[g] + status[h])
                    known = {labels[g], labels[h]} - {UNKNOWN}
                    if len(known) > 1:
                        return None
                    labels[g] = labels[h] = known.pop() if known else UNKNOWN
                    excluded[g] = excluded[h] = excluded[g] | excluded[h]
            if any(label in barred for label, barred in zip(labels, excluded, strict=True)):
                return None
            if (status == before[0]).all() and (tuple(labels), tuple(excluded)) == before[1:]:
                return replace(answers, status=status, labels=tuple(labels), excluded=tuple(excluded))

    def allowed(self, answers: Answers) -> FloatArray:
        """Return the scores without the edges that the answers forbid."""
        columns = self._columns.copy()
        n = len(columns)
        above = columns[:, n + 1 :]
        for g, label in enumerate(answers.labels):
            inside, outside = answers.status[g] == 1, answers.status[g] == -1
            columns[np.ix_(inside, np.flatnonzero(outside))] = -np.inf
            columns[np.ix_(outside, np.flatnonzero(inside))] = -np.inf
            if label == NIL:
                above[inside] = -np.inf
                if (head := answers.heads[g]) >= 0:
                    others = inside.copy()
                    others[head] = False
                    columns[others, n] = -np.inf
            elif label != UNKNOWN:
                columns[inside, n] = -np.inf
                above[inside[:, None] & (self.candidate_rows != label)] = -np.inf
                above[outside[:, None] & (self.candidate_rows == label)] = -np.inf
            for barred in answers.excluded[g]:
                if barred == NIL:
                    columns[inside, n] = -np.inf
                else:
                    above[inside[:, None] & (self.candidate_rows == barred)] = -np.inf
        columns[list(answers.inner), n] = -np.inf
        return columns

    def _further(self, answers: Answers, parents: IntArray) -> list[Answers] | None:
        """The answers to a question that the tree brings up; None where it breaks no constraint."""
        if holds(tops_of(parents, self.candidate_rows), self._groups, self._apart):
            return None
        return self.questions(answers, parents)

    def questions(self, answers: Answers, parents: IntArray) -> list[Answers] | None:
        """Return the answers to a question that a tree brings up; None where it agrees with those that are settled.

        A tree that breaks a constraint does not agree.
        """
        tops = tops_of(parents, self.candidate_rows)
        for g, group in enumerate(self._groups):
            inside = np.flatnonzero(answers.status[g] == 1).tolist()
            linked, top = place = tops[group.spans[0]]
            label = top if linked else NIL
            agrees = (
                all(tops[span] == place for span in inside)
                and answers.labels[g] in (UNKNOWN, label)
                and label not in answers.excluded[g]
                and (linked or answers.heads[g] in (-1, top))
            )
            wrong = [span for span in np.flatnonzero(answers.status[g] == -1).tolist() if tops[span] == place]
            if agrees and not wrong:
                continue
            # The entity first, since it forbids the most edges.
            if answers.labels[g] == UNKNOWN and label not in answers.excluded[g]:
                return [answers.labelled(g, label), answers.without(g, label)]
            for start in wrong + inside:
                if (span := self._open_span(answers, g, start, parents)) is not None:
                    return [answers.placed(g, span, 1), answers.placed(g, span, -1)]
            # What is left is a NIL cluster with several spans at the root.
            headed = replace(answers, heads=_put(answers.heads, g, top))
            return [headed, replace(answers, inner=answers.inner | {top})]
        return None

    @staticmethod
    def _open_span(answers: Answers, group: int, span: int, parents: IntArray) -> int | None:
        """The first span, on the way from one to the top, of which is open whether it is in the cluster of a group."""
        while span < len(parents):
            if answers.status[group, span] == 0:
                return span
            span = int(parents[span])
        return None
