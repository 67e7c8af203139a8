"""Mentions that contain one another: taken apart in what a head decodes for a document.

A phrase and its own part do not mean the same thing: "their" is not "their house" (the i-within-i condition, Chomsky
1981). So heads know no edge between them (`hf_corefel.heads.EdgeScores.forbidden`). Two things are left to do here:

1. **Twins** are two spellings of a mention: one lies within the other, and they have the same words but for
   determiners, possessive endings and signs around them ("Bundestag" and "the Bundestag", see
   `hf_corefel.processing.cores`). Of two that are both in the result one stays: one with an entity or with further
   mentions in its cluster goes before one without, else the more probable, else the longer one. **Namesakes** are in
   one cluster, whose entity is a candidate of each ("Tony" within "Tony Awards"); the longer one stays. What hung from
   the other hangs from the one that stays, and so comes into its cluster.
2. **A phrase and its part that meet by way of others** are cut apart. Of the edges on the path between them that one
   is cut which costs the structure least: its score less that of the root's edge to the same mention. This mention and
   all that hangs from it become a cluster of their own, without entity.

3. **Mentions that overlap** where the mention scope forbids it (`CorefELConfig.forbid_overlaps`), as "Suffolk" and
   "Suffolk, UK": of the mentions of a document those with an entity come first, then the longer, then the more probable
   ones, and one that shares a character with an earlier one is left out. What hung from it hangs from what it hung
   from, so that its cluster stays together.

Of given mentions none is left out: twins and namesakes stay as they were decoded, and only rule 2 is applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..layers.model_output import CorefELOutput
from ..moved import renamed_field
from .clusters import clusters_from_parents

__all__ = [
    "DecodedSpans",
    "cut_nested",
    "drop_overlapping",
    "drop_twins",
    "namesakes",
    "nesting_rules",
    "without_nested",
]

Pair = Sequence[int]


@renamed_field("entity_ids", "candidate_rows")
@dataclass(slots=True)
class DecodedSpans:
    """The N retained spans of a document as a head decoded them; the arguments of `clusters_from_parents`.

    Attributes:
        parents: Parent of each span, in the numbering of `hf_corefel.heads.base`; what this module changes.
        candidate_rows: Entities of the candidates of each span, [N, K]; -1 is padding.
        mention: Mention score Φp of each span.
        mask: True for real spans.
        exclusive: Code points of each span where no two mentions may share one; empty where they may.
    """

    parents: list[int]
    candidate_rows: list[list[int]]
    mention: list[float]
    mask: list[bool]
    exclusive: Sequence[Pair] = ()
    _below: dict[int, set[int]] | None = field(default=None, init=False, repr=False, compare=False)

    def hang(self, span: int, parent: int) -> None:
        """Give a span another parent."""
        if self._below is not None:
            self._below.get(self.parents[span], set()).discard(span)
            self._below.setdefault(parent, set()).add(span)
        self.parents[span] = parent

    def children(self, span: int) -> list[int]:
        """The other spans that hang from a span, ascending. From then on parents change by `hang` only."""
        if self._below is None:
            self._below = {}
            for child, parent in enumerate(self.parents):
                self._below.setdefault(parent, set()).add(child)
        return sorted(self._below.get(span, set()) - {span})

    def way_up(self, span: int) -> list[int]:
        """The span and those above it, up to the one that hangs from no span."""
        way = [span]
        while 0 <= self.parents[way[-1]] < len(self.parents):
            way.append(self.parents[way[-1]])
        return way

    def top(self, span: int) -> tuple[bool, int]:
        """What makes the cluster of a span one: its entity, else the span that the others hang from."""
        head = self.way_up(span)[-1]
        candidate = self.parents[head] - len(self.parents) - 1
        return (True, self.candidate_rows[head][candidate]) if candidate >= 0 else (False, head)


def nesting_rules(output: CorefELOutput, b: int) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Return document b's pairs of twins, its other pairs of a phrase and its part, and where no two may overlap."""
    twins: list[list[int]] = []
    parts: list[list[int]] = []
    exclusive: list[list[int]] = []
    if output.contains is not None and output.twins is not None and output.contains[b].any():
        twins, parts = output.twins[b].nonzero().tolist(), (output.contains[b] & ~output.twins[b]).nonzero().tolist()
    if output.exclusive is not None and output.exclusive[b].any():
        exclusive = output.exclusive[b].tolist()
    return twins, parts, exclusive


class Weights(Protocol):
    """What parents of spans count for, such as a tensor ``[N, N+1+K]``."""

    def __getitem__(self, edge: tuple[int, int], /) -> Any:
        """Return the number of a span and a parent."""
        ...


def without_nested(
    spans: DecodedSpans,
    twins: Sequence[Pair],
    parts: Sequence[Pair],
    weights: Weights,
    alone: int,
    *,
    given: bool,
    fixed: Collection[int] = (),
) -> None:
    """Applies the three rules.

    Args:
        spans: The decoded spans, which are changed.
        twins: Pairs of spans that are twins, the longer one first.
        parts: The other pairs of which one contains the other, likewise.
        weights: See `cut_nested`.
        alone: See `cut_nested`.
        given: Whether the spans are given mentions, of which none is left out.
        fixed: Other spans that are not left out.
    """
    same = namesakes(spans, parts)
    if not given:
        free = [[pair for pair in pairs if not set(pair) & set(fixed)] for pairs in (twins, same)]
        drop_twins(spans, *free)
    cut_nested(spans, [pair for pair in parts if pair not in same], weights, alone)
    if not given:
        drop_overlapping(spans, fixed, alone)


def namesakes(spans: DecodedSpans, nested: Sequence[Pair]) -> list[Pair]:
    """Returns those of the nested pairs that are in one cluster, whose entity is a candidate of both."""
    found: list[Pair] = []
    for one, other in nested:
        if -1 not in (spans.parents[one], spans.parents[other]):
            linked, entity = top = spans.top(one)
            if linked and top == spans.top(other) and all(entity in spans.candidate_rows[n] for n in (one, other)):
                found.append((one, other))
    return found


def drop_twins(spans: DecodedSpans, twins: Sequence[Pair], same: Sequence[Pair] = ()) -> None:
    """Leaves one of every two twins or namesakes out (rule 1): its parent becomes -1.

    Args:
        spans: The decoded spans, which are changed.
        twins: Pairs of spans that are twins, the longer one first.
        same: Pairs that are namesakes, likewise.
    """
    if not twins and not same:
        return
    clusters = clusters_from_parents(spans.parents, spans.candidate_rows, spans.mention, spans.mask)
    rank = {
        n: (cluster.entity_row is not None or len(cluster.spans) > 1, spans.mention[n], -n)
        for cluster in clusters
        for n in cluster.spans
    }
    pairs = [(longer, shorter) for longer, shorter in same if longer in rank and shorter in rank]
    for longer, shorter in twins:
        if longer in rank and shorter in rank:
            better = rank[longer][:2] >= rank[shorter][:2]
            pairs.append((longer, shorter) if better else (shorter, longer))
    # The best first, so that of three twins it takes what hung from both others.
    for stays, goes in sorted(pairs, key=lambda pair: (rank[pair[0]], rank[pair[1]]), reverse=True):
        if -1 not in (spans.parents[goes], spans.parents[stays]):
            _merge(spans, stays, goes)


def _merge(spans: DecodedSpans, stays: int, goes: int) -> None:
    """Leaves a span out, whose children hang from the one that stays."""
    size = len(spans.parents)
    if goes in spans.way_up(stays):
        # It would become its own ancestor: it takes the place of the one that goes, if that has an entity it can have.
        parent = spans.parents[goes]
        if parent > size:
            entity = spans.candidate_rows[goes][parent - size - 1]
            if entity not in spans.candidate_rows[stays]:
                return _merge(spans, goes, stays)
            parent = size + 1 + spans.candidate_rows[stays].index(entity)
        spans.hang(stays, parent)
    for child in spans.children(goes):
        if child != stays:
            spans.hang(child, stays)
    spans.hang(goes, -1)
    return None


def drop_overlapping(spans: DecodedSpans, fixed: Collection[int], alone: int) -> None:
    """Leaves mentions out until none overlaps another (rule 3), where `DecodedSpans.exclusive` says so.

    Args:
        spans: The decoded spans, which are changed.
        fixed: Spans that are not left out.
        alone: The parent of a span that begins a cluster without entity.
    """
    if not any(end for _, end in spans.exclusive):
        return
    clusters = clusters_from_parents(spans.parents, spans.candidate_rows, spans.mention, spans.mask)
    linked = {n: cluster.entity_row is not None for cluster in clusters for n in cluster.spans}
    rivals: dict[int, set[int]] = {}
    reading = sorted(linked, key=lambda n: tuple(spans.exclusive[n]))
    for place, one in enumerate(reading):
        for other in reading[place + 1 :]:
            if spans.exclusive[other][0] >= spans.exclusive[one][1]:
                break
            rivals.setdefault(one, set()).add(other)
            rivals.setdefault(other, set()).add(one)

    def rank(n: int) -> tuple[bool, bool, int, float, int]:
        begin, end = spans.exclusive[n]
        return n in fixed, linked[n], end - begin, spans.mention[n], -n

    stay: set[int] = set()
    for n in sorted(rivals, key=rank, reverse=True):
        if n in fixed or not rivals[n] & stay or not _leave_out(spans, n, alone):
            stay.add(n)


def _leave_out(spans: DecodedSpans, goes: int, alone: int) -> bool:
    """Leaves a span out, whose children hang from its parent; False, and nothing happens, if none of them can."""
    size, parent = len(spans.parents), spans.parents[goes]
    children = spans.children(goes)
    moved = dict.fromkeys(children, parent)
    if parent >= size and children:
        # One child takes the place of the one that goes, the others hang from it.
        entity = spans.candidate_rows[goes][parent - size - 1] if parent > size else None
        able = [n for n in children if entity is None or entity in spans.candidate_rows[n]]
        if not able:
            return False
        moved = dict.fromkeys(children, able[0])
        moved[able[0]] = alone if entity is None else size + 1 + spans.candidate_rows[able[0]].index(entity)
    for child, above in moved.items():
        spans.hang(child, above)
    spans.hang(goes, -1)
    return True


def cut_nested(spans: DecodedSpans, nested: Sequence[Pair], weights: Weights, alone: int) -> None:
    """Cuts edges until no phrase is in one cluster with its part (rule 2).

    Args:
        spans: The decoded spans, which are changed.
        nested: Pairs of spans that may not be in one cluster, in reading order.
        weights: ``[N, N+1+K]`` what each parent of a span counts for, see `hf_corefel.heads.Head.parent_scores`.
        alone: The parent of a span whose edge is cut. Of equal costs the later span's edge is cut.
    """
    for one, other in nested:
        if -1 in (spans.parents[one], spans.parents[other]) or spans.top(one) != spans.top(other):
            continue
        # The spans whose edges up are the path: all but those above both. Two ways that meet at an entity share none.
        passed = Counter(spans.way_up(one) + spans.way_up(other))
        path = [n for n in passed if passed[n] == 1]
        size = len(spans.parents)
        cost = {n: float(weights[n, spans.parents[n]] - weights[n, size]) for n in path}
        spans.hang(min(path, key=lambda n: (cost[n], -n)), alone)
