"""The pair score Φc of some pairs of spans, which are listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from .pairs import CHUNK_IN_CACHE, NUM_DISTANCES, PairScorer, add_late, distance_bucket, sum_of_rows
from .tracing import runs_on_processor

__all__ = ["CandidateTable", "WordTable", "matches_between", "score_pair_list"]

# Pairs whose features are made at once.
_CHUNK = 32_768


class WordTable(NamedTuple):
    """The words of N spans.

    Attributes:
        forms: ``[N, W]`` the different forms of each span, -1 on padding.
        last: ``[N]`` the form of its last word.
        width: ``[N]`` its words.
    """

    forms: Tensor
    last: Tensor
    width: Tensor

    @classmethod
    def of(cls, word_forms: Tensor, first_word: Tensor, width: Tensor) -> WordTable:
        """Read the words of spans.

        Args:
            word_forms: ``[M]`` number of each word's form.
            first_word: ``[N]`` first word of each span.
            width: ``[N]`` its words.
        """
        most = int(width.max()) if len(width) else 0
        place = torch.arange(most, device=width.device)
        words = (first_word.unsqueeze(1) + place).clamp(max=max(len(word_forms) - 1, 0))
        forms = word_forms[words].masked_fill(place >= width.unsqueeze(1), -1)
        # Sorted, so that what is there twice stands side by side.
        forms = forms.sort(dim=1).values
        if most > 1:
            forms[:, 1:] = forms[:, 1:].masked_fill(forms[:, 1:] == forms[:, :-1], -1)
        return cls(forms, word_forms[(first_word + (width - 1).clamp(min=0)).clamp(max=len(word_forms) - 1)], width)


class CandidateTable(NamedTuple):
    """The candidates of N spans.

    Attributes:
        rows: ``[N, K]`` rows of the document's entities, -1 on padding.
        roots: ``[N, K]`` float64, the square roots of the priors.
    """

    rows: Tensor
    roots: Tensor

    @classmethod
    def of(cls, rows: Tensor, log_priors: Tensor) -> CandidateTable:
        """Read the candidates of spans from rows and log-priors ``[N, K]``."""
        width = int((rows >= 0).sum(dim=1).max()) if rows.numel() else 0
        first = (rows < 0).long().argsort(dim=1, stable=True)[:, :width]
        return cls(rows.gather(1, first), torch.exp(log_priors.double() / 2).gather(1, first))


@torch.no_grad()
def matches_between(words: WordTable, candidates: CandidateTable, one: Tensor, other: Tensor) -> Tensor:
    """Return the features ``[M, 5]`` of `match_features` of M pairs of spans ``[M]`` and ``[M]``."""
    ours, theirs = words.forms[one], words.forms[other]
    ours_count, theirs_count = (ours >= 0).sum(1).double(), (theirs >= 0).sum(1).double()
    shared = _count_equal(ours, theirs)
    union = ours_count + theirs_count - shared
    same = (shared == union) & (words.width[one] == words.width[other])
    features = [
        _shared_candidates(candidates, one, other),
        shared / union.clamp(min=1.0),
        shared / torch.minimum(ours_count, theirs_count).clamp(min=1.0),
        same.double(),
        (words.last[one] == words.last[other]).double(),
    ]
    return torch.stack(features, dim=-1).float()


def _count_equal(ours: Tensor, theirs: Tensor) -> Tensor:
    """How many numbers of a row, -1 aside, the other row has too: ``[M]`` of ``[M, W]`` and ``[M, W]``."""
    count = ours.new_zeros(len(ours), dtype=torch.float64)
    for column in ours.unbind(1):
        count += ((column.unsqueeze(1) == theirs) & (column >= 0).unsqueeze(1)).any(dim=1)
    return count


def _shared_candidates(candidates: CandidateTable, one: Tensor, other: Tensor) -> Tensor:
    total = torch.zeros(len(one), dtype=torch.float64, device=one.device)
    if not candidates.rows.shape[1]:
        return total
    # Few pairs have candidates on both sides, and the first column is never empty where there is one.
    both = ((candidates.rows[one, 0] >= 0) & (candidates.rows[other, 0] >= 0)).nonzero().flatten()
    ours, theirs = one[both], other[both]
    rows, roots = candidates.rows[theirs], candidates.roots[theirs]
    sums = torch.zeros(len(both), dtype=torch.float64, device=one.device)
    for k in range(candidates.rows.shape[1]):
        row, root = candidates.rows[ours, k].unsqueeze(1), candidates.roots[ours, k].unsqueeze(1)
        sums += torch.where((rows == row) & (row >= 0), roots * root, 0.0).sum(dim=1)
    return total.index_copy(0, both, sums.clamp(max=1.0))


@torch.no_grad()
def score_pair_list(
    scorer: PairScorer,
    spans: Tensor,
    early: Tensor,
    late: Tensor,
    *,
    expected_embeddings: Tensor | None = None,
    matches: Callable[[Tensor, Tensor], Tensor] | None = None,
    relations: Callable[[Tensor, Tensor], Mapping[str, Tensor]] | None = None,
    antecedents_only: bool = False,
    order: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Score pairs of spans in both directions, as `PairScorer` does.

    Args:
        scorer: The scorer.
        spans: ``[N, G]`` retained spans in reading order.
        early: ``[M]`` the earlier span of each pair.
        late: ``[M]`` the later one.
        expected_embeddings: ``[N, D]`` from `expected_entities`, where the scorer uses them.
        matches: Gives the features ``[m, 5]`` of m pairs, likewise.
        relations: Gives the further features ``[m, F]`` of m pairs by their names.
        antecedents_only: Leave out the second direction, whose scores are 0 then.
        order: ``[N]`` numbers of the spans, by which they are near or far; 0 to N - 1 when None.

    Returns:
        Φc ``[M]`` with the earlier span as parent, and with the later one.
    """
    expected = None if expected_embeddings is None else expected_embeddings.unsqueeze(0)
    sides = scorer.project_sides(spans.unsqueeze(0), expected)
    child, parent, factor = (side.squeeze(0) for side in sides[:3])
    # Whatever of a pair depends on its distance or on one of its spans is a row of one table.
    table = torch.cat([sides[3], child, parent])
    child_row, parent_row = NUM_DISTANCES, NUM_DISTANCES + len(spans)
    step = CHUNK_IN_CACHE if runs_on_processor(spans) else _CHUNK
    forward, backward = spans.new_zeros(len(early)), spans.new_zeros(len(early))
    for start in range(0, len(early), _CHUNK):
        one, other = early[start : start + _CHUNK], late[start : start + _CHUNK]
        near = distance_bucket(other - one if order is None else order[other] - order[one])
        late_inputs = [
            (scorer.relation[name], features)
            for name, features in (relations(one, other) if relations is not None else {}).items()
        ]
        if scorer.match is not None and matches is not None:
            late_inputs.append((scorer.match, matches(one, other)))
        for first in range(0, len(one), step):
            part = slice(first, first + step)
            place = slice(start + first, start + first + len(one[part]))
            i, j, apart = one[part], other[part], near[part]
            shared = scorer.product(factor[i] * factor[j])
            for project, features in late_inputs:
                shared = add_late(shared, project, features[part])
            forward[place] = scorer.ffnn(shared + sum_of_rows(table, apart, child_row + j, parent_row + i))
            if not antecedents_only:
                backward[place] = scorer.ffnn(shared + sum_of_rows(table, apart, child_row + i, parent_row + j))
    return forward, backward
