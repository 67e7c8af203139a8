"""Projections that stay as precise as they are when a model is quantised."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["ExactLinear", "is_plain"]


class ExactLinear(nn.Linear):
    """A linear layer that quantisation by type leaves alone, such as torch's ``quantize_dynamic(model, {nn.Linear})``.

    Span vectors and scorers are made of these: their outputs are logarithms of weights that are summed over a tree, and
    they hold a fifteenth of a small model's weights.
    """

    def of_columns(self, inputs: Tensor, begin: int, *, bias: bool = False) -> Tensor:
        """Project a part of the input, which stands from `begin` on in it: the sum over all parts is the whole."""
        part = self.weight[:, begin : begin + inputs.shape[-1]]
        return nn.functional.linear(inputs, part, self.bias if bias else None)


def is_plain(layer: nn.Module, like: Tensor) -> bool:
    """Return whether a layer's weights may be read as they are: in place, of a tensor's type, with nothing around."""
    if type(layer) is not ExactLinear or type(layer.weight) is not nn.Parameter:
        return False
    listens = layer._forward_hooks or layer._forward_pre_hooks or "forward" in vars(layer)
    return not listens and layer.weight.device == like.device and layer.weight.dtype == like.dtype
