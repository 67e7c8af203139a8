"""What the Hugging Face libraries and torch keep to themselves and this package needs all the same.

All of it stands here, so that a release which changes it is met in one place. Methods of `Trainer` that
`hf_corefel.training` overrides, and begin with an underscore too, are the only others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "code_was_fetched",
    "commit_of",
    "compiled_module",
    "decoded_floats",
    "indivisible_classes",
    "name_of_origin",
    "no_loading_bar",
    "no_questions",
    "note_commit",
    "note_origin",
    "peft_wrappers",
    "saved_buffers",
]


def commit_of(config: Any) -> str | None:
    """Return the commit of the Hub that a configuration was loaded from, if any."""
    return getattr(config, "_commit_hash", None)


def note_commit(config: Any, commit: str | None) -> None:
    """Write down in a configuration which commit it was loaded from."""
    config._commit_hash = commit


def name_of_origin(config: Any) -> str:
    """Return the folder or Hub id that a configuration was loaded from; empty where there is none."""
    return str(getattr(config, "_name_or_path", "") or "")


def note_origin(config: Any, name: str) -> None:
    """Write down in a configuration where it was loaded from."""
    config._name_or_path = name


def decoded_floats(config_class: Any, content: dict[str, Any]) -> dict[str, Any]:
    """Return what a configuration's file holds with its infinite numbers and NaN, which transformers 5 writes tagged.

    Version 4 writes them as Python does, and has no such tag.
    """
    decode = getattr(config_class, "_decode_special_floats", None)
    decoded: dict[str, Any] = content if decode is None else decode(content)
    return decoded


def indivisible_classes(encoder: Any) -> set[str]:
    """Return the names of the classes that an encoder of transformers wants to keep in one piece."""
    return set(getattr(encoder, "_no_split_modules", None) or ())


def compiled_module(module: Any) -> Any | None:
    """Return the module within what ``torch.compile`` has put around it; None where it has not."""
    return getattr(module, "_orig_mod", None)


def saved_buffers(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the buffers of a module itself that ``state_dict`` has."""
    for name, buffer in module.named_buffers(recurse=False):
        if name not in module._non_persistent_buffers_set:
            yield name, buffer


def peft_wrappers() -> tuple[type, type, type] | None:
    """Return the classes of PEFT that wrap a model, a layer, and a module to save; None where it was not imported."""
    if "peft" not in sys.modules:
        return None
    from peft import PeftModel
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    return PeftModel, BaseTunerLayer, AuxiliaryTrainingWrapper


def code_was_fetched(thing: Any) -> bool:
    """Whether the class of a thing came from code that a model's folder names."""
    from transformers.utils import TRANSFORMERS_DYNAMIC_MODULE_NAME

    return type(thing).__module__.partition(".")[0] == TRANSFORMERS_DYNAMIC_MODULE_NAME


@contextmanager
def no_questions() -> Iterator[None]:
    """While inside, code that a folder names is an error at once, where transformers would ask whether to run it."""
    from transformers import dynamic_module_utils

    # Seconds to wait for an answer.
    patience = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = patience


@contextmanager
def no_loading_bar() -> Iterator[None]:
    """While inside, transformers shows no bar; what users have set stays set.

    Its public switch would also overwrite the settings of the bars of huggingface_hub, or warn that it cannot.
    """
    from transformers.utils import logging as switches

    shown = getattr(switches, "_tqdm_active", False)
    if not shown:
        yield
        return
    switches._tqdm_active = False
    try:
        yield
    finally:
        switches._tqdm_active = shown
