"""The groups of parameters that heads score with, where they are in the model, and what a scorer of one's own gets."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

__all__ = [
    "ENTITIES",
    "ENTITY_ROOT",
    "HEAD_MODULES",
    "NIL",
    "OWNERS",
    "OWN_SCORERS",
    "PAIRS",
    "PAIR_ROOT",
    "RetainedSpans",
    "ScorerSizes",
    "place_of",
]

# What heads share, beyond encoder, spans and pruner, with where its parameters are in the model.
_PLACES = {
    "pairs": "pairs",
    "entities": "entities",
    "pair_root": "pairs.root",
    "entity_root": "entities.root",
    "nil": "entities.nil",
}
HEAD_MODULES = tuple(_PLACES)
PAIRS, ENTITIES, PAIR_ROOT, ENTITY_ROOT, NIL = HEAD_MODULES
# A root or NIL vector belongs to a scorer, without which it cannot be.
OWNERS = {PAIR_ROOT: PAIRS, ENTITY_ROOT: ENTITIES, NIL: ENTITIES}
# The module that holds the scorers that heads bring themselves, by the name of the head and of the score.
OWN_SCORERS = "own_scorers"


def place_of(group: str) -> str:
    """Return where a group's parameters are in the model, dotted: of `HEAD_MODULES`, or ``head.score`` of one's own."""
    return _PLACES.get(group, f"{OWN_SCORERS}.{group}")


@dataclass(frozen=True, slots=True)
class ScorerSizes:
    """The sizes that a scorer of one's own is made for.

    Attributes:
        spans: Width G of span vectors.
        entity_vectors: Width D of entity vectors.
        hidden: Hidden size of the pair scorer, `CorefELConfig.pair_ffnn_size`.
        depth: Hidden layers of the scorers, `CorefELConfig.ffnn_depth`.
        dropout: `CorefELConfig.dropout`.

    Example:
        >>> from torch import nn
        >>> from hf_corefel.heads import ScorerSizes
        >>> sizes = ScorerSizes(spans=8, entity_vectors=6, hidden=4, depth=1, dropout=0.0)
        >>> nn.Linear(sizes.spans, sizes.entity_vectors).weight.shape
        torch.Size([6, 8])
    """

    spans: int
    entity_vectors: int
    hidden: int
    depth: int
    dropout: float


@dataclass(frozen=True, slots=True)
class RetainedSpans:
    """The spans that the pruner retained, as a scorer of one's own reads them.

    Attributes:
        vectors: Span vectors ``[B, N, G]``, in reading order.
        mask: True for real spans, bool ``[B, N]``.
        mention: Mention scores Φp, ``[B, N]``.
        candidate_rows: Candidates ``[B, N, K]``, rows of `entity_vectors`; -1 is padding.
        log_priors: Their log priors ``[B, N, K]``.
        entity_vectors: ``[B, E, D]``.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import RetainedSpans
        >>> spans = RetainedSpans(
        ...     vectors=torch.zeros(1, 2, 8),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ...     mention=torch.zeros(1, 2),
        ...     candidate_rows=torch.full((1, 2, 4), -1),
        ...     log_priors=torch.zeros(1, 2, 4),
        ...     entity_vectors=torch.zeros(1, 0, 6),
        ... )
        >>> (spans.vectors @ spans.vectors.mT).shape  # a score of pairs
        torch.Size([1, 2, 2])
    """

    vectors: Tensor
    mask: Tensor
    mention: Tensor
    candidate_rows: Tensor
    log_priors: Tensor
    entity_vectors: Tensor
