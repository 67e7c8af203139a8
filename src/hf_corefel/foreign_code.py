"""Code that a model's folder names: never run unless the caller of the Python API says ``trust_remote_code=True``.

Files of a saved model may name Python code that transformers imports from the folder or from the Hub, after asking on
standard input where nobody said otherwise. Nothing here asks: what names code is refused with the file and the field,
or the field is left out where the code that comes with transformers and this package does the same.

One loading reads several files, some of them deep inside transformers, which does not pass the caller's word on. So it
is kept beside the call, for this thread and task only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import CONFIG_MAPPING, MODEL_MAPPING, AutoConfig, PretrainedConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

from .repositories import HubOptions

__all__ = [
    "check_tokenizer_code",
    "encoder_config_of",
    "loading_from",
    "refuse_code",
    "runs_foreign_code",
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
# Tokenizers that load further ones from folders within, for which transformers would ask.
_COMPOSITE_TOKENIZERS = ("RagTokenizer",)


@dataclass(frozen=True)
class _Loading:
    """What is being loaded: a folder or Hub id whose code the caller trusts."""

    name: str
    options: HubOptions


_trusted: ContextVar[_Loading | None] = ContextVar("trusted", default=None)


@contextmanager
def loading_from(name: str, options: HubOptions, *, trust_remote_code: bool) -> Iterator[None]:
    """While inside, the code of a folder or repository may be run, or none may.

    Args:
        name: The folder or Hub id that is loaded.
        options: How to find the repository.
        trust_remote_code: What the caller said.
    """
    token = _trusted.set(_Loading(name, options) if trust_remote_code else None)
    try:
        yield
    finally:
        _trusted.reset(token)


def refuse_code(content: Mapping[str, Any], path: str | Path, fields: tuple[str, ...] = _CODE_FIELDS) -> None:
    """Check that a file names no code, unless the caller trusts it.

    Args:
        content: What the file holds.
        path: The file, for the message.
        fields: Fields that name code in such a file; `_IMPLEMENTATIONS` are looked for at any depth.

    Raises:
        ValueError: Naming the file and the field.
    """
    if _trusted.get() is not None:
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


def encoder_config_of(fields: Mapping[str, Any]) -> PretrainedConfig:
    """Make the configuration of an encoder from what a model's configuration says of it.

    An encoder whose class comes with transformers is of that class, whatever code is named beside it. Another one is
    made of the code that it names where the caller trusts that.

    Args:
        fields: ``encoder_config`` of a ``config.json``.

    Raises:
        ValueError: When its kind is unknown, or its code is not trusted; the message names the field.
    """
    loading, kind = _trusted.get(), fields.get("model_type", "bert")
    reference = fields["auto_map"].get("AutoConfig") if isinstance(fields.get("auto_map"), Mapping) else None
    if loading is not None and isinstance(reference, str):
        config_class = get_class_from_dynamic_module(reference, loading.name, **loading.options.to_kwargs())
        made: PretrainedConfig = config_class.from_dict(dict(fields))
        # Its code is looked for where the model is, not where the encoder once was.
        made._name_or_path = loading.name
        return made
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        if fields.get("auto_map"):
            raise _refusal("CorefELConfig.encoder_config.auto_map", fields["auto_map"])
        raise ValueError(f"CorefELConfig.encoder_config.model_type must be one that transformers knows; got {kind!r}")
    if CONFIG_MAPPING[kind] not in MODEL_MAPPING:
        raise ValueError(f"CorefELConfig.encoder_config.model_type: transformers has no encoder of the kind {kind!r}")
    if loading is None:
        for field, value in _implementations(fields):
            raise _refusal(f"CorefELConfig.encoder_config.{field}", value)
        fields = without_code(fields)
    return AutoConfig.for_model(kind, **{name: value for name, value in fields.items() if name != "model_type"})


def runs_foreign_code(encoder_config: PretrainedConfig) -> bool:
    """Whether an encoder is to be made of code that its configuration names, which the caller trusts."""
    return _trusted.get() is not None and type(encoder_config) not in MODEL_MAPPING


def check_tokenizer_code(content: Mapping[str, Any], path: str | Path) -> None:
    """Check that a ``tokenizer_config.json`` names no code, and no tokenizer that would load another one.

    Raises:
        ValueError: Naming the file and the field.
    """
    refuse_code(content, path)
    kind = content.get("tokenizer_class")
    if _trusted.get() is None and kind in _COMPOSITE_TOKENIZERS:
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
        "if you have read the code and trust it, load the model in Python with trust_remote_code=True"
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
