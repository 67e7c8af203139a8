"""Encoding a document through windows, and laying its subwords out in one row."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from ..utils.compat import indivisible_classes
from .tracing import runs_on_processor
from .window_groups import grouped

__all__ = ["WindowEncoder", "indivisible_modules", "takes"]


class WindowEncoder(nn.Module):
    """Runs an encoder over windows and gathers one vector a subword.

    Args:
        encoder: Any module with `input_ids` and `attention_mask` that returns `last_hidden_state`.
        by_length: Gives it windows of one length at a time, for encoders that padding makes give something else. Others
            read windows of about one length together, where that saves time.

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
        length = input_ids.shape[2]
        encoded, begins = self._encode(input_ids[used], attention_mask[used])
        # Where the first place of each window stands in the rows of all that were read.
        first = begins.new_zeros(input_ids.shape[:2]).index_put(used, begins)
        place = subword_positions.clamp(min=0)
        row = first.gather(1, place // length) + place % length
        subwords = encoded[row]
        return torch.where((subword_positions >= 0).unsqueeze(-1), subwords, subwords.new_zeros(()))

    def _encode(self, input_ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Encodes windows ``[V, L]``, all at once or in groups without most of their padding.

        Returns:
            Vectors ``[R, H]`` of the places of all windows, and the row ``[V]`` at which each window begins.
        """
        count, length = input_ids.shape
        if not self.by_length and not _may_group(input_ids):
            hidden = self.model(input_ids=input_ids, attention_mask=mask).last_hidden_state
            return hidden.flatten(0, 1), torch.arange(count, device=input_ids.device) * length
        lengths = (mask.bool() * torch.arange(1, length + 1, device=mask.device)).amax(dim=1).tolist()
        begins, parts, rows = [0] * count, [], 0
        for group in grouped(lengths, padded=not self.by_length):
            size = lengths[group[0]]
            given = {"attention_mask": mask[group, :size]} if self.reads_mask else {}
            hidden = self.model(input_ids=input_ids[group, :size], **given).last_hidden_state
            parts.append(hidden.flatten(0, 1))
            for window in group:
                begins[window] = rows
                rows += size
        return torch.cat(parts), torch.tensor(begins, device=input_ids.device)


def _may_group(like: Tensor) -> bool:
    """Whether windows are read in several calls of the encoder, as is faster on a processor.

    A graph has one call, and processes that train one model together must make the same number of them.
    """
    return runs_on_processor(like) and not (torch.distributed.is_available() and torch.distributed.is_initialized())


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
