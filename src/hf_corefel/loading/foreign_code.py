"""Code that a model's folder names: never run unless the caller says ``trust_remote_code=True``.

Files of a saved model may name Python code that transformers imports from the folder or from the Hub, after asking on
standard input where nobody said otherwise. Nothing here asks: what names code is refused with the file and the field,
or the field is left out where the code that comes with transformers and this package does the same.

An encoder that was made of such code is saved with it, so that whoever trusts it can load the model again.

One loading reads several files, some of them deep inside transformers, which does not pass the caller's word on. So it
is kept beside the call, for this thread and task only.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import CONFIG_MAPPING, MODEL_MAPPING, AutoConfig, AutoModel, PretrainedConfig
from transformers.dynamic_module_utils import custom_object_save, get_class_from_dynamic_module

from ..utils.compat import code_was_fetched, note_origin
from .repositories import HubOptions

__all__ = [
    "UnreadEncoderConfig",
    "check_tokenizer_code",
    "encoder_config_of",
    "is_foreign",
    "loading_from",
    "mark_foreign",
    "model_of_config",
    "read_encoder_config",
    "refuse_code",
    "save_code",
    "without_code",
]

_CODE_FIELDS = ("auto_map", "custom_pipelines")
# Implementations that are code of a repository where they are written as one: organisation/name.
_IMPLEMENTATIONS = (
    "attn_implementation",
    "_attn_implementation",
    "_attn_implementation_internal",
    "experts_implementation",
    "_experts_implementation",
    "_experts_implementation_internal",
)
# Says in the configuration of an encoder that its class is made of the code that stands beside it.
_OWN_CODE = "runs_own_code"
# Tokenizers that load further ones from folders within, for which transformers would ask.
_COMPOSITE_TOKENIZERS = ("RagTokenizer",)


@dataclass(frozen=True)
class _Loading:
    """What is being loaded: a folder or Hub id, and whether the caller trusts its code."""

    name: str
    options: HubOptions
    is_trusted: bool


_loading: ContextVar[_Loading | None] = ContextVar("loading", default=None)


def _trusted() -> _Loading | None:
    """What is being loaded, where the caller trusts its code."""
    loading = _loading.get()
    return loading if loading is not None and loading.is_trusted else None


@contextmanager
def loading_from(name: str, options: HubOptions, *, trust_remote_code: bool) -> Iterator[None]:
    """While inside, the code of a folder or repository may be run, or none may.

    Args:
        name: The folder or Hub id that is loaded.
        options: How to find the repository.
        trust_remote_code: What the caller said.
    """
    token = _loading.set(_Loading(name, options, trust_remote_code))
    try:
        yield
    finally:
        _loading.reset(token)


def refuse_code(content: Mapping[str, Any], path: str | Path, fields: tuple[str, ...] = _CODE_FIELDS) -> None:
    """Check that a file names no code, unless the caller trusts it.

    Args:
        content: What the file holds.
        path: The file, for the message.
        fields: Fields that name code in such a file; `_IMPLEMENTATIONS` are looked for at any depth.

    Raises:
        ValueError: Naming the file and the field.
    """
    if _trusted() is not None:
        return
    for field in fields:
        if content.get(field):
            raise _refusal(f"{path}: {field}", content[field])
    for field, value in _implementations(content):
        raise _refusal(f"{path}: {field}", value)


def without_code(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without the fields that name code, at any depth, for classes that come with packages."""
    return {name: _without_code(value) for name, value in content.items() if name not in _CODE_FIELDS}


def _without_code(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_code(value)
    return [_without_code(item) for item in value] if isinstance(value, list) else value


class UnreadEncoderConfig(PretrainedConfig):
    """What a file says of an encoder that is made of code, before anybody has said whether that is trusted.

    ``AutoConfig`` keeps the caller's word for itself; whatever makes a model of the configuration asks for it again.
    """

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self.fields = fields
        self.model_type = fields.get("model_type", "")
        self._name_or_path = fields.get("_name_or_path", "")

    def to_dict(self) -> dict[str, Any]:
        # With what every configuration says of itself. transformers 4 asks one without fields for all their defaults.
        own = {"transformers_version": self.transformers_version, **copy.deepcopy(self.fields)}
        return own if self.fields else defaultdict(lambda: None, own)


def encoder_config_of(fields: Mapping[str, Any]) -> PretrainedConfig:
    """Make the configuration of an encoder from what a model's configuration says of it.

    An encoder whose class comes with transformers is of that class, whatever code is named beside it, unless it was
    saved as one of that code. Such a one is made of the code where the caller trusts it, and is an
    `UnreadEncoderConfig` where nobody has said so yet.

    Args:
        fields: ``encoder_config`` of a ``config.json``.

    Raises:
        ValueError: When its kind is unknown, or its code is not trusted; the message names the field.
    """
    loading, kind = _trusted(), fields.get("model_type", "bert")
    reference = fields["auto_map"].get("AutoConfig") if isinstance(fields.get("auto_map"), Mapping) else None
    if loading is not None and isinstance(reference, str):
        config_class = get_class_from_dynamic_module(reference, loading.name, **loading.options.to_kwargs())
        made: PretrainedConfig = config_class.from_dict(dict(fields))
        # Its code is looked for where the model is, not where the encoder once was.
        note_origin(made, loading.name)
        return made
    is_known = isinstance(kind, str) and kind in CONFIG_MAPPING
    if fields.get("auto_map") and (not is_known or (fields.get(_OWN_CODE) and loading is None)):
        if _loading.get() is None:
            return UnreadEncoderConfig(**fields)
        raise _refusal("CorefELConfig.encoder_config.auto_map", fields["auto_map"])
    if not is_known:
        raise ValueError(f"CorefELConfig.encoder_config.model_type must be one that transformers knows; got {kind!r}")
    if CONFIG_MAPPING[kind] not in MODEL_MAPPING:
        raise ValueError(f"CorefELConfig.encoder_config.model_type: transformers has no encoder of the kind {kind!r}")
    if loading is None:
        for field, value in _implementations(fields):
            raise _refusal(f"CorefELConfig.encoder_config.{field}", value)
        fields = without_code(fields)
    return AutoConfig.for_model(kind, **{name: value for name, value in fields.items() if name != "model_type"})


def read_encoder_config(encoder_config: PretrainedConfig) -> PretrainedConfig:
    """Return the configuration of an encoder, read now if it was not before.

    Raises:
        ValueError: When it names code that the caller does not trust.
    """
    if not isinstance(encoder_config, UnreadEncoderConfig):
        return encoder_config
    if _loading.get() is None:
        raise _refusal("CorefELConfig.encoder_config.auto_map", encoder_config.fields["auto_map"])
    return encoder_config_of(encoder_config.fields)


def model_of_config(encoder_config: PretrainedConfig) -> nn.Module:
    """Make a model with uninitialised weights, in the default precision, not that which the weights are stored in.

    It is made of the code that its configuration names only where the caller trusts that.

    Raises:
        ValueError: When there is no class for the configuration.
    """
    config, loading = copy.deepcopy(encoder_config), _trusted()
    dtype = torch.get_default_dtype()
    reference = (getattr(config, "auto_map", None) or {}).get("AutoModel")
    if loading is not None and reference and (type(config) not in MODEL_MAPPING or getattr(config, _OWN_CODE, False)):
        made: nn.Module = get_class_from_dynamic_module(
            reference, loading.name, **loading.options.to_kwargs()
        )._from_config(config, dtype=dtype)
        return made
    encoder: nn.Module = AutoModel.from_config(config, dtype=dtype, trust_remote_code=False)
    return encoder


def is_foreign(thing: Any) -> bool:
    """Whether something was made of code that transformers has imported from a folder or a repository."""
    return code_was_fetched(thing)


def mark_foreign(encoder: nn.Module, encoder_config: PretrainedConfig) -> None:
    """Note in an encoder's configuration whether it is made of foreign code, and name none where it is not."""
    if is_foreign(encoder):
        setattr(encoder_config, _OWN_CODE, True)
    else:
        vars(encoder_config).pop("auto_map", None)


def save_code(encoder: nn.Module, encoder_config: PretrainedConfig, folder: str | Path) -> None:
    """Copy the code that an encoder was made of into the folder of the saved model, and name it there.

    Code that comes with installed packages stays where it is.

    Args:
        encoder: The encoder.
        encoder_config: Its configuration, which will be saved; it gets the name of the code in the folder.
        folder: The folder, made when it does not exist.
    """
    if not is_foreign(encoder):
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    encoder_config.auto_map = {}
    things: list[tuple[Any, str]] = [(encoder, "AutoModel"), (encoder_config, "AutoConfig")]
    for thing, kind in things:
        if is_foreign(thing):
            type(thing).register_for_auto_class(kind)
            custom_object_save(thing, folder, config=encoder_config)
    setattr(encoder_config, _OWN_CODE, True)


def check_tokenizer_code(content: Mapping[str, Any], path: str | Path) -> None:
    """Check that a ``tokenizer_config.json`` names no code, and no tokenizer that would load another one.

    Raises:
        ValueError: Naming the file and the field.
    """
    refuse_code(content, path)
    kind = content.get("tokenizer_class")
    if _trusted() is None and kind in _COMPOSITE_TOKENIZERS:
        raise ValueError(
            f"{path}: tokenizer_class: {kind} loads tokenizers of other folders; save the one that is used"
        )


def _implementations(content: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Fields at any depth that name an implementation in a repository, and which."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            if name in _IMPLEMENTATIONS:
                for choice in value.values() if isinstance(value, Mapping) else (value,):
                    if isinstance(choice, str) and "/" in choice:
                        yield f"{prefix}{name}", choice
            else:
                yield from _implementations(value, f"{prefix}{name}.")


def _refusal(field: str, value: Any) -> ValueError:
    named = str(value if isinstance(value, str) else next(iter(_texts(value)), value))
    return ValueError(
        f"{field} names code to run ({named[:100]!r}), and code of a model's folder is not run; remove the field, or "
        "if you have read the code and trust it, say trust_remote_code=True (--trust-remote-code on the command line)"
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
