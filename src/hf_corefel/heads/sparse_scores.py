"""Edge scores of one long document as a list of edges, and what heads make of them.

Shape letters: N retained spans, K candidates a span, M edges between spans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ..trees.arborescence import IntArray
from ..trees.elimination import FloatArray
from .edge_scores import score_root_edges

__all__ = ["SparseEdgeScores", "SparsePosterior"]


@dataclass
class SparseEdgeScores:
    """As `EdgeScores`, of one document and of some pairs of spans only.

    Attributes:
        mention: Mention scores Φp, [N].
        link: Entity scores Φℓ(i, e_k), [N, K].
        candidate_rows: Entity of each candidate as its row in the document's list of entities, [N, K]; -1 is padding.
        source: Parent of each edge between spans, int64 [M]. No edge is there twice, and none from a span to itself.
        target: Its child, int64 [M].
        pair: Its pair score Φc, [M].
        root_pair: Score of the root with each span, [N]; only the global head needs it.
        nil: Score of the explicit NIL candidate, [N]; only the standalone linking head needs it.
        root_score: "paper" or "original", see `EdgeScores`.
    """

    mention: Tensor
    link: Tensor
    candidate_rows: Tensor
    source: Tensor
    target: Tensor
    pair: Tensor
    root_pair: Tensor | None = None
    nil: Tensor | None = None
    root_score: str = "paper"

    @property
    def num_spans(self) -> int:
        """N."""
        return len(self.mention)

    @property
    def edges(self) -> Tensor:
        """Φcl(i, j) = Φp(i) + Φp(j) + Φc(i, j) of each edge, [M]."""
        return self.mention[self.source] + self.mention[self.target] + self.pair

    @property
    def candidate_scores(self) -> Tensor:
        """Φcl(i, e) = Φp(i) + Φℓ(i, e), [N, K]; -inf at padding."""
        return (self.mention.unsqueeze(-1) + self.link).masked_fill(self.candidate_rows < 0, -torch.inf)

    @property
    def root(self) -> Tensor:
        """Score of the edge from the root to each span, [N].

        Raises:
            ValueError: If there is no ``root_pair``.
        """
        return score_root_edges(self.mention, self.root_pair, self.root_score)

    def double(self) -> SparseEdgeScores:
        """The same scores in float64 on the CPU."""
        moved: dict[str, Any] = {
            name: value.cpu().double() if value.is_floating_point() else value.cpu()
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)

    def without_candidates(self) -> SparseEdgeScores:
        """The same scores for spans that have no candidates (K = 0)."""
        return replace(self, link=self.link[:, :0], candidate_rows=self.candidate_rows[:, :0])


class SparsePosterior(Protocol):
    """What a head makes of the edge scores of a long document.

    Parents are numbered as in `hf_corefel.heads.base`.
    """

    @property
    def parents(self) -> IntArray:
        """``[N]`` the best parent of each span."""
        ...

    def edge_probabilities(self, parents: IntArray) -> FloatArray:
        """Return the probability ``[N]`` of a parent of each span, 0 where there is no such edge.

        Of a span that is left out (-1) it is the root's.
        """
        ...

    def parent_scores(self, spans: IntArray, parents: IntArray) -> FloatArray:
        """Return what parents ``[P]`` of spans ``[P]`` count for, -inf where there is no such edge; see `Head`."""
        ...

    def entity_probabilities(self) -> tuple[list[dict[int, float]], FloatArray]:
        """Return for each span the probability of each entity (by row) for its cluster, and ``[N]`` that of none."""
        ...

    @property
    def approximations(self) -> list[str]:
        """What of this is approximate, in sentences for the document's warnings."""
        ...


class EdgeTable:
    """Values of the edges of a document, to be looked up by child and parent.

    Args:
        above: ``[N, 1 + K]`` values of the root and of the candidates.
        source: ``[M]`` parents of the edges between spans.
        target: ``[M]`` their children.
        values: ``[M]`` their values.
        missing: The value of an edge that is not there.
    """

    def __init__(
        self, above: FloatArray, source: IntArray, target: IntArray, values: FloatArray, missing: float
    ) -> None:
        self._above, self._size, self._missing = above, len(above), missing
        keys = target.astype(np.int64) * self._size + source
        order = np.argsort(keys)
        self._keys, self._values = keys[order], values[order]

    def __call__(self, spans: IntArray, parents: IntArray) -> FloatArray:
        """Return the values ``[P]`` of edges into spans ``[P]`` from parents ``[P]`` (numbering of `heads.base`)."""
        found = np.full(len(spans), self._missing)
        is_span = (parents >= 0) & (parents < self._size)
        if len(self._keys):
            keys = spans[is_span] * self._size + parents[is_span]
            place = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
            found[is_span] = np.where(self._keys[place] == keys, self._values[place], self._missing)
        is_above = parents >= self._size
        found[is_above] = self._above[spans[is_above], parents[is_above] - self._size]
        return found
