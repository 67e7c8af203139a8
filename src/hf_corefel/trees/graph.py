"""One document's graph in numpy: entities folded into the root, gold clusterings taken apart into blocks.

An entity has no parent but the root, and that edge has score 0, so it takes no part in the tree sums: the edges from
root and candidate entities into a span add up to one root weight, ``rho_j = logsumexp(root_j, candidates_j)``, and
only the spans stay as nodes. Its gradient is passed on to root and candidates by their shares in rho.

The trees that decode to a given clustering are products of trees of its clusters, so each cluster is summed on its
own small slice of the scores (`hf_corefel.trees.blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arborescence import IntArray
from .blocks import BATCH_LIMIT, Blocks
from .elimination import Elimination, FloatArray, eliminate, log_sum_exp
from .partial_gold import PartialTrees, is_known
from .sampling import draw


@dataclass(frozen=True)
class EdgeArrays:
    """A value for every edge of one document: scores, probabilities or gradients.

    Attributes:
        root: ``[N]`` edges root -> span.
        candidate_edges: ``[N, K]`` edges candidate entity -> span.
        span_to_span: ``[N, N]`` edges parent (row) -> child (column).
    """

    root: FloatArray
    candidate_edges: FloatArray
    span_to_span: FloatArray


class TreeGraph:
    """The spanning trees of one document.

    Args:
        scores: Log-weights of the edges, -inf for no edge. The diagonal of `span_to_span` is ignored.
        candidate_rows: ``[N, K]`` entity of each candidate edge, -1 for padding (its score is ignored).
    """

    def __init__(self, scores: EdgeArrays, candidate_rows: IntArray) -> None:
        self.candidate_rows = candidate_rows
        self.root = scores.root
        self.candidate_scores = np.where(candidate_rows < 0, -np.inf, scores.candidate_edges)
        self.span_to_span = scores.span_to_span.copy()
        np.fill_diagonal(self.span_to_span, -np.inf)

    @cached_property
    def rho(self) -> FloatArray:
        """``[N]`` log-weight of each span's edges from the root and its entities."""
        return fold(self.root, self.candidate_scores)

    @cached_property
    def elimination(self) -> Elimination:
        """The sum over all trees."""
        return eliminate(np.vstack([self.span_to_span, self.rho]))

    @property
    def log_weight(self) -> float:
        """Log of the total weight of all trees."""
        return self.elimination.log_total

    @cached_property
    def marginals(self) -> EdgeArrays:
        """Probability of every edge, which is the gradient of `log_weight`."""
        marginals = self.elimination.marginals()
        root_share, candidate_share = shares(self.root, self.candidate_scores, self.rho)
        return EdgeArrays(marginals[-1] * root_share, marginals[-1][:, None] * candidate_share, marginals[:-1])

    def entity_marginals(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Probability of each entity for the cluster of each span.

        P(the head of j's path is h) times the share of the entity in h's edges from above, summed over h.

        Returns:
            The candidate entities ``[E]``, ascending; their probabilities ``[N, E]``; that of no entity ``[N]``.
        """
        heads = self.elimination.head_probabilities()
        root_share, candidate_share = shares(self.root, self.candidate_scores, self.rho)
        span, slot = np.nonzero(self.candidate_rows >= 0)
        entities, index = np.unique(self.candidate_rows[span, slot], return_inverse=True)
        entity_share = np.zeros((len(entities), len(heads)))
        np.add.at(entity_share, (index, span), candidate_share[span, slot])
        return entities, (entity_share @ heads).T, root_share @ heads

    def entropy(self) -> float:
        """Returns the entropy of the tree, NaN if there is no tree or a score is NaN or +inf."""
        if not np.isfinite(self.log_weight):
            return np.nan
        # Every tree has one edge into each span, so a constant taken off all of them changes nothing but rounding.
        top = np.maximum(self.rho, self.span_to_span.max(axis=0, initial=-np.inf))
        marginals = self.marginals
        expected = sum(
            float((probability * np.where(probability > 0, score - shift, 0.0)).sum())
            for probability, score, shift in (
                (marginals.root, self.root, top),
                (marginals.candidate_edges, self.candidate_scores, top[:, None]),
                (marginals.span_to_span, self.span_to_span, top),
            )
        )
        return max(self.log_weight - float(top.sum()) - expected, 0.0)

    def columns(self) -> FloatArray:
        """Returns ``[N, N + 1 + K]`` the scores of the edges into each span: from spans, root and candidates."""
        return np.hstack([self.span_to_span.T, self.root[:, None], self.candidate_scores])

    def marginal_columns(self) -> FloatArray:
        """Returns the probabilities of the same edges, -inf where there is none."""
        marginals = self.marginals
        probabilities = np.hstack([marginals.span_to_span.T, marginals.root[:, None], marginals.candidate_edges])
        return np.where(self.columns() == -np.inf, -np.inf, probabilities)

    def choose_above(self, parents: IntArray, random: np.random.Generator) -> IntArray:
        """Draws which of the edges from above those of trees are.

        Args:
            parents: ``[S, N]`` 0..N-1 a span, N the root or a candidate.
            random: Where the randomness comes from.

        Returns:
            ``[S, N]`` 0..N-1 a span, N the root, N+1+k the k-th candidate.
        """
        trees, spans = np.nonzero(parents == len(self.root))
        parents = parents.copy()
        if len(spans):
            parents[trees, spans] += draw(np.column_stack([self.root, self.candidate_scores])[spans], random)
        return parents


class GoldTrees:
    """The spanning trees of a document that decode to a given clustering with given links.

    A linked cluster is the trees rooted at its entity, an unlinked one the trees with exactly one root edge. Where
    clusters or links are not known, it is all trees that agree with what is (`hf_corefel.trees.partial_gold`).

    Args:
        graph: The document's graph.
        cluster_ids: ``[N]`` spans of one id >= 0 are a cluster; a span of id -1 is its own unlinked cluster; of a span
            with a code of `hf_corefel.utils.gold_codes` the cluster is not known.
        entity_rows: ``[N]`` entity of the span's cluster, -1 if it has none, -2 if it is not known. Not read where the
            cluster id is -1.

    Raises:
        ValueError: If the spans of one cluster have different entities, or codes contradict each other.
    """

    def __init__(self, graph: TreeGraph, cluster_ids: IntArray, entity_rows: IntArray) -> None:
        self._graph = graph
        known = is_known(cluster_ids, entity_rows)
        self._unknown = None
        if not known.all():
            edges = graph.root, graph.candidate_scores, graph.candidate_rows, graph.span_to_span
            self._unknown = PartialTrees(*edges, cluster_ids, entity_rows)
            cluster_ids = np.where(known, cluster_ids, -1)
        entity_rows = np.where(cluster_ids < 0, -1, entity_rows)
        # Edges from above that gold allows: the root for unlinked clusters, the gold entity for linked ones.
        self._root = np.where(entity_rows < 0, graph.root, -np.inf)
        is_gold = (entity_rows >= 0)[:, None] & (graph.candidate_rows == entity_rows[:, None])
        self._candidate_scores = np.where(is_gold, graph.candidate_scores, -np.inf)
        self._rho = fold(self._root, self._candidate_scores)

        # Spans of clusters of two and more, together and the largest clusters first.
        marked = np.flatnonzero(cluster_ids >= 0)
        _, cluster, counts = np.unique(cluster_ids[marked], return_inverse=True, return_counts=True)
        span_counts = counts[cluster]
        order = np.lexsort((cluster, -span_counts))[: np.count_nonzero(span_counts > 1)]
        spans, span_counts = marked[order], span_counts[order]
        sizes = np.sort(counts[counts > 1])[::-1]
        first = np.cumsum(sizes) - sizes
        entities = entity_rows[spans[first]]
        differ = entity_rows[spans] != np.repeat(entities, sizes)
        if differ.any():
            wrong = cluster_ids[spans[differ]].min()
            named = np.unique(entity_rows[cluster_ids == wrong]).tolist()
            raise ValueError(f"the spans of cluster {wrong} have different entities: {named}")

        large = int(np.count_nonzero(sizes > BATCH_LIMIT))
        self._eliminations = []
        for start, size, entity in zip(first[:large], sizes[:large], entities[:large], strict=True):
            inner = spans[start : start + size]
            weights = np.vstack([graph.span_to_span[np.ix_(inner, inner)], self._rho[inner]])
            self._eliminations.append((inner, eliminate(weights, single_root=bool(entity < 0))))
        rest = spans[sizes[:large].sum() :]
        self._blocks = Blocks(graph.span_to_span, self._rho, rest, sizes[large:], entities[large:] < 0)
        alone = np.ones(len(cluster_ids), dtype=bool)
        alone[spans] = False
        alone[~known] = False
        self._alone = np.flatnonzero(alone)
        of_large = sum(elimination.log_total for _, elimination in self._eliminations)
        self.log_weight = float(self._rho[self._alone].sum()) + self._blocks.log_total + of_large
        if self._unknown is not None:
            self.log_weight += self._unknown.log_weight

    @property
    def is_partial(self) -> bool:
        """Whether there are spans of which not everything is known."""
        return self._unknown is not None

    @cached_property
    def marginals(self) -> EdgeArrays:
        """Probability of every edge given the gold clustering: the gradient of `log_weight`."""
        above = np.zeros(len(self._rho))
        span_to_span = np.zeros_like(self._graph.span_to_span)
        above[self._alone] = 1.0
        self._blocks.marginals_into(span_to_span, above)
        for spans, elimination in self._eliminations:
            marginals = elimination.marginals()
            span_to_span[np.ix_(spans, spans)] = marginals[:-1]
            above[spans] = marginals[-1]
        root_share, candidate_share = shares(self._root, self._candidate_scores, self._rho)
        edges = EdgeArrays(above * root_share, above[:, None] * candidate_share, span_to_span)
        if self._unknown is not None:
            self._unknown.marginals_into(edges.root, edges.candidate_edges, edges.span_to_span)
        return edges


class GoldShare:
    """The part that the trees of a gold clustering have in all trees.

    Args:
        graph: The document's graph.
        gold: The trees of the clustering in this graph.
    """

    def __init__(self, graph: TreeGraph, gold: GoldTrees) -> None:
        self._graph = graph
        self._gold = gold
        impossible = gold.log_weight == -np.inf
        self.log_weight = -np.inf if impossible else gold.log_weight - graph.log_weight
        if gold.is_partial:
            # The trees that agree may be all of them, but for rounding.
            self.log_weight = min(self.log_weight, 0.0)

    @cached_property
    def marginals(self) -> EdgeArrays:
        """The gradient of `log_weight`: what the probability of every edge gains by the gold clustering."""
        gold, graph = self._gold.marginals, self._graph.marginals
        return EdgeArrays(
            gold.root - graph.root, gold.candidate_edges - graph.candidate_edges, gold.span_to_span - graph.span_to_span
        )


def fold(root: FloatArray, candidate_scores: FloatArray) -> FloatArray:
    """Returns ``[N]`` logsumexp over the root edge ``[N]`` and the candidate edges ``[N, K]`` of each span."""
    with np.errstate(all="ignore"):
        return log_sum_exp(np.column_stack([root, candidate_scores]), axis=1)


def shares(root: FloatArray, candidate_scores: FloatArray, rho: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns the parts ``[N]`` and ``[N, K]`` that root and candidates have in ``exp(rho)``; zeros if rho is -inf."""
    finite = np.where(rho == -np.inf, 0.0, rho)
    return np.exp(root - finite), np.exp(candidate_scores - finite[:, None])
