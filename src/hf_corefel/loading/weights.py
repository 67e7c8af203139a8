"""The weights of a saved model: which files they may be in, and which of them a loaded model lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from transformers.utils import cached_file

from ..configuration.field_checks import numbers_within
from ..utils.json_files import read_json_object
from .repositories import HubOptions

__all__ = [
    "GRAPHS_FILE",
    "INDEX_FILE",
    "WEIGHTS_FILE",
    "WeightsWarning",
    "check_config",
    "check_size",
    "drawn_weights",
    "expecting",
    "find_weights",
    "not_finite",
    "sample_weights",
    "saved_shapes",
    "size_is_expected",
    "some_of",
    "still_as_drawn",
    "unchanged_weights",
    "with_variant",
]

WEIGHTS_FILE, INDEX_FILE = "model.safetensors", "model.safetensors.index.json"
# The list of what `hf_corefel.onnx_graphs` has exported to a folder.
GRAPHS_FILE = "onnx/graphs.json"
_ADAPTER = "adapter_config.json"
_PICKLES = {".bin", ".ckpt", ".h5", ".msgpack", ".pickle", ".pkl", ".pt", ".pth"}
# Values of a weight that are remembered, to see whether training has changed it.
_SAMPLED = 64
# A configuration may ask for parts that the file lacks (another head, more inputs), but not for many times its size.
_MOST_TIMES, _MOST_MORE = 4, 50_000_000


class WeightsWarning(UserWarning):
    """A loaded model has weights that its folder does not, or the other way round."""


def find_weights(name: str, options: HubOptions, *, variant: str | None = None, opt_in: str = "") -> list[Path]:
    """Return the safetensors files of a saved model; of a Hub repository, they are downloaded.

    Args:
        name: Folder or Hub id.
        options: How to find the repository, and where in it.
        variant: As in ``model.<variant>.safetensors``.
        opt_in: What the message says of pickles beyond.

    Raises:
        OSError: When there are none; pickles in their place are named.
        ValueError: When their index is damaged or names files that are none, or when the folder is an adapter.
    """
    folder = Path(name) / (options.subfolder or "") if Path(name).is_dir() else None
    if folder is not None and (folder / _ADAPTER).exists():
        raise ValueError(
            f"{folder / _ADAPTER}: adapters are not loaded; merge it into its model (merge_and_unload of peft) and "
            "save that"
        )
    single = _find(name, with_variant(WEIGHTS_FILE, variant), options)
    if single is not None:
        return [single]
    index = _find(name, with_variant(INDEX_FILE, variant), options)
    if index is None:
        raise OSError(_nothing_to_load(name, folder) + opt_in)
    shards = _shards(index)
    found = [(shard, _find(name, shard, options)) for shard in shards]
    missing = [shard for shard, path in found if path is None]
    if missing:
        raise OSError(f"{index}: it names {missing[0]}, which is not there; copy or save the model again")
    return [path for _, path in found if path is not None]


def with_variant(file: str, variant: str | None) -> str:
    """Return the name that transformers gives a file of weights, or their index, of a variant."""
    stem, _, ending = file.rpartition(".")
    return file if variant is None else f"{stem}.{variant}.{ending}"


def check_config(name: str, options: HubOptions, given: Any = None) -> None:
    """Check that a saved model has a ``config.json``, in place of which transformers would take the defaults.

    Args:
        name: Folder or Hub id.
        options: How to find the repository, and where in it.
        given: The configuration that the caller gave, if any: then none is read from there.

    Raises:
        OSError: When it has none.
    """
    if given is None and _find(name, "config.json", options) is None:
        raise OSError(f"{name}: no config.json; copy or save the model again")


def _find(name: str, file: str, options: HubOptions) -> Path | None:
    found = cached_file(
        name,
        file,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
        **options.to_kwargs(),
    )
    return None if found is None else Path(found)


def _nothing_to_load(name: str, folder: Path | None) -> str:
    pickles = [] if folder is None else sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES)
    pickles += [] if folder is None else sorted(path.name for path in folder.glob("*.bin.index.json"))
    if pickles:
        return (
            f"{name}: its weights are in {', '.join(pickles[:3])} only, a format that can run code when it is read; "
            f"save them as {WEIGHTS_FILE} where they come from, or convert them where you trust them"
        )
    if folder is not None and (folder / GRAPHS_FILE).is_file():
        return f"{name}: its weights are in ONNX graphs only; load it with backend='onnx' (--backend onnx)"
    return f"{name}: no {WEIGHTS_FILE}; save the model with save_pretrained, which writes it"


def _shards(index: Path) -> list[str]:
    """Names of the files that an index names, each of which must lie beside it and be of safetensors."""
    weight_map = read_json_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ValueError(f"{index}: weight_map must be an object of file names; save the model again")
    for shard in weight_map.values():
        if (
            not isinstance(shard, str)
            or not shard.endswith(".safetensors")
            or Path(shard).name != shard
            or "\\" in shard
        ):
            raise ValueError(
                f"{index}: weight_map names {shard!r}, and only .safetensors files beside it are read; save the model "
                "with save_pretrained"
            )
    return sorted(set(weight_map.values()))


def saved_shapes(paths: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights in safetensors files, whose headers are checked by that.

    Raises:
        ValueError: When one is damaged; the message names it.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for path in paths:
        try:
            with safe_open(path, framework="pt") as file:
                shapes.update((name, tuple(file.get_slice(name).get_shape())) for name in file.keys())  # noqa: SIM118
        except (SafetensorError, ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path}: damaged or no safetensors file ({error}); copy or save it again") from error
    return shapes


_saved: ContextVar[tuple[str, int] | None] = ContextVar("saved", default=None)


@contextmanager
def expecting(name: str, saved: int | None) -> Iterator[None]:
    """While inside, models are made for so many saved weights, see `check_size`; None expects nothing.

    Args:
        name: Folder or Hub id that they were saved to.
        saved: Their number.
    """
    token = _saved.set(None if saved is None else (name, saved))
    try:
        yield
    finally:
        _saved.reset(token)


def size_is_expected() -> bool:
    """Whether a model that is made now is to be of the size of saved weights."""
    return _saved.get() is not None


def check_size(model: nn.Module, config: Mapping[str, Any]) -> None:
    """Check that a model is about as large as what was saved, before memory is asked for.

    Args:
        model: The model on the device ``meta``.
        config: Its configuration as a dict.

    Raises:
        ValueError: When a size in the configuration cannot be right; the largest is named.
    """
    expected = _saved.get()
    if expected is None:
        return
    name, saved = expected
    described = sum(parameter.numel() for parameter in model.parameters())
    if described > _MOST_TIMES * saved + _MOST_MORE:
        field, value = max(numbers_within(dict(config)), key=lambda number: number[1])
        raise ValueError(
            f"{name}: config.json describes a model of {described:,} weights, but {saved:,} were saved; a size in it "
            f"is wrong, such as {field} = {value}"
        )


def sample_weights(parameters: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Return some values of each parameter, to see later whether training has changed it: see `unchanged_weights`.

    The counters that torch keeps of a tensor's changes do not see those of its fused optimizers.
    """
    return {name: _sample(value).clone() for name, value in parameters if value.device.type != "meta"}


def unchanged_weights(parameters: Iterable[tuple[str, Tensor]], before: Mapping[str, Tensor]) -> list[str]:
    """Return the names of the parameters that have the values of `before`.

    Casting changes values too, and is no training.
    """
    here = [(name, value) for name, value in parameters if name in before and value.device.type != "meta"]
    return [name for name, value in here if _same(before[name], _sample(value))]


def drawn_weights(model: nn.Module, names: Iterable[str]) -> dict[str, Tensor]:
    """Return what `still_as_drawn` needs to know of parameters that were drawn at random."""
    drawn = set(names)
    return sample_weights((name, value) for name, value in model.named_parameters() if name in drawn)


def still_as_drawn(model: nn.Module, drawn: Mapping[str, Tensor]) -> list[str]:
    """Return the names of the parameters in `drawn` that have the values which they were drawn with."""
    return sorted(unchanged_weights(model.named_parameters(), drawn))


def _sample(parameter: Tensor) -> Tensor:
    flat = _parts(parameter.detach())[0].flatten()
    step = max(1, flat.numel() // _SAMPLED)
    return flat[::step][:_SAMPLED].to("cpu")


def _same(drawn: Tensor, now: Tensor) -> bool:
    casts = (drawn, drawn.half(), drawn.bfloat16())
    return any(torch.equal(values.double(), now.double()) for values in (*casts, drawn.to(now.dtype)))


def not_finite(model: nn.Module) -> list[str]:
    """Return the names of the parameters that hold NaN or an infinite value."""
    with torch.no_grad():
        # A sum is fast, and finite only where all values are; finite values may have a sum that is not.
        # What waits on the disk until it is called (`device_map`) cannot be looked at here.
        weights = [(name, value) for name, value in model.named_parameters() if value.device.type != "meta"]
        here = [(name, part) for name, value in weights for part in _parts(value) if part.is_floating_point()]
        doubtful = [(name, value) for name, value in here if not bool(torch.isfinite(value.sum()))]
        return list(dict.fromkeys(name for name, value in doubtful if not bool(torch.isfinite(value).all())))


def _parts(value: Tensor) -> list[Tensor]:
    """Return the plain tensors that a weight consists of: quantised ones have whole numbers and their scales."""
    if not hasattr(type(value), "__tensor_flatten__"):
        return [value]
    names, _ = value.__tensor_flatten__()  # type: ignore[attr-defined]
    return [part for name in names for part in _parts(getattr(value, name))]


def some_of(names: list[str]) -> str:
    """Return the first names as a message shows them, and how many more there are."""
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
