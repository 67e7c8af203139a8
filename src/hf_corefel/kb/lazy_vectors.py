"""Vectors of entities that are made when they are needed first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .errors import KnowledgeBaseError
from .vector_cache import VectorCache, text_keys
from .vector_table import VectorTable

__all__ = ["LazyVectors", "Vectorizer", "checked_vectors"]

# Makes vectors float [M, D] of M entities from their names and their descriptions. One with an attribute `identity`, a
# string that is another for whoever makes other vectors, has them kept beside the knowledge base.
Vectorizer = Callable[[list[str], list[str | None]], np.ndarray]

# So many are kept in memory by a process, whether or not there is a folder that they are kept in.
_IN_MEMORY = 100_000


class LazyVectors:
    """The vectors that a vectorizer made for a knowledge base.

    Args:
        folder: Where they are kept for other processes; None = nowhere.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._caches: dict[str, VectorCache] = {}
        self._known: dict[tuple[str | None, int, int], np.ndarray] = {}

    def cache_of(self, vectorizer: Vectorizer, table: VectorTable) -> VectorCache | None:
        """Return where the vectors of a vectorizer are kept; None when nowhere."""
        identity = getattr(vectorizer, "identity", None)
        if self.folder is None or identity is None:
            return None
        name = f".vectors-{identity[:16]}.cache"
        if name not in self._caches:
            self._caches[name] = VectorCache(self.folder / name, table.codes.dtype, table.size)
        return self._caches[name]

    def make(
        self,
        vectorizer: Vectorizer | None,
        table: VectorTable,
        names: Sequence[str],
        descriptions: Sequence[str | None],
        *,
        only_known: bool = False,
    ) -> np.ndarray:
        """Return the vectors of M entities as the table would store them, float32 [M, D].

        Args:
            vectorizer: Makes those that are not known yet, all at once.
            table: How vectors are stored.
            names: The entities.
            descriptions: Their descriptions.
            only_known: Make none: those that are not known are NaN. Otherwise they have to be made.

        Raises:
            KnowledgeBaseError: When there is no vectorizer, or it gives what is no array of that shape.
        """
        found = np.full((len(names), table.size), np.nan, dtype=np.float32)
        if vectorizer is None:
            if only_known or not names:
                return found
            raise KnowledgeBaseError(
                f"vector of entity {names[0]!r}: it is made when it is needed, by the model's encoder; read documents "
                "with load_pipeline(knowledge_base=...), or make all vectors with `hf-corefel kb vectors`"
            )
        identity = getattr(vectorizer, "identity", None)
        keys, checks = text_keys(names, descriptions)
        own = [(identity, key, check) for key, check in zip(keys.tolist(), checks.tolist(), strict=True)]
        missing = []
        for place, key in enumerate(own):
            known = self._known.get(key)
            if known is None:
                missing.append(place)
            else:
                found[place] = known
        cache = self.cache_of(vectorizer, table)
        if missing and cache is not None:
            codes, scales, there = cache.find(keys[missing], checks[missing])
            places = np.array(missing)[there]
            found[places] = codes[there].astype(np.float32) * scales[there, None]
            self._remember(own, found, places.tolist())
            missing = np.array(missing)[~there].tolist()
        if missing and not only_known:
            # The same entity may be asked for twice.
            first = {own[place]: place for place in reversed(missing)}
            new = sorted(first.values())
            made = checked_vectors(
                vectorizer([names[n] for n in new], [descriptions[n] for n in new]), len(new), table.size
            )
            stored = VectorTable.build(len(new), np.arange(len(new)), made, table.format)
            scales = stored.scales if len(stored.scales) else np.ones(len(new), np.float32)
            found[new] = stored.codes.astype(np.float32) * scales[:, None]
            for place in missing:
                found[place] = found[first[own[place]]]
            self._remember(own, found, new)
            if cache is not None:
                cache.add(keys[new], checks[new], stored.codes, scales)
        return found

    def _remember(self, keys: list[tuple[str | None, int, int]], found: np.ndarray, places: list[int]) -> None:
        while len(self._known) > _IN_MEMORY - len(places) and self._known:
            try:
                self._known.pop(next(iter(self._known)), None)
            except (StopIteration, RuntimeError):
                # Another thread changes it.
                break
        for place in places:
            self._known[keys[place]] = found[place].copy()


def checked_vectors(made: np.ndarray, count: int, size: int) -> np.ndarray:
    """Return what a vectorizer made, or raise KnowledgeBaseError when it is not finite or has not [count, size]."""
    made = np.asarray(made)
    if made.shape != (count, size):
        raise KnowledgeBaseError(
            f"vectorizer: expected an array of shape ({count}, {size}) for so many entities, got {made.shape}"
        )
    if not np.isfinite(made).all():
        raise KnowledgeBaseError("vectorizer: a vector that it made is not finite")
    return made
