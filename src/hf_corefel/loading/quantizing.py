"""Which parts of a model are quantised: the encoder's, and none of those that score."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from transformers.quantizers import AutoQuantizationConfig

from ..layers.int8 import Int8Linear

__all__ = ["EXACT_PARTS", "check_savable", "is_quantised", "leave_exact", "means_int8"]

EXACT_PARTS = ("spans", "pruner", "pairs", "entities", "own_scorers")
"""The parts of `CorefELModel` that stay in full precision: all but the encoder."""

# What the configurations of transformers call the modules that a quantiser leaves out.
_FIELDS = ("llm_int8_skip_modules", "modules_to_not_convert", "skip_modules")


def leave_exact(quantization: Any) -> Any:
    """Return a quantisation's configuration that leaves out `EXACT_PARTS`, beside what it leaves out already.

    Args:
        quantization: A configuration of transformers (``BitsAndBytesConfig``, ``TorchAoConfig`` …), or its dict.
    """
    if isinstance(quantization, dict):
        quantization = AutoQuantizationConfig.from_dict(quantization)
    quantization = copy.deepcopy(quantization)
    for field in _FIELDS:
        if hasattr(quantization, field):
            left = [*(getattr(quantization, field) or ()), *EXACT_PARTS]
            setattr(quantization, field, list(dict.fromkeys(left)))
    return quantization


def means_int8(dtype: Any) -> bool:
    """Whether a precision that somebody asks for is that of whole numbers, by torch's type or its name."""
    return dtype is torch.int8 or (isinstance(dtype, str) and dtype.removeprefix("torch.") == "int8")


def is_quantised(model: nn.Module) -> bool:
    """Whether any of a model's weights are whole numbers, whichever library made them so."""
    if any(isinstance(module, Int8Linear) or _is_of_torch(module) for module in model.modules()):
        return True
    weights = model.parameters()
    return any(hasattr(type(weight), "__tensor_flatten__") or not weight.is_floating_point() for weight in weights)


def _is_of_torch(module: nn.Module) -> bool:
    return type(module).__module__.startswith("torch.ao.")


def check_savable(model: nn.Module) -> None:
    """Raise `ValueError` when a model holds quantised weights that cannot be saved, or would be saved wrongly."""
    again = "save the model before, and quantise it again when it is loaded"
    if any(map(_is_of_torch, model.modules())):
        raise ValueError(f"save_pretrained: weights of torch's quantize_dynamic have no place in safetensors; {again}")
    if any(isinstance(module, Int8Linear) for module in model.modules()):
        raise ValueError(f"save_pretrained: the encoder's weights are int8 (dtype), and are not saved so; {again}")
    # bitsandbytes puts the scales of some of them back in another order, in the file and in the model.
    states = (getattr(weight, "quant_state", None) for weight in model.parameters())
    if any(getattr(state, "packing_format_for_cpu", False) for state in states):
        raise ValueError(
            "save_pretrained: bitsandbytes rearranged the 4-bit weights for this processor when they were first used, "
            "and does not restore them rightly; save the model as CorefELModel.from_pretrained gives it"
        )
