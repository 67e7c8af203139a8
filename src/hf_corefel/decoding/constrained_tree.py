"""The best structure under constraints on clusters: branch and bound over trees.

That mentions are in one cluster is not an edge: they may hang from one another in many ways, and by way of other
mentions. So edges alone cannot say it, and no fast exact algorithm is known for the best tree under such constraints
(two mentions under two entities are two paths that share nothing). The search begins with the best tree of all. Where
its clusters break a constraint, a question is asked whose answers each exclude the tree:

1. Is a span, on the way from a mention of the constraint up to the top, in the cluster of that mention?
2. Which entity, or NIL, has the cluster of a mention?
3. Which span of a NIL cluster hangs from the root?

An answer forbids edges (no span of a cluster hangs from one that is not in it), and the best tree without them bounds
all trees that agree with the answers. The first tree by score that breaks no constraint is the best one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    "SpanGroup",
    "UnfinishedSearchError",
    "allowed_columns",
    "best_constrained_tree",
    "holds",
    "tops_of",
]

LIMIT = 2000
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
class _Answers:
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

    def placed(self, group: int, span: int, status: int) -> _Answers:
        changed = self.status.copy()
        changed[group, span] = status
        return replace(self, status=changed)

    def labelled(self, group: int, label: int) -> _Answers:
        return replace(self, labels=_put(self.labels, group, label))

    def without(self, group: int, label: int) -> _Answers:
        return replace(self, excluded=_put(self.excluded, group, self.excluded[group] | {label}))


def _put(values: tuple[Any, ...], place: int, value: object) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def best_constrained_tree(
    columns: FloatArray,
    entity_ids: IntArray,
    groups: Sequence[SpanGroup],
    apart: Iterable[tuple[int, int]],
    limit: int = LIMIT,
) -> tuple[IntArray, bool] | None:
    """Find the best tree in whose clusters each group is together and some are apart.

    Args:
        columns: ``[N, N + 1 + K]`` scores of the edges into each span from spans, the root and its candidates; -inf for
            no edge.
        entity_ids: ``[N, K]`` rows of the entities of the candidates, -1 for padding.
        groups: The groups, none with a span of another.
        apart: Pairs of groups that are not in one cluster.
        limit: How many trees are searched before any is taken that fits.

    Returns:
        The parents ``[N]`` and whether the tree is known to be the best; None where there is no such tree.

    Raises:
        UnfinishedSearchError: If none was found in time.
    """
    return _Search(columns, entity_ids, groups, set(apart)).run(limit)


def allowed_columns(
    columns: FloatArray, entity_ids: IntArray, groups: Sequence[SpanGroup], apart: Iterable[tuple[int, int]]
) -> FloatArray | None:
    """Return the scores without the edges that no tree has that fits; None where it is plain that there is none.

    Arguments are those of `best_constrained_tree`.
    """
    return _Search(columns, entity_ids, groups, set(apart)).allowed()


def tops_of(parents: IntArray, entity_ids: IntArray) -> list[Top]:
    """Return what makes the cluster of each span one."""
    n = len(parents)
    tops: list[Top | None] = [None] * n
    for span in range(n):
        way = [span]
        while tops[way[-1]] is None and parents[way[-1]] < n:
            way.append(int(parents[way[-1]]))
        head = way[-1]
        candidate = int(parents[head]) - n - 1
        top = tops[head] or ((True, int(entity_ids[head, candidate])) if candidate >= 0 else (False, head))
        for step in way:
            tops[step] = top
    return [top for top in tops if top is not None]


def holds(tops: Sequence[Top], groups: Sequence[SpanGroup], apart: Iterable[tuple[int, int]]) -> bool:
    """Whether clusters break no constraint."""
    return next(_broken(tops, groups, apart), None) is None


def _broken(
    tops: Sequence[Top], groups: Sequence[SpanGroup], apart: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int | None]]:
    """Yield the groups that are not together or have another entity, and the pairs of groups that are not apart."""
    for g, group in enumerate(groups):
        top = tops[group.spans[0]]
        label = top[1] if top[0] else NIL
        if any(tops[span] != top for span in group.spans) or group.entity not in (UNKNOWN, label):
            yield g, None
    for g, h in apart:
        if {tops[span] for span in groups[g].spans} & {tops[span] for span in groups[h].spans}:
            yield g, h


class _Search:
    def __init__(
        self, columns: FloatArray, entity_ids: IntArray, groups: Sequence[SpanGroup], apart: set[tuple[int, int]]
    ) -> None:
        self._columns, self._ids, self._groups, self._apart = columns, entity_ids, groups, apart
        self._searched = 0
        self._count = itertools.count()

    def run(self, limit: int) -> tuple[IntArray, bool] | None:
        heap = self._tried([self._first()])
        heapq.heapify(heap)
        while heap and self._searched < limit:
            _, _, answers, parents = heapq.heappop(heap)
            further = self._questions(answers, parents)
            if further is None:
                return parents, True
            for item in self._tried(further):
                heapq.heappush(heap, item)
        # Depth first from the best of what is open, the better answer first.
        stack = sorted(heap, reverse=True)
        while stack and self._searched < limit + LIMIT:
            _, _, answers, parents = stack.pop()
            further = self._questions(answers, parents)
            if further is None:
                return parents, False
            stack.extend(sorted(self._tried(further), reverse=True))
        if stack:
            raise UnfinishedSearchError(f"{self._searched} trees were searched; leave some constraints out")
        return None

    def allowed(self) -> FloatArray | None:
        settled = self._settled(self._first())
        return None if settled is None else self._allowed(settled)

    def _first(self) -> _Answers:
        size = len(self._groups)
        status = np.zeros((size, len(self._columns)), dtype=np.int64)
        for g, group in enumerate(self._groups):
            status[g, list(group.spans)] = 1
        labels = tuple(group.entity for group in self._groups)
        return _Answers(status, labels, (frozenset(),) * size, (-1,) * size)

    def _tried(self, several: Iterable[_Answers]) -> list[tuple[float, int, _Answers, IntArray]]:
        """Those answers that agree with one another, with their best trees."""
        found = []
        for answers in several:
            settled = self._settled(answers)
            if settled is None:
                continue
            self._searched += 1
            try:
                parents, score = best_tree(self._allowed(settled))
            except UnreachableError:
                continue
            found.append((-score, next(self._count), settled, parents))
        return found

    def _settled(self, answers: _Answers) -> _Answers | None:
        """The answers with all that follows from them; None where they contradict one another."""
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

    def _allowed(self, answers: _Answers) -> FloatArray:
        """The scores without the edges that the answers forbid."""
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
                above[inside[:, None] & (self._ids != label)] = -np.inf
                above[outside[:, None] & (self._ids == label)] = -np.inf
            for barred in answers.excluded[g]:
                if barred == NIL:
                    columns[inside, n] = -np.inf
                else:
                    above[inside[:, None] & (self._ids == barred)] = -np.inf
        columns[list(answers.inner), n] = -np.inf
        return columns

    def _questions(self, answers: _Answers, parents: IntArray) -> list[_Answers] | None:
        """The answers to a question that the tree brings up; None where it breaks no constraint."""
        tops = tops_of(parents, self._ids)
        broken = next(_broken(tops, self._groups, self._apart), None)
        if broken is None:
            return None
        g, h = broken
        n = len(parents)

        def open_spans(group: int, wanted: Callable[[int], bool]) -> Iterator[int]:
            for span in filter(wanted, self._groups[group].spans):
                while span < n:
                    if answers.status[group, span] == 0:
                        yield span
                    span = int(parents[span])

        if h is None:
            if (span := next(open_spans(g, lambda _: True), None)) is not None:
                return [answers.placed(g, span, 1), answers.placed(g, span, -1)]
            linked, top = tops[self._groups[g].spans[0]]
            if answers.labels[g] == UNKNOWN:
                label = top if linked else NIL
                return [answers.labelled(g, label), answers.without(g, label)]
            # What is left is a NIL cluster with several spans at the root.
            headed = replace(answers, heads=_put(answers.heads, g, top))
            return [headed, replace(answers, inner=answers.inner | {top})]
        shared = {tops[span] for span in self._groups[g].spans} & {tops[span] for span in self._groups[h].spans}
        for group in (g, h):
            if (span := next(open_spans(group, lambda span: tops[span] in shared), None)) is not None:
                return [answers.placed(group, span, 1), answers.placed(group, span, -1)]
        # Two ways that share no span meet at an entity.
        _, entity = next(iter(shared))
        group = g if answers.labels[g] == UNKNOWN else h
        return [answers.labelled(group, entity), answers.without(group, entity)]
