"""From the vectors that an encoder gives to texts to the space of a knowledge base's entity vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .checking import check_finite
from .errors import KnowledgeBaseError

__all__ = ["Projection"]


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """An affine map: ``(x - mean) @ components + offset``.

    Attributes:
        mean: float32 [H], of the encoder's vectors.
        components: float32 [H, D].
        offset: float32 [D].
        info: Anything JSON takes: which encoder, how it was found, and how texts were made.
        file: Where the arrays come from, for messages.

    Example:
        >>> import numpy as np
        >>> from hf_corefel.kb import Projection
        >>> turn = Projection(mean=np.zeros(2, "f4"), components=np.eye(2, dtype="f4"), offset=np.zeros(2, "f4"))
        >>> turn(np.ones((1, 2), "f4")).tolist()
        [[1.0, 1.0]]
    """

    mean: np.ndarray
    components: np.ndarray
    offset: np.ndarray
    info: Mapping[str, Any] = field(default_factory=dict)
    file: str = "projection.safetensors"

    def __post_init__(self) -> None:
        hidden, size = self.mean.shape, self.offset.shape
        if len(hidden) != 1 or len(size) != 1 or self.components.shape != (*hidden, *size):
            raise KnowledgeBaseError(
                "projection: expected mean [H], components [H, D] and offset [D], got shapes "
                f"{self.mean.shape}, {self.components.shape} and {self.offset.shape}"
            )

    @property
    def hidden_size(self) -> int:
        """H, the width of the encoder's vectors."""
        return len(self.mean)

    @property
    def vector_size(self) -> int:
        """D, the width of the entity vectors."""
        return len(self.offset)

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Maps vectors.

        Args:
            vectors: float [M, H].

        Returns:
            float32 [M, D].

        Raises:
            KnowledgeBaseError: When they have another width, or the projection holds what is no number.
        """
        if vectors.ndim != 2 or vectors.shape[1] != self.hidden_size:
            raise KnowledgeBaseError(
                f"projection: expected vectors [M, {self.hidden_size}], got shape {vectors.shape}; they must come from "
                f"the encoder that the projection was made for ({self.info.get('encoder', 'not named')})"
            )
        self.check()
        return np.asarray((vectors - self.mean) @ self.components + self.offset, dtype=np.float32)

    def check(self) -> None:
        """Raise KnowledgeBaseError unless all numbers are finite."""
        for name, array in self.items():
            check_finite(array, self.file, name)

    def distribution(
        self, mean: np.ndarray | None = None, std: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation float32 [D] of what it gives.

        Args:
            mean: Known better; the offset when None.
            std: Known better; when None, that of vectors of length 1 that point anywhere.

        Raises:
            KnowledgeBaseError: When one has another width.
        """
        mean = self.offset if mean is None else mean
        std = np.sqrt((self.components**2).sum(axis=0) / self.hidden_size) if std is None else std
        if mean.shape != self.offset.shape or std.shape != self.offset.shape:
            raise KnowledgeBaseError(
                f"mean and std: expected shape {self.offset.shape}, got {mean.shape} and {std.shape}"
            )
        return mean.astype(np.float32), std.astype(np.float32)

    def scaled(self, factor: float) -> Projection:
        """The projection that gives `factor` times as much."""
        size = np.float32(factor)
        return Projection(self.mean, self.components * size, self.offset * size, self.info)

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        for name in ("mean", "components", "offset"):
            yield name, getattr(self, name)
