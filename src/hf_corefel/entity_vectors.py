"""Entity vectors from texts: any encoder turns titles and descriptions into vectors for a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers.utils.logging import tqdm

__all__ = ["encode_texts", "entity_text", "reduce_dimensions", "vectors_from_titles"]


def encode_texts(
    texts: Sequence[str],
    encoder: Any,
    tokenizer: Any,
    *,
    batch_size: int = 64,
    max_length: int = 128,
    device: str | torch.device | None = None,
    show_progress: bool = True,
) -> np.ndarray:
    """Encodes M texts: the mean of the last hidden states over the attention mask, of length 1.

    The pooling is that of Reimers and Gurevych (2019), Sentence-BERT, §3.

    Args:
        texts: The M texts.
        encoder: A transformers encoder, such as `AutoModel` gives; its mode is left as it was.
        tokenizer: Its tokenizer.
        batch_size: Texts a step; they are sorted by length first, so little is padding.
        max_length: Pieces a text is cut to, special ones included.
        device: Where to move the encoder to; None leaves it where it is.
        show_progress: Show a progress bar.

    Returns:
        float32 [M, H].
    """
    if device is not None:
        encoder.to(device)
    place: torch.device = next(encoder.parameters()).device
    vectors = np.zeros((len(texts), encoder.config.hidden_size), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode(), tqdm(total=len(texts), desc="Encoding", disable=not show_progress) as progress:
            for begin in range(0, len(order), batch_size):
                batch = order[begin : begin + batch_size]
                vectors[batch] = _encode([texts[i] for i in batch], encoder, tokenizer, max_length, place).numpy()
                progress.update(len(batch))
    finally:
        encoder.train(was_training)
    return vectors


def _encode(texts: list[str], encoder: Any, tokenizer: Any, max_length: int, device: torch.device) -> torch.Tensor:
    """Unit vectors float32 [M, H] on the CPU of one batch."""
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt").to(device)
    hidden = encoder(**inputs).last_hidden_state.float()
    mask = inputs["attention_mask"].unsqueeze(-1).float()
    # A tokenizer without special pieces gives nothing for an empty text; its mean is then zero, not NaN.
    mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)
    return torch.nn.functional.normalize(mean, dim=-1).cpu()


def reduce_dimensions(vectors: np.ndarray, size: int, *, sample_size: int = 20_000, seed: int = 0) -> np.ndarray:
    """Projects vectors on the principal components of a sample of them.

    The same vectors give the same result: the sample is drawn with a fixed seed and every component has
    its largest value positive.

    Args:
        vectors: float [M, H].
        size: D, the number of components kept, at most H.
        sample_size: How many vectors the components come from.
        seed: Seed of the sample.

    Returns:
        float32 [M, D], centred, by descending variance.

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
    return np.asarray((vectors - mean.astype(np.float32)) @ kept.astype(np.float32), dtype=np.float32)


def entity_text(entity: str, description: str | None = None, *, max_description_length: int = 200) -> str:
    """What stands for an entity in front of an encoder: its title, then the beginning of its description.

    Args:
        entity: A title with underscores.
        description: What the entity is; the first sentence says most.
        max_description_length: Characters of the description that are used, cut at a word's end.
    """
    title = entity.replace("_", " ")
    if not description:
        return title
    beginning = description
    if len(description) > max_description_length:
        at_word_end = description[: max_description_length + 1].rpartition(" ")[0]
        beginning = at_word_end or description[:max_description_length]
    return f"{title} : {beginning}"


def vectors_from_titles(
    entities: Sequence[str],
    encoder: Any,
    tokenizer: Any,
    *,
    descriptions: Mapping[str, str] | None = None,
    size: int | None = None,
    max_description_length: int = 200,
    batch_size: int = 64,
    device: str | torch.device | None = None,
    show_progress: bool = True,
) -> tuple[list[str], np.ndarray]:
    """Vectors of entities from their titles, as ``KnowledgeBase.build(vectors=...)`` takes them.

    Args:
        entities: The M entities, titles with underscores.
        encoder: A transformers encoder.
        tokenizer: Its tokenizer.
        descriptions: Texts of entities that have one.
        size: D, the width to reduce the vectors to; None keeps the encoder's H.
        max_description_length: Characters of a description that are used.
        batch_size: Texts a step.
        device: Where to move the encoder to; None leaves it where it is.
        show_progress: Show a progress bar.

    Returns:
        The entities and float32 [M, D or H].
    """
    known = descriptions or {}
    texts = [
        entity_text(entity, known.get(entity), max_description_length=max_description_length) for entity in entities
    ]
    vectors = encode_texts(texts, encoder, tokenizer, batch_size=batch_size, device=device, show_progress=show_progress)
    return list(entities), vectors if size is None else reduce_dimensions(vectors, size)
