"""Double precision on devices that have it, and the way around it on those that have none."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["WITHOUT_FLOAT64", "has_float64", "of_device"]

# Types of devices that refuse every float64 tensor: Apple's GPUs.
WITHOUT_FLOAT64 = frozenset({"mps"})


def has_float64(device: torch.device) -> bool:
    """Whether a device takes float64 tensors; what needs them is computed on the CPU otherwise."""
    return device.type not in WITHOUT_FLOAT64


def of_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Moves a result to a device: a float64 tensor as float32 where the device has no float64.

    Conversion and move are two steps, so that neither this nor its gradient is ever float64 on such a device.
    """
    if tensor.dtype == torch.float64 and not has_float64(device):
        tensor = tensor.to(torch.float32)
    return tensor.to(device)
