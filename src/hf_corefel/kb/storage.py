"""Files of a knowledge base: safetensors tables and tries that are mapped, never read into memory as a whole.

Processes that open the same folder share its pages.
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import xxhash
from safetensors import SafetensorError
from safetensors.numpy import save_file

from .errors import KnowledgeBaseError

__all__ = [
    "ENTITY_TRIE_FILE",
    "FALLBACK_TRIE_FILE",
    "REDIRECT_TRIE_FILE",
    "SURFACE_TRIE_FILE",
    "TENSOR_TYPES",
    "checksum_of",
    "find_key",
    "find_keys",
    "map_tensors",
    "map_trie",
    "offsets_of",
    "parse_json",
    "require_file",
    "sync",
    "write_json",
    "write_tensors",
    "write_trie",
]

SURFACE_TRIE_FILE = "surfaces.marisa"
ENTITY_TRIE_FILE = "entities.marisa"
FALLBACK_TRIE_FILE = "fallback.marisa"
REDIRECT_TRIE_FILE = "redirects.marisa"

# The names that the safetensors format gives to the types that our tables use.
TENSOR_TYPES = {"I8": "<i1", "U8": "<u1", "I32": "<i4", "U32": "<u4", "U64": "<u8", "F16": "<f2", "F32": "<f4"}
_CHUNK = 1 << 20


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


def find_keys(trie: Any, keys: Sequence[str]) -> np.ndarray:
    """Return the ids int64 [M] of M keys in a `marisa_trie.Trie`, -1 for those that it lacks, as `find_key` does."""
    if "\0" not in "".join(keys):
        try:
            return np.fromiter(map(trie.get, keys, repeat(-1)), dtype=np.int64, count=len(keys))
        except UnicodeEncodeError:
            pass
    return np.array([find_key(trie, key) for key in keys], dtype=np.int64)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Row offsets [R+1] of rows with the given lengths [R], as uint32 where they fit, else uint64."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.uint64)
    np.cumsum(lengths, out=offsets[1:], dtype=np.uint64)
    return offsets.astype(np.uint32) if offsets[-1] <= np.iinfo(np.uint32).max else offsets


def checksum_of(path: Path) -> str:
    """Return the XXH3 checksum (128 bits, in hexadecimal) of a file, read piece by piece.

    It finds damage. Somebody who changes a file on purpose can change its checksum too.
    """
    digest, buffer = xxhash.xxh3_128(), memoryview(bytearray(_CHUNK))
    # Read rather than mapped: pages that are only read once would count as this process's memory.
    with path.open("rb", buffering=0) as file:
        while length := file.readinto(buffer):
            digest.update(buffer[:length])
    return digest.hexdigest()


def write_trie(path: Path, trie: Any) -> None:
    """Write a trie and read it back.

    Raises:
        OSError: When it cannot be written, or is not what was written.
    """
    content = trie.tobytes()
    path.write_bytes(content)
    _require_same(path, path.read_bytes() == content)


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a safetensors file and read them back.

    Raises:
        OSError: When they cannot be written, or are not what was written.
    """
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    # safetensors makes files that only their owner can read; keep the permissions of any new file.
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file(contiguous, str(path), metadata={"format": "np"})
    except SafetensorError as error:
        raise OSError(errno.EIO, f"cannot be written: {error}", str(path)) from error
    path.chmod(mode)
    written = map_tensors(path)
    same = all(_bytes_of(written[name]) == _bytes_of(array) for name, array in contiguous.items())
    _require_same(path, same and len(written) == len(contiguous))


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a readable JSON file."""
    path.write_text(json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def sync(path: Path) -> None:
    """Have the disk hold what was written to a file, or the names in a folder, before anything after."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        # Windows opens no folders.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes_of(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _require_same(path: Path, same: bool) -> None:
    if not same:
        raise OSError(errno.EIO, "the file does not hold what was written to it", str(path))


def require_file(path: Path) -> None:
    """Raise KnowledgeBaseError when there is no such file."""
    try:
        found = path.is_file()
    except (OSError, ValueError) as error:
        # A name that is too long or that no file can have, or a folder that may not be entered.
        raise KnowledgeBaseError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise KnowledgeBaseError(
            f"{path}: file not found; a knowledge base is a folder written by KnowledgeBase.save_pretrained"
        )


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds.

    Args:
        data: What the file holds.
        path: The file, for the message.

    Raises:
        KnowledgeBaseError: When it is no JSON object.
    """
    try:
        value = json.loads(data)
    except ValueError as error:
        raise KnowledgeBaseError(f"{path}: not a JSON file: {error}") from error
    except RecursionError as error:
        raise KnowledgeBaseError(f"{path}: not a JSON file that can be read: nested too deeply") from error
    if not isinstance(value, dict):
        raise KnowledgeBaseError(f"{path}: expected a JSON object, got {type(value).__name__}")
    return value


def map_trie(path: Path) -> Any:
    """Map a trie into memory. A damaged one crashes the interpreter sooner or later: check the file before.

    Raises:
        KnowledgeBaseError: When the file is missing, truncated or no trie.
    """
    require_file(path)
    try:
        return marisa_trie.Trie().mmap(str(path))
    except RuntimeError as error:
        raise KnowledgeBaseError(f"{path}: not a marisa trie, or a truncated one: {error}") from error


def map_tensors(path: Path) -> dict[str, np.ndarray]:
    """Map a safetensors file into memory: read-only arrays over the file's pages.

    Format: 8 bytes header length (little-endian), a JSON header, then the data, to which the header's
    ``data_offsets`` refer.

    Raises:
        KnowledgeBaseError: When the file is missing, truncated, or its header is invalid.
    """
    require_file(path)
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
    except KnowledgeBaseError:
        raise
    except (ValueError, AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise KnowledgeBaseError(f"{path}: invalid safetensors header: {error!r}") from error


def _map_tensor(data: np.ndarray, start: int, entry: Mapping[str, Any], where: str) -> np.ndarray:
    if entry["dtype"] not in TENSOR_TYPES:
        raise KnowledgeBaseError(f"{where}: unexpected type {entry['dtype']}; known are {', '.join(TENSOR_TYPES)}")
    dtype = np.dtype(TENSOR_TYPES[entry["dtype"]])
    shape = tuple(int(length) for length in entry["shape"])
    begin, end = (int(offset) for offset in entry["data_offsets"])
    # In Python's integers, which do not wrap around.
    count = math.prod(shape)
    fits = min(shape, default=0) >= 0 and 0 <= begin <= end and start + end <= len(data)
    if not fits or end - begin != count * dtype.itemsize:
        raise KnowledgeBaseError(f"{where}: bytes {begin}..{end} do not fit its shape {shape} or the file; truncated?")
    if count == 0:
        return np.empty(shape, dtype=dtype)
    return np.frombuffer(data, dtype=dtype, count=count, offset=start + begin).reshape(shape)
