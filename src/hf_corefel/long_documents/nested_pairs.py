"""Which retained spans of a long document contain others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..processing_corefel import EncodedDocument

__all__ = ["NestedPairs", "nested_pairs"]


@dataclass(frozen=True)
class NestedPairs:
    """Pairs of retained spans, by number in reading order, the longer one first.

    Attributes:
        twins: Two spellings of one mention, int64 ``[P, 2]``; see `hf_corefel.decoding.nesting`.
        parts: The others, ``[Q, 2]``: no edge is between them.
        count: N.
    """

    twins: np.ndarray
    parts: np.ndarray
    count: int

    def without_forbidden(self, early: Tensor, late: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pairs ``[M]`` and ``[M]`` that may have edges."""
        forbidden = np.sort(self.parts, axis=1) @ np.array([self.count, 1])
        stays = ~np.isin(early.numpy() * self.count + late.numpy(), forbidden)
        kept = torch.from_numpy(stays)
        return early[kept], late[kept]


def nested_pairs(document: EncodedDocument, retained: np.ndarray, forbid: bool) -> NestedPairs:
    """Find the pairs; there are none where the model allows both in one cluster.

    Args:
        document: The document.
        retained: ``[N]`` numbers of the retained spans.
        forbid: `CorefELConfig.forbid_nested`.
    """
    count = len(retained)
    none = np.zeros((0, 2), dtype=np.int64)
    if not forbid:
        return NestedPairs(none, none, count)
    offsets, cores = document.spans.offsets[retained], document.cores[retained]
    # Longer spans first among those that begin together, so that a span comes before all that it contains.
    order = np.lexsort((-offsets[:, 1], offsets[:, 0]))
    begin, end = offsets[order].T
    found = [none]
    step = 1
    while step < count:
        one = np.arange(count - step)
        open_still = begin[one + step] < end[one]
        inside = open_still & (end[one + step] <= end[one])
        pairs = np.stack([order[one[inside]], order[one[inside] + step]], axis=1)
        same = (offsets[pairs[:, 0]] == offsets[pairs[:, 1]]).all(axis=1)
        found += [pairs, pairs[same][:, ::-1]]
        if not open_still.any():
            break
        step += 1
    pairs = np.concatenate(found)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    twins = (cores[pairs[:, 0]] == cores[pairs[:, 1]]).all(axis=1)
    return NestedPairs(pairs[twins], pairs[~twins], count)
