"""Which encoders a model may have, and the part of each that reads a text.

Any model of `AutoModel` that takes ``input_ids`` and gives a vector a subword will do, in either direction or in one.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from transformers import PretrainedConfig

from ..layers.encoder import takes
from .foreign_code import model_of_config

__all__ = ["REFUSED", "make_encoder", "reads_padding", "text_encoder"]

# Kinds that take texts and are of no use here, and why.
REFUSED = {
    "canine": "it reads characters, and its tokenizer does not say which",
    "mra": "its attention needs a kernel that is compiled for a GPU, and gives zeros without",
    "reformer": "its attention hashes at random, so that no two calls give the same",
    "yoso": "its attention hashes at random, so that no two calls give the same",
}
# Kinds whose vectors depend on how far a window is padded, mask or not: convolutions, Fourier transforms, pooling, and
# means of neighbourhoods that go over the end.
_READ_PADDING = {"convbert", "fnet", "funnel", "nystromformer"}


class _Unpooled(nn.Module):
    """Takes the place of a pooler, whose parameters would get no gradient, which stops distributed training."""

    def forward(self, hidden: Tensor, *unused: Any, **unused_too: Any) -> Tensor:
        return hidden


def make_encoder(config: PretrainedConfig) -> nn.Module:
    """Make the text encoder of a configuration, with weights that are not initialised, in the default precision.

    Raises:
        ValueError: When an encoder of its kind reads no text, or is of no use here.
    """
    kind = config.model_type
    if kind in REFUSED:
        raise ValueError(
            f"CorefELConfig.encoder_config: an encoder of the kind {kind!r} cannot be used: {REFUSED[kind]}"
        )
    if kind == "xmod" and not config.default_language:
        raise ValueError("CorefELConfig.encoder_config.default_language: an X-MOD needs to know whose adapters to use")
    config = copy.deepcopy(config)
    if getattr(config, "attention_type", None) == "block_sparse":
        # It would give way to the full one at the first short window, and stay so for the long ones after it.
        config.attention_type = "original_full"
    if getattr(config, "use_cache", False):
        config.use_cache = False
    # Where a kind has several classes, transformers looks through these, and takes None for a fault.
    config.architectures = config.architectures or []
    return text_encoder(model_of_config(config))


def text_encoder(model: Any) -> nn.Module:
    """Return the part of a model that reads a text: the encoder of an encoder–decoder, else all of it, unpooled.

    Raises:
        ValueError: When it reads no text.
    """
    kind = model.config.model_type
    encoder = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
    if not takes(encoder, "input_ids"):
        raise ValueError(f"CorefELConfig.encoder_config: a model of the kind {kind!r} takes no input_ids, so no text")
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = _Unpooled()
    return encoder


def reads_padding(encoder: nn.Module, kind: str) -> bool:
    """Whether the padding behind a window changes its vectors, so that only windows of one length go together."""
    return not takes(encoder, "attention_mask") or kind in _READ_PADDING
