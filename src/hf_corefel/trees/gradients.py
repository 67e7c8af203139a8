"""Numbers of trees as functions of torch: computed in numpy, document by document, with gradients that are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from .covariance import edge_covariances
from .elimination import FloatArray
from .graph import EdgeArrays, GoldShare, GoldTrees, TreeGraph, shares
from .precision import of_device

Trees = TreeGraph | GoldTrees | GoldShare
Spans = Sequence[NDArray[np.intp]]
EdgeTensors = tuple[Tensor, Tensor, Tensor]
"""Root ``[B, N]``, candidates ``[B, N, K]`` and span-to-span ``[B, N, N]``."""


def log_weight(scores: EdgeTensors, trees: Sequence[Trees], spans: Spans) -> Tensor:
    """Return ``[B]`` the log of the total weight of a set of trees per document, or a difference of two.

    Args:
        scores: Of the edges, where the gradient goes: the marginals of the trees.
        trees: The trees of each document.
        spans: Its unmasked spans.
    """
    apply: Callable[..., Tensor] = _LogWeight.apply
    return apply(*scores, trees, spans)


def expectation(scores: EdgeTensors, values: EdgeTensors, graphs: Sequence[TreeGraph], spans: Spans) -> Tensor:
    """Return ``[B]`` the expected sum of the values of a random tree's edges, NaN for a document without a tree.

    Args:
        scores: Of the edges, where the covariances with the sum go as gradient.
        values: Of the edges, finite, where the marginals go as gradient. Without a tree no gradient goes anywhere.
        graphs: The graph of each document.
        spans: Its unmasked spans.
    """
    apply: Callable[..., Tensor] = _Expectation.apply
    return apply(*scores, *values, graphs, spans)


class _LogWeight(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, root: Tensor, candidate_scores: Tensor, span_to_span: Tensor, trees: Sequence[Trees], spans: Spans
    ) -> Tensor:
        ctx.inputs = root, candidate_scores, span_to_span
        ctx.trees = trees
        ctx.spans = spans
        return of_device(torch.tensor([tree.log_weight for tree in trees], dtype=torch.float64), root.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [np.zeros(tensor.shape) for tensor in ctx.inputs]
        scales = grad_output.cpu().numpy()
        for b, (tree, at) in enumerate(zip(ctx.trees, ctx.spans, strict=True)):
            if scales[b] == 0.0 or tree.log_weight == -np.inf:
                continue
            scatter(tree.marginals, at, gradients, b=b, scale=scales[b])
        return (*_like(gradients, ctx.inputs), None, None)


class _Expectation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *tensors, graphs, spans = arguments
        ctx.inputs = tensors
        ctx.graphs, ctx.spans = graphs, spans
        ctx.values = [
            EdgeArrays(root[b][at], candidate_edges[b][at], span_to_span[b][np.ix_(at, at)])
            for root, candidate_edges, span_to_span in [tuple(map(to_numpy, tensors[3:]))]
            for b, at in enumerate(spans)
        ]
        expected = [_expected(graph, values) for graph, values in zip(graphs, ctx.values, strict=True)]
        return of_device(torch.tensor(expected, dtype=torch.float64), tensors[0].device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [np.zeros(tensor.shape) for tensor in ctx.inputs]
        scales = grad_output.cpu().numpy()
        for b, (graph, values, at) in enumerate(zip(ctx.graphs, ctx.values, ctx.spans, strict=True)):
            if scales[b] == 0.0 or not np.isfinite(graph.log_weight):
                continue
            if any(ctx.needs_input_grad[:3]):
                scatter(_covariances(graph, values), at, gradients[:3], b=b, scale=scales[b])
            scatter(graph.marginals, at, gradients[3:], b=b, scale=scales[b])
        return (*_like(gradients, ctx.inputs), None, None)


def _expected(graph: TreeGraph, values: EdgeArrays) -> float:
    if not np.isfinite(graph.log_weight):
        return np.nan
    # Every tree has one edge into each span, so a constant taken off all of them changes nothing but rounding.
    above = np.column_stack([values.root, values.candidate_edges])
    top = np.maximum(above.max(axis=1), values.span_to_span.max(axis=0, initial=-np.inf))
    marginals = graph.marginals
    rest = (
        (marginals.root * (values.root - top)).sum()
        + (marginals.candidate_edges * (values.candidate_edges - top[:, None])).sum()
        + (marginals.span_to_span * (values.span_to_span - top)).sum()
    )
    return float(top.sum() + rest)


def _covariances(graph: TreeGraph, values: EdgeArrays) -> EdgeArrays:
    """The covariance of every edge with the sum of the values of the tree's edges.

    That of an edge from above has two parts: whether there is one, and which of them it is.
    """
    root_share, candidate_share = shares(graph.root, graph.candidate_scores, graph.rho)
    folded = root_share * values.root + (candidate_share * values.candidate_edges).sum(axis=1)
    covariances = edge_covariances(np.vstack([graph.span_to_span, graph.rho]), np.vstack([values.span_to_span, folded]))
    above, whole = graph.elimination.marginals()[-1], covariances[-1]
    return EdgeArrays(
        root_share * (whole + above * (values.root - folded)),
        candidate_share * (whole[:, None] + above[:, None] * (values.candidate_edges - folded[:, None])),
        covariances[:-1],
    )


def scatter(
    values: EdgeArrays, at: NDArray[np.intp], into: Sequence[FloatArray], *, b: int, scale: float = 1.0
) -> None:
    """Write values of document b, times `scale`, to the places of its unmasked spans in arrays as of `EdgeTensors`."""
    root, candidate_edges, span_to_span = (array[b] for array in into)
    if len(at) == len(root):
        np.multiply(values.root, scale, out=root)
        np.multiply(values.candidate_edges, scale, out=candidate_edges)
        np.multiply(values.span_to_span, scale, out=span_to_span)
        return
    root[at] = scale * values.root
    candidate_edges[at] = scale * values.candidate_edges
    span_to_span[np.ix_(at, at)] = scale * values.span_to_span


def to_numpy(scores: Tensor) -> FloatArray:
    """Return scores as float64 on the CPU, without their gradient."""
    array: FloatArray = scores.detach().cpu().to(torch.float64).numpy()
    return array


def _like(arrays: Sequence[FloatArray], tensors: Sequence[Tensor]) -> list[Tensor]:
    return [
        torch.from_numpy(array).to(tensor.dtype).to(tensor.device)
        for array, tensor in zip(arrays, tensors, strict=True)
    ]
