"""Nearest entity vectors by inner product: all of them compared, or an HNSW graph where they are too many for that."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np

__all__ = ["ExactIndex", "GraphIndex", "IndexKind", "VectorIndex", "build_index"]

IndexKind = Literal["auto", "exact", "hnsw"]

# Comparing 100 spans with so many vectors of 128 numbers takes about a second at most, building a graph minutes.
_MOST_EXACT = 300_000
# Neighbours that are looked at while a graph is built and searched; more find more of what is nearest, and take longer.
_WIDTH = 256
# Numbers that are in memory at once while all vectors are compared.
_BLOCK = 2**24


class VectorIndex(Protocol):
    """Finds the vectors with the greatest inner product."""

    def search(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids int64 ``[S, count]`` and inner products float32 ``[S, count]`` by descending product; -1 and
        -inf where there are fewer.

        Args:
            queries: float32 ``[S, D]``.
            count: How many are wanted.
        """
        ...


class ExactIndex:
    """Compares all vectors; of equal products the vector of the lower id comes first.

    Args:
        ids: Ids of the vectors, int64 ``[V]``, ascending.
        vectors: float32 ``[V, D]``.
    """

    def __init__(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        self._ids, self._vectors = ids, np.ascontiguousarray(vectors, dtype=np.float32)

    def search(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorIndex.search`."""
        found = np.full((len(queries), count), -1, dtype=np.int64)
        products = np.full((len(queries), count), -np.inf, dtype=np.float32)
        step, most = max(1, _BLOCK // max(1, len(self._ids))), min(count, len(self._ids))
        for start in range(0, len(queries) if most else 0, step):
            block = queries[start : start + step] @ self._vectors.T
            best = np.argpartition(-block, most - 1, axis=1)[:, :most]
            values = np.take_along_axis(block, best, axis=1)
            order = np.lexsort((best, -values), axis=1)
            rows = slice(start, start + len(block))
            found[rows, :most] = self._ids[np.take_along_axis(best, order, axis=1)]
            products[rows, :most] = np.take_along_axis(values, order, axis=1)
        return found, products


class GraphIndex:
    """An HNSW graph (usearch): near enough to exact, and fast for millions of vectors.

    Args:
        ids: Ids of the vectors, int64 ``[V]``.
        vectors: float32 ``[V, D]``.

    Raises:
        ImportError: When usearch is not installed.
    """

    def __init__(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        try:
            from usearch.index import Index
        except ImportError as error:
            raise ImportError(
                f"an index of {len(ids):,} entity vectors needs usearch: pip install 'hf-corefel[dense]'"
            ) from error
        self._index: Any = Index(
            ndim=vectors.shape[1], metric="ip", dtype="f32", expansion_add=_WIDTH, expansion_search=_WIDTH
        )
        # Several threads would make another graph each time, and so other candidates in another process.
        self._index.add(ids.astype(np.uint64), np.ascontiguousarray(vectors, dtype=np.float32), threads=1)

    def search(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorIndex.search`."""
        found = np.full((len(queries), count), -1, dtype=np.int64)
        products = np.full((len(queries), count), -np.inf, dtype=np.float32)
        for row, query in enumerate(np.ascontiguousarray(queries, dtype=np.float32)):
            matches = self._index.search(query, count)
            found[row, : len(matches)] = matches.keys.astype(np.int64)
            # usearch gives distances, 1 - product.
            products[row, : len(matches)] = 1.0 - matches.distances
        return found, products


def build_index(ids: np.ndarray, vectors: np.ndarray, kind: IndexKind = "auto") -> VectorIndex:
    """Return an index of vectors.

    Args:
        ids: Their ids, int64 ``[V]``, ascending.
        vectors: float32 ``[V, D]``.
        kind: "exact", "hnsw", or "auto": exact up to 300,000 vectors.

    Raises:
        ImportError: When it is a graph and usearch is not installed.
        ValueError: When there is no such kind.
    """
    if kind not in ("auto", "exact", "hnsw"):
        raise ValueError(f'index: expected "auto", "exact" or "hnsw", got {kind!r}')
    exact = kind == "exact" or (kind == "auto" and len(ids) <= _MOST_EXACT)
    return ExactIndex(ids, vectors) if exact else GraphIndex(ids, vectors)
