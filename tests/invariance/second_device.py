"""A second device for machines that have none: tensors that say they are on ``meta`` and still hold numbers.

A tensor on ``meta`` has no numbers, so a model that reads its own scores to choose spans cannot run there. Here it can:
every tensor that is made on ``meta``, or moved there, is a wrapper of one on the CPU. As on a GPU, an operation that
mixes a tensor of one device with one of the other is refused, scalars excepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")
_HAS_FLOAT64: ContextVar[bool] = ContextVar("has_float64", default=True)


class WrongDeviceError(Exception):
    """An operation was given tensors of both devices; the message names it."""


class Placed(torch.Tensor):
    """A tensor that is on the second device by its own account."""

    value: torch.Tensor

    @staticmethod
    def __new__(cls, value: torch.Tensor) -> Placed:
        if value.dtype == torch.float64 and not _HAS_FLOAT64.get():
            raise TypeError("the second device has no float64")
        placed = torch.Tensor._make_wrapper_subclass(
            cls, value.shape, strides=value.stride(), dtype=value.dtype, device=DEVICE, requires_grad=False
        )
        placed.value = value
        return placed

    def __repr__(self, **unused: Any) -> str:
        return f"Placed({self.value!r})"

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(operation, args, kwargs or {})


def compute(operation: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The operation on what the tensors hold; its results are where its arguments were, or where it says."""
    tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
    placed = [tensor for tensor in tensors if isinstance(tensor, Placed)]
    target = kwargs.get("device")
    moves = operation in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
    if placed and not moves and any(tensor.dim() > 0 for tensor in tensors if not isinstance(tensor, Placed)):
        raise WrongDeviceError(f"{operation}: tensors on the CPU and on the second device")
    arguments, options = tree_map(lambda leaf: leaf.value if isinstance(leaf, Placed) else leaf, (args, kwargs))
    if target is not None:
        options["device"] = torch.device("cpu")
    result = operation(*arguments, **options)
    if operation._schema.is_mutable and operation.__name__.split(".")[0].endswith("_"):
        return args[0]
    there = bool(placed) if target is None else torch.device(target).type == DEVICE.type
    return tree_map(lambda leaf: Placed(leaf) if isinstance(leaf, torch.Tensor) else leaf, result) if there else result


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(operation, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """What goes past the dispatcher: tensors that are made of Python's numbers, and the way back to these."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.tolist and isinstance(args[0], Placed):
            return args[0].value.tolist()
        if function in (torch.tensor, torch.as_tensor, torch.Tensor.new_tensor):
            owner = args[0].device if function is torch.Tensor.new_tensor else "cpu"
            target = torch.device(kwargs.pop("device", None) or owner)
            made = torch.tensor(args[-1], **{"dtype": None, **kwargs})
            if function is torch.Tensor.new_tensor and "dtype" not in kwargs:
                made = made.to(args[0].dtype)
            return Placed(made) if target.type == DEVICE.type else made
        return function(*args, **kwargs)


@contextmanager
def second_device(float64: bool = True) -> Iterator[None]:
    """Makes ``meta`` hold numbers, without gradients; like MPS no double ones unless `float64`."""
    token = _HAS_FLOAT64.set(float64)
    try:
        with torch.no_grad(), _Mode(), _Functions():
            yield
    finally:
        _HAS_FLOAT64.reset(token)


def to_host(value: Any) -> Any:
    """What a result holds, and that it was on the second device."""
    if not isinstance(value, torch.Tensor):
        return value
    assert isinstance(value, Placed), "a tensor on the wrong device"
    return value.value
