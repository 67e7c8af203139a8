"""What the global head makes of the edge scores of a long document: the best tree of a list of edges, probabilities."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..trees.arborescence import IntArray
from ..trees.elimination import FloatArray
from ..trees.sparse_arborescence import SparseSearch, sparse_search
from ..trees.sparse_marginals import BLOCK_LIMIT, SparseMarginals
from .sparse_scores import EdgeTable

__all__ = ["SparseTree"]

# Below, a result's probabilities are as good as exact.
_NOTABLE = 0.01


class SparseTree:
    """The best tree, and probabilities over all trees.

    Args:
        above: ``[N, 1 + K]`` log-weights of the edges from the root and the candidates; -inf for no edge.
        candidate_rows: ``[N, K]`` the candidates' entities, -1 for padding.
        source: ``[M]`` parents of the edges between spans.
        target: ``[M]`` their children.
        score: ``[M]`` their log-weights.
    """

    def __init__(
        self, above: FloatArray, candidate_rows: IntArray, source: IntArray, target: IntArray, score: FloatArray
    ) -> None:
        self._above, self._rows = above, candidate_rows
        self._source, self._target, self._score = source, target, score

    @cached_property
    def search(self) -> SparseSearch:
        """The search for the best tree, with its dual solution."""
        return sparse_search(self._above.max(axis=1), self._source, self._target, self._score)

    @cached_property
    def parents(self) -> IntArray:
        """``[N]`` the parents in the best tree."""
        parents, size = self.search.parents.copy(), len(self._above)
        from_above = parents == size
        parents[from_above] += self._above[from_above].argmax(axis=1)
        return parents

    @cached_property
    def marginals(self) -> SparseMarginals:
        """Probabilities over all trees."""
        edges = self._source, self._target, self._score
        return SparseMarginals(self._above[:, 0], self._above[:, 1:], self._rows, *edges)

    def parent_scores(self, spans: IntArray, parents: IntArray) -> FloatArray:
        """Log-weights of edges."""
        return self._weights(spans, parents)

    @cached_property
    def _weights(self) -> EdgeTable:
        return EdgeTable(self._above, self._source, self._target, self._score, -np.inf)

    def edge_probabilities(self, parents: IntArray) -> FloatArray:
        """Marginals of edges."""
        found, size = self.marginals, len(self._above)
        above = np.column_stack([found.root, found.candidates])
        table = EdgeTable(above, self._source, self._target, found.edges, 0.0)
        return table(np.arange(size), np.where(parents < 0, size, parents))

    def entity_probabilities(self) -> tuple[list[dict[int, float]], FloatArray]:
        """Probability of each entity for the whole cluster of each span, and of none."""
        entities, chances = self.marginals.entities
        names = [*entities.tolist(), -1]
        linked: list[dict[int, float]] = []
        nil = np.zeros(len(self._above))
        starts, columns, values = chances.indptr.tolist(), chances.indices.tolist(), chances.data.tolist()
        for span in range(len(self._above)):
            part = slice(starts[span], starts[span + 1])
            of_span = {names[column]: value for column, value in zip(columns[part], values[part], strict=True)}
            nil[span] = of_span.pop(-1, 0.0)
            linked.append(of_span)
        return linked, nil

    @property
    def approximations(self) -> list[str]:
        """Why probabilities are approximate, if they are: spans were cut into blocks, or edges left out."""
        found, said = self.marginals, "probabilities of edges and links are approximate"
        reasons = []
        if found.between_blocks >= _NOTABLE:
            reasons.append(
                f"{said}: spans were taken in blocks of at most {BLOCK_LIMIT}, between which "
                f"{found.between_blocks:.1f} edges are expected"
            )
        if found.left_out >= _NOTABLE:
            reasons.append(f"{said}: weak edges were left out, of which {found.left_out:.2f} are expected at most")
        return reasons
