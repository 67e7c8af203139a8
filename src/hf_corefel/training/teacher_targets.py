"""What a teacher says of a document: by offsets and names, so that a pupil of other spans and subwords can read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..trees import EdgeMarginals

__all__ = ["TeacherTargets", "aligned_edges", "aligned_mentions", "find_spans"]

IntArray = np.ndarray
FloatArray = np.ndarray
# Offsets are less than that.
_STRIDE = 1 << 32


@dataclass(frozen=True)
class TeacherTargets:
    """The probabilities that a teacher gives a document: parents of the spans that it scored, and mentions.

    Attributes:
        spans: ``[N, 2]`` offsets of the spans that it scored, end exclusive.
        root: ``[N]`` probability of the root (of itself, in heads without a tree) as the parent of each of them.
        pairs: ``[P, 2]`` edges of span to span: parent and child by their numbers.
        pair_probabilities: ``[P]``.
        links: ``[L, 2]`` edges from candidates: the span and the entity by their numbers.
        link_probabilities: ``[L]``.
        entities: Names of the entities.
        mentions: ``[M, 2]`` offsets of spans that may be mentions, among all that the teacher enumerates.
        mention_probabilities: ``[M]``.
    """

    spans: IntArray
    root: FloatArray
    pairs: IntArray
    pair_probabilities: FloatArray
    links: IntArray
    link_probabilities: FloatArray
    entities: list[str]
    mentions: IntArray
    mention_probabilities: FloatArray

    @classmethod
    def of(
        cls,
        spans: IntArray,
        edges: Sequence[FloatArray],
        candidate_rows: IntArray,
        entities: Sequence[str],
        mentions: tuple[IntArray, FloatArray],
    ) -> TeacherTargets:
        """Return the targets of one document, from arrays of all its edges.

        Args:
            spans: ``[N, 2]`` offsets.
            edges: Probabilities of edges: root ``[N]``, candidates ``[N, K]``, span to span ``[N, N]``.
            candidate_rows: ``[N, K]`` rows of `entities`, -1 on padding.
            entities: Names of the document's entities.
            mentions: Offsets ``[S, 2]`` of all spans, and their probabilities ``[S]`` of being mentions.
        """
        root, candidates, pairs = (np.asarray(array, dtype=np.float64) for array in edges)
        span, slot = np.nonzero(candidate_rows >= 0)
        return cls(
            spans=spans,
            root=root,
            pairs=np.argwhere(pairs > 0),
            pair_probabilities=pairs[pairs > 0],
            links=np.stack([span, candidate_rows[span, slot]], axis=1),
            link_probabilities=candidates[span, slot],
            entities=list(entities),
            mentions=mentions[0],
            mention_probabilities=mentions[1],
        )

    def above(self, threshold: float) -> TeacherTargets:
        """The same without what is not more probable; the probability of such an edge then counts as the root's."""
        pairs, links = self.pair_probabilities > threshold, self.link_probabilities > threshold
        root, mentions = self.root.copy(), self.mention_probabilities > threshold
        np.add.at(root, self.pairs[~pairs, 1], self.pair_probabilities[~pairs])
        np.add.at(root, self.links[~links, 0], self.link_probabilities[~links])
        rows, entity = np.unique(self.links[links, 1], return_inverse=True)
        return TeacherTargets(
            spans=self.spans,
            root=np.minimum(root, 1.0),
            pairs=self.pairs[pairs],
            pair_probabilities=self.pair_probabilities[pairs],
            links=np.stack([self.links[links, 0], entity.reshape(-1)], axis=1),
            link_probabilities=self.link_probabilities[links],
            entities=[self.entities[row] for row in rows.tolist()],
            mentions=self.mentions[mentions],
            mention_probabilities=self.mention_probabilities[mentions],
        )

    @classmethod
    def nothing(cls) -> TeacherTargets:
        """The targets of a document in which nothing can be a mention."""
        none, no_spans = np.zeros(0), np.zeros((0, 2), dtype=np.int64)
        return cls(no_spans, none, no_spans, none, no_spans, none, [], no_spans, none)


def find_spans(wanted: IntArray, among: IntArray) -> IntArray:
    """Return where spans ``[M, 2]`` stand among others ``[S, 2]``, by their offsets: ``[M]``, -1 for none."""
    keys, sought = (spans[:, 0] * _STRIDE + spans[:, 1] for spans in (among, wanted))
    return _find(sought, keys)


def _find(sought: IntArray, keys: IntArray) -> IntArray:
    if not len(keys):
        return np.full(len(sought), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], sought), len(keys) - 1)
    return np.where(keys[order][place] == sought, order[place], -1)


def aligned_edges(
    targets: Sequence[TeacherTargets],
    spans: Sequence[IntArray],
    candidate_rows: IntArray,
    rows_of: Sequence[Callable[[Sequence[str]], IntArray]],
) -> EdgeMarginals:
    """Return what the teacher says of the parents of the spans that a pupil scores.

    An edge from a span or an entity that is not among the pupil's counts as one from the root, and so does a span that
    the teacher did not score: it took it for no mention. Trees stay trees by that.

    Args:
        targets: By document.
        spans: By document ``[n, 2]`` offsets of the spans that the pupil scores.
        candidate_rows: ``[B, N, K]`` the pupil's candidates, -1 on padding.
        rows_of: By document, what gives the rows of entities by their names, -1 for those that it does not have.

    Returns:
        Probabilities in float64: root ``[B, N]``, candidates ``[B, N, K]``, span to span ``[B, N, N]``.
    """
    batch, size, width = candidate_rows.shape
    root, candidates = np.zeros((batch, size)), np.zeros((batch, size, width))
    pairs = np.zeros((batch, size, size))
    for b, (said, own) in enumerate(zip(targets, spans, strict=True)):
        root[b, : len(own)] = 1.0
        place = find_spans(said.spans, own)
        known = place >= 0
        root[b, place[known]] = said.root[known]

        parent, child = place[said.pairs[:, 0]], place[said.pairs[:, 1]]
        there = (parent >= 0) & (child >= 0)
        pairs[b, parent[there], child[there]] = said.pair_probabilities[there]
        lost = ~there & (child >= 0)
        np.add.at(root[b], child[lost], said.pair_probabilities[lost])

        rows = np.append(rows_of[b](said.entities), -1)
        span, row = place[said.links[:, 0]], rows[said.links[:, 1]]
        slot = _slots(candidate_rows[b], span, row)
        there = slot >= 0
        # Two names of the teacher may be one entity to the pupil.
        np.add.at(candidates[b], (span[there], slot[there]), said.link_probabilities[there])
        lost = ~there & (span >= 0)
        np.add.at(root[b], span[lost], said.link_probabilities[lost])
    return EdgeMarginals(torch.from_numpy(root), torch.from_numpy(candidates), torch.from_numpy(pairs))


def _slots(candidate_rows: IntArray, span: IntArray, row: IntArray) -> IntArray:
    """Where entities ``[L]`` stand among the candidates ``[N, K]`` of spans ``[L]``, -1 for nowhere."""
    n, k = np.nonzero(candidate_rows >= 0)
    if not len(n):
        return np.full(len(span), -1, dtype=np.int64)
    found = _find(span * _STRIDE + row, n * _STRIDE + candidate_rows[n, k])
    return np.where((found >= 0) & (span >= 0) & (row >= 0), k[found], -1)


def aligned_mentions(targets: Sequence[TeacherTargets], spans: Sequence[IntArray], size: int) -> Tensor:
    """Return the teacher's probability that each span is a mention, float32 ``[B, S]``; 0 where it names none.

    Args:
        targets: By document.
        spans: By document ``[s, 2]`` offsets of all spans that the pupil enumerates.
        size: S.
    """
    chances = np.zeros((len(targets), size), dtype=np.float32)
    for b, (said, own) in enumerate(zip(targets, spans, strict=True)):
        place = find_spans(said.mentions, own)
        chances[b, place[place >= 0]] = said.mention_probabilities[place >= 0]
    return torch.from_numpy(chances)
