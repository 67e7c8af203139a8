"""The feed-forward scorer behind FFNN_P, FFNN_C and FFNN_L."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .dropout import Dropout
from .exact import ExactLinear

__all__ = ["FeedForward"]


class FeedForward(nn.Module):
    """The layers after the first linear one: ReLU, dropout, ``depth - 1`` hidden layers, one score.

    The first linear layer is left to the caller, because a sum of separate projections of the inputs equals
    one projection of their concatenation and can be computed once a span instead of once a pair.

    Args:
        size: Hidden size.
        depth: Hidden layers, the caller's first one included; 0 makes the caller's projection the score.
        dropout: Dropout after each hidden layer.

    Example:
        >>> import torch
        >>> from hf_corefel.layers import FeedForward
        >>> FeedForward(size=16, depth=2, dropout=0.0)(torch.zeros(3, 16)).shape
        torch.Size([3])
    """

    def __init__(self, size: int, depth: int, dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(depth - 1):
            layers += [nn.ReLU(), Dropout(dropout), ExactLinear(size, size)]
        if depth > 0:
            layers += [nn.ReLU(), Dropout(dropout), ExactLinear(size, 1)]
        self.layers = nn.Sequential(*layers)

    @staticmethod
    def first_size(size: int, depth: int) -> int:
        """Width that the caller's first projection must have."""
        return size if depth > 0 else 1

    def forward(self, hidden: Tensor) -> Tensor:
        """Projected inputs ``[..., size]`` to scores ``[...]``."""
        if len(self.layers) == 0:
            return hidden.squeeze(-1)
        hidden, score = self.layers[:-1](hidden), self.layers[-1]
        dtype = next(score.parameters()).dtype
        if hidden.dtype == dtype:
            return score(hidden).squeeze(-1)
        # Autocast: scores are logarithms of weights that are summed over a tree, too coarse in half precision.
        with torch.autocast(hidden.device.type, enabled=False):
            return score(hidden.to(dtype)).squeeze(-1)
