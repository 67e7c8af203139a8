"""The part of a gold clustering that is not known: summed over everything that agrees with the annotation.

What is known of a span says which edges may lead to it, and the trees of these edges fall apart into factors:

- Clusters without known links: `hf_corefel.trees.unknown_links`.
- Mentions that have no entity, of unknown clusters: each hangs from the root or from another of them, the trees of one
  block with any number of root edges.
- Free spans, of which nothing is known: each hangs from the root, any of its candidates, another free span, or a
  mention. "Stands under e" is a condition on ancestors, and no determinant once a free span may be the parent of a
  mention of which something is known. So it may not: a subset of the trees that agree with the annotation, and the loss
  is an **upper bound** of the exact one. It is exact where there is no free span. For free spans, all mentions of
  which something is known are as one with the root.
"""

from __future__ import annotations

import numpy as np

from ..utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN
from .arborescence import IntArray
from .blocks import BoolArray
from .elimination import FloatArray, eliminate, log_sum_exp
from .unknown_links import UnknownLinks

__all__ = ["PartialTrees", "check_codes", "is_known"]


def is_known(cluster_ids: IntArray, entity_rows: IntArray) -> BoolArray:
    """Return ``[N]`` whether a span is no mention, or its cluster and link are both known."""
    return (cluster_ids >= -1) & ~((cluster_ids >= 0) & (entity_rows == NOT_KNOWN))


def check_codes(cluster_ids: IntArray, entity_rows: IntArray) -> None:
    """Raise where codes contradict each other.

    Raises:
        ValueError: If a cluster's link is known of some of its spans only, a span without a cluster has an entity, or
            a code is none of `hf_corefel.utils.gold_codes`.
    """
    unknown = (cluster_ids >= 0) & (entity_rows == NOT_KNOWN)
    mixed = np.intersect1d(cluster_ids[unknown], cluster_ids[(cluster_ids >= 0) & ~unknown])
    if len(mixed):
        named = np.unique(entity_rows[cluster_ids == mixed[0]]).tolist()
        raise ValueError(f"the spans of cluster {mixed[0]} have different entities: {named}")
    if ((cluster_ids == NOT_KNOWN) & (entity_rows >= 0)).any():
        raise ValueError("a span of an unknown cluster has an entity; spans of one entity are one cluster, number it")
    if (cluster_ids == LEFT_OUT).any():
        raise ValueError("spans that are left out of the loss take no part in a tree; mask them")
    if (cluster_ids < LEFT_OUT).any():
        raise ValueError(f"cluster ids: {cluster_ids.min()} is no code; see hf_corefel.utils.gold_codes")


class PartialTrees:
    """The trees of the spans of which not everything is known.

    Args:
        root: ``[N]`` log-weights of the edges root -> span.
        candidate_scores: ``[N, K]`` log-weights of the edges candidate -> span, -inf on padding.
        candidate_rows: ``[N, K]`` entities of the candidates, -1 on padding.
        span_to_span: ``[N, N]`` log-weights of the edges parent (row) -> child (column), -inf on the diagonal.
        cluster_ids: ``[N]`` spans of one id >= 0 are a cluster; -1 is no mention; else a code of
            `hf_corefel.utils.gold_codes`.
        entity_rows: ``[N]`` entity of the span's cluster, -1 for none, -2 where it is not known.

    Raises:
        ValueError: See `check_codes`.
    """

    def __init__(
        self,
        root: FloatArray,
        candidate_scores: FloatArray,
        candidate_rows: IntArray,
        span_to_span: FloatArray,
        cluster_ids: IntArray,
        entity_rows: IntArray,
    ) -> None:
        check_codes(cluster_ids, entity_rows)
        self._root, self._candidate_scores, self._span_to_span = root, candidate_scores, span_to_span
        of_cluster = np.flatnonzero((cluster_ids >= 0) & (entity_rows == NOT_KNOWN))
        _, number, sizes = np.unique(cluster_ids[of_cluster], return_inverse=True, return_counts=True)
        spans = of_cluster[np.argsort(number, kind="stable")]
        taken = np.unique(entity_rows[(cluster_ids >= 0) & (entity_rows >= 0)])
        self._links = UnknownLinks(root, candidate_scores, candidate_rows, span_to_span, spans, sizes, taken)

        apart = cluster_ids == NOT_KNOWN
        self._nil = np.flatnonzero(apart & (entity_rows != NOT_KNOWN))
        of_nil = span_to_span[np.ix_(self._nil, self._nil)]
        self._nil_trees = eliminate(np.vstack([of_nil, root[self._nil]]))

        free = (apart & (entity_rows == NOT_KNOWN)) | (cluster_ids == FREE)
        self._free = np.flatnonzero(free)
        self._fixed = np.flatnonzero(~free & (cluster_ids != -1))
        # From above: mentions of which something is known, the root, candidates.
        above = [
            span_to_span[np.ix_(self._fixed, self._free)].T,
            root[self._free, None],
            candidate_scores[self._free],
        ]
        self._above = np.hstack(above)
        with np.errstate(all="ignore"):
            self._rho = log_sum_exp(self._above, axis=1)
        of_free = span_to_span[np.ix_(self._free, self._free)]
        self._free_trees = eliminate(np.vstack([of_free, self._rho]))
        self.log_weight = self._links.log_weight + self._nil_trees.log_total + self._free_trees.log_total

    def marginals_into(self, root: FloatArray, candidate_edges: FloatArray, span_to_span: FloatArray) -> None:
        """Writes the probability of each edge into a span of which not everything is known.

        Args:
            root: ``[N]``.
            candidate_edges: ``[N, K]``.
            span_to_span: ``[N, N]``.
        """
        self._links.marginals_into(root, candidate_edges, span_to_span)
        of_nil, of_free = self._nil_trees.marginals(), self._free_trees.marginals()
        span_to_span[np.ix_(self._nil, self._nil)] = of_nil[:-1]
        root[self._nil] = of_nil[-1]
        span_to_span[np.ix_(self._free, self._free)] = of_free[:-1]
        finite = np.where(self._rho == -np.inf, 0.0, self._rho)
        above = of_free[-1][:, None] * np.exp(self._above - finite[:, None])
        fixed = len(self._fixed)
        span_to_span[np.ix_(self._fixed, self._free)] = above[:, :fixed].T
        root[self._free] = above[:, fixed]
        candidate_edges[self._free] = above[:, fixed + 1 :]
