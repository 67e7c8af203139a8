"""What is said of a distribution over spanning trees: probabilities of edges and entities, and the best trees."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ..moved import renamed_field

__all__ = ["Arborescence", "EdgeMarginals", "EntityMarginals"]


@renamed_field("candidates", "candidate_probabilities")
class EdgeMarginals(NamedTuple):
    """Probability of each edge.

    Attributes:
        root: ``[B, N]`` edges root -> span.
        candidate_probabilities: ``[B, N, K]`` edges candidate entity -> span.
        span_to_span: ``[B, N, N]`` edges parent (second axis) -> child (third axis).

    Example:
        >>> import torch
        >>> from hf_corefel.trees import SpanningTreeDistribution
        >>> marginals = SpanningTreeDistribution(torch.zeros(1, 2), torch.zeros(1, 2, 2)).edge_marginals
        >>> round(marginals.root[0, 0].item(), 3)
        0.667
    """

    root: Tensor
    candidate_probabilities: Tensor
    span_to_span: Tensor


@renamed_field("entity_ids", "entity_rows")
class EntityMarginals(NamedTuple):
    """Probability of each entity for the whole cluster of each span.

    Attributes:
        entity_rows: int64 ``[B, E]`` rows of the document's candidate entities, ascending, -1 for padding.
        probability: ``[B, N, E]`` that the span's cluster links to the entity, directly or through other spans.
        nil: ``[B, N]`` that the span's cluster links to no entity.

    Example:
        >>> import torch
        >>> from hf_corefel.trees import SpanningTreeDistribution
        >>> trees = SpanningTreeDistribution(
        ...     torch.zeros(1, 1), torch.zeros(1, 1, 1), torch.zeros(1, 1, 1), torch.tensor([[[7]]])
        ... )
        >>> trees.entity_marginals.probability[0, 0].tolist(), trees.entity_marginals.nil[0].tolist()
        ([0.5], [0.5])
    """

    entity_rows: Tensor
    probability: Tensor
    nil: Tensor


class Arborescence(NamedTuple):
    """The tree of the highest score.

    Attributes:
        parents: int64 ``[B, N]``: 0..N-1 that span, N the root, N+1+k the span's k-th candidate, -1 a masked span.
        score: ``[B]`` sum of its edge scores.

    Example:
        >>> import torch
        >>> from hf_corefel.trees import SpanningTreeDistribution
        >>> best = SpanningTreeDistribution(torch.tensor([[2.0, -1.0]]), torch.zeros(1, 2, 2)).argmax
        >>> best.parents.tolist(), best.score.tolist()  # 2 is the root
        ([[2, 0]], [2.0])
    """

    parents: Tensor
    score: Tensor
