"""Dense retrieval: entities whose vectors are nearest to what the encoder makes of a span, whatever it is called."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ..documents import Document
from ..utils.files import whole_file
from .backends import read_backend_config, write_backend_config
from .errors import KnowledgeBaseError
from .hub import CONFIG_FILE
from .proposals import Proposals, QuerySpans
from .protocols import EntityStore
from .vector_index import IndexKind, VectorIndex, build_index

__all__ = ["PROJECTION_FILE", "DenseRetriever", "EnumeratedStore", "SpanProjection"]

PROJECTION_FILE = "span_projection.safetensors"
_OPTIONS = ("index", "most", "least", "nothing")


class EnumeratedStore(EntityStore, Protocol):
    """A store that can be searched: it says which of its ids have a vector of their own.

    One whose entities may go or get other vectors has numbers ``num_entities`` and ``vector_changes``, as
    `hf_corefel.kb.KnowledgeBase` has them: the index is made anew when one of them changes.
    """

    @property
    def num_ids(self) -> int:
        """E: ids are 0..E-1."""
        ...

    def ids_with_vectors(self) -> np.ndarray:
        """Return the ids of the entities that were given a vector, int64, ascending."""
        ...


@dataclass(frozen=True)
class SpanProjection:
    """From span vectors to where an entity's vector should be: one hidden layer with ReLU.

    Attributes:
        hidden_weight: float32 ``[H, G]``.
        hidden_bias: float32 ``[H]``.
        output_weight: float32 ``[D, H]``.
        output_bias: float32 ``[D]``.
        scale: float32 ``[1]``, by which cosines are multiplied before the softmax that makes scores of them.
    """

    hidden_weight: np.ndarray
    hidden_bias: np.ndarray
    output_weight: np.ndarray
    output_bias: np.ndarray
    scale: np.ndarray

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, np.asarray(getattr(self, field.name), dtype=np.float32))
        hidden, outputs = self.hidden_weight.shape[:1], self.output_weight.shape[:1]
        shapes = (self.output_weight.shape[1:], self.hidden_bias.shape, self.output_bias.shape, self.scale.shape)
        if shapes != (hidden, hidden, outputs, (1,)):
            raise ValueError(f"span projection: the shapes of its arrays do not fit: {shapes}")
        if not all(np.isfinite(getattr(self, field.name)).all() for field in fields(self)) or self.scale[0] <= 0:
            raise ValueError("span projection: its values must be finite, and its scale above 0")

    @property
    def span_size(self) -> int:
        """G, the width of span vectors."""
        return int(self.hidden_weight.shape[1])

    @property
    def vector_size(self) -> int:
        """D, the width of entity vectors."""
        return int(self.output_weight.shape[0])

    def __call__(self, spans: np.ndarray) -> np.ndarray:
        """Return unit vectors float32 ``[S, D]`` of span vectors ``[S, G]``."""
        hidden = np.maximum(spans.astype(np.float32) @ self.hidden_weight.T + self.hidden_bias, 0)
        return unit_vectors(hidden @ self.output_weight.T + self.output_bias)


class DenseRetriever:
    """Proposes the entities of a store whose vectors are nearest to a projection of the spans.

    >>> from hf_corefel import KnowledgeBase
    >>> kb = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])], vectors=(["Oslo", "Bergen"], np.eye(2)))
    >>> as_they_are = SpanProjection(np.eye(2), [0, 0], np.eye(2), [0, 0], [10.0])
    >>> place = np.array([[0, 8]])
    >>> spans = QuerySpans(place, place, np.array([[0.1, 0.9]], dtype=np.float32))
    >>> found = DenseRetriever(kb, as_they_are).propose(Document("the town"), spans, limit=1)
    >>> kb.entity_name(found.entity_ids[0, 0])
    'Bergen'

    It is a part of a `ComposedKnowledgeBase` whose first part is the store, and is asked once the spans are pruned.

    Args:
        store: Whose entities are searched.
        projection: Trained for the model's spans and the store's vectors (``experiments/train_dense_retrieval.py``).
        index: How: see `build_index`.
        most: How many it proposes for a span, at most.
        least: Scores below this are not proposed.
        nothing: The cosine that "none of them" has, by which entities that are all far away get low scores: most spans
            that no table lists stand for nothing in the store, and something is always nearest.

    Raises:
        ValueError: When the projection gives vectors of another width.
    """

    backend = "dense"
    needs_span_vectors = True
    needs_store = True

    def __init__(
        self,
        store: EnumeratedStore,
        projection: SpanProjection,
        *,
        index: IndexKind = "auto",
        most: int = 16,
        least: float = 0.0,
        nothing: float = -1.0,
    ) -> None:
        if projection.vector_size != store.vector_size:
            raise ValueError(
                f"projection: it gives vectors of {projection.vector_size} numbers, the store's have "
                f"{store.vector_size}"
            )
        if most < 1 or not 0 <= least <= 1 or not -1 <= nothing <= 1:
            raise ValueError(
                f"expected most from 1, least from 0 to 1, nothing from -1 to 1; got {most!r}, {least!r}, {nothing!r}"
            )
        self.store, self.projection = store, projection
        self.index, self.most, self.least, self.nothing = index, most, least, nothing
        self._built: tuple[Any, VectorIndex] | None = None

    def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
        """Return the nearest entities; scores are the softmax of their scaled cosines and that of "none of them".

        Raises:
            ValueError: When the span vectors have another width than the projection was trained on.
        """
        if spans.vectors is None or not len(spans):
            return Proposals.none(len(spans), limit)
        if spans.vectors.shape[1] != self.projection.span_size:
            raise ValueError(
                f"dense retrieval: its projection reads span vectors of {self.projection.span_size} numbers, this "
                f"model's have {spans.vectors.shape[1]}; train it for this model"
            )
        count = min(limit, self.most)
        ids, cosines = self._index().search(self.projection(spans.vectors), count)
        nothing = np.full((len(ids), 1), self.nothing, dtype=np.float32)
        scores = _softmax(np.concatenate([cosines, nothing], axis=1) * self.projection.scale)[:, :count]
        ids = np.where(scores < self.least, -1, ids)
        found = Proposals.none(len(spans), limit)
        found.entity_ids[:, :count], found.scores[:, :count] = ids, np.where(ids < 0, 0, scores)
        return found

    def _index(self) -> VectorIndex:
        """The index of what the store holds now."""
        store = self.store
        version = (store.num_ids, *(getattr(store, name, None) for name in ("num_entities", "vector_changes")))
        if self._built is None or self._built[0] != version:
            ids = self.store.ids_with_vectors()
            self._built = version, build_index(ids, unit_vectors(self.store.vectors(ids)), self.index)
        return self._built[1]

    def __getstate__(self) -> dict[str, Any]:
        # Workers, which prepare documents and search nothing, need no index.
        return {**self.__dict__, "_built": None}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the projection and the options; the store is saved by what it is a part of."""
        from safetensors.numpy import save_file

        options = {name: getattr(self, name) for name in _OPTIONS}
        write_backend_config(folder, self.backend, **options)
        arrays = {field.name: getattr(self.projection, field.name) for field in fields(self.projection)}
        with whole_file(Path(folder) / PROJECTION_FILE) as partial:
            save_file(arrays, partial)

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, store: EnumeratedStore | None = None) -> Self:
        """Open what `save_pretrained` wrote.

        Args:
            folder: The folder.
            store: Whose entities are searched.

        Raises:
            KnowledgeBaseError: When there is no store, or a file is missing or damaged; the message names it.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        if store is None:
            raise KnowledgeBaseError(f"{folder}: dense retrieval is a part of a composed knowledge base; open that one")
        config, path = read_backend_config(folder), Path(folder) / PROJECTION_FILE
        options = {name: config[name] for name in _OPTIONS if name in config}
        try:
            projection = SpanProjection(**load_file(path))
        except (OSError, SafetensorError, TypeError, ValueError) as error:
            raise KnowledgeBaseError(f"{path}: not a span projection that can be read: {error}") from error
        try:
            return cls(store, projection, **options)
        except (TypeError, ValueError) as error:
            raise KnowledgeBaseError(f"{Path(folder) / CONFIG_FILE}: {error}") from error


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return vectors ``[V, D]`` of length 1; those of length 0 stay."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-12), dtype=np.float32)


def _softmax(logits: np.ndarray) -> np.ndarray:
    """Softmax over the last axis; all zero where every logit is -inf."""
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0))
    return np.asarray(weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30), dtype=np.float32)
