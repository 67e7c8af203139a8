"""Cross-entropy and Kullback-Leibler divergence of two distributions over the trees of the same spans.

Both are sums over edges: ``E[log q(T)] = sum_e P(e) score_q(e) - log Z_q`` with the edge marginals P of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .gradients import EdgeTensors, expectation
from .graph import TreeGraph
from .precision import of_device
from .results import EdgeMarginals

if TYPE_CHECKING:
    from .distribution import SpanningTreeDistribution

_NO_EDGE = float("-inf")


def cross_entropy(one: SpanningTreeDistribution, other: SpanningTreeDistribution) -> Tensor:
    """See `SpanningTreeDistribution.cross_entropy`."""
    scores = _scores_in_slots_of(one, other)
    values = tuple(score.masked_fill(score == _NO_EDGE, 0.0) for score in scores)
    result = other.log_partition - _expected(one, values)
    return _where_defined(one, scores, result)


def kl_divergence(one: SpanningTreeDistribution, other: SpanningTreeDistribution) -> Tensor:
    """See `SpanningTreeDistribution.kl_divergence`."""
    theirs, own = _scores_in_slots_of(one, other), _scores_in_slots_of(one, one)
    values = tuple(
        # Filled before the difference, so that no gradient is infinity less infinity.
        p.masked_fill(missing, 0.0) - q.masked_fill(missing, 0.0)
        for p, q in zip(own, theirs, strict=True)
        for missing in [(p == _NO_EDGE) | (q == _NO_EDGE)]
    )
    result = _expected(one, values) - one.log_partition + other.log_partition
    return _where_defined(one, theirs, result)


def cross_entropy_of_marginals(marginals: EdgeMarginals, other: SpanningTreeDistribution) -> Tensor:
    """See `SpanningTreeDistribution.cross_entropy_of`."""
    scores = other.root, other.candidate_scores, other.span_to_span
    log_partition = other.log_partition
    expected = torch.zeros_like(log_partition)
    for score, probability in zip(scores, marginals, strict=True):
        weight = probability.to(device=log_partition.device, dtype=log_partition.dtype)
        # A score that does not count may be -inf, and 0 * -inf is no number.
        finite = of_device(score, log_partition.device).to(weight.dtype).masked_fill(weight == 0, 0.0)
        expected = expected + (weight * finite).flatten(1).sum(dim=1)
    return log_partition - expected


def _expected(one: SpanningTreeDistribution, values: tuple[Tensor, ...]) -> Tensor:
    root, candidate_edges, span_to_span = (value.to(one.root.device) for value in values)
    scores = one.root, one.candidate_scores, one.span_to_span
    return expectation(scores, (root, candidate_edges, span_to_span), one.graphs, one.places)


def _where_defined(one: SpanningTreeDistribution, scores: EdgeTensors, result: Tensor) -> Tensor:
    """The result, NaN where the first has no tree and +inf where it has a tree with an edge that the second has not."""
    root, candidate_edges, span_to_span = ((score == _NO_EDGE).cpu().numpy() for score in scores)
    fixed = torch.zeros_like(result)
    is_fixed = torch.zeros_like(result, dtype=torch.bool)
    for b, (graph, at) in enumerate(zip(one.graphs, one.places, strict=True)):
        if graph.log_weight == _NO_EDGE:
            fixed[b], is_fixed[b] = float("nan"), True
        elif _has_edge(graph, root[b, at], candidate_edges[b, at], span_to_span[b][np.ix_(at, at)]):
            fixed[b], is_fixed[b] = float("inf"), True
    return torch.where(is_fixed, fixed, result)


def _has_edge(graph: TreeGraph, root: np.ndarray, candidate_edges: np.ndarray, span_to_span: np.ndarray) -> bool:
    """Whether any of the marked edges is in some tree of a graph that has one.

    Edges from above always are. One from span i to span j is, unless all ways from the root to i lead through j.
    """
    if (root & (graph.root > _NO_EDGE)).any() or (candidate_edges & (graph.candidate_scores > _NO_EDGE)).any():
        return True
    exists = graph.span_to_span > _NO_EDGE
    marked = span_to_span & exists
    top = graph.rho > _NO_EDGE
    return any(
        (marked[:, j] & _reached_without(j, exists, top)).any() for j in np.flatnonzero(marked.any(axis=0)).tolist()
    )


def _reached_without(j: int, exists: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Which spans the root reaches on ways that avoid span j."""
    reached = top.copy()
    reached[j] = False
    frontier = np.flatnonzero(reached)
    while len(frontier):
        new = exists[frontier].any(axis=0) & ~reached
        new[j] = False
        reached |= new
        frontier = np.flatnonzero(new)
    return reached


def _scores_in_slots_of(one: SpanningTreeDistribution, other: SpanningTreeDistribution) -> EdgeTensors:
    """The second's scores in float64 on the CPU (or a device that has it), its candidates in the first's places.

    Raises:
        ValueError: If the spans are not the same, or candidates cannot be matched.
    """
    if one.root.shape != other.root.shape or not torch.equal(one.mask.cpu(), other.mask.cpu()):
        raise ValueError("both distributions must be over the same spans: their shapes [B, N] or their masks differ")
    # Diagonal, padding and masked spans have no edges, whatever stands there.
    real = one.mask.cpu()
    pairs = real.unsqueeze(2) & real.unsqueeze(1) & ~torch.eye(real.shape[1], dtype=torch.bool)
    mine, theirs = one.candidate_rows.cpu(), other.candidate_rows.cpu()
    root, candidate_scores, span_to_span = (
        score.cpu().to(torch.float64) for score in (other.root, other.candidate_scores, other.span_to_span)
    )
    candidate_scores = candidate_scores.masked_fill((theirs < 0) | ~real.unsqueeze(-1), _NO_EDGE)
    if not torch.equal(mine, theirs):
        candidate_scores = _matched(candidate_scores, theirs, mine)
    return (
        root.masked_fill(~real, _NO_EDGE),
        candidate_scores.masked_fill((mine < 0) | ~real.unsqueeze(-1), _NO_EDGE),
        span_to_span.masked_fill(~pairs, _NO_EDGE),
    )


def _matched(candidate_scores: Tensor, theirs: Tensor, mine: Tensor) -> Tensor:
    """Scores of candidates in the order of other lists of the same spans' candidates; -inf for what is missing."""
    for ids in (mine, theirs):
        ordered = ids.sort(dim=-1).values
        if ((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)).any():
            raise ValueError(
                "candidate_rows: a span that names an entity twice needs the same lists in both distributions"
            )
    if theirs.shape[-1] == 0:
        return candidate_scores.new_full(mine.shape, _NO_EDGE)
    same = mine.unsqueeze(-1) == theirs.unsqueeze(-2)
    found = candidate_scores.gather(-1, same.to(torch.int64).argmax(dim=-1))
    return found.masked_fill(~same.any(dim=-1), _NO_EDGE)
