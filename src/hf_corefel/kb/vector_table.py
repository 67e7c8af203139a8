"""Entity vectors: one row for an entity that has one, and a deterministic draw for one that has none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np

from ..documents.plain_values import plain
from .checking import check_finite, check_ids
from .errors import KnowledgeBaseError

__all__ = ["NamedVectors", "VectorFormat", "VectorTable", "draw_vector", "named_vectors"]

VectorFormat = Literal["int8", "float16", "float32"]
NamedVectors = Mapping[str, np.ndarray] | tuple[Sequence[str], np.ndarray]

_CHUNK = 65536


def named_vectors(vectors: NamedVectors | None) -> tuple[list[str], np.ndarray]:
    """Names and their vectors, float [V, D].

    Raises:
        KnowledgeBaseError: When widths differ, a value is not finite, or a name is given twice.
    """
    if vectors is None:
        return [], np.zeros((0, 0), dtype=np.float32)
    if isinstance(vectors, Mapping):
        names = list(map(plain, vectors))
        rows = [np.asarray(vector) for vector in vectors.values()]
        for name, row in zip(names, rows, strict=True):
            if row.shape != rows[0].shape or row.ndim != 1:
                raise KnowledgeBaseError(
                    f"vector of entity {name!r}: expected shape {rows[0].shape} as of {names[0]!r}, got {row.shape}"
                )
        matrix = np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
    else:
        names, matrix = list(map(plain, vectors[0])), np.asarray(vectors[1])
        if matrix.ndim != 2 or len(matrix) != len(names):
            raise KnowledgeBaseError(f"vectors: expected an array [{len(names)}, D], got shape {matrix.shape}")
        if len(set(names)) != len(names):
            seen: set[str] = set()
            twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise KnowledgeBaseError(f"vectors: entity {twice!r} is given twice")
    if matrix.dtype.kind not in "fiu":
        raise KnowledgeBaseError(f"vectors: expected numbers, got type {matrix.dtype}")
    if names and matrix.shape[1] == 0:
        raise KnowledgeBaseError("vectors: expected at least one dimension, got none")
    for begin in range(0, len(names), _CHUNK):
        with np.errstate(over="ignore"):
            finite = np.isfinite(matrix[begin : begin + _CHUNK].astype(np.float32)).all(axis=1)
        if not finite.all():
            bad = names[begin + int(np.argmin(finite))]
            raise KnowledgeBaseError(f"vector of entity {bad!r}: holds a value that is not a finite float32")
    return names, matrix


def draw_vector(name: str, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """A draw from N(mean, std) that depends on the name only: the same in every process and release.

    The uniform numbers are a SHAKE-128 digest of the name and become normal by Box and Muller (1958);
    a random generator of a library may change its stream from one version to the next.

    Args:
        name: The entity.
        mean: float [D].
        std: float [D].

    Returns:
        float32 [D].

    Raises:
        KnowledgeBaseError: When the name is no valid Unicode.
    """
    try:
        encoded = name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise KnowledgeBaseError(f"entity {name!r}: no valid Unicode: {error.reason}") from error
    half = (len(mean) + 1) // 2
    digest = hashlib.shake_128(encoded).digest(8 * half)
    uniform = (np.frombuffer(digest, dtype="<u4").astype(np.float64) + 0.5) / 2.0**32
    radius, angle = np.sqrt(-2.0 * np.log(uniform[:half])), 2.0 * np.pi * uniform[half:]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: len(mean)]
    return np.asarray(mean + std * normal, dtype=np.float32)


def _mean_and_std(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each dimension of vectors [V, D], as float32 [D]; by chunks, so that float64 copies stay small."""
    chunks = range(0, len(vectors), _CHUNK)
    mean, variance = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
    for begin in chunks:
        mean += vectors[begin : begin + _CHUNK].sum(axis=0, dtype=np.float64) / len(vectors)
    for begin in chunks:
        variance += ((vectors[begin : begin + _CHUNK] - mean) ** 2).sum(axis=0) / len(vectors)
    return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Vectors of the entities 0..E-1, of which V have one of their own.

    Attributes:
        rows: int32 [E], the row of an entity in `codes`, -1 = it has none of its own.
        codes: int8, float16 or float32 [V, D].
        scales: float32 [V], what int8 codes are multiplied by; empty [0] for the other formats.
        mean: float32 [D], over the vectors given.
        std: float32 [D], over the vectors given.
        file: Where the arrays come from, for messages.
    """

    rows: np.ndarray
    codes: np.ndarray
    scales: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    file: str = "vectors.safetensors"

    @property
    def size(self) -> int:
        """D; 0 when no entity has a vector."""
        return int(self.codes.shape[1])

    @property
    def format(self) -> VectorFormat:
        """How the vectors are stored: "int8", "float16" or "float32"."""
        return cast(VectorFormat, str(self.codes.dtype))

    @classmethod
    def build(cls, num_entities: int, ids: np.ndarray, vectors: np.ndarray, vector_format: VectorFormat) -> VectorTable:
        """Stores vectors [V, D] of the entities with the given ids [V].

        int8: symmetric, with one scale a vector (max |x| / 127), so the error of a value is at most
        half its vector's scale.

        Raises:
            KnowledgeBaseError: When the format is unknown, or a value is too large for float16.
        """
        if vector_format not in get_args(VectorFormat):
            raise KnowledgeBaseError(
                f"vector_format: expected one of {', '.join(get_args(VectorFormat))}, got {vector_format!r}"
            )
        count, size = vectors.shape
        order = np.argsort(ids, kind="stable")
        rows = np.full(num_entities, -1, dtype=np.int32)
        rows[ids[order]] = np.arange(count, dtype=np.int32)
        codes = np.zeros((count, size), dtype=vector_format)
        scales = np.zeros(count if vector_format == "int8" else 0, dtype=np.float32)
        for begin in range(0, count, _CHUNK):
            part = slice(begin, begin + _CHUNK)
            chunk = vectors[order[part]].astype(np.float32)
            if vector_format == "int8":
                scale = np.abs(chunk).max(axis=1, initial=0.0) / np.float32(127)
                scales[part] = scale
                # Dividing by a scale that underflows would give infinity; such a vector is stored as zeros.
                normal = scale >= np.finfo(np.float32).tiny
                codes[part] = np.rint(chunk / np.where(normal, scale, np.float32(np.inf))[:, None]).clip(-127, 127)
            else:
                with np.errstate(over="ignore"):
                    codes[part] = chunk
        if vector_format == "float16" and not np.isfinite(codes).all():
            raise KnowledgeBaseError("vectors: a value is too large for float16; use vector_format='float32'")
        return cls(rows, codes, scales, *_mean_and_std(vectors))

    @classmethod
    def without_vectors(cls, num_entities: int, mean: np.ndarray, std: np.ndarray) -> VectorTable:
        """A table of entities that have no vectors yet, for int8 ones with a mean and a standard deviation [D]."""
        rows, codes = np.full(num_entities, -1, dtype=np.int32), np.zeros((0, len(mean)), dtype=np.int8)
        return cls(rows, codes, np.zeros(0, dtype=np.float32), mean, std)

    def take(self, ids: np.ndarray, name_of: Callable[[int], str] | None) -> np.ndarray:
        """Vectors of entities.

        Args:
            ids: int [M]; -1 = padding, which gets zeros.
            name_of: The name of an entity, for those that have no vector of their own; None makes theirs NaN.

        Returns:
            float32 [M, D].

        Raises:
            KnowledgeBaseError: When what is taken cannot be right: the file is damaged.
        """
        found = np.zeros((len(ids), self.size), dtype=np.float32)
        if self.size == 0 or len(ids) == 0 or len(self.rows) == 0:
            return found
        rows = np.where(ids >= 0, self.rows_of(np.maximum(ids, 0)), -1)
        known = np.flatnonzero(rows >= 0)
        found[known] = self.codes[rows[known]]
        if self.format == "int8":
            scales = self.scales[rows[known], None]
            check_finite(scales, self.file, "scales", least=0)
            with np.errstate(over="ignore"):
                found[known] *= scales
        check_finite(found, self.file, "scales" if self.format == "int8" else "codes")
        without = np.flatnonzero((rows < 0) & (ids >= 0))
        if name_of is None:
            found[without] = np.nan
            return found
        if len(without):
            self.check_distribution()
        for position in without:
            found[position] = draw_vector(name_of(int(ids[position])), self.mean, self.std)
        return found

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the rows of entities, int32 [M]; -1 = without a vector of its own.

        Raises:
            KnowledgeBaseError: When one cannot be right: the file is damaged.
        """
        rows = self.rows[ids]
        check_ids(rows, -1, len(self.codes), self.file, "rows")
        return rows

    def check_distribution(self) -> None:
        """Raise KnowledgeBaseError unless mean and standard deviation can be right."""
        check_finite(self.mean, self.file, "mean")
        check_finite(self.std, self.file, "std", least=0)

    def check(self) -> None:
        """Read it all.

        Raises:
            KnowledgeBaseError: When a value cannot be right: the file is damaged.
        """
        check_ids(self.rows, -1, len(self.codes), self.file, "rows")
        for begin in range(0, len(self.codes), _CHUNK):
            check_finite(self.codes[begin : begin + _CHUNK], self.file, "codes")
        check_finite(self.scales, self.file, "scales", least=0)
        self.check_distribution()

    def encode(self, entity: str, vector: np.ndarray) -> tuple[np.ndarray, float]:
        """A vector [D] in the format of the table: codes [D] and what they are multiplied by.

        Raises:
            KnowledgeBaseError: When it has another width or a value is not finite.
        """
        _, matrix = named_vectors({entity: vector})
        if matrix.shape[1] != self.size:
            hint = "; build the knowledge base with vectors" if self.size == 0 else ""
            raise KnowledgeBaseError(
                f"vector of entity {entity!r}: expected {self.size} numbers as the others have, got "
                f"{matrix.shape[1]}{hint}"
            )
        table = VectorTable.build(1, np.zeros(1, dtype=np.int64), matrix, self.format)
        return table.codes[0], float(table.scales[0]) if len(table.scales) else 1.0

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        for name in ("rows", "codes", "scales", "mean", "std"):
            yield name, getattr(self, name)
