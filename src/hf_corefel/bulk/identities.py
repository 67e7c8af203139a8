"""What a model or a knowledge base holds, in a few letters, so that a job is not gone on with by another one.

A name does not say it: a model may have been trained again in its folder. Files are read, not their times, which differ
from copy to copy; none is loaded, for a process that only hands out work has no need of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xxhash

from ..candidates.hub import CONFIG_FILE, KNOWLEDGE_BASE_FOLDER, saved_place

__all__ = ["identity_of_knowledge_base", "identity_of_model"]

# What a model and its processor are loaded from. Cards, scores and states of training are not: they may be written
# while a job waits.
_MODEL_FILES = (
    "config.json",
    "processor_config.json",
    "model*.safetensors*",
    "pytorch_model*.bin*",
    "onnx/*",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "*.py",
)
_CHUNK = 1 << 20


def identity_of_model(
    model: str | None, subfolder: str | None = None, *, own_knowledge_base: bool = True
) -> str | None:
    """Return a digest of the files of a model, the same for a copy of them; None of one that is no folder here.

    Args:
        model: Folder or Hub id, which says by its revision what it is, as the bundled checkpoint does by the release.
        subfolder: Where in it the model lies.
        own_knowledge_base: Whether the model's own knowledge base is read too.

    Raises:
        OSError: When a file cannot be read.
    """
    if model is None or not Path(model).is_dir():
        return None
    folder = Path(model, subfolder or "")
    files = {path for pattern in _MODEL_FILES for path in folder.glob(pattern) if path.is_file()}
    parts = [(path.relative_to(folder).as_posix(), _digest_of_file(path)) for path in sorted(files)]
    if own_knowledge_base and (folder / KNOWLEDGE_BASE_FOLDER).is_dir():
        parts.append((KNOWLEDGE_BASE_FOLDER, _identity_of_folder(folder / KNOWLEDGE_BASE_FOLDER)))
    return _digest(parts)


def identity_of_knowledge_base(given: Any) -> str | None:
    """Return what says which entities and surfaces a knowledge base has: its fingerprint, that of each of its parts.

    Args:
        given: A folder, an object, or a Hub id, of which nothing is known here.

    Returns:
        The same for the same content, in every process; None of a Hub id and of None, and the name of the class of an
        object that has no fingerprint.

    Raises:
        OSError: When a file cannot be read.
    """
    if given is None or isinstance(given, str | Path):
        return _identity_of_folder(saved_place(given)) if given is not None and Path(given).is_dir() else None
    for name in ("content_fingerprint", "fingerprint"):
        found = getattr(given, name, None)
        if isinstance(found, str):
            fallback = getattr(given, "fallback", None)
            return _digest([found, fallback if isinstance(fallback, str) else None])
    # Of one that is composed of others.
    parts = getattr(given, "parts", None)
    if isinstance(parts, list | tuple) and all(hasattr(part, "source") for part in parts):
        return _digest(
            [
                (identity_of_knowledge_base(part.source), getattr(part, "offset", None), getattr(part, "below", None))
                for part in parts
            ]
        )
    return type(given).__name__


def _identity_of_folder(folder: Path) -> str:
    """The fingerprint that is saved in a folder; without one, a digest of its settings and of the sizes of its files.

    Tables may be of many gigabytes, and are not read for it.
    """
    try:
        config = json.loads((folder / CONFIG_FILE).read_bytes())
    except (OSError, ValueError):
        config = {}
    # Not the other fields: the same content may be saved in another format, and vectors as they are computed.
    if isinstance(config, dict) and isinstance(config.get("content_fingerprint"), str):
        return _digest([config["content_fingerprint"], config.get("fallback")])
    parts = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            parts.append((path.name, _identity_of_folder(path)))
        else:
            parts.append((path.name, _digest_of_file(path) if path.suffix == ".json" else str(path.stat().st_size)))
    return _digest(parts)


def _digest_of_file(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _digest(parts: Iterable[Any]) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps(list(parts)).encode())
