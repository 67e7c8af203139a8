"""What numbers that spans carry (labels) say of pairs of spans: definitions in brackets, initials, speakers."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = [
    "NUM_DEFINITIONS",
    "NUM_SPEAKERS",
    "definition_features",
    "definitions_between",
    "speaker_features",
    "speakers_between",
]

# One in the bracket right behind the other; a term and what it was defined for; initials.
NUM_DEFINITIONS = 3
# Said by one speaker; by two; the same person meant; two persons meant.
NUM_SPEAKERS = 4


@torch.no_grad()
def definition_features(labels: Tensor, mask: Tensor) -> Tensor:
    """Features of every pair of spans, each 0 or 1 and symmetric.

    Args:
        labels: ``[B, N, 6]`` from `hf_corefel.processing.definitions.label_definitions`, -1 for none.
        mask: ``[B, N]``, False on padding.

    Returns:
        ``[B, N, N, 3]`` float32: whether one span is the term of the bracket right behind the other; whether one is a
        term that was defined for the other, or both are terms that were defined for the same; whether the one is an
        abbreviation in capitals and the other has its letters for initials. Zero on padding and for a span with itself.
    """
    return _of_pairs(definitions_between(labels.unsqueeze(2), labels.unsqueeze(1)), mask)


def definitions_between(one: Tensor, other: Tensor) -> Tensor:
    """Return the features, bool ``[..., 3]``, of spans with labels ``[..., 6]`` and others; see `definition_features`.

    What a span is to itself means nothing.
    """
    before, inside, long, short, initials, capitals = range(6)
    features = [
        _either(one, other, before, inside),
        _either(one, other, long, short) | _equal(one[..., short], other[..., short]),
        _either(one, other, initials, capitals),
    ]
    return torch.stack(features, dim=-1)


@torch.no_grad()
def speaker_features(labels: Tensor, mask: Tensor) -> Tensor:
    """Features of every pair of spans, each 0 or 1 and symmetric.

    Args:
        labels: ``[B, N, 2]`` from `hf_corefel.processing.speakers.label_speakers`, -1 for none.
        mask: ``[B, N]``, False on padding.

    Returns:
        ``[B, N, N, 4]`` float32: whether both spans are said by one speaker; by two; whether both mean one person of
        those who speak ("I" and the speaker's name); two of them. Zero on padding and for a span with itself.
    """
    return _of_pairs(speakers_between(labels.unsqueeze(2), labels.unsqueeze(1)), mask)


def speakers_between(one: Tensor, other: Tensor) -> Tensor:
    """Return the features, bool ``[..., 4]``, of spans with labels ``[..., 2]`` and others; see `speaker_features`.

    What a span is to itself means nothing.
    """
    features = []
    for label in range(2):
        features += [_equal(one[..., label], other[..., label]), _differ(one[..., label], other[..., label])]
    return torch.stack(features, dim=-1)


def _equal(one: Tensor, other: Tensor) -> Tensor:
    return (one == other) & (one >= 0)


def _either(one: Tensor, other: Tensor, left: int, right: int) -> Tensor:
    return _equal(one[..., left], other[..., right]) | _equal(one[..., right], other[..., left])


def _differ(one: Tensor, other: Tensor) -> Tensor:
    return (one != other) & (one >= 0) & (other >= 0)


def _of_pairs(features: Tensor, mask: Tensor) -> Tensor:
    pairs = mask.unsqueeze(2) & mask.unsqueeze(1)
    pairs = pairs & ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    return (features & pairs.unsqueeze(-1)).float()
