"""Makes the vectors of all entities of a saved knowledge base that have none, in as many processes as there are.

Each vector goes to the file that lazy vectors are kept in, so nothing is made twice: neither after an interruption, nor
by another process, nor where a document needed an entity before. Whoever finds that all are there writes them into the
knowledge base.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .configuration_file import WITH_CHECKSUMS, read_config, saved_files
from .errors import KnowledgeBaseError
from .folder import map_vectors
from .knowledge_base import KnowledgeBase
from .lazy_vectors import Vectorizer, checked_vectors
from .saving import Described, current_identity, put_version, writers_lock
from .storage import write_tensors
from .tables import PROJECTION_FILE, VECTORS_FILE
from .tensor_file import TensorFile
from .vector_cache import VectorCache, text_keys
from .vector_table import VectorTable

__all__ = ["Filled", "fill_vectors"]

# So many entities are worked on at once.
_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class Filled:
    """What came of it.

    Attributes:
        made: How many vectors were made here.
        missing: How many entities have none yet: those of other shards.
    """

    made: int
    missing: int


def fill_vectors(
    kb: KnowledgeBase,
    vectorizer: Vectorizer,
    *,
    shards: int = 1,
    shard: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Filled:
    """Make the vectors of the entities of a saved knowledge base that have none, and save them once all are there.

    Args:
        kb: The knowledge base as it was opened from its folder, with the projection that the vectors come from.
        vectorizer: Makes them; its ``identity`` says which were made with the same encoder.
        shards: In how many parts the entities are worked on, each by a process of its own that has the folder.
        shard: Which of them is worked on here, from 0.
        progress: Called with how many entities were looked at, and of how many.

    Raises:
        KnowledgeBaseError: When it was not opened from a folder, or the folder was changed meanwhile. What was made
            is kept then, for the next run.
        ValueError: When there is no such part.
    """
    if not 0 <= shard < shards:
        raise ValueError(f"shard: expected 0 to {shards - 1}, got {shard}")
    folder, table = kb._folder, kb._tables.vectors
    if folder is None or not kb._changes.state.empty:
        raise KnowledgeBaseError("vectors: expected a knowledge base as it was opened from its folder; save it first")
    if kb.vector_size == 0:
        raise KnowledgeBaseError(f"{folder}: there is no projection that vectors could come from")
    cache = kb._lazy.cache_of(vectorizer, table)
    if cache is None:
        raise KnowledgeBaseError("vectorizer: it has no identity, so nothing says which vectors it made before")
    ids = np.flatnonzero(table.rows < 0)
    own = np.array_split(ids, shards)[shard]
    made = 0
    for begin in range(0, len(own), _CHUNK):
        made += _make(kb, cache, vectorizer, own[begin : begin + _CHUNK])[1]
        progress(min(begin + _CHUNK, len(own)), len(own))
    parts = [ids[begin : begin + _CHUNK] for begin in range(0, len(ids) if shards > 1 else 0, _CHUNK)]
    missing = sum(_count_missing(kb, cache, part) for part in parts)
    if not missing and len(ids):
        _save(kb, folder, cache, vectorizer, ids)
    return Filled(made, missing)


def _keys(kb: KnowledgeBase, ids: np.ndarray) -> tuple[list[str], list[str | None], np.ndarray, np.ndarray]:
    names = [kb.entity_name(entity_id) for entity_id in ids.tolist()]
    texts = [kb.description(name) for name in names]
    return names, texts, *text_keys(names, texts)


def _count_missing(kb: KnowledgeBase, cache: VectorCache, ids: np.ndarray) -> int:
    _, _, keys, checks = _keys(kb, ids)
    return int(np.count_nonzero(~cache.find(keys, checks)[2]))


def _make(
    kb: KnowledgeBase, cache: VectorCache, vectorizer: Vectorizer, ids: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """The codes and scales of entities, and how many of them had to be made."""
    names, texts, keys, checks = _keys(kb, ids)
    codes, scales, known = cache.find(keys, checks)
    lacking = np.flatnonzero(~known)
    if len(lacking):
        made = vectorizer([names[n] for n in lacking], [texts[n] for n in lacking])
        made = checked_vectors(made, len(lacking), kb.vector_size)
        stored = VectorTable.build(len(lacking), np.arange(len(lacking)), made, kb._tables.vectors.format)
        codes[lacking] = stored.codes
        scales[lacking] = stored.scales if len(stored.scales) else 1.0
        cache.add(keys[lacking], checks[lacking], codes[lacking], scales[lacking])
    return (codes, scales), len(lacking)


def _save(kb: KnowledgeBase, folder: Path, cache: VectorCache, vectorizer: Vectorizer, ids: np.ndarray) -> None:
    """Put a version into the folder that is the present one with the vectors of entities."""
    with writers_lock(folder):
        config = read_config(folder)
        if current_identity(folder) != kb._identities.get(os.path.realpath(folder)):
            raise KnowledgeBaseError(
                f"{folder}: another process has changed it since it was opened; run the same again, and no vector is "
                "made twice"
            )
        if config["format_version"] < WITH_CHECKSUMS:
            raise KnowledgeBaseError(f"{folder}: an older release saved it; save it once more before this")
        kept = saved_files(config, folder)
        files = [VECTORS_FILE]
        if kb._adopted is not None:
            files.append(PROJECTION_FILE)
        for file in files:
            kept.pop(file, None)

        def write(places: Mapping[str, Path]) -> Described:
            _write_vectors(places[VECTORS_FILE], kb, cache, vectorizer, ids)
            if PROJECTION_FILE in places and kb.projection is not None:
                write_tensors(places[PROJECTION_FILE], dict(kb.projection.items()))
            tables = replace(kb._tables, vectors=map_vectors(places[VECTORS_FILE]))
            return Described(tables, kb.fallback, kb._indexes.get(kb.fallback))

        put_version(folder, files, write, kept)
    cache.path.unlink(missing_ok=True)


def _write_vectors(path: Path, kb: KnowledgeBase, cache: VectorCache, vectorizer: Vectorizer, ids: np.ndarray) -> None:
    before = kb._tables.vectors
    count = len(before.codes) + len(ids)
    rows = before.rows.copy()
    rows[ids] = np.arange(len(before.codes), count)
    scaled = before.format == "int8"
    arrays = {
        "rows": ("<i4", rows.shape),
        "codes": (before.codes.dtype.str, (count, before.size)),
        "scales": ("<f4", (count if scaled else 0,)),
        "mean": ("<f4", before.mean.shape),
        "std": ("<f4", before.std.shape),
    }
    with TensorFile(path, arrays) as written:
        for name in ("mean", "std"):
            written.write(name, 0, getattr(before, name))
        written.write("rows", 0, rows)
        written.write("codes", 0, before.codes)
        written.write("scales", 0, before.scales)
        for begin in range(0, len(ids), _CHUNK):
            (codes, scales), _ = _make(kb, cache, vectorizer, ids[begin : begin + _CHUNK])
            place = len(before.codes) + begin
            written.write("codes", place * before.size, codes)
            if scaled:
                written.write("scales", place, scales)
