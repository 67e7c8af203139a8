"""Operators of torch that its exporter knows not at all, or as something slow or inexact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["OPSET", "translations"]

OPSET = 20
"""The version of ONNX's operators that graphs are written in."""


def translations() -> dict[Any, Callable[..., Any]]:
    """Return how to write some operators, for ``torch.onnx.export(custom_translation_table=)``.

    Raises:
        ImportError: When onnxscript is missing.
    """
    from onnxscript import opset20 as op

    def number(value: int) -> Any:
        return op.Constant(value_int=value)

    def vector(value: int) -> Any:
        return op.Constant(value_ints=[value])

    def owners(begins: Any, size: Any) -> Any:
        """Return for each of `size` places how many of the ascending `begins` are not behind it."""
        zeros = op.Expand(vector(0), op.Add(size, vector(1)))  # one place more, for what begins at the end
        ones = op.Expand(vector(1), op.Shape(begins))
        steps = op.ScatterElements(zeros, begins, ones, axis=0, reduction="add")
        return op.Slice(op.CumSum(steps, number(0)), vector(0), size)

    def repeat_interleave(repeats: Any, output_size: Any = None) -> Any:
        """Write ``repeat_interleave(repeats)``; torch's way takes as much memory as the square of the result."""
        ends = op.CumSum(repeats, number(0))
        return owners(ends, op.Gather(ends, vector(-1)))

    def embedding_bag(
        weight: Any,
        indices: Any,
        offsets: Any,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Any = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> Any:
        """Write weighted sums of vectors; torch's way is a loop over the bags."""
        if mode != 0 or per_sample_weights is None or include_last_offset:
            raise NotImplementedError("embedding_bag: weighted sums only")
        bags = op.Sub(owners(offsets, op.Shape(indices)), vector(1))
        rows = op.Mul(op.Gather(weight, indices), op.Unsqueeze(per_sample_weights, vector(1)))
        shape = op.Concat(op.Shape(offsets), op.Shape(weight, start=1), axis=0)
        zeros = op.Expand(op.CastLike(op.Constant(value_float=0.0), weight), shape)
        sums = op.ScatterND(zeros, op.Unsqueeze(bags, vector(1)), rows, reduction="add")
        return sums, offsets, offsets, offsets

    def sigmoid(values: Any) -> Any:
        """Write it by an exponential: onnxruntime's is wrong by parts of a value where that is near zero."""
        one = op.CastLike(op.Constant(value_float=1.0), values)
        return op.Reciprocal(op.Add(op.Exp(op.Neg(values)), one))

    aten: Any = torch.ops.aten
    bags = (aten.embedding_bag.padding_idx, aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
    return {
        aten.repeat_interleave.Tensor: repeat_interleave,
        aten.sigmoid.default: sigmoid,
        **dict.fromkeys((aten.embedding_bag.default, *bags), embedding_bag),
    }
