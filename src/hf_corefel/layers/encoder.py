"""Encoding a document through windows, and laying its subwords out in one row."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from ..utils.compat import indivisible_classes

__all__ = ["WindowEncoder", "indivisible_modules", "takes"]


class WindowEncoder(nn.Module):
    """Runs an encoder over windows and gathers one vector a subword.

    Args:
        encoder: Any module with `input_ids` and `attention_mask` that returns `last_hidden_state`.
        by_length: Gives it windows of one length at a time, for encoders that padding makes give something else.

    Example:
        >>> from transformers import AutoModel, BertConfig
        >>> from hf_corefel.layers import WindowEncoder
        >>> config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
        >>> encoder = WindowEncoder(AutoModel.from_config(config))
        >>> encoder.model.config.hidden_size
        8
    """

    def __init__(self, encoder: nn.Module, *, by_length: bool = False) -> None:
        super().__init__()
        self.model = encoder
        self.by_length = by_length
        self.reads_mask = takes(encoder, "attention_mask")

    def forward(self, input_ids: Tensor, attention_mask: Tensor, subword_positions: Tensor) -> Tensor:
        """Encodes every window that holds something.

        Args:
            input_ids: ``[B, W, L]`` subword ids, special tokens included.
            attention_mask: ``[B, W, L]``, 0 on padding.
            subword_positions: ``[B, T]`` where each subword of the document stands in the flattened ``W · L``;
                -1 on padding. Special tokens stand nowhere in it; a subword of two overlapping windows stands
                where it has more context.

        Returns:
            ``[B, T, H]``, zero on padding.
        """
        used = attention_mask.any(dim=2).nonzero(as_tuple=True)
        torch._check(used[0].shape[0] > 0)  # said to whatever traces it: encoders want to read something
        encoded = self._encode(input_ids[used], attention_mask[used])
        hidden = encoded.new_zeros(*input_ids.shape, encoded.shape[-1]).index_put(used, encoded).flatten(1, 2)
        index = subword_positions.clamp(min=0).unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
        subwords = hidden.gather(1, index)
        return torch.where((subword_positions >= 0).unsqueeze(-1), subwords, subwords.new_zeros(()))

    def _encode(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Encodes windows ``[V, L]``, all at once or those of each length by themselves: ``[V, L, H]``."""
        if not self.by_length:
            return self.model(input_ids=input_ids, attention_mask=mask).last_hidden_state
        lengths, parts = mask.sum(dim=1), []
        order = torch.argsort(lengths, stable=True)
        for same in torch.split(order, torch.unique(lengths, return_counts=True)[1].tolist()):
            size = int(lengths[same[0]])
            given = {"attention_mask": mask[same, :size]} if self.reads_mask else {}
            part = self.model(input_ids=input_ids[same, :size], **given).last_hidden_state
            parts.append(nn.functional.pad(part, (0, 0, 0, input_ids.shape[1] - size)))
        return torch.cat(parts)[torch.argsort(order)]


def takes(encoder: Any, name: str) -> bool:
    """Whether an encoder's forward pass has an argument of a name, or leaves all names of a text's inputs open."""
    parameters = inspect.signature(encoder.forward).parameters
    is_open = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    reads_text = getattr(encoder, "main_input_name", "input_ids") == "input_ids"
    return name in parameters or (is_open and reads_text and "input_ids" not in parameters)


def indivisible_modules(encoder: nn.Module) -> list[str]:
    """Names of the classes that FSDP and ``device_map`` keep in one piece.

    Those that the encoder names itself, if it has modules of them; else its layers, because many architectures
    name none and would be one single unit of FSDP.
    """
    classes = {type(module).__name__ for module in encoder.modules()}
    named = classes & indivisible_classes(encoder)
    layers = {type(module).__name__ for module in encoder.modules() if isinstance(module, GradientCheckpointingLayer)}
    return sorted(named or layers)
