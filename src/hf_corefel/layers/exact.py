"""Projections that stay as precise as they are when a model is quantised."""

from __future__ import annotations

from torch import nn

__all__ = ["ExactLinear"]


class ExactLinear(nn.Linear):
    """A linear layer that quantisation by type leaves alone, such as torch's ``quantize_dynamic(model, {nn.Linear})``.

    Span vectors and scorers are made of these: their outputs are logarithms of weights that are summed over a tree, and
    they hold a fifteenth of a small model's weights.
    """
