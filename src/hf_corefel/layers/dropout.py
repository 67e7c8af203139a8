"""Dropout whose draws take a quarter of the time on a processor."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .tracing import runs_on_processor

__all__ = ["Dropout"]

# A value is kept or dropped by one byte of a random number of eight.
_LEVELS = 256


class Dropout(nn.Dropout):
    """`torch.nn.Dropout`, with a probability rounded to a 256th where it runs on a processor.

    What is kept is divided by the share that is kept in truth, so that means stay as they are.

    Example:
        >>> import torch
        >>> from hf_corefel.layers.dropout import Dropout
        >>> kept = Dropout(0.5)(torch.ones(1000))
        >>> sorted(set(kept.tolist()))
        [0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Zeros some of the values at random in training, and scales the others."""
        dropped = round(self.p * _LEVELS)
        draws = self.training and 0 < dropped < _LEVELS and not self.inplace
        if not draws or not runs_on_processor(input):
            return super().forward(input)
        count = input.numel()
        numbers = torch.empty((count + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        keep = (numbers.view(torch.uint8)[:count] >= dropped).view(input.shape)
        return input * keep.to(input.dtype).mul_(_LEVELS / (_LEVELS - dropped))
