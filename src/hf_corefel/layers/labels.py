"""What numbers that spans carry (labels) say of pairs of spans: definitions in brackets, initials, speakers."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["NUM_DEFINITIONS", "NUM_SPEAKERS", "definition_features", "speaker_features"]

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
    before, inside, long, short, initials, capitals = labels.unbind(-1)
    features = [
        _either(before, inside),
        _either(long, short) | _equal(short, short),
        _either(initials, capitals),
    ]
    return _stack(features, mask)


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
    speaker, person = labels.unbind(-1)
    return _stack([_equal(speaker, speaker), _differ(speaker), _equal(person, person), _differ(person)], mask)


def _equal(parent: Tensor, child: Tensor) -> Tensor:
    one, other = parent.unsqueeze(2), child.unsqueeze(1)
    return (one == other) & (one >= 0)


def _either(left: Tensor, right: Tensor) -> Tensor:
    return _equal(left, right) | _equal(right, left)


def _differ(label: Tensor) -> Tensor:
    one, other = label.unsqueeze(2), label.unsqueeze(1)
    return (one != other) & (one >= 0) & (other >= 0)


def _stack(features: list[Tensor], mask: Tensor) -> Tensor:
    pairs = mask.unsqueeze(2) & mask.unsqueeze(1)
    pairs = pairs & ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    return (torch.stack(features, dim=-1) & pairs.unsqueeze(-1)).float()
