"""The mention score Φp and the choice of the spans that are worth scoring in pairs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from .exact import ExactLinear
from .ffnn import FeedForward

__all__ = ["MentionPruner", "SpanChooser", "prune_spans"]

# Scores this close, relative to 1 + |score|, are equal: a batch of another shape rounds them otherwise, which must not
# choose among spans that read the same where a text repeats itself.
_ROUNDING = 2e-5


class MentionPruner(nn.Module):
    """Φp(s) = FFNN_P(g) (paper, section 3) and greedy pruning by it.

    Args:
        span_size: Width G of span vectors.
        ffnn_size: Hidden size.
        depth: Hidden layers.
        dropout: Dropout of the hidden layers.
        max_words: Longest span, for the width prior.
        width_size: Size of the width prior's embedding; 0 for no width prior.

    Example:
        >>> from hf_corefel.layers import MentionPruner
        >>> pruner = MentionPruner(span_size=8, ffnn_size=4, depth=1, dropout=0.0, max_words=5, width_size=0)
        >>> sum(parameter.numel() for parameter in pruner.parameters())
        41
    """

    def __init__(
        self, span_size: int, ffnn_size: int, depth: int, dropout: float, max_words: int, width_size: int
    ) -> None:
        super().__init__()
        first = FeedForward.first_size(ffnn_size, depth)
        self.project = ExactLinear(span_size, first)
        self.ffnn = FeedForward(ffnn_size, depth, dropout)
        self.width = nn.Embedding(max_words + 1, width_size) if width_size else None
        if width_size:
            self.width_project = ExactLinear(width_size, first)
            self.width_ffnn = FeedForward(ffnn_size, depth, dropout)

    def forward(self, spans: Tensor, width: Tensor) -> Tensor:
        """Scores ``[B, S]`` of span vectors ``[B, S, G]`` with widths ``[B, S]`` in words."""
        return self.score(self.project(spans), width)

    def score(self, projected: Tensor, width: Tensor) -> Tensor:
        """The same of vectors that went through `project` already."""
        scores = self.ffnn(projected)
        if self.width is not None:
            width = width.clamp(min=0, max=self.width.num_embeddings - 1)
            scores = scores + self.width_ffnn(self.width_project(self.width(width)))
        return scores

    @staticmethod
    @torch.compiler.disable
    def select(scores: Tensor, begin: Tensor, end: Tensor, mask: Tensor, limits: Tensor, keep_all: Tensor) -> Tensor:
        """Indices of retained spans ``[B, N]``, in reading order, -1 on padding.

        Args:
            scores: ``[B, S]`` mention scores.
            begin: ``[B, S]`` first subwords.
            end: ``[B, S]`` ends, exclusive.
            mask: ``[B, S]``, False on padding.
            limits: ``[B]`` most spans to keep.
            keep_all: ``[B]``, True where the spans are given mentions and none is dropped; or ``[B, S]``, True for
                each span that is retained, whatever its score and whatever it crosses.
        """
        return keep_spans(scores.detach(), begin, end, mask, limits, keep_all)


@torch.library.custom_op("hf_corefel::keep_spans", mutates_args=())
def keep_spans(scores: Tensor, begin: Tensor, end: Tensor, mask: Tensor, limits: Tensor, keep_all: Tensor) -> Tensor:
    """Choose spans, see `MentionPruner.select`: one operator for whatever traces the model (compile, export)."""
    score, first, last = scores.float().cpu().numpy(), begin.cpu().numpy(), end.cpu().numpy()
    valid = mask.cpu().numpy()
    retained = []
    for b in range(len(score)):
        spans = np.flatnonzero(valid[b])
        required = valid[b] & keep_all[b].cpu().numpy()
        if not required[spans].all():
            places = score[b, spans], first[b, spans], last[b, spans]
            spans = spans[prune_spans(*places, int(limits[b]), required[spans])]
        retained.append(spans[np.lexsort((last[b, spans], first[b, spans]))])
    size = max((len(spans) for spans in retained), default=0)
    index = np.full((len(retained), size), -1, dtype=np.int64)
    for b, spans in enumerate(retained):
        index[b, : len(spans)] = spans
    return torch.from_numpy(index).to(scores.device)


@keep_spans.register_fake
def _(scores: Tensor, begin: Tensor, end: Tensor, mask: Tensor, limits: Tensor, keep_all: Tensor) -> Tensor:
    """Return what tracing needs to know of the result: how many spans are retained depends on the scores."""
    return begin.new_empty((begin.shape[0], torch.library.get_ctx().new_dynamic_size()), dtype=torch.int64)


def prune_spans(
    scores: np.ndarray, begin: np.ndarray, end: np.ndarray, limit: int, required: np.ndarray | None = None
) -> np.ndarray:
    """Greedily keeps the best spans that do not cross a retained one (nested spans may stay).

    Args:
        scores: ``[S]``.
        begin: ``[S]`` first positions.
        end: ``[S]`` ends, exclusive.
        limit: Most spans to keep.
        required: ``[S]`` spans that are retained in any case, also where they cross, and before all others.

    Returns:
        Indices of the retained spans, required and best ones first; of scores equal up to rounding the earlier, then
        the shorter span.
    """
    return SpanChooser(int(end.max(initial=0)) + 1).choose(scores, begin, end, limit, required)


class SpanChooser:
    """Chooses the best spans of a stretch of text, and then of others, so that none crosses another.

    Args:
        size: Positions of the text, and one more.
    """

    def __init__(self, size: int) -> None:
        # For a retained span [b, e): a new one crosses it if it begins inside and ends outside, or the other way round.
        # By begin: the furthest end of a retained span that begins there.
        self._furthest_end = np.zeros(size, dtype=np.int64)
        # By end: the earliest begin of a retained span that ends there.
        self._earliest_begin = np.full(size, size, dtype=np.int64)

    def choose(
        self,
        scores: np.ndarray,
        begin: np.ndarray,
        end: np.ndarray,
        limit: int,
        required: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return indices of chosen spans, see `prune_spans`; they also cross none that was chosen before."""
        furthest_end, earliest_begin = self._furthest_end, self._earliest_begin
        order = _order(scores, begin, end)
        retained: list[int] = []
        if required is not None:
            order = np.concatenate([order[required[order]], order[~required[order]]])
        for i in order:
            must = required is not None and bool(required[i])
            if len(retained) >= limit and not must:
                break
            b, e = int(begin[i]), int(end[i])
            inside = slice(b + 1, e)
            crosses = e - b > 1 and (furthest_end[inside].max() > e or earliest_begin[inside].min() < b)
            if must or not crosses:
                retained.append(int(i))
                furthest_end[b] = max(furthest_end[b], e)
                earliest_begin[e] = min(earliest_begin[e], b)
        return np.asarray(retained, dtype=np.int64)


def _order(scores: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Best first; runs of scores that differ by rounding alone in reading order."""
    falling = np.argsort(-scores, kind="stable")
    ranked = scores[falling].astype(np.float64)
    steps = ranked[:-1] - ranked[1:] > _ROUNDING * (1.0 + np.abs(ranked[1:]))
    rank = np.empty(len(scores), dtype=np.int64)
    rank[falling] = np.concatenate([[0], np.cumsum(steps, dtype=np.int64)])[: len(scores)]
    return np.lexsort((end, begin, rank))
