"""Which of two spans contains the other."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .relations import rows_of_retained

__all__ = ["containing_spans", "either_way", "exclusive_offsets", "nested_spans", "twin_spans"]


@torch.no_grad()
def containing_spans(offsets: Tensor, mask: Tensor) -> Tensor:
    """Returns whether span i contains span j, another one, bool ``[B, N, N]`` by i and j.

    Args:
        offsets: ``[B, N, 2]`` code points, end exclusive.
        mask: ``[B, N]``, False on padding.
    """
    begin, end = offsets.unbind(-1)
    contains = (begin.unsqueeze(2) <= begin.unsqueeze(1)) & (end.unsqueeze(2) >= end.unsqueeze(1))
    itself = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    return contains & mask.unsqueeze(2) & mask.unsqueeze(1) & ~itself


@torch.no_grad()
def twin_spans(contains: Tensor, cores: Tensor) -> Tensor:
    """Returns those of the pairs ``[B, N, N]`` that have one core (``[B, N, 2]``, see `span_cores`), bool."""
    return contains & (cores.unsqueeze(2) == cores.unsqueeze(1)).all(dim=-1)


def either_way(contains: Tensor | None, twins: Tensor | None) -> Tensor | None:
    """Return the pairs of which one contains the other, but for twins: given ones both stay, and may hang together."""
    if contains is None or twins is None:
        return None
    parts = contains & ~twins
    return parts | parts.mT


def exclusive_offsets(
    exclusive: Sequence[bool], scope: Tensor | None, characters: Tensor | None, index: Tensor, mask: Tensor
) -> Tensor | None:
    """Return the code points ``[B, N, 2]`` of retained spans where no two mentions may share one; None if none may.

    They are (0, 0) on padding and in documents whose scope allows it.

    Args:
        exclusive: Whether each scope forbids it.
        scope: ``[B]`` number of each document's scope; the first one's when None.
        characters: ``[B, S, 2]`` code points of all spans.
        index: ``[B, N]`` the retained ones.
        mask: ``[B, N]``, False on padding.

    Raises:
        ValueError: When a scope forbids it and `characters` is missing.
    """
    if not any(exclusive):
        return None
    if characters is None:
        raise ValueError("span_characters: needed with forbid_overlaps; CorefELProcessor gives them")
    flags = torch.tensor(list(exclusive), device=mask.device)
    of_document = flags[:1].expand(len(mask)) if scope is None else flags[scope]
    wanted = mask & of_document.unsqueeze(1)
    return rows_of_retained(characters, index).masked_fill(~wanted.unsqueeze(-1), 0)


def nested_spans(characters: Tensor | None, cores: Tensor | None, index: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return `containing_spans` and `twin_spans` of retained spans.

    Args:
        characters: ``[B, S, 2]`` code points of all spans.
        cores: ``[B, S, 2]`` code points of their cores.
        index: ``[B, N]`` the retained ones.
        mask: ``[B, N]``, False on padding.

    Raises:
        ValueError: When the first or the second is missing.
    """
    if characters is None or cores is None:
        raise ValueError("span_characters, span_cores: needed with forbid_nested; CorefELProcessor gives them")
    contains = containing_spans(rows_of_retained(characters, index), mask)
    return contains, twin_spans(contains, rows_of_retained(cores, index))
