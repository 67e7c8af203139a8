"""Linear layers whose weights are whole numbers of eight bits, with what torch itself offers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Int8Linear", "use_int8"]

# The greatest number that is used: as many above zero as below.
_MOST = 127
# A row of zeros has a scale, too.
_LEAST_SCALE = 1e-12


class Int8Linear(nn.Module):
    """A linear layer with int8 weights, which turns its inputs into int8 when they come (dynamic quantisation).

    Each output has a scale for its weights and each input row a scale of its own, so that a large value of one subword
    costs the others nothing. Products are summed in whole numbers, exactly. A forward pass gives no gradient.
    torch's integer product (``torch._int_mm``) is wrong for rows of one number, so there must be two inputs at least.

    Args:
        linear: The layer that it takes the place of.

    Example:
        >>> import torch
        >>> from hf_corefel.layers.int8 import Int8Linear
        >>> linear = torch.nn.Linear(4, 3)
        >>> inputs = torch.rand(2, 4)
        >>> bool((Int8Linear(linear)(inputs) - linear(inputs)).abs().max() < 0.02)
        True
    """

    weight: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.train(linear.training)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        values = linear.weight.detach().float()
        scale = values.abs().amax(dim=1).clamp(min=_LEAST_SCALE) / _MOST
        self.register_buffer("weight", (values / scale.unsqueeze(1)).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach().float(), requires_grad=False)

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``[..., in_features]`` to ``[..., out_features]``.

        Raises:
            RuntimeError: In training mode.
        """
        if self.training:
            raise RuntimeError("int8 weights cannot be trained; load the model in single precision (dtype='float32')")
        if inputs.device.type != "cpu":  # whose kernels want certain sizes
            weight = self.weight.to(inputs.dtype) * self.scale.to(inputs.dtype).unsqueeze(1)
            return nn.functional.linear(inputs, weight, self.bias)
        rows = inputs.reshape(-1, self.in_features)
        size = rows.abs().amax(dim=1, keepdim=True).float().clamp_(min=_LEAST_SCALE).div_(_MOST)
        products = torch._int_mm((rows / size).round_().to(torch.int8), self.weight.t()) * size
        outputs = products * self.scale if self.bias is None else torch.addcmul(self.bias, products, self.scale)
        return outputs.to(inputs.dtype).view(*inputs.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Return the sizes, as `nn.Linear` does."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def use_int8(module: nn.Module) -> None:
    """Replace the plain linear layers inside a module by `Int8Linear`, all but those of one input."""
    for name, child in module.named_children():
        if type(child) is nn.Linear and child.in_features > 1:
            setattr(module, name, Int8Linear(child))
        else:
            use_int8(child)
