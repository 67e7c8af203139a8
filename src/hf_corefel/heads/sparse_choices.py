"""What the heads without a tree make of the edge scores of a long document: one choice a span."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch.nn import functional

from ..trees.arborescence import IntArray
from ..trees.elimination import FloatArray
from .sparse_scores import EdgeTable, SparseEdgeScores

__all__ = ["SparseChoices", "SparseLinks"]


class SparseChoices:
    """The local head: for each span a softmax over itself, its candidates and its antecedents that are scored.

    Args:
        scores: The edge scores. Edges from later spans are not read.
        candidates: K of the numbering of parents, where the spans have fewer candidates here.
    """

    approximations: list[str] = []

    def __init__(self, scores: SparseEdgeScores, candidates: int | None = None) -> None:
        scores = scores.double()
        earlier = (scores.source < scores.target).numpy()
        self._source, self._target = scores.source.numpy()[earlier], scores.target.numpy()[earlier]
        order = np.lexsort((self._source, self._target))
        self._source, self._target = self._source[order], self._target[order]
        self._edges: FloatArray = scores.edges.numpy()[earlier][order]
        size, width = scores.candidate_rows.shape
        self._rows: IntArray = scores.candidate_rows.numpy()
        self._above = np.full((size, 1 + (width if candidates is None else candidates)), -np.inf)
        self._above[:, 0] = 0.0
        self._above[:, 1 : 1 + width] = scores.candidate_scores.numpy()

    @cached_property
    def parents(self) -> IntArray:
        """``[N]`` the best choices; equal scores go to the span itself, its candidates, its antecedents in order."""
        size = len(self._above)
        best = self._above.argmax(axis=1)
        parents, top = size + best, self._above[np.arange(size), best]
        # The first of the best antecedents of each span.
        order = np.lexsort((self._source, -self._edges, self._target))
        first = order[np.flatnonzero(np.diff(self._target[order], prepend=-1))]
        child = self._target[first]
        better = self._edges[first] > top[child]
        parents[child[better]] = self._source[first][better]
        return parents.astype(np.int64)

    def parent_scores(self, spans: IntArray, parents: IntArray) -> FloatArray:
        """Edge scores, 0 for the span itself."""
        return self._weights(spans, parents)

    @cached_property
    def _weights(self) -> EdgeTable:
        return EdgeTable(self._above, self._source, self._target, self._edges, -np.inf)

    @cached_property
    def _shares(self) -> tuple[FloatArray, FloatArray]:
        """The softmax: of root and candidates ``[N, 1 + K]`` and of the edges."""
        top = self._above.max(axis=1)
        np.maximum.at(top, self._target, self._edges)
        above, edges = np.exp(self._above - top[:, None]), np.exp(self._edges - top[self._target])
        total = above.sum(axis=1)
        np.add.at(total, self._target, edges)
        return above / total[:, None], edges / total[self._target]

    def edge_probabilities(self, parents: IntArray) -> FloatArray:
        """The softmax."""
        above, edges = self._shares
        size = len(above)
        parents = np.where(parents < 0, size, parents)
        return EdgeTable(above, self._source, self._target, edges, 0.0)(np.arange(size), parents)

    def entity_probabilities(self) -> tuple[list[dict[int, float]], FloatArray]:
        """P(e | i) = P(i → e) + Σ_{j<i} P(i → j) P(e | j), from left to right."""
        above, edges = self._shares
        size = len(above)
        nil = above[:, 0].copy()
        starts = np.searchsorted(self._target, np.arange(size + 1))
        linked: list[dict[int, float]] = []
        for span in range(size):
            chances: dict[int, float] = {}
            for row, chance in zip(self._rows[span].tolist(), above[span, 1:].tolist(), strict=False):
                if row >= 0:
                    chances[row] = chances.get(row, 0.0) + chance
            for edge in range(starts[span], starts[span + 1]):
                parent, chance = int(self._source[edge]), float(edges[edge])
                if chance < _NEGLIGIBLE:
                    continue
                nil[span] += chance * nil[parent]
                for row, theirs in linked[parent].items():
                    if chance * theirs >= _NEGLIGIBLE:
                        chances[row] = chances.get(row, 0.0) + chance * theirs
            linked.append(chances)
        return linked, nil


_NONE = np.empty(0, dtype=np.int64)
# A probability that no digit of a result shows.
_NEGLIGIBLE = 1e-9


class SparseLinks:
    """The standalone linking head: for each span its best candidate or none.

    Args:
        scores: The edge scores; edges between spans are not read.

    Raises:
        ValueError: If the score of NIL is missing.
    """

    approximations: list[str] = []

    def __init__(self, scores: SparseEdgeScores) -> None:
        if scores.nil is None:
            raise ValueError("nil: the standalone linking head needs the score of the NIL candidate, got None")
        self._rows: IntArray = scores.candidate_rows.cpu().numpy()
        real = np.column_stack([np.ones(len(self._rows), dtype=bool), self._rows >= 0])
        given = scores.double()
        assert given.nil is not None
        logits = np.column_stack([given.nil.numpy(), given.link.numpy()])
        self._above = np.where(real, logits, -np.inf)
        shares = functional.logsigmoid(torch.from_numpy(logits)).numpy()
        shares = np.where(real, shares, -np.inf)
        weights = np.exp(shares - shares.max(axis=1, keepdims=True))
        self._chances: FloatArray = weights / weights.sum(axis=1, keepdims=True)

    @cached_property
    def parents(self) -> IntArray:
        """``[N]`` the best candidates, -1 where NIL is best."""
        best = self._above.argmax(axis=1)
        return np.where(best > 0, len(best) + best, -1).astype(np.int64)

    def parent_scores(self, spans: IntArray, parents: IntArray) -> FloatArray:
        """Scores of the candidates, and NIL's for the root."""
        return EdgeTable(self._above, _NONE, _NONE, np.empty(0), -np.inf)(spans, parents)

    def edge_probabilities(self, parents: IntArray) -> FloatArray:
        """Sigmoids, scaled to sum to 1."""
        size = len(parents)
        return EdgeTable(self._chances, _NONE, _NONE, np.empty(0), 0.0)(
            np.arange(size), np.where(parents < 0, size, parents)
        )

    def entity_probabilities(self) -> tuple[list[dict[int, float]], FloatArray]:
        """The same of each entity."""
        linked: list[dict[int, float]] = []
        for rows, chances in zip(self._rows.tolist(), self._chances[:, 1:].tolist(), strict=True):
            of_span: dict[int, float] = {}
            for row, chance in zip(rows, chances, strict=True):
                if row >= 0:
                    of_span[row] = of_span.get(row, 0.0) + chance
            linked.append(of_span)
        return linked, self._chances[:, 0].copy()
