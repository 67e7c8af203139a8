"""Edges that every tree has or that none has, and what cannot be asked of trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .arborescence import unreachable_nodes

__all__ = ["Edge", "allowed_edges"]


class Edge(NamedTuple):
    """An edge of a document's graph.

    Attributes:
        document: Number of the document in the batch.
        child: The span that it leads to.
        parent: Where it comes from: 0..N-1 that span, N the root, N+1+k the child's k-th candidate.

    Example:
        >>> from hf_corefel.trees import Edge
        >>> Edge(document=0, child=2, parent=1).parent
        1
    """

    document: int
    child: int
    parent: int


Edges = Iterable[Sequence[int]] | Tensor


def allowed_edges(columns: Tensor, candidate_rows: Tensor, mask: Tensor, forced: Edges, forbidden: Edges) -> Tensor:
    """Return which edges may be in a tree that has all forced and no forbidden ones.

    Args:
        columns: ``[B, N, N+1+K]`` log-weights of the edges into each span, -inf for no edge.
        candidate_rows: int64 ``[B, N, K]``, for the messages.
        mask: bool ``[B, N]``, False for padding.
        forced: `Edge`s, or an integer tensor ``[M, 3]`` of their fields. Between existing nodes.
        forbidden: Likewise; one that does not exist is forbidden already.

    Returns:
        bool ``[B, N, N+1+K]``.

    Raises:
        ValueError: If the edges contradict one another or leave a document no tree; the message names them.
    """
    must, never = _read("forced", forced, columns), _read("forbidden", forbidden, columns)
    names = _Names(candidate_rows, columns.shape[1])
    scores = columns.detach()
    parents: dict[tuple[int, int], Edge] = {}
    banned = set(never)
    allowed = torch.ones(columns.shape, dtype=torch.bool)
    for edge in never:
        allowed[edge] = False
    for edge in must:
        if edge in banned:
            raise ValueError(f"document {edge.document}: {names(edge)} is both forced and forbidden")
        if not mask[edge.document, edge.child]:
            raise ValueError(f"document {edge.document}: {names(edge)} is forced, but leads to a masked span")
        if edge.child == edge.parent or not scores[edge] > -np.inf:
            raise ValueError(f"document {edge.document}: {names(edge)} is forced, but there is no such edge")
        other = parents.setdefault((edge.document, edge.child), edge)
        if other != edge:
            raise ValueError(f"document {edge.document}: {names(other)} and {names(edge)} are both forced")
        allowed[edge.document, edge.child] = False
        allowed[edge] = True
    _check_circles(parents, names, columns.shape[1])
    _check_trees(scores.cpu(), allowed, mask.cpu(), must, never, names)
    return allowed.to(columns.device)


class _Names:
    """Says in words which edge is meant."""

    def __init__(self, candidate_rows: Tensor, spans: int) -> None:
        self._candidate_rows, self._spans = candidate_rows, spans

    def __call__(self, edge: Edge) -> str:
        b, child, parent = edge
        if parent < self._spans:
            source = f"span {parent}"
        elif parent == self._spans:
            source = "the root"
        else:
            k = parent - self._spans - 1
            source = f"candidate {k} (entity {int(self._candidate_rows[b, child, k])})"
        return f"the edge from {source} to span {child}"


def _read(name: str, edges: Edges, columns: Tensor) -> list[Edge]:
    if isinstance(edges, Tensor):
        edges = edges.tolist()
    found = []
    for given in edges:
        values = [int(value) for value in given]
        if len(values) != 3 or not all(0 <= v < size for v, size in zip(values, columns.shape, strict=True)):
            wanted = "document, child, parent below " + ", ".join(map(str, columns.shape))
            raise ValueError(f"{name}: expected edges of {wanted}; got {values}")
        found.append(Edge(*values))
    # Named twice is meant once.
    return list(dict.fromkeys(found))


def _check_circles(parents: dict[tuple[int, int], Edge], names: _Names, spans: int) -> None:
    for start in parents:
        way = [start]
        while (edge := parents.get(way[-1])) is not None and edge.parent < spans:
            way.append((edge.document, edge.parent))
            if way[-1] == start:
                circle = " and ".join(names(parents[node]) for node in way[:-1])
                raise ValueError(f"document {edge.document}: forced edges run in a circle: {circle}")
            if way[-1] in way[:-1]:
                break


def _check_trees(
    columns: Tensor, allowed: Tensor, mask: Tensor, must: list[Edge], never: list[Edge], names: _Names
) -> None:
    """Raise where forced and forbidden edges leave spans of a document unreachable that could be reached without."""
    for b in sorted({edge.document for edge in (*must, *never)}):
        at = np.flatnonzero(mask[b].numpy())
        left, given = (
            _unreached(scores[b].to(torch.float64).numpy(), at)
            for scores in (columns.masked_fill(~allowed, -np.inf), columns)
        )
        if left == given:
            continue
        kinds = [
            f"{kind} " + ", ".join(names(edge) for edge in edges if edge.document == b)
            for kind, edges in (("forced", must), ("forbidden", never))
            if any(edge.document == b for edge in edges)
        ]
        spans = [span for span in left if span not in given]
        raise ValueError(f"document {b}: nothing leads to its spans {spans} with {' and '.join(kinds)}")


def _unreached(columns: np.ndarray, at: np.ndarray) -> list[int]:
    """The spans, of those at some places, that no path from the root reaches."""
    n = len(columns)
    from_above = columns[at, n:].max(axis=1)
    edges = np.vstack([columns[np.ix_(at, at)].T, from_above])
    return [int(at[node]) for node in unreachable_nodes(edges)]
