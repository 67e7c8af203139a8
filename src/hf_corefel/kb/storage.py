"""Files of a knowledge base: safetensors tables and tries that are mapped, never read as a whole.

Opening costs the same at any size, and processes that open the same folder share its pages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
from safetensors.numpy import save_file

from .errors import KnowledgeBaseError

__all__ = [
    "ENTITY_TRIE_FILE",
    "SURFACE_TRIE_FILE",
    "find_key",
    "map_tensors",
    "map_trie",
    "offsets_of",
    "read_json",
    "write_file",
    "write_json",
    "write_tensors",
]

SURFACE_TRIE_FILE = "surfaces.marisa"
ENTITY_TRIE_FILE = "entities.marisa"

# The names that the safetensors format gives to the types that our tables use.
_DTYPES = {"I8": "<i1", "U8": "<u1", "I32": "<i4", "U32": "<u4", "U64": "<u8", "F16": "<f2", "F32": "<f4"}


def find_key(trie: Any, key: str) -> int:
    """The id of `key` in a `marisa_trie.Trie`, or -1.

    A trie of marisa reads a key up to its first NUL and cannot encode a lone surrogate; neither can be
    in a knowledge base, so both are simply not found.
    """
    if "\0" in key:
        return -1
    try:
        return int(trie.get(key, -1))
    except UnicodeEncodeError:
        return -1


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Row offsets [R+1] of rows with the given lengths [R], as uint32 where they fit, else uint64."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.uint64)
    np.cumsum(lengths, out=offsets[1:], dtype=np.uint64)
    return offsets.astype(np.uint32) if offsets[-1] <= np.iinfo(np.uint32).max else offsets


def write_file(path: Path, write: Callable[[str], object]) -> None:
    """Lets `write` fill a file beside `path` and puts it in place in one step.

    A process that has the old file mapped keeps it; writing into it would crash that process.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # safetensors makes files that only their owner can read; keep the permissions of any new file.
        temporary.touch()
        mode = temporary.stat().st_mode
        write(str(temporary))
        temporary.chmod(mode)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Writes arrays to a safetensors file."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    write_file(path, lambda temporary: save_file(contiguous, temporary, metadata={"format": "np"}))


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Writes a readable JSON file."""
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_file(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise KnowledgeBaseError(
            f"{path}: file not found; a knowledge base is a folder written by KnowledgeBase.save_pretrained"
        )


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        KnowledgeBaseError: When the file is missing or holds no JSON object.
    """
    _require_file(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise KnowledgeBaseError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(data, dict):
        raise KnowledgeBaseError(f"{path}: expected a JSON object, got {type(data).__name__}")
    return data


def map_trie(path: Path) -> Any:
    """Maps a trie into memory.

    Raises:
        KnowledgeBaseError: When the file is missing, truncated or no trie.
    """
    _require_file(path)
    try:
        return marisa_trie.Trie().mmap(str(path))
    except RuntimeError as error:
        raise KnowledgeBaseError(f"{path}: not a marisa trie, or a truncated one: {error}") from error


def map_tensors(path: Path) -> dict[str, np.ndarray]:
    """Maps a safetensors file into memory: read-only arrays over the file's pages.

    Format: 8 bytes header length (little-endian), a JSON header, then the data, to which the header's
    ``data_offsets`` refer.

    Raises:
        KnowledgeBaseError: When the file is missing, truncated, or its header is invalid.
    """
    _require_file(path)
    size = path.stat().st_size
    if size < 8:
        raise KnowledgeBaseError(f"{path}: not a safetensors file: only {size} bytes long")
    data = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(bytes(data[:8]), "little")
    if start > size:
        raise KnowledgeBaseError(f"{path}: not a safetensors file, or a truncated one: its header ends past its end")
    try:
        header = json.loads(bytes(data[8:start]))
        header.pop("__metadata__", None)
        return {name: _map_tensor(data, start, entry, f"{path}: tensor {name!r}") for name, entry in header.items()}
    except (UnicodeDecodeError, json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise KnowledgeBaseError(f"{path}: invalid safetensors header: {error!r}") from error


def _map_tensor(data: np.ndarray, start: int, entry: Mapping[str, Any], where: str) -> np.ndarray:
    if entry["dtype"] not in _DTYPES:
        raise KnowledgeBaseError(f"{where}: unexpected type {entry['dtype']}; known are {', '.join(_DTYPES)}")
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    shape = tuple(int(length) for length in entry["shape"])
    begin, end = entry["data_offsets"]
    count = int(np.prod(shape, dtype=np.int64))
    if end - begin != count * dtype.itemsize or begin < 0 or start + end > len(data):
        raise KnowledgeBaseError(f"{where}: bytes {begin}..{end} do not fit its shape {shape} or the file; truncated?")
    if count == 0:
        return np.empty(shape, dtype=dtype)
    return np.frombuffer(data, dtype=dtype, count=count, offset=start + begin).reshape(shape)
