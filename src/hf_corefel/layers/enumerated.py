"""Scoring all enumerated spans, of which few are retained, without holding a vector of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .pruner import MentionPruner
from .spans import SpanRepresentation
from .tracing import in_one_graph

__all__ = ["PrunedSpans", "SpanTensors", "keep_best", "score_spans", "with_others"]

# Spans of a batch that are scored at once when no gradient is needed. The vectors of all five-word spans of 20,000
# words would take 800 MB with a small encoder, and twice that on the way to them.
_CHUNK = 8_192


class SpanTensors(NamedTuple):
    """What the model is told of the spans of a batch.

    Attributes:
        begin: ``[B, S]`` first subwords.
        end: ``[B, S]`` one past the last subwords.
        width: ``[B, S]`` words.
        case: ``[B, S, 2]`` letter-case classes of the first and last words, if any.
        mask: ``[B, S]``, False on padding.
        scope: ``[B]`` mention scopes of the documents, if any.
    """

    begin: Tensor
    end: Tensor
    width: Tensor
    case: Tensor | None
    mask: Tensor
    scope: Tensor | None

    def between(self, start: int, stop: int) -> SpanTensors:
        """The spans ``start..stop`` of every document."""
        part = slice(start, stop)
        case = None if self.case is None else self.case[:, part]
        begin, end, width, mask = (tensor[:, part] for tensor in (self.begin, self.end, self.width, self.mask))
        return SpanTensors(begin, end, width, case, mask, self.scope)

    def at(self, index: Tensor, mask: Tensor) -> SpanTensors:
        """The spans at ``index`` ``[B, N]`` of every document, where ``mask`` ``[B, N]`` holds."""
        case = None if self.case is None else self.case.gather(1, _wide(index, 2))
        begin, end, width = (tensor.gather(1, index) for tensor in (self.begin, self.end, self.width))
        return SpanTensors(begin, end, width, case, mask, self.scope)


class PrunedSpans(NamedTuple):
    """The spans of a batch that are worth scoring further, N of each document's S.

    Attributes:
        scores: ``[B, S]`` mention scores Φp of all spans.
        retained: ``[B, N]`` indices of the retained spans, in reading order, -1 on padding.
        vectors: ``[B, N, G]`` their vectors; on padding they mean nothing.
    """

    scores: Tensor
    retained: Tensor
    vectors: Tensor


def keep_best(
    represent: SpanRepresentation,
    pruner: MentionPruner,
    subwords: Tensor,
    spans: SpanTensors,
    limits: Tensor,
    keep_all: Tensor,
    also: Tensor | None = None,
) -> PrunedSpans:
    """Score all spans and keep the best.

    Args:
        represent: Gives the vectors.
        pruner: Gives the scores, and chooses.
        subwords: ``[B, T, H]``.
        spans: S spans of each document.
        limits: ``[B]`` most spans to keep.
        keep_all: ``[B]``, True where none is dropped.
        also: ``[B, S]``, True for spans that are kept beside these.
    """
    scores, vectors_at = score_spans(represent, pruner, subwords, spans)
    retained = pruner.select(scores, spans.begin, spans.end, spans.mask, limits, keep_all)
    if also is not None:
        retained = with_others(retained, also & spans.mask)
    return PrunedSpans(scores, retained, vectors_at(retained.clamp(min=0), retained >= 0))


@torch.compiler.disable
def with_others(retained: Tensor, others: Tensor) -> Tensor:
    """Return the indices ``[B, N]`` of retained spans and of others (bool ``[B, S]``), in reading order, -1 on padding.

    Args:
        retained: ``[B, N]`` indices, -1 on padding. Spans are numbered in reading order.
        others: Spans that are to be among them.
    """
    chosen = torch.zeros(len(others), others.shape[1] + 1, dtype=torch.bool, device=others.device)
    # Padding goes to one place more, which is cut off.
    chosen.scatter_(1, retained.masked_fill(retained < 0, others.shape[1]), True)
    rows = [row.nonzero().flatten() for row in chosen[:, :-1] | others]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)


def score_spans(
    represent: SpanRepresentation, pruner: MentionPruner, subwords: Tensor, spans: SpanTensors
) -> tuple[Tensor, Callable[[Tensor, Tensor], Tensor]]:
    """Mention scores of all spans, and a way to the vectors of some.

    Vectors are computed once where they are few, where gradients pass through them, and in training mode, in which
    dropout would make others of them. Else they are made a part at a time and forgotten, and those that are asked for
    are made again.

    Args:
        represent: Gives the vectors.
        pruner: Gives the scores.
        subwords: ``[B, T, H]``.
        spans: S spans of each document.

    Returns:
        The scores Φp ``[B, S]``, and a function that gives the vectors ``[B, N, G]`` at indices ``[B, N]`` where a mask
        ``[B, N]`` holds; elsewhere they mean nothing.
    """
    batch, count = spans.begin.shape
    step = max(1, _CHUNK // max(1, batch))
    if in_one_graph() or count <= step or torch.is_grad_enabled() or represent.training:
        vectors = represent(subwords, *spans)
        size = vectors.shape[-1]
        return pruner(vectors, spans.width), lambda index, mask: vectors.gather(1, _wide(index, size))
    parts = [spans.between(start, start + step) for start in range(0, count, step)]
    scores = torch.cat([pruner(represent(subwords, *part), part.width) for part in parts], dim=1)
    return scores, lambda index, mask: represent(subwords, *spans.at(index, mask))


def _wide(index: Tensor, size: int) -> Tensor:
    return index.unsqueeze(-1).expand(-1, -1, size)
