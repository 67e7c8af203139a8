"""What becomes of a teacher's edges that its pupil does not have."""

from __future__ import annotations

from torch import Tensor

from ..trees import EdgeMarginals

__all__ = ["moved_to_root"]


def moved_to_root(edges: EdgeMarginals, pairs: Tensor, candidates: Tensor) -> EdgeMarginals:
    """Return probabilities of edges with those of edges that do not exist added to the root's.

    If each such edge of a tree becomes one from the root, what is left is a tree. So these are the probabilities of a
    distribution over trees again, one that the pupil can reach.

    Args:
        edges: The probabilities, which may be sums over several trees.
        pairs: Which edges exist from parent (second axis) to child, bool ``[B, N, N]``.
        candidates: Which edges exist from candidates, bool ``[B, N, K]``.
    """
    lost_pairs = edges.span_to_span.masked_fill(pairs, 0.0)
    lost_candidates = edges.candidate_probabilities.masked_fill(candidates, 0.0)
    return EdgeMarginals(
        edges.root + lost_pairs.sum(dim=1) + lost_candidates.sum(dim=2),
        edges.candidate_probabilities - lost_candidates,
        edges.span_to_span - lost_pairs,
    )
