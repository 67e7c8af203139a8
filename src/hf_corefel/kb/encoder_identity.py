"""What tells vectors of one encoder from those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import xxhash

from .projection import Projection

__all__ = ["encoder_identity"]


def encoder_identity(encoder: Any, tokenizer: Any, projection: Projection, length: int) -> str:
    """Return a digest of weights, subwords and projection, which reads all of them.

    Args:
        encoder: A transformers encoder.
        tokenizer: Its tokenizer.
        projection: From its vectors to those of entities.
        length: How many characters of a description are used.
    """
    digest = xxhash.xxh3_128(f"{length} {len(tokenizer)} {encoder.config.model_type}".encode())
    for name, tensor in sorted(encoder.state_dict().items()):
        if isinstance(tensor, torch.Tensor) and tensor.device.type != "meta":
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            digest.update(data.data)
    for name, array in projection.items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
