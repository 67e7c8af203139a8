"""The entity score Φℓ (paper, eq. entity_cl2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .ffnn import FeedForward

__all__ = ["EntityScorer"]


class EntityScorer(nn.Module):
    """Φℓ(i, e) = FFNN_L([g_i; e]), with the log prior as one more input on request.

    Args:
        span_size: Width G of span vectors.
        entity_size: Width D of entity vectors.
        ffnn_size: Hidden size.
        depth: Hidden layers.
        dropout: Dropout of the hidden layers.
        use_prior: Feeds log p(e | surface).
        with_nil: Adds a learned vector for an explicit NIL candidate (standalone linking).
        with_root: Adds a learned root vector (``root_score="original"``).
    """

    def __init__(
        self,
        span_size: int,
        entity_size: int,
        ffnn_size: int,
        depth: int,
        dropout: float,
        use_prior: bool,
        with_nil: bool,
        with_root: bool,
    ) -> None:
        super().__init__()
        first = FeedForward.first_size(ffnn_size, depth)
        self.span = nn.Linear(span_size, first)
        self.entity = nn.Linear(entity_size, first, bias=False)
        self.prior = nn.Linear(1, first, bias=False) if use_prior else None
        self.ffnn = FeedForward(ffnn_size, depth, dropout)
        self.entity_size = entity_size
        if with_nil:
            self.add_nil()
        if with_root:
            self.add_root()

    def add_nil(self) -> None:
        """Gives the scorer a NIL vector (uninitialised: the model's weight initialisation fills it)."""
        self.nil = nn.Parameter(torch.empty(self.entity_size))

    def add_root(self) -> None:
        """Gives the scorer a root vector, likewise."""
        self.root = nn.Parameter(torch.empty(self.entity_size))

    def forward(self, spans: Tensor, candidates: Tensor, log_priors: Tensor, entity_vectors: Tensor) -> Tensor:
        """Scores of candidates.

        Args:
            spans: ``[B, N, G]``.
            candidates: ``[B, N, K]`` rows of `entity_vectors`, -1 on padding.
            log_priors: ``[B, N, K]``.
            entity_vectors: ``[B, E, D]``.

        Returns:
            ``[B, N, K]``, 0 on padding.
        """
        batch, n, k = (candidates >= 0).nonzero(as_tuple=True)
        # Knowledge bases speak float32, whatever the model's weights are held in.
        entities = self.entity(entity_vectors.to(self.entity.weight.dtype))
        hidden = self.span(spans)[batch, n] + entities[batch, candidates[batch, n, k]]
        if self.prior is not None:
            hidden = hidden + self.prior(log_priors[batch, n, k].unsqueeze(-1).to(hidden.dtype))
        scores = self.ffnn(hidden)
        return scores.new_zeros(candidates.shape).index_put((batch, n, k), scores)

    def score_nil(self, spans: Tensor) -> Tensor:
        """Φℓ(s, NIL) ``[B, N]``."""
        return self.ffnn(self.span(spans) + self.entity(self.nil))

    def score_root(self, spans: Tensor) -> Tensor:
        """Φℓ(s, root) ``[B, N]``, the research code's root score."""
        return self.ffnn(self.span(spans) + self.entity(self.root))
