"""The standalone coreference head: the local head without entities (the paper's Standalone)."""

from __future__ import annotations

import torch
from torch import Tensor

from .base import Decoding, EdgeScores, GoldClustering, HeadMarginals
from .local import LocalHead

__all__ = ["StandaloneCorefHead"]


class StandaloneCorefHead:
    """Every span picks an antecedent or itself; candidates and gold entities are ignored."""

    def __init__(self) -> None:
        self._local = LocalHead()

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Mean over documents of -Σ_i log P(the gold antecedents of span i), a scalar (at least float32)."""
        return self._local.loss(scores.without_candidates(), gold)

    def decode(self, scores: EdgeScores) -> Decoding:
        """The best antecedent of each span, or N; equal scores go to N, then from left to right."""
        return self._local.decode(scores.without_candidates())

    def parent_scores(self, scores: EdgeScores) -> Tensor:
        """As the local head's; -inf for the candidates."""
        bare = self._local.parent_scores(scores.without_candidates())
        candidates = bare.new_full(scores.entity_ids.shape, float("-inf"))
        return torch.cat((bare, candidates), dim=-1)

    def marginals(self, scores: EdgeScores) -> HeadMarginals:
        """The softmax of each span, in float64 (float32 on MPS); candidates have probability 0, and E is 0."""
        edges, entities = self._local.marginals(scores.without_candidates())
        candidates = edges.root.new_zeros(scores.entity_ids.shape)
        return HeadMarginals(edges._replace(candidates=candidates), entities)
