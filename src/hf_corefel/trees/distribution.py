"""The probability distribution over the spanning trees of root, entities and spans (batched, differentiable)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from .arborescence import UnreachableError
from .graph import EdgeArrays, GoldShare, GoldTrees, TreeGraph
from .precision import of_device

_Trees = TreeGraph | GoldTrees | GoldShare


class EdgeMarginals(NamedTuple):
    """Probability of each edge.

    Attributes:
        root: ``[B, N]`` edges root -> span.
        candidates: ``[B, N, K]`` edges candidate entity -> span.
        span_to_span: ``[B, N, N]`` edges parent (second axis) -> child (third axis).
    """

    root: Tensor
    candidates: Tensor
    span_to_span: Tensor


class EntityMarginals(NamedTuple):
    """Probability of each entity for the whole cluster of each span.

    Attributes:
        entity_ids: int64 ``[B, E]`` the document's candidate entities, ascending, -1 for padding.
        probability: ``[B, N, E]`` that the span's cluster links to the entity, directly or through other spans.
        nil: ``[B, N]`` that the span's cluster links to no entity.
    """

    entity_ids: Tensor
    probability: Tensor
    nil: Tensor


class Arborescence(NamedTuple):
    """The tree of the highest score.

    Attributes:
        parents: int64 ``[B, N]``: 0..N-1 that span, N the root, N+1+k the span's k-th candidate, -1 a masked span.
        score: ``[B]`` sum of its edge scores.
    """

    parents: Tensor
    score: Tensor


class SpanningTreeDistribution:
    """All spanning trees of a document's graph, with probability proportional to exp(sum of edge scores).

    The nodes are the root, the candidate entities and the spans (Zaporojets et al. 2022, section 3.3). Entities hang
    from the root with score 0; a span hangs from the root, from one of its candidates or from another span. The
    computation runs in float64 on the CPU, one document at a time; see `hf_corefel.trees.elimination`.

    Args:
        root: ``[B, N]`` log-weights of the edges root -> span; -inf means no edge, here and below.
        span_to_span: ``[B, N, N]`` log-weights of the edges parent ``[:, i]`` -> child ``[:, :, j]``. The diagonal
            is ignored.
        candidates: ``[B, N, K]`` log-weights of the edges from each span's candidate entities, or None.
        entity_ids: int64 ``[B, N, K]`` the entities of `candidates`, -1 for padding. Needed with `candidates`.
        mask: bool ``[B, N]``, False for padding spans, which take no part; None if there are none.

    Results are float64 (float32 on devices without it); gradients flow to the scores, in their type. A document that
    has no spanning tree has log-partition -inf and gradient zero.

    Raises:
        ValueError: If shapes do not fit or only one of `candidates` and `entity_ids` is given.
    """

    def __init__(
        self,
        root: Tensor,
        span_to_span: Tensor,
        candidates: Tensor | None = None,
        entity_ids: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> None:
        if root.dim() != 2:
            raise ValueError(f"root must have shape [B, N], not {list(root.shape)}")
        batch, spans = root.shape
        if (candidates is None) != (entity_ids is None):
            raise ValueError("candidates and entity_ids must be given together")
        if candidates is None or entity_ids is None:
            candidates = root.new_zeros(batch, spans, 0)
            entity_ids = torch.zeros(batch, spans, 0, dtype=torch.int64, device=root.device)
        if mask is None:
            mask = torch.ones(batch, spans, dtype=torch.bool, device=root.device)
        width = candidates.shape[-1]
        _check_shape("span_to_span", span_to_span, (batch, spans, spans))
        _check_shape("candidates", candidates, (batch, spans, width))
        _check_shape("entity_ids", entity_ids, (batch, spans, width))
        _check_shape("mask", mask, (batch, spans))
        self.root = root
        self.span_to_span = span_to_span
        self.candidates = candidates
        self.entity_ids = entity_ids
        self.mask = mask
        self._spans = [np.flatnonzero(row) for row in mask.cpu().numpy()]

    @cached_property
    def _graphs(self) -> list[TreeGraph]:
        root, candidates, span_to_span = map(_to_numpy, (self.root, self.candidates, self.span_to_span))
        entity_ids = self.entity_ids.cpu().numpy()
        return [
            TreeGraph(EdgeArrays(root[b][at], candidates[b][at], span_to_span[b][np.ix_(at, at)]), entity_ids[b][at])
            for b, at in enumerate(self._spans)
        ]

    @property
    def log_partition(self) -> Tensor:
        """``[B]`` log of the total weight of all trees; its gradient are the edge marginals."""
        return self._log_weight(self._graphs)

    def log_numerator(self, cluster_ids: Tensor, entity_ids: Tensor) -> Tensor:
        """Log of the total weight of the trees that decode to a clustering with links.

        Linked clusters are summed over the trees rooted at their entity, unlinked ones over those with exactly one
        root edge (Koo et al. 2007, section 3.1). Two clusters with the same entity are kept apart: no edge between
        them counts.

        Args:
            cluster_ids: int64 ``[B, N]``: spans of the same id >= 0 are one cluster; -1 is a span that is an
                unlinked cluster of its own.
            entity_ids: int64 ``[B, N]``: the entity of the span's cluster, -1 for none; not read where the cluster
                id is -1.

        Returns:
            ``[B]``, -inf with zero gradients where no tree decodes to the clustering.

        Raises:
            ValueError: If shapes do not fit or the spans of a cluster differ in their entity.
        """
        return self._log_weight(self._gold(cluster_ids, entity_ids))

    def log_prob(self, cluster_ids: Tensor, entity_ids: Tensor) -> Tensor:
        """Log-probability ``[B]`` of a clustering with links; arguments as for `log_numerator`.

        It is -inf, with zero gradients, where no tree decodes to the clustering.
        """
        gold = self._gold(cluster_ids, entity_ids)
        return self._log_weight([GoldShare(graph, trees) for graph, trees in zip(self._graphs, gold, strict=True)])

    @cached_property
    def edge_marginals(self) -> EdgeMarginals:
        """Probability of every edge, zeros for a document without a tree; no gradient flows through it."""
        root, candidates, span_to_span = (
            np.zeros(tensor.shape) for tensor in (self.root, self.candidates, self.span_to_span)
        )
        for b, (graph, at) in enumerate(zip(self._graphs, self._spans, strict=True)):
            _scatter(graph.marginals, at, root[b], candidates[b], span_to_span[b])
        return EdgeMarginals(self._tensor(root), self._tensor(candidates), self._tensor(span_to_span))

    @cached_property
    def entity_marginals(self) -> EntityMarginals:
        """Probability of each entity for the whole cluster of each span; no gradient flows through it.

        This is P(the path from the root to the span starts with the entity), not P(the entity is its parent). With
        `nil` it sums to 1 for each span, and to 0 for masked spans and for documents without a tree.
        """
        found = [graph.entity_marginals() for graph in self._graphs]
        batch, spans = self.root.shape
        width = max((len(entities) for entities, _, _ in found), default=0)
        entity_ids = np.full((batch, width), -1, dtype=np.int64)
        probability = np.zeros((batch, spans, width))
        nil = np.zeros((batch, spans))
        for b, ((entities, linked, unlinked), at) in enumerate(zip(found, self._spans, strict=True)):
            entity_ids[b, : len(entities)] = entities
            probability[b, at, : len(entities)] = linked
            nil[b, at] = unlinked
        return EntityMarginals(self._tensor(entity_ids), self._tensor(probability), self._tensor(nil))

    @cached_property
    def entropy(self) -> Tensor:
        """``[B]`` entropy of the tree in nats, NaN for a document without a tree; no gradient flows through it."""
        return self._tensor(np.array([graph.entropy() for graph in self._graphs], dtype=np.float64))

    @cached_property
    def argmax(self) -> Arborescence:
        """The tree of the highest score of each document; more than one root edge is allowed.

        Among equal scores the choice is always the same: of the edges into a span the root's, then the lowest
        candidate's, then the lowest span's (where contracted cycles meet, whichever comes first).

        Raises:
            ValueError: If a document has no tree (the message names the unreachable spans) or a score is NaN or +inf.
        """
        batch, spans = self.root.shape
        parents = np.full((batch, spans), -1, dtype=np.int64)
        score = np.zeros(batch)
        for b, (graph, at) in enumerate(zip(self._graphs, self._spans, strict=True)):
            try:
                found, score[b] = graph.argmax()
            except UnreachableError as error:
                named = at[error.nodes].tolist()
                raise ValueError(f"document {b} has no spanning tree: nothing leads to its spans {named}") from error
            inner = found < len(at)
            # Masked spans are back in the count, before and beyond the spans.
            parents[b, at] = np.where(inner, at[np.where(inner, found, 0)], found - len(at) + spans)
        return Arborescence(self._tensor(parents), self._tensor(score))

    def _gold(self, cluster_ids: Tensor, entity_ids: Tensor) -> list[GoldTrees]:
        _check_shape("cluster_ids", cluster_ids, tuple(self.root.shape))
        _check_shape("entity_ids", entity_ids, tuple(self.root.shape))
        clusters, entities = cluster_ids.cpu().numpy(), entity_ids.cpu().numpy()
        return [
            GoldTrees(graph, clusters[b][at], entities[b][at])
            for b, (graph, at) in enumerate(zip(self._graphs, self._spans, strict=True))
        ]

    def _tensor(self, array: NDArray[np.float64] | NDArray[np.int64]) -> Tensor:
        return of_device(torch.from_numpy(array), self.root.device)

    def _log_weight(self, trees: Sequence[_Trees]) -> Tensor:
        apply: Callable[..., Tensor] = _LogWeight.apply
        return apply(self.root, self.candidates, self.span_to_span, trees, self._spans)


class _LogWeight(torch.autograd.Function):
    """Log total weight of a set of trees per document, or a difference of two; the gradient is the edge marginals."""

    @staticmethod
    def forward(
        ctx: Any,
        root: Tensor,
        candidates: Tensor,
        span_to_span: Tensor,
        trees: Sequence[_Trees],
        spans: Sequence[NDArray[np.intp]],
    ) -> Tensor:
        ctx.inputs = root, candidates, span_to_span
        ctx.trees = trees
        ctx.spans = spans
        return of_device(torch.tensor([tree.log_weight for tree in trees], dtype=torch.float64), root.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [np.zeros(tensor.shape) for tensor in ctx.inputs]
        root, candidates, span_to_span = gradients
        scales = grad_output.cpu().numpy()
        for b, (tree, at) in enumerate(zip(ctx.trees, ctx.spans, strict=True)):
            if scales[b] == 0.0 or tree.log_weight == -np.inf:
                continue
            _scatter(tree.marginals, at, root[b], candidates[b], span_to_span[b], scale=scales[b])
        return (
            *(
                torch.from_numpy(array).to(tensor.dtype).to(tensor.device)
                for array, tensor in zip(gradients, ctx.inputs, strict=True)
            ),
            None,
            None,
        )


def _scatter(
    values: EdgeArrays,
    at: NDArray[np.intp],
    root: NDArray[np.float64],
    candidates: NDArray[np.float64],
    span_to_span: NDArray[np.float64],
    scale: float = 1.0,
) -> None:
    """Writes a document's values, times `scale`, to the places of its unmasked spans."""
    if len(at) == len(root):
        np.multiply(values.root, scale, out=root)
        np.multiply(values.candidates, scale, out=candidates)
        np.multiply(values.span_to_span, scale, out=span_to_span)
        return
    root[at] = scale * values.root
    candidates[at] = scale * values.candidates
    span_to_span[np.ix_(at, at)] = scale * values.span_to_span


def _to_numpy(scores: Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = scores.detach().cpu().to(torch.float64).numpy()
    return array


def _check_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have shape {list(shape)}, not {list(tensor.shape)}")
