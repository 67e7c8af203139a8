"""What an encoder makes of titles and descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..utils.progress import progress_bar

__all__ = ["MAX_DESCRIPTION_LENGTH", "encode_texts", "entity_text"]

MAX_DESCRIPTION_LENGTH = 200


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
    place: torch.device = encoder.device
    vectors = np.zeros((len(texts), encoder.config.hidden_size), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode(), progress_bar(len(texts), "Encoding", shown=show_progress) as progress:
            for begin in range(0, len(order), batch_size):
                batch = order[begin : begin + batch_size]
                vectors[batch] = _encode([texts[i] for i in batch], encoder, tokenizer, max_length, place).numpy()
                progress.update(len(batch))
    finally:
        encoder.train(was_training)
    return vectors


def _encode(texts: list[str], encoder: Any, tokenizer: Any, max_length: int, device: torch.device) -> torch.Tensor:
    """Unit vectors float32 [M, H] on the CPU of one batch."""
    # A lone surrogate, which broken extractors leave in texts, is nothing that a tokenizer takes.
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt").to(device)
    hidden = encoder(**inputs).last_hidden_state.float()
    mask = inputs["attention_mask"].unsqueeze(-1).float()
    # A tokenizer without special pieces gives nothing for an empty text; its mean is then zero, not NaN.
    mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)
    return torch.nn.functional.normalize(mean, dim=-1).cpu()


def entity_text(
    entity: str, description: str | None = None, *, max_description_length: int = MAX_DESCRIPTION_LENGTH
) -> str:
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
