"""Entity vectors from texts: any encoder turns titles and descriptions into vectors for a knowledge base."""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import torch

from ..utils.compat import name_of_origin
from . import KnowledgeBase, Projection
from .encoder_identity import encoder_identity
from .text_encoding import MAX_DESCRIPTION_LENGTH, encode_texts, entity_text

__all__ = [
    "TitleVectorizer",
    "encode_texts",
    "entity_text",
    "fit_projection",
    "principal_components",
    "projects_from",
    "reduce_dimensions",
    "title_vectorizer",
    "vectors_from_titles",
]

# How `fit_projection` finds one, as the projection says.
FITTED = "least squares"


def principal_components(
    vectors: np.ndarray,
    size: int,
    *,
    sample_size: int = 20_000,
    seed: int = 0,
    info: Mapping[str, Any] | None = None,
) -> Projection:
    """The projection on the principal components of a sample of vectors.

    The same vectors give the same result: the sample is drawn with a fixed seed and every component has
    its largest value positive.

    Args:
        vectors: float [M, H].
        size: D, the number of components kept, at most H.
        sample_size: How many vectors the components come from.
        seed: Seed of the sample.
        info: What to say of the projection.

    Raises:
        ValueError: When size is not between 1 and H, or there are no vectors.
    """
    if vectors.ndim != 2 or len(vectors) == 0:
        raise ValueError(f"vectors: expected an array [M, H] with M > 0, got shape {vectors.shape}")
    if not 1 <= size <= vectors.shape[1]:
        raise ValueError(f"size: expected 1..{vectors.shape[1]} (the width of the vectors), got {size}")
    sample = vectors
    if len(vectors) > sample_size:
        sample = vectors[np.sort(np.random.RandomState(seed).choice(len(vectors), sample_size, replace=False))]
    sample = sample.astype(np.float64)
    mean = sample.mean(axis=0)
    centred = sample - mean
    _, components = np.linalg.eigh(centred.T @ centred)
    kept = components[:, ::-1][:, :size]
    largest = kept[np.abs(kept).argmax(axis=0), np.arange(size)]
    kept = kept * np.where(largest < 0, -1.0, 1.0)
    offset = np.zeros(size, dtype=np.float32)
    return Projection(mean.astype(np.float32), kept.astype(np.float32), offset, info or {})


def reduce_dimensions(vectors: np.ndarray, size: int, *, sample_size: int = 20_000, seed: int = 0) -> np.ndarray:
    """Projects vectors on the principal components of a sample of them, see `principal_components`.

    Returns:
        float32 [M, D], centred, by descending variance.

    Raises:
        ValueError: As `principal_components` does.
    """
    return principal_components(vectors, size, sample_size=sample_size, seed=seed)(vectors)


@overload
def vectors_from_titles(
    entities: Sequence[str],
    encoder: Any,
    tokenizer: Any,
    *,
    descriptions: Mapping[str, str] | None = ...,
    size: int | None = ...,
    projection: Projection | None = ...,
    mean_square: float | None = ...,
    return_projection: Literal[False] = ...,
    max_description_length: int = ...,
    batch_size: int = ...,
    device: str | torch.device | None = ...,
    show_progress: bool = ...,
) -> tuple[list[str], np.ndarray]: ...


@overload
def vectors_from_titles(
    entities: Sequence[str],
    encoder: Any,
    tokenizer: Any,
    *,
    descriptions: Mapping[str, str] | None = ...,
    size: int | None = ...,
    projection: Projection | None = ...,
    mean_square: float | None = ...,
    return_projection: Literal[True],
    max_description_length: int = ...,
    batch_size: int = ...,
    device: str | torch.device | None = ...,
    show_progress: bool = ...,
) -> tuple[list[str], np.ndarray, Projection]: ...


def vectors_from_titles(
    entities: Sequence[str],
    encoder: Any,
    tokenizer: Any,
    *,
    descriptions: Mapping[str, str] | None = None,
    size: int | None = None,
    projection: Projection | None = None,
    mean_square: float | None = None,
    return_projection: bool = False,
    max_description_length: int = MAX_DESCRIPTION_LENGTH,
    batch_size: int = 64,
    device: str | torch.device | None = None,
    show_progress: bool = True,
) -> tuple[list[str], np.ndarray] | tuple[list[str], np.ndarray, Projection]:
    """Vectors of entities from their titles, as ``KnowledgeBase.build(vectors=...)`` takes them.

    Args:
        entities: The M entities, titles with underscores.
        encoder: A transformers encoder.
        tokenizer: Its tokenizer.
        descriptions: Texts of entities that have one.
        size: D, the width to reduce the vectors to by principal components; None keeps the encoder's H.
        projection: Used in place of principal components, such as that of a knowledge base which the vectors shall
            fit; not together with `size`.
        mean_square: Scale all vectors by one factor, so that the mean of their squared values is this; 1 is what the
            scorers' layers are initialised for. None leaves them.
        return_projection: Return the projection too, for ``KnowledgeBase.build(projection=...)``: entities that are
            added later get vectors of the same kind.
        max_description_length: Characters of a description that are used.
        batch_size: Texts a step.
        device: Where to move the encoder to; None leaves it where it is.
        show_progress: Show a progress bar.

    Returns:
        The entities and float32 [M, D or H]; the projection that led to them, if it is asked for.

    Raises:
        ValueError: When both size and projection are given, or size is not between 1 and H.
    """
    if size is not None and projection is not None:
        raise ValueError("size and projection: give one of both; a projection has a width of its own")
    known = descriptions or {}
    texts = [entity_text(name, known.get(name), max_description_length=max_description_length) for name in entities]
    vectors = encode_texts(texts, encoder, tokenizer, batch_size=batch_size, device=device, show_progress=show_progress)
    hidden = vectors.shape[1]
    info = {"encoder": _name_of(encoder), "method": "none", "max_description_length": max_description_length}
    if projection is None and size is None:
        identity, zeros = np.eye(hidden, dtype=np.float32), np.zeros(hidden, dtype=np.float32)
        projection = Projection(zeros, identity, zeros, info)
    elif projection is None:
        projection = principal_components(vectors, size or hidden, info={**info, "method": "principal components"})
    projected = projection(vectors)
    if mean_square is not None and np.any(projected):
        factor = float(np.sqrt(mean_square / np.mean(projected.astype(np.float64) ** 2)))
        projection, projected = projection.scaled(factor), projected * np.float32(factor)
    return (list(entities), projected, projection) if return_projection else (list(entities), projected)


def _name_of(encoder: Any) -> str:
    """What an encoder was loaded from, without the folders that it lay in."""
    parts = (name_of_origin(encoder.config) or encoder.config.model_type).replace("\\", "/").split("/")
    return "/".join(part for part in parts[-2:] if part)


def title_vectorizer(
    encoder: Any,
    tokenizer: Any,
    projection: Projection | None,
    *,
    batch_size: int = 64,
    device: str | torch.device | None = None,
) -> TitleVectorizer:
    """Makes vectors of entities that a knowledge base gets later, for `KnowledgeBase.vectorizer`.

    Args:
        encoder: The encoder that the projection was made for: of the bundled checkpoint, the model's own.
        tokenizer: Its tokenizer; a copy of it is used, so that other threads may read with it.
        projection: That of the knowledge base.
        batch_size: Texts a step.
        device: Where to move the encoder to; None leaves it where it is.

    Raises:
        ValueError: When there is no projection, or the encoder is not as wide as it expects.
    """
    if projection is None:
        raise ValueError(
            "projection: the knowledge base has none, so vectors of new entities would not fit the others; make one "
            "with fit_projection and give it to KnowledgeBase.with_projection"
        )
    if encoder.config.hidden_size != projection.hidden_size:
        raise ValueError(
            f"encoder: its vectors are {encoder.config.hidden_size} wide, the projection expects "
            f"{projection.hidden_size}, those of {projection.info.get('encoder', 'another encoder')}"
        )
    return TitleVectorizer(encoder, tokenizer, projection, batch_size=batch_size, device=device)


class TitleVectorizer:
    """Makes vectors of entities from their titles and descriptions; see `title_vectorizer`."""

    def __init__(
        self,
        encoder: Any,
        tokenizer: Any,
        projection: Projection,
        *,
        batch_size: int = 64,
        device: str | torch.device | None = None,
    ) -> None:
        self._encoder, self._projection = encoder, projection
        self._batch_size, self._device = batch_size, device
        self._length = int(projection.info.get("max_description_length", MAX_DESCRIPTION_LENGTH))
        self._given_tokenizer, self._lock = tokenizer, threading.Lock()
        self._identity: str | None = None

    @functools.cached_property
    def _tokenizer(self) -> Any:
        # A fast tokenizer remembers where to cut; whoever reads documents with the given one must not be cut there.
        # Most pipelines make no vector, and a copy takes a tenth of the time that loading one takes.
        return copy.deepcopy(self._given_tokenizer)

    @property
    def identity(self) -> str:
        """A digest of all that the vectors depend on beside the texts: encoder, tokenizer and projection."""
        if self._identity is None:
            self._identity = encoder_identity(self._encoder, self._tokenizer, self._projection, self._length)
        return self._identity

    def __call__(self, entities: list[str], descriptions: list[str | None]) -> np.ndarray:
        """Return the vectors float32 ``[M, D]`` of M entities."""
        pairs = zip(entities, descriptions, strict=True)
        texts = [entity_text(name, text, max_description_length=self._length) for name, text in pairs]
        size, device = self._batch_size, self._device
        with self._lock:
            vectors = encode_texts(
                texts, self._encoder, self._tokenizer, batch_size=size, device=device, show_progress=False
            )
        return self._projection(vectors)


def projects_from(knowledge_base: KnowledgeBase, model: Any) -> bool:
    """Whether a knowledge base that came with a model has a projection of that model's own encoder.

    That is one of `fit_projection`; principal components are those of the encoder that the vectors were made with,
    which the model's was fine-tuned from.
    """
    projection = knowledge_base.projection
    if projection is None or projection.info.get("method") != FITTED:
        return False
    return bool(projection.hidden_size == model.config.get_text_config().hidden_size)


def fit_projection(
    encoder: Any,
    tokenizer: Any,
    knowledge_base: KnowledgeBase,
    *,
    descriptions: Mapping[str, str] | None = None,
    max_entities: int = 20_000,
    held_out: float = 0.1,
    ridge: float = 1e-3,
    max_description_length: int = MAX_DESCRIPTION_LENGTH,
    batch_size: int = 64,
    device: str | torch.device | None = None,
    show_progress: bool = True,
    seed: int = 0,
) -> Projection:
    """Fits the map from an encoder's vectors to entity vectors that another encoder made.

    A model whose own encoder was fine-tuned need not ship the one that its entity vectors came from: what the
    fine-tuned encoder says of a title and description is mapped to the vectors of the knowledge base by linear least
    squares with an L2 penalty (Hoerl and Kennard, 1970). ``info["cosine"]`` says how well: the mean cosine between
    mapped and true vectors of entities that were held out, 1 = the same direction, 0 = no better than a draw.

    Args:
        encoder: The encoder to map from, such as ``model.encoder.model``.
        tokenizer: Its tokenizer.
        knowledge_base: Whose vectors to map to.
        descriptions: The texts that its vectors were made with; those that it holds when None.
        max_entities: How many entities to use at most; a sample is drawn.
        held_out: Share of them that the cosine is measured on. All of them are used for the final fit.
        ridge: Weight of the penalty, as a part of the mean variance of the encoder's values.
        max_description_length: Characters of a description that are used.
        batch_size: Texts a step.
        device: Where to move the encoder to; None leaves it where it is.
        show_progress: Show a progress bar.
        seed: Of the sample and the split.

    Raises:
        ValueError: When fewer than two entities have vectors, or held_out is not between 0 and 1.
    """
    if not 0.0 < held_out < 1.0:
        raise ValueError(f"held_out: expected a share between 0 and 1, got {held_out}")
    names = np.array([name for name in knowledge_base.entities()], dtype=object)
    ids = np.array([knowledge_base.entity_id(name) for name in names], dtype=np.int64)
    own = np.flatnonzero(knowledge_base.has_vector(ids)) if len(ids) else ids
    if len(own) < 2:
        raise ValueError(f"knowledge_base: expected at least two entities with vectors of their own, got {len(own)}")
    order = np.random.RandomState(seed).permutation(own)[:max_entities]
    chosen: list[str] = names[order].tolist()
    texts = descriptions if descriptions is not None else {name: knowledge_base.description(name) for name in chosen}
    lines = [entity_text(name, texts.get(name), max_description_length=max_description_length) for name in chosen]
    inputs = encode_texts(lines, encoder, tokenizer, batch_size=batch_size, device=device, show_progress=show_progress)
    targets = knowledge_base.vectors(ids[order])
    count = min(max(1, round(len(chosen) * held_out)), len(chosen) - 1)
    cosine = _mean_cosine(_ridge(inputs[count:], targets[count:], ridge)(inputs[:count]), targets[:count])
    info = {
        "encoder": _name_of(encoder),
        "method": FITTED,
        "entities": len(chosen),
        "held_out": count,
        "cosine": round(cosine, 4),
        "max_description_length": max_description_length,
    }
    fitted = _ridge(inputs, targets, ridge)
    return Projection(fitted.mean, fitted.components, fitted.offset, info)


def _ridge(inputs: np.ndarray, targets: np.ndarray, ridge: float) -> Projection:
    """The affine map from inputs [M, H] to targets [M, D] of least squared error and L2 penalty."""
    x, y = inputs.astype(np.float64), targets.astype(np.float64)
    mean, offset = x.mean(axis=0), y.mean(axis=0)
    x, y = x - mean, y - offset
    covariance = x.T @ x
    # The least penalty keeps the system solvable when there are fewer entities than dimensions.
    penalty = max(ridge * float(np.trace(covariance)) / len(covariance), np.finfo(np.float64).tiny ** 0.5)
    components = np.linalg.solve(covariance + penalty * np.eye(len(covariance)), x.T @ y)
    return Projection(mean.astype(np.float32), components.astype(np.float32), offset.astype(np.float32))


def _mean_cosine(left: np.ndarray, right: np.ndarray) -> float:
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = (left * right).sum(axis=1)
    return float(np.mean(np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)))
