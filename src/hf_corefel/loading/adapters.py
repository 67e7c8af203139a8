"""Adapters of PEFT (LoRA and its kin): merged into their base when a model is loaded, and into what is saved.

The folder of an adapter names the model that it belongs to. It is loaded wherever a model is: the base first, then the
adapter, which is merged into it, so that nothing later needs to know of either. PEFT is imported only where there is an
adapter.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from transformers.utils import cached_file

from ..configuration.field_checks import numbers_within
from ..utils.compat import compiled_module, peft_wrappers, saved_buffers
from ..utils.json_files import read_json_object
from .foreign_code import refuse_code
from .repositories import HubOptions, download_folder
from .weights import saved_shapes, some_of

__all__ = [
    "ADAPTER_FILES",
    "BASE_FOLDER",
    "Adapter",
    "adapters_of",
    "base_tensors",
    "bundled_place",
    "holds_adapters",
    "is_base_folder",
    "is_peft_model",
    "load_base",
    "merge_adapter",
    "merged_copy",
    "place_of",
    "plain_module",
]

_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
ADAPTER_FILES = (_CONFIG, _WEIGHTS, "adapter_model.bin")
# Where the base of an adapter lies in its folder, if it lies nowhere else; with a number where that name was taken.
BASE_FOLDER = "base_model"
# Kinds that consist of weights alone and can be merged; others build extensions or read further adapters.
_KINDS = ("ADALORA", "HRA", "IA3", "LN_TUNING", "LOHA", "LOKR", "LORA", "OFT", "VERA")
# Fields that have PEFT import a module, or change the layers of the base.
_FOREIGN = ("auto_map", "megatron_config", "layer_replication")
# Beginnings of LoRA that change the base in a way that PEFT repeats when it loads; of others it reads further files.
_REPEATED = ("eva", "gaussian", "orthogonal", "olora", "pissa")
# A rank beyond it is that of a saved weight, or memory is asked for in vain.
_LARGE_RANK = 1024

_Model = TypeVar("_Model", bound=nn.Module)


@dataclass(frozen=True)
class Adapter:
    """A saved adapter.

    Attributes:
        name: Its folder or Hub id.
        options: How its files are found.
        config: Its ``adapter_config.json``, on this machine.
        base: Folder or Hub id of the model that it belongs to.
        revision: The base's branch, tag or commit.
    """

    name: str
    options: HubOptions
    config: Path
    base: str
    revision: str | None = None


def adapters_of(name: str, options: HubOptions, *, subfolder: str = "") -> tuple[str, HubOptions, list[Adapter]]:
    """Find the model behind a name, and the adapters between.

    Args:
        name: Folder or Hub id of a model or an adapter, whose base may have been an adapter itself.
        options: How to find the repository.
        subfolder: Where in it an adapter is.

    Returns:
        The name of the model and how to find it, and the adapters in the order of their merging: none where `name` is
        the model.

    Raises:
        ValueError: When an adapter's configuration is damaged, names code, or has no base to be merged into.
    """
    adapters: list[Adapter] = []
    while (adapter := _find(name, options, subfolder)) is not None:
        if adapter.base in [adapter.name, *(each.name for each in adapters)]:
            raise ValueError(f"{adapter.config}: base_model_name_or_path leads back to {adapter.base!r}")
        adapters.insert(0, adapter)
        name, options, subfolder = adapter.base, options.at(adapter.revision), ""
    return name, options, adapters


def place_of(file: str, name: str, options: HubOptions) -> tuple[str, HubOptions]:
    """Find where a file of a model lies: with the adapter that is named, or where that lacks it, with its base.

    Args:
        file: Its name.
        name: Folder or Hub id of a model or an adapter.
        options: How to find the repository.

    Returns:
        Folder or Hub id, and how to find it; the given ones where nothing has the file.
    """
    place = name, options
    while _file(place[0], file, place[1], "") is None:
        adapter = _find(*place, "")
        if adapter is None:
            return name, options
        place = adapter.base, place[1].at(adapter.revision)
    return place


def _find(name: str, options: HubOptions, subfolder: str) -> Adapter | None:
    found = _file(name, _CONFIG, options, subfolder)
    if found is None:
        return None
    content = read_json_object(found)
    refuse_code(content, found, _FOREIGN)
    if content.get("peft_type") not in _KINDS:
        raise ValueError(
            f"{found}: peft_type is {content.get('peft_type')!r}, and only adapters of {', '.join(_KINDS)} can be "
            "merged into a CorefELModel"
        )
    begun = content.get("init_lora_weights", True)
    if isinstance(begun, str) and not begun.startswith(_REPEATED):
        raise ValueError(
            f"{found}: init_lora_weights: {begun!r} changed the base; save the adapter again with "
            "path_initial_model_for_weight_conversion of PEFT, or merge it into its model where it was trained"
        )
    if _file(name, "config.json", options, subfolder) is not None:
        raise ValueError(
            f"{found}: an adapter in the folder of a whole model, which may be its base or another one; move "
            f"{_CONFIG} and {_WEIGHTS} to a folder of their own"
        )
    if _file(name, _WEIGHTS, options, subfolder) is None:
        raise ValueError(f"{found}: there is no {_WEIGHTS} beside it; save the adapter again")
    base, revision = content.get("base_model_name_or_path"), content.get("revision")
    if not isinstance(base, str) or not base.strip() or not isinstance(revision, str | None):
        raise ValueError(
            f"{found}: base_model_name_or_path must name the model that the adapter was trained on; got {base!r}. Name "
            "its folder or Hub id there, or merge the adapter where it was trained (merge_and_unload of PEFT) and save "
            "that; a model that is saved and loaded before it gets an adapter is named by itself"
        )
    return Adapter(name, options, Path(found), _here(base, name, options, found), revision)


def _here(base: str, name: str, options: HubOptions, config: str) -> str:
    """The base's name on this machine, where it is a folder that has been moved."""
    path = Path(base)
    if not path.is_absolute() or path.is_dir():
        return base
    if is_base_folder(path) and _file(name, f"{path.name}/config.json", options, "") is not None:
        return str(download_folder(name, path.name, options))
    bundled = bundled_place(path)
    if bundled is not None:
        return str(bundled)
    raise ValueError(
        f"{config}: base_model_name_or_path: there is no folder {base}; name the place where the adapter's model is"
    )


def is_base_folder(path: Path) -> bool:
    """Return whether a path has the name that the base of an adapter has in the adapter's folder."""
    return re.fullmatch(rf"{BASE_FOLDER}(_\d+)?", path.name) is not None


def bundled_place(path: Path) -> Path | None:
    """Return where the bundled checkpoint lies that a path means, which is elsewhere on every machine; None if none."""
    bundled = Path(__file__).parents[1] / "checkpoints" / path.name
    return bundled if path.parts[-3:-1] == bundled.parts[-3:-1] and bundled.is_dir() else None


def _file(name: str, file: str, options: HubOptions, subfolder: str) -> str | None:
    if subfolder:
        options = replace(options, subfolder=subfolder)
    found: str | None = cached_file(
        name,
        file,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
        **options.to_kwargs(),
    )
    return found


# Merging ----------------------------------------------------------------------------------------------


def merge_adapter(model: nn.Module, adapter: Adapter) -> None:
    """Merge a saved adapter into its base.

    Args:
        model: The base, which is changed.
        adapter: The adapter.

    Raises:
        ValueError: When PEFT is not installed, or the adapter is damaged or does not fit the model; the message names
            the file.
    """
    try:
        from peft import PeftConfig, PeftModel, get_peft_model_state_dict
    except ImportError as error:
        raise ValueError(
            f"{adapter.config}: reading an adapter takes PEFT ({error}); install it with pip install 'hf-corefel[peft]'"
        ) from error
    weights = adapter.config.with_name(_WEIGHTS)
    shapes = saved_shapes([weights])
    trainable = {name for name, value in model.named_parameters() if value.requires_grad}
    try:
        config = PeftConfig.from_pretrained(str(adapter.config.parent))
        config.task_type = None  # what else comes with a task is not for this model
        if str(getattr(config, "init_lora_weights", "")).startswith("eva"):
            config.init_lora_weights = True
        _check_sizes(config, shapes)
        adapted = PeftModel.from_pretrained(model, str(adapter.config.parent), config=config)
        wanted = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
        # Embeddings of a vocabulary that has grown are saved as they are.
        known = wanted | set(adapted.state_dict())
        for names, text in (
            (wanted - set(shapes), "are missing from it"),
            (set(shapes) - known, "are not the model's"),
        ):
            if names:
                raise ValueError(f"{len(names)} weights {text}: {some_of(sorted(names))}")
        adapted.merge_and_unload(safe_merge=True)
        # PEFT has frozen what it was put on.
        for name, value in model.named_parameters():
            value.requires_grad_(name in trainable)
    except (torch.OutOfMemoryError, OSError):
        raise
    # What PEFT and torch make of files that do not fit each other is of many kinds.
    except Exception as error:
        raise ValueError(
            f"{weights}: the adapter cannot be merged into {adapter.base} ({type(error).__name__}: {error}); it must "
            "be the model that the adapter was trained on, with the same head"
        ) from error


def _check_sizes(config: Any, shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises `ValueError` for a rank that no saved weight has, before memory is asked for."""
    most = max([_LARGE_RANK, *(size for shape in shapes.values() for size in shape)])
    for field, value in numbers_within(config.to_dict()):
        if isinstance(value, int) and value > most:
            raise ValueError(f"{field} is {value}, and no weight of the adapter is that large")


def is_peft_model(model: nn.Module) -> bool:
    """Whether a model is one that PEFT put around another."""
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(model, peft.PeftModel)


def holds_adapters(model: nn.Module) -> bool:
    """Whether PEFT has put adapters into a model, in whatever way."""
    wrappers = peft_wrappers()
    return wrappers is not None and any(isinstance(module, wrappers) for module in model.modules())


def merged_copy(model: _Model, state: dict[str, Tensor] | None = None) -> _Model:
    """Copy a model, with the adapters that are active in it merged into its weights.

    Args:
        model: The model, which stays as it is.
        state: Its weights where they are not its own, as those of a model whose parts lie on several processes.

    Raises:
        ValueError: When an adapter is of a kind that cannot be merged.
    """
    merged = copy.deepcopy(model)
    if state is not None:
        merged.load_state_dict(state)
    try:
        _unload(merged)
    # Each kind says it in its own way.
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"the model has an adapter that cannot be merged into it, and so cannot be saved with it ({error}); put "
            "the adapter around the whole model (get_peft_model(model, ...)) and save what that gives, or take LoRA"
        ) from error
    vars(merged).pop("peft_config", None)
    vars(merged).pop("_hf_peft_config_loaded", None)
    return merged


@torch.no_grad()
def _unload(module: nn.Module) -> None:
    """Puts plain layers in the place of those with adapters, with what these do to them."""
    wrappers = peft_wrappers()
    if wrappers is None:
        return
    around, tuner, auxiliary = wrappers
    for name, child in list(module.named_children()):
        plain: Any = child
        if isinstance(child, around):
            inner: Any = child
            plain = inner.get_base_model() if inner.active_peft_config.is_prompt_learning else inner.base_model.model
            if inner.active_peft_config.is_prompt_learning:
                raise ValueError(f"{inner.active_peft_config.peft_type.value} adds to what the layers read")
            _unload(plain)
            vars(plain).pop("peft_config", None)
        elif isinstance(child, auxiliary):
            plain = _unloaded_auxiliary(child)
        elif isinstance(child, tuner):
            plain = _unloaded_layer(child)
        else:
            _unload(child)
        if plain is not child:
            setattr(module, name, plain)


def _unloaded_layer(layer: Any) -> nn.Module:
    if layer.disable_adapters:
        if layer.merged:
            layer.unmerge()
    elif hasattr(layer, "unload_and_optionally_merge_module"):
        special: nn.Module = layer.unload_and_optionally_merge_module(merge=True, safe_merge=True, adapter_names=None)
        return special
    else:
        layer.merge(safe_merge=True)
    plain: nn.Module = layer.get_base_layer()
    return plain


def _unloaded_auxiliary(wrapper: Any) -> nn.Module:
    # Whether its own or the copy is in use, as in its forward pass.
    merge = not wrapper.disable_adapters and bool(wrapper.active_adapters)
    plain: nn.Module = wrapper.unload_and_optionally_merge_module(merge=merge, safe_merge=True, adapter_names=None)
    return plain


def base_tensors(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the parameters and saved buffers of a model as they are without its adapters, with their plain names."""
    for name, parameter in module.named_parameters(recurse=False):
        yield prefix + name, parameter
    for name, buffer in saved_buffers(module):
        yield prefix + name, buffer
    for name, child in module.named_children():
        yield from base_tensors(plain_module(child), f"{prefix}{name}.")


@torch.no_grad()
def load_base(model: Any, folder: Path) -> None:
    """Give a model, beneath its adapters, the weights that a folder has.

    Args:
        model: A `CorefELModel` with adapters.
        folder: What `CorefELModel.save_without_adapters` has written.

    Raises:
        ValueError: When the model there is another one; the message names a weight.
    """
    trusted = model.origin is not None and model.origin.trust_remote_code
    saved = type(model).from_pretrained(folder, trust_remote_code=trusted).state_dict()
    own = dict(base_tensors(model))
    for name in sorted({*own, *saved}):
        if name not in own or name not in saved or own[name].shape != saved[name].shape:
            raise ValueError(
                f"{folder}: the weight {name} is not that of the model which the adapter is put on; put it on one of "
                "the same encoder, head and sizes"
            )
        own[name].copy_(saved[name])


def plain_module(module: nn.Module) -> nn.Module:
    """Return the module within what ``torch.compile`` and PEFT have put around it."""
    inner: Any = module
    compiled = compiled_module(module)
    if compiled is not None:
        return plain_module(compiled)
    wrappers = peft_wrappers()
    if wrappers is None:
        return module
    around, tuner, auxiliary = wrappers
    if isinstance(module, around):
        return plain_module(inner.get_base_model())
    if isinstance(module, auxiliary):
        return plain_module(inner.original_module)
    if isinstance(module, tuner):
        return plain_module(inner.get_base_layer())
    return module
