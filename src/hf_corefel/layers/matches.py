"""What the words and the candidates of two spans have in common.

A small encoder hardly carries the form of a name from one window to the next; these inputs of the pair scorer do.
String match features are as old as learned coreference (Soon et al., 2001); shared candidates are its twin for linking.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ..moved import renamed_argument
from ..trees.precision import has_float64
from .exact import ExactLinear

__all__ = ["NUM_MATCHES", "LateInput", "match_features"]

# Shared candidates; shared words of all, of the shorter one's; the same words; the same last word.
NUM_MATCHES = 5


class LateInput(ExactLinear):
    """A projection that begins at zero: a trained model that gets this input scores as before, until it has learned."""


@torch.no_grad()
@renamed_argument("candidates", "candidate_rows")
def match_features(
    word_forms: Tensor, first_word: Tensor, width: Tensor, candidate_rows: Tensor, log_priors: Tensor, mask: Tensor
) -> Tensor:
    """Features of every pair of spans, each in [0, 1] and symmetric.

    Args:
        word_forms: ``[B, M]`` number of each word's form in its document, -1 on padding.
        first_word: ``[B, N]`` first word of each span.
        width: ``[B, N]`` its words.
        candidate_rows: ``[B, N, K]`` rows of the document's entities, -1 on padding.
        log_priors: ``[B, N, K]``.
        mask: ``[B, N]``, False on padding.

    Returns:
        ``[B, N, N, 5]`` float32: Σ_e √(p(e|i) p(e|j)), the Bhattacharyya coefficient of the candidates' priors;
        shared forms by those of either span (Jaccard) and by those of the one with fewer; whether the spans have the
        same forms and as many words; whether their last words have one form. Zero on padding.
    """
    # In double precision, which autocast leaves alone.
    if not has_float64(mask.device):
        given = (word_forms, first_word, width, candidate_rows, log_priors, mask)
        return match_features(*(tensor.cpu() for tensor in given)).to(mask.device)
    # One column more than there are words, forms or entities, for what is none of them. So no size is ever zero.
    padded = functional.pad(word_forms, (0, 1), value=-1)
    place = torch.arange(_greatest(width, 0), device=mask.device)
    words = first_word.unsqueeze(-1) + place
    forms = padded.gather(1, words.clamp(max=word_forms.shape[1]).flatten(1)).view_as(words)
    inside = (place < width.unsqueeze(-1)) & mask.unsqueeze(-1)
    has = _spread(
        forms.masked_fill(~inside, -1), torch.ones_like(forms, dtype=torch.float64), _greatest(padded, -1) + 1
    )
    shared, size = has @ has.mT, has.sum(-1)
    one, other = size.unsqueeze(2), size.unsqueeze(1)
    union = one + other - shared
    same = (shared == union) & (width.unsqueeze(2) == width.unsqueeze(1))
    last = padded.gather(1, (first_word + (width - 1).clamp(min=0)).clamp(max=word_forms.shape[1]))
    both = mask.unsqueeze(2) & mask.unsqueeze(1)
    features = [
        _shared_candidates(candidate_rows, log_priors),
        shared / union.clamp(min=1.0),
        shared / torch.minimum(one, other).clamp(min=1.0),
        same.double(),
        (last.unsqueeze(2) == last.unsqueeze(1)).double(),
    ]
    return torch.stack(features, dim=-1).float() * both.unsqueeze(-1)


def _shared_candidates(candidate_rows: Tensor, log_priors: Tensor) -> Tensor:
    count = _greatest(candidate_rows, -1) + 1
    roots = _spread(candidate_rows, torch.exp(log_priors.double() / 2), count)
    # Priors of the best candidates sum to 1 at most, given ones to anything.
    return (roots @ roots.mT).clamp(max=1.0)


def _spread(columns: Tensor, values: Tensor, count: int) -> Tensor:
    """Return ``[B, N, count]`` with the values ``[B, N, K]`` in their columns, zero elsewhere; column -1 is dropped."""
    spread = values.new_zeros(*columns.shape[:2], count + 1)
    return spread.scatter(2, torch.where(columns < 0, count, columns), values)[..., :count]


def _greatest(numbers: Tensor, least: int) -> int:
    """Return the greatest of integers, `least` where there is none."""
    # item() rather than int(), which an exported graph would take for a constant.
    greatest: Any = functional.pad(numbers.flatten(), (0, 1), value=least).max().item()
    return greatest
