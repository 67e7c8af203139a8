"""Pretrained encoders for a fresh model, from any folder or repository that `AutoModel` reads."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn
from transformers import AutoModel, PretrainedConfig

from ..utils.compat import note_origin
from .encoders import text_encoder
from .foreign_code import loading_from, mark_foreign
from .repositories import HubOptions, checked_name
from .weights import WeightsWarning, find_weights, not_finite, saved_shapes, some_of

__all__ = ["PretrainedEncoder", "read_encoder"]


class PretrainedEncoder(NamedTuple):
    """An encoder with its weights.

    Attributes:
        encoder: The part that reads a text.
        config: The configuration of the whole that it is part of.
        code: Within it, models of this configuration may be made by the code that came with it, if that is trusted.
    """

    encoder: nn.Module
    config: PretrainedConfig
    code: AbstractContextManager[Any]


def read_encoder(name_or_path: str, encoder_kwargs: Mapping[str, Any], stacklevel: int = 2) -> PretrainedEncoder:
    """Read an encoder; a `WeightsWarning` names weights that are missing or NaN.

    Args:
        name_or_path: Any `AutoModel` id or folder.
        encoder_kwargs: See `CorefELModel.from_encoder`.
        stacklevel: Whose call the warnings name, see `warnings.warn`.

    Raises:
        OSError: When a file is missing.
        ValueError: When the name is empty, the weights are pickled, or the encoder is none that can be used.
    """
    name, settings = checked_name(name_or_path, "encoder"), dict(encoder_kwargs)
    settings["use_safetensors"] = settings.get("use_safetensors") is not False
    settings["trust_remote_code"] = trust = settings.get("trust_remote_code") is True
    options = HubOptions.pick(settings)
    if settings["use_safetensors"]:
        opt_in = ', or if you trust them, say encoder_kwargs={"use_safetensors": False}'
        saved_shapes(find_weights(name, options, variant=settings.get("variant"), opt_in=opt_in))
    whole, info = AutoModel.from_pretrained(name, output_loading_info=True, **settings)
    if whole.config.model_type == "corefel":
        raise ValueError(
            f"{name}: a whole CorefELModel, and from_encoder takes an encoder; load it with "
            "CorefELModel.from_pretrained, or save its encoder alone (model.plain_encoder.save_pretrained)"
        )
    encoder: Any = text_encoder(whole)
    missing = sorted(key for key in info["missing_keys"] if not key.startswith("pooler."))
    for names, text in (
        (missing, "are missing from it and were drawn at random"),
        (not_finite(encoder), "hold NaN"),
    ):
        if names:
            message = f"{name}: {len(names)} weights {text}: {some_of(names)}"
            warnings.warn(message, WeightsWarning, stacklevel=stacklevel)
    # A folder's place on this machine means nothing where the model is loaded later.
    note_origin(whole.config, Path(name).name if Path(name).is_dir() else name)
    # Where what came with transformers was used in place of the code that is named, it will be again.
    mark_foreign(whole, whole.config)
    return PretrainedEncoder(encoder, whole.config, loading_from(name, options, trust_remote_code=trust))
