"""Span representations g = [start; end; width; attention] (model of Lee et al., 2017, as in the paper)."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from .dropout import Dropout
from .exact import ExactLinear
from .tracing import runs_on_processor

__all__ = ["NUM_CASES", "SpanRepresentation"]

# Letter-case classes of a word: lower, Title, UPPER, one capital, mIxed, digits, other.
NUM_CASES = 7


class SpanRepresentation(nn.Module):
    """Vectors of spans over the subwords of a document.

    Args:
        hidden_size: Width H of the subword vectors.
        max_words: Longest span in words.
        width_size: Size of the width embedding.
        case_size: Size of the letter-case embedding of the first and of the last word; 0 for none.
        dropout: Dropout of the result.
        scopes: Number of mention scopes; 0 for none.
        scope_size: Size of the embedding of a document's scope.

    Example:
        >>> from hf_corefel.layers import SpanRepresentation
        >>> spans = SpanRepresentation(hidden_size=8, max_words=5, width_size=2, case_size=0, dropout=0.0)
        >>> spans.size  # beginning, end, mean, width
        26
    """

    def __init__(
        self,
        hidden_size: int,
        max_words: int,
        width_size: int,
        case_size: int,
        dropout: float,
        scopes: int = 0,
        scope_size: int = 0,
    ) -> None:
        super().__init__()
        self.width = nn.Embedding(max_words + 1, width_size)
        self.attention = ExactLinear(hidden_size, 1)
        self.case = nn.Embedding(NUM_CASES, case_size) if case_size else None
        self.scope = nn.Embedding(scopes, scope_size) if scopes and scope_size else None
        self.dropout = Dropout(dropout)
        self.size = 3 * hidden_size + width_size + 2 * case_size + (scope_size if self.scope is not None else 0)

    def forward(
        self,
        subwords: Tensor,
        begin: Tensor,
        end: Tensor,
        width: Tensor,
        case: Tensor | None,
        mask: Tensor,
        scope: Tensor | None = None,
    ) -> Tensor:
        """Builds g.

        Args:
            subwords: ``[B, T, H]``.
            begin: ``[B, S]`` first subword of each span.
            end: ``[B, S]`` one past its last subword.
            width: ``[B, S]`` words of each span; longer than `max_words` counts as that.
            case: ``[B, S, 2]`` letter-case classes of the first and last word; unused without case embeddings.
            mask: ``[B, S]``, False on padding.
            scope: ``[B]`` number of each document's mention scope; the first one when None.

        Returns:
            ``[B, S, G]`` with ``G = size``, zero on padding.
        """
        begin = begin.clamp(min=0, max=max(subwords.shape[1] - 1, 0))
        last = (end - 1).clamp(min=0, max=max(subwords.shape[1] - 1, 0))
        hidden = subwords.shape[-1]
        first_vector = subwords.gather(1, begin.unsqueeze(-1).expand(-1, -1, hidden))
        last_vector = subwords.gather(1, last.unsqueeze(-1).expand(-1, -1, hidden))
        width = self.width(width.clamp(min=0, max=self.width.num_embeddings - 1))
        parts = [first_vector, last_vector, width, self._attend(subwords, begin, last)]
        if self.case is not None:
            parts.append(self.case(_needed(case)).flatten(2))
        if self.scope is not None:
            scope = begin.new_zeros(begin.shape[0]) if scope is None else scope
            parts.append(self.scope(scope).unsqueeze(1).expand(-1, begin.shape[1], -1))
        vectors = self.dropout(torch.cat(parts, dim=-1))
        if runs_on_processor(mask) and bool(mask.all()):
            return vectors
        return torch.where(mask.unsqueeze(-1), vectors, vectors.new_zeros(()))

    def projected(
        self,
        project: ExactLinear,
        subwords: Tensor,
        begin: Tensor,
        end: Tensor,
        width: Tensor,
        case: Tensor | None,
        mask: Tensor,
        scope: Tensor | None = None,
    ) -> Tensor:
        """Return ``project(self(...))`` ``[B, S, F]`` where nothing is dropped out.

        A projection of a concatenation is the sum of projections of its parts, and of these there are far fewer than
        spans: one of each subword as the first, the last and one of those between, and one of each width and case.
        """
        most = max(subwords.shape[1] - 1, 0)
        begin, last = begin.clamp(min=0, max=most), (end - 1).clamp(min=0, max=most)
        (batch, length, hidden), place = subwords.shape, 2 * subwords.shape[2] + self.width.embedding_dim
        offset = torch.arange(batch, device=begin.device).unsqueeze(1) * length
        tables = [project.of_columns(subwords, 0, bias=True).flatten(0, 1)]
        tables += [
            project.of_columns(subwords, hidden).flatten(0, 1),
            project.of_columns(self.width.weight, 2 * hidden),
        ]
        rows = [begin + offset, last + offset, width.clamp(min=0, max=self.width.num_embeddings - 1)]
        rest = place + hidden
        if self.case is not None:
            for column in _needed(case).unbind(-1):
                tables.append(project.of_columns(self.case.weight, rest))
                rows.append(column)
                rest += self.case.embedding_dim
        if self.scope is not None:
            tables.append(project.of_columns(self.scope.weight, rest))
            rows.append((begin.new_zeros(batch) if scope is None else scope).unsqueeze(1).expand_as(begin))
        starts = [0, *itertools.accumulate(len(table) for table in tables)]
        places = torch.stack([row + start for row, start in zip(rows, starts, strict=False)], dim=-1)
        ends = nn.functional.embedding_bag(places.flatten(0, 1), torch.cat(tables), mode="sum")
        means = self._attend(subwords, begin, last, project.of_columns(subwords, place))
        projected = means + ends.view_as(means)
        return projected if bool(mask.all()) else torch.where(mask.unsqueeze(-1), projected, project.bias)

    def _attend(self, subwords: Tensor, begin: Tensor, last: Tensor, values: Tensor | None = None) -> Tensor:
        """Softmax-weighted mean of each span's subwords ``[B, S, H]``, or of `values` ``[B, T, F]`` of them.

        Works on the ragged list of (span, subword) pairs: short spans are many and long ones few, so padding
        every span to the longest would quadruple the memory traffic of the whole model.
        """
        batch, spans = begin.shape
        length = subwords.shape[1]
        values = subwords if values is None else values
        counts = (last - begin + 1).reshape(-1)
        owner = torch.repeat_interleave(torch.arange(counts.numel(), device=counts.device), counts)
        starts = counts.cumsum(0) - counts
        within = torch.arange(owner.numel(), device=owner.device) - starts[owner]
        offset = torch.arange(batch, device=begin.device).unsqueeze(1) * length
        subword = (begin + offset).reshape(-1)[owner] + within
        flat = values.flatten(0, 1)
        logits = self.attention(subwords.flatten(0, 1)).squeeze(-1)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))[subword]
        # The maximum only guards exp() against overflow and carries no gradient.
        top = torch.full_like(counts, -torch.inf, dtype=logits.dtype)
        top = top.scatter_reduce(0, owner, logits.detach(), reduce="amax")
        weight = torch.exp(logits - top[owner])
        total = torch.zeros_like(top).index_add(0, owner, weight)
        weight = (weight / total[owner]).to(flat.dtype)
        mixed = nn.functional.embedding_bag(subword, flat, starts, mode="sum", per_sample_weights=weight)
        return mixed.reshape(batch, spans, values.shape[-1])


def _needed(case: Tensor | None) -> Tensor:
    if case is None:
        raise ValueError("span_cases: needed where config.case_embedding_size > 0; CorefELProcessor gives them")
    return case
