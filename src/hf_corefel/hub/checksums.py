"""Sizes and checksums of a saved model's files, so that a damaged or replaced one is named when it is loaded.

The knowledge base has its own, in its folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..utils.files import sha256_of

__all__ = ["checksums"]

# What a model and its processor are loaded from; cards, records and states of training are not.
_PATTERNS = (
    "config.json",
    "processor_config.json",
    "model*.safetensors",
    "model*.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
)


def checksums(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Return size in bytes and SHA-256 of the files that a model and its processor are loaded from, by name."""
    folder = Path(folder)
    names = sorted({path.name for pattern in _PATTERNS for path in folder.glob(pattern) if path.is_file()})
    return {name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)} for name in names}
