"""Scoring all enumerated spans, of which few are retained, without holding a vector of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .exact import is_plain
from .pruner import MentionPruner
from .spans import SpanRepresentation
from .tracing import in_one_graph, runs_on_processor

__all__ = ["PrunedSpans", "SpanTensors", "choose_spans", "keep_best", "log_odds", "score_spans", "with_others"]

# Spans of a batch that are scored at once when no gradient is needed: on a processor what is computed then stays in its
# cache. The vectors of all five-word spans of 20,000 words would take 800 MB with a small encoder.
_CHUNK_IN_CACHE = 1_024
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

    def read_from(self, subwords: Tensor) -> tuple[Tensor, SpanTensors]:
        """The subwords ``[B, T, H]`` from the first to the last one that the spans touch, and the spans over these."""
        first, stop = int(self.begin.amin()), int(self.end.amax())
        return subwords[:, first:stop], self._replace(begin=self.begin - first, end=self.end - first)

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
        order: ``[B, N]`` which of the spans that there was room for each is, in reading order, from 0 on: how far apart
            two spans are does not depend on how many between them were unlikely. None where all of these are retained.
    """

    scores: Tensor
    retained: Tensor
    vectors: Tensor
    order: Tensor | None = None


def keep_best(
    represent: SpanRepresentation,
    pruner: MentionPruner,
    subwords: Tensor,
    spans: SpanTensors,
    limits: Tensor,
    keep_all: Tensor,
    also: Tensor | None = None,
    least: float = -math.inf,
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
        least: The least score of a span that is kept for its score.
    """
    scores, vectors_at = score_spans(represent, pruner, subwords, spans)
    retained, order = choose_spans(scores, spans, limits, keep_all, also, least)
    return PrunedSpans(scores, retained, vectors_at(retained.clamp(min=0), retained >= 0), order)


def choose_spans(
    scores: Tensor,
    spans: SpanTensors,
    limits: Tensor,
    keep_all: Tensor,
    also: Tensor | None = None,
    least: float = -math.inf,
) -> tuple[Tensor, Tensor | None]:
    """Return which spans are kept, and their order: `PrunedSpans.retained` and `PrunedSpans.order`.

    Args:
        scores: ``[B, S]`` mention scores.
        spans: As in `keep_best`, like all that follows.
    """
    retained = MentionPruner.select(scores, spans.begin, spans.end, spans.mask, limits, keep_all)
    wanted = keep_all if keep_all.dim() == 2 else keep_all.unsqueeze(1)
    if also is not None:
        retained = with_others(retained, also & spans.mask)
        wanted = wanted | also
    if least == -math.inf:
        return retained, None
    likely = ((scores >= least) | wanted).gather(1, retained.clamp(min=0)) & (retained >= 0)
    order = places_of(likely)
    return retained.gather(1, order.clamp(min=0)).masked_fill(order < 0, -1), order


@torch.library.custom_op("hf_corefel::places_of", mutates_args=())
def places_of(chosen: Tensor) -> Tensor:
    """Return where each row of bools ``[B, N]`` holds, ascending, -1 on padding; one operator in a graph."""
    rows = [row.nonzero().flatten() for row in chosen]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)


@places_of.register_fake
def _(chosen: Tensor) -> Tensor:
    """Return what tracing needs to know of the result: how wide it is depends on the values."""
    return chosen.new_empty((chosen.shape[0], torch.library.get_ctx().new_dynamic_size()), dtype=torch.int64)


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

    Vectors are computed once where gradients pass through them, in training mode, in which dropout would make others of
    them, and in graphs. Else scores are computed a part of the spans at a time and without their vectors, and those
    that are asked for are made afterwards.

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
    if in_one_graph() or torch.is_grad_enabled() or represent.training or not count:
        vectors = represent(subwords, *spans)
        size = vectors.shape[-1]
        return pruner(vectors, spans.width), lambda index, mask: vectors.gather(1, _wide(index, size))
    step = max(1, (_CHUNK_IN_CACHE if runs_on_processor(subwords) else _CHUNK) // max(1, batch))
    parts = [spans.between(start, start + step) for start in range(0, count, step)]
    scores = torch.cat([_scores_of(represent, pruner, subwords, part) for part in parts], dim=1)
    return scores, lambda index, mask: represent(subwords, *spans.at(index, mask))


def _scores_of(represent: SpanRepresentation, pruner: MentionPruner, subwords: Tensor, spans: SpanTensors) -> Tensor:
    """Mention scores ``[B, S]`` of spans, without their vectors where the pruner's weights can be read."""
    if torch.compiler.is_compiling() or not is_plain(pruner.project, subwords):
        return pruner(represent(subwords, *spans), spans.width)
    near, shifted = spans.read_from(subwords)
    return pruner.score(represent.projected(pruner.project, near, *shifted), spans.width)


def log_odds(probability: float) -> float:
    """Return the score whose sigmoid a probability below 1 is; -inf of 0."""
    return math.log(probability / (1.0 - probability)) if probability > 0.0 else -math.inf


def _wide(index: Tensor, size: int) -> Tensor:
    return index.unsqueeze(-1).expand(-1, -1, size)
