"""The standalone linking head: one yes-or-no decision a candidate, with NIL as a candidate of its own.

Its scores are Φℓ alone, with no mention and no pair score. It knows no clusters: mentions with the
same predicted link are a cluster, and a span whose best candidate is NIL is no mention.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

from ..documents import AnnotatedLayers
from ..trees import EdgeMarginals
from ..utils.gold_codes import NOT_KNOWN
from .base import Decoding, EdgeScores, GoldClustering, Head, HeadMarginals
from .local import propagate_entities
from .missing_edges import moved_to_root
from .parameter_groups import ENTITIES, NIL
from .sparse_choices import SparseLinks
from .sparse_scores import SparseEdgeScores

__all__ = ["LinkPosterior", "StandaloneLinkingHead"]


def _choices(scores: EdgeScores) -> tuple[Tensor, Tensor]:
    """Scores of NIL and of the candidates of each span, and which of them are real, [B, N, 1 + K].

    Raises:
        ValueError: If there is no ``nil`` score.
    """
    if scores.nil is None:
        raise ValueError("nil: the standalone linking head needs the score of the NIL candidate, got None")
    real = torch.cat((scores.mask.unsqueeze(-1), scores.candidate_mask), dim=-1)
    return torch.cat((scores.nil.unsqueeze(-1), scores.link), dim=-1), real


class LinkPosterior:
    """The best candidate of each span or none, and the probability of each.

    Args:
        scores: The edge scores.
    """

    def __init__(self, scores: EdgeScores) -> None:
        self._scores = scores

    @cached_property
    def decoding(self) -> Decoding:
        """The best candidate of each span, or -1 (no part of the output) where NIL is best.

        Equal scores go to NIL, then to the candidates in their order.
        """
        scores = self._scores
        logits, real = _choices(scores)
        best = logits.masked_fill(~real, float("-inf")).argmax(dim=-1)
        return Decoding(torch.where((best > 0) & scores.mask, scores.num_spans + best, -1))

    @cached_property
    def marginals(self) -> HeadMarginals:
        """Sigmoids of NIL and of the candidates, scaled to sum to 1, in float64 (float32 on MPS).

        Training drives each sigmoid to the probability of its own choice, so they sum to about 1
        already; a softmax over the same scores would sharpen them. ``root`` is NIL, and no span has
        another span as its parent.
        """
        device, scores = self._scores.mention.device, self._scores.double()
        logits, real = _choices(scores)
        # A softmax over log-sigmoids divides by their sum without underflow; NIL keeps masked rows finite.
        real[..., 0] = True
        shares = functional.logsigmoid(logits.masked_fill(~scores.mask.unsqueeze(-1), 0.0))
        shares = torch.softmax(shares.masked_fill(~real, float("-inf")), dim=-1)
        shares = shares.masked_fill(~scores.mask.unsqueeze(-1), 0.0)
        edges = EdgeMarginals(shares[..., 0], shares[..., 1:], torch.zeros_like(scores.pair))
        return HeadMarginals(edges, propagate_entities(edges, scores.candidate_rows, scores.mask)).to(device)


class StandaloneLinkingHead(Head):
    """Links every span on its own, by independent decisions about its candidates and NIL.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import EdgeScores, StandaloneLinkingHead
        >>> scores = EdgeScores(
        ...     mention=torch.tensor([[1.0, 1.0]]),
        ...     link=torch.tensor([[[2.0], [0.0]]]),
        ...     candidate_rows=torch.tensor([[[7], [-1]]]),
        ...     pair=torch.full((1, 2, 2), 0.5),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ...     nil=torch.zeros(1, 2),
        ... )
        >>> StandaloneLinkingHead().decode(scores).parents.tolist()
        [[3, -1]]
    """

    summary = "links of mentions without clusters"
    needs = frozenset({ENTITIES, NIL})
    antecedents_only = True
    finds_nil = False
    learns_from_gaps = True

    def reason_to_leave_out(self, layers: AnnotatedLayers) -> str | None:
        """Return why nothing is learnt from documents without links: only what is no mention would be told of them."""
        if layers.links is False:
            return "no links are annotated, and it would learn from spans that are no mentions alone"
        return None

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Mean over documents of the summed binary cross-entropies, a scalar (at least float32).

        The one right choice of a span is its gold entity, or NIL if the span is no mention, has no
        gold entity, or does not have it among its own candidates. A span whose link is not known gives no loss, and
        neither does any span of a document in which no link is known but those that are unknown.
        """
        logits, real = _choices(scores.at_least_float32())
        gold = gold.within(scores.mask)
        correct = gold.correct_candidates(scores.candidate_rows)
        targets = torch.cat((~correct.any(dim=-1, keepdim=True), correct), dim=-1).to(logits.dtype)
        losses = functional.binary_cross_entropy_with_logits(logits.masked_fill(~real, 0.0), targets, reduction="none")
        unknown = gold.has_unknown_link | (gold.entity_rows == NOT_KNOWN)
        linked = (gold.cluster_ids != -1) & ~unknown
        silent = unknown | (unknown.any(dim=1) & ~linked.any(dim=1)).unsqueeze(1)
        return losses.masked_fill(~real | silent.unsqueeze(-1), 0.0).sum(dim=(1, 2)).mean()

    def parent_probabilities(self, scores: EdgeScores, temperature: float = 1.0) -> EdgeMarginals:
        """The probability of each decision by itself, float64 (float32 on MPS); those of a span need not sum to 1."""
        logits, real = _choices(scores.double())
        chances = torch.sigmoid(logits / temperature).masked_fill(~real, 0.0).to(scores.mention.device)
        return EdgeMarginals(chances[..., 0], chances[..., 1:], chances.new_zeros(scores.pair.shape))

    def distillation_loss(self, scores: EdgeScores, targets: EdgeMarginals, temperature: float = 1.0) -> Tensor:
        """The sum of the binary cross-entropies of all decisions, [B] (at least float32)."""
        logits, real = _choices(scores.at_least_float32())
        targets = moved_to_root(targets, torch.zeros_like(scores.pair, dtype=torch.bool), scores.candidate_mask)
        chances = torch.cat((targets.root.unsqueeze(-1), targets.candidate_probabilities), dim=-1).to(logits)
        logits = logits.masked_fill(~real, 0.0) / temperature
        losses = functional.binary_cross_entropy_with_logits(logits, chances.clamp(max=1.0), reduction="none")
        return losses.masked_fill(~real, 0.0).sum(dim=(1, 2))

    def posterior(self, scores: EdgeScores) -> LinkPosterior:
        """The best candidate of each span or none, and the probability of each."""
        return LinkPosterior(scores)

    def sparse_posterior(self, scores: SparseEdgeScores) -> SparseLinks:
        """The best candidate of each span or none, and the probability of each."""
        return SparseLinks(scores)

    def parent_scores(self, scores: EdgeScores) -> Tensor:
        """Scores of the candidates, and NIL's in the root's column, [B, N, N+1+K]; see `Head`."""
        logits, real = _choices(scores)
        logits = logits.masked_fill(~real, float("-inf"))
        return torch.cat((logits.new_full(scores.pair.shape, float("-inf")), logits), dim=-1)
