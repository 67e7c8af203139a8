"""The standalone coreference head: the local head without entities (the paper's Standalone)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..trees import EdgeMarginals
from .base import Decoding, EdgeScores, GoldClustering, Head, HeadMarginals
from .local import ChoicePosterior, LocalHead
from .missing_edges import moved_to_root
from .parameter_groups import PAIRS
from .sparse_choices import SparseChoices
from .sparse_scores import SparseEdgeScores

__all__ = ["CorefPosterior", "StandaloneCorefHead"]


class CorefPosterior:
    """The local head's posterior of spans without candidates.

    Args:
        scores: The edge scores.
    """

    def __init__(self, scores: EdgeScores) -> None:
        self._shape = scores.candidate_rows.shape
        self._local = ChoicePosterior(scores.without_candidates())

    @property
    def decoding(self) -> Decoding:
        """The best antecedent of each span, or N; equal scores go to N, then from left to right."""
        return self._local.decoding

    @cached_property
    def marginals(self) -> HeadMarginals:
        """The softmax of each span, in float64 (float32 on MPS); candidates have probability 0, and E is 0."""
        edges, entities = self._local.marginals
        return HeadMarginals(edges._replace(candidate_probabilities=edges.root.new_zeros(self._shape)), entities)


class StandaloneCorefHead(Head):
    """Every span picks an antecedent or itself; candidates and gold entities are ignored.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import EdgeScores, StandaloneCorefHead
        >>> scores = EdgeScores(
        ...     mention=torch.tensor([[1.0, 1.0]]),
        ...     link=torch.tensor([[[2.0], [0.0]]]),
        ...     candidate_rows=torch.tensor([[[7], [-1]]]),
        ...     pair=torch.full((1, 2, 2), 0.5),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ... )
        >>> StandaloneCorefHead().decode(scores).parents.tolist()  # 2 is the root
        [[2, 0]]
    """

    summary = "clusters without links"
    needs = frozenset({PAIRS})
    antecedents_only = True
    links = False
    learns_from_gaps = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._local = LocalHead()

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Mean over documents of -Σ_i log P(the gold antecedents of span i), a scalar (at least float32)."""
        return self._local.loss(scores.without_candidates(), gold)

    def parent_probabilities(self, scores: EdgeScores, temperature: float = 1.0) -> EdgeMarginals:
        """The softmax of each span's antecedents and itself, float64 (float32 on MPS); candidates have 0."""
        edges = self._local.parent_probabilities(scores.without_candidates(), temperature)
        return edges._replace(candidate_probabilities=edges.root.new_zeros(scores.candidate_rows.shape))

    def distillation_loss(self, scores: EdgeScores, targets: EdgeMarginals, temperature: float = 1.0) -> Tensor:
        """The sum over spans of the cross-entropies of their antecedents, [B] (at least float32)."""
        bare = scores.without_candidates()
        targets = moved_to_root(targets, torch.ones_like(scores.pair, dtype=torch.bool), scores.candidate_rows < -1)
        targets = targets._replace(candidate_probabilities=targets.root.new_zeros(bare.candidate_rows.shape))
        return self._local.distillation_loss(bare, targets, temperature)

    def posterior(self, scores: EdgeScores) -> CorefPosterior:
        """The best antecedent of each span, and the probability of each."""
        return CorefPosterior(scores)

    def sparse_posterior(self, scores: SparseEdgeScores) -> SparseChoices:
        """The best antecedent of each span among the edges that are scored, and the probability of each."""
        return SparseChoices(scores.without_candidates(), scores.candidate_rows.shape[1])

    def parent_scores(self, scores: EdgeScores) -> Tensor:
        """As the local head's; -inf for the candidates."""
        bare = self._local.parent_scores(scores.without_candidates())
        none = bare.new_full(scores.candidate_rows.shape, float("-inf"))
        return torch.cat((bare, none), dim=-1)
