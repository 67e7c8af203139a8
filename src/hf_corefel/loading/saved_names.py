"""The weights that a model is saved with: under the names that it will be loaded by, or saving is refused.

Those that nobody has trained are named in its configuration, because the file does not tell them from trained ones.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PretrainedConfig, PreTrainedModel
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled
from transformers.utils import CONFIG_NAME

from ..utils.json_files import read_json_object
from .foreign_code import is_foreign
from .weights import some_of, unchanged_weights

__all__ = ["noting_untrained", "state_to_save", "taken_note", "untrained_in"]

# What torch.compile puts into the names of the modules that it wraps.
_COMPILED = "_orig_mod."
# The field of a saved ``config.json``; a live configuration does not have it.
_NOTE = "untrained_weights"


def state_to_save(model: PreTrainedModel, state: dict[str, Tensor] | None) -> dict[str, Tensor] | None:
    """Return the weights to save a model with.

    Args:
        model: The model.
        state: The weights that the caller gives; the model's own when None.

    Returns:
        Them under the names that a model of the same configuration has; None where the model's own have these.

    Raises:
        ValueError: When it has others, or lacks some, as after layers were replaced; the message names them.
    """
    own = model.state_dict() if state is None else state
    plain = {name.replace(_COMPILED, ""): value for name, value in own.items()}
    expected = _expected(model)
    if expected:
        beyond = [name for name, value in plain.items() if expected.get(name) != getattr(value, "shape", None)]
        missing = [name for name in expected if name not in plain] if state is None else []
        for names, text in ((beyond, "has weights that no"), (missing, "lacks weights that a")):
            if names:
                raise ValueError(
                    f"save_pretrained: the model {text} CorefELModel of its configuration has ({some_of(names)}), and "
                    "would be loaded with others; undo what was done to these layers (wrapped, replaced, quantised or "
                    "parametrised), or set the field of its configuration that says so"
                )
    return state if plain.keys() == own.keys() else plain


def _expected(model: PreTrainedModel) -> dict[str, torch.Size]:
    """Shapes of the weights that a model of the configuration has; none where that cannot be told without loading."""
    in_parts = is_deepspeed_zero3_enabled() or getattr(model, "hf_quantizer", None) is not None
    if in_parts or is_foreign(model.plain_encoder):
        return {}
    with torch.device("meta"):
        fresh = type(model)(copy.deepcopy(model.config))
    return {name: value.shape for name, value in fresh.state_dict().items()}


@contextmanager
def noting_untrained(
    model: PreTrainedModel, state: Mapping[str, Tensor] | None, drawn: Mapping[str, Tensor]
) -> Iterator[None]:
    """While inside, the configuration of a model that is saved names the weights that are as they were drawn at random.

    Args:
        model: The model.
        state: The weights that are saved; the model's own when None.
        drawn: See `hf_corefel.loading.weights.drawn_weights`.
    """
    untrained: list[str] = []
    if drawn:
        own = model.state_dict() if state is None else state
        before = {name.replace(_COMPILED, ""): value for name, value in drawn.items()}
        untrained = unchanged_weights(((name.replace(_COMPILED, ""), value) for name, value in own.items()), before)
    if untrained:
        setattr(model.config, _NOTE, sorted(untrained))
    try:
        yield
    finally:
        vars(model.config).pop(_NOTE, None)


def taken_note(config: PretrainedConfig, where: str) -> list[str]:
    """Take out of a loaded configuration the names of weights that were untrained when they were saved.

    Args:
        config: The configuration.
        where: What the message calls it.

    Raises:
        ValueError: When they are no names.
    """
    return _names(vars(config).pop(_NOTE, []), where)


def untrained_in(folder: str | Path) -> list[str]:
    """Return the names of weights in a model's folder that were untrained when they were saved; none without a model.

    Raises:
        ValueError: When they are no names, or ``config.json`` is no JSON object.
    """
    file = Path(folder) / CONFIG_NAME
    return _names(read_json_object(file).get(_NOTE, []), str(folder)) if file.is_file() else []


def _names(names: Any, where: str) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{where}: config.json: {_NOTE} must be a list of names; got {names!r}. Save the model again")
    return names
