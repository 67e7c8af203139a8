"""`KnowledgeBase`: which entities a surface form may stand for, and what is known about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..documents import Candidate
from .alias_table import build_alias_table
from .errors import KnowledgeBaseError
from .fallback import Fallback, FallbackIndex, build_fallback_index, check_fallback
from .lookup import find_candidates
from .readers import read_alias_jsonl
from .storage import find_key
from .tables import FORMAT_VERSION, TEXTS, Tables, check_metadata, open_folder, save_folder
from .text_table import TextTable, check_wikidata
from .vector_table import NamedVectors, VectorFormat, VectorTable, draw_vector, named_vectors

__all__ = ["DEFAULT_URL_TEMPLATE", "FORMAT_VERSION", "KnowledgeBase"]

DEFAULT_URL_TEMPLATE = "https://en.wikipedia.org/wiki/{entity}"
_WIKIDATA = re.compile(r"wikidata:([QPL][0-9]+)")


class KnowledgeBase:
    """Alias table, entity vectors and descriptions.

    Threads may share one. One that was loaded with `from_pretrained` is
    mapped into memory: opening does not depend on its size, processes on one machine share its pages,
    and pickling it (for spawned workers) passes the folder's path only. One that was just built behaves
    the same, vectors included (they are quantised when built), but is pickled with its arrays.

    An entity id is a number from 0 to `num_entities` - 1 and means nothing in another knowledge base.
    """

    def __init__(
        self,
        tables: Tables,
        *,
        fallback: Fallback = "none",
        indexes: dict[Fallback, FallbackIndex] | None = None,
        folder: Path | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """Takes finished tables; use `build`, `from_jsonl` or `from_pretrained`."""
        self._tables = tables
        self._fallback = check_fallback(fallback)
        # Indexes that a folder did not bring are made when they are needed; threads may make one twice.
        self._indexes = indexes if indexes is not None else {}
        self._folder = folder
        self._fingerprint = fingerprint

    @classmethod
    def build(
        cls,
        aliases: Iterable[tuple[str, Iterable[tuple[str, float]]]],
        *,
        vectors: NamedVectors | None = None,
        descriptions: Mapping[str, str] | None = None,
        vector_format: VectorFormat = "int8",
        max_candidates: int | None = None,
        url_template: str | None = DEFAULT_URL_TEMPLATE,
        provenance: Mapping[str, Any] | None = None,
        wikidata: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
        fallback: Fallback = "none",
    ) -> KnowledgeBase:
        """Builds a knowledge base in memory.

        A surface that comes twice (also after stripping), or an entity that comes twice under a surface,
        is merged: the highest prior stands. Entities that only have a vector or a text are kept.

        Args:
            aliases: Pairs of a surface and its (entity, prior) pairs, prior = p(entity | surface).
            vectors: Entity vectors, by name or as names and an array [V, D]. An entity without one gets
                a fixed draw from N(mean, std) of those given.
            descriptions: Texts by entity name; an empty one is none.
            vector_format: How vectors are stored: "int8" with one scale a vector, "float16" or "float32".
            max_candidates: Keep only the candidates with the highest priors; None keeps all.
            url_template: Where readers find an entity, with ``{entity}`` for its quoted name; None = nowhere.
            provenance: Anything JSON takes that says where the data come from.
            wikidata: Wikidata ids, such as ``Q42``, by entity name.
            urls: URLs of the entities that the template does not lead to, by entity name.
            fallback: What surfaces without candidates fall back on, see `lookup`.

        Raises:
            KnowledgeBaseError: When a surface or entity name is empty or holds a NUL, a prior is not
                between 0 and 1, or a vector has another width or is not finite; the message says where.
        """
        if max_candidates is not None and max_candidates < 1:
            raise KnowledgeBaseError(f"max_candidates: expected at least 1 or None, got {max_candidates}")
        check_metadata(url_template, provenance or {})
        check_fallback(fallback)
        names, matrix = named_vectors(vectors)
        texts = {"descriptions": descriptions or {}, "wikidata": wikidata or {}, "urls": urls or {}}
        for entity, wikidata_id in texts["wikidata"].items():
            check_wikidata(wikidata_id, entity)
        more = [*names, *(entity for named in texts.values() for entity in named)]
        entities, table = build_alias_table(aliases, more, max_candidates=max_candidates)
        ids = np.fromiter((entities[name] for name in names), dtype=np.int64, count=len(names))
        tables = Tables(
            entities=entities,
            aliases=table,
            vectors=VectorTable.build(len(entities), ids, matrix, vector_format),
            **{name: TextTable.build(entities, named, TEXTS[name]) if named else None for name, named in texts.items()},
            url_template=url_template,
            provenance=dict(provenance or {}),
        )
        return cls(tables, fallback=fallback)

    @classmethod
    def from_jsonl(cls, path: str | Path, *, clip_priors: bool = False, **build: Any) -> KnowledgeBase:
        """Builds from an alias table in JSON lines, plain or ``.gz``.

        Args:
            path: Lines ``[surface, [[entity, prior], ...]]`` or
                ``{"surface": ..., "candidates": [{"entity": ..., "prior": ...}, ...]}``.
            clip_priors: Move finite priors outside 0..1 to the nearer bound instead of raising.
            **build: The keyword arguments of `build`.

        Raises:
            KnowledgeBaseError: As `build` does; the message names the file and the line.
        """
        return cls.build(read_alias_jsonl(path, clip_priors=clip_priors), **build)

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, fallback: Fallback | None = None) -> KnowledgeBase:
        """Opens what `save_pretrained` wrote, memory-mapped.

        Args:
            folder: The folder.
            fallback: Takes the place of the one that was saved. Its index is made in memory when it is needed;
                save the knowledge base again to have it mapped.

        Raises:
            KnowledgeBaseError: When a file is missing or damaged, or of an unknown format version.
        """
        folder = Path(folder).absolute()
        opened = open_folder(folder)
        return cls(
            opened.tables,
            fallback=opened.fallback if fallback is None else fallback,
            indexes={opened.fallback: opened.index} if opened.index is not None else {},
            folder=folder,
            fingerprint=opened.fingerprint,
        )

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes the folder that `from_pretrained` opens. Processes that have an older one open keep theirs."""
        save_folder(Path(folder), self._tables, self._fallback, self._index(self._fallback))

    def with_fallback(self, fallback: Fallback) -> KnowledgeBase:
        """The same knowledge base with another fallback; it shares the tables."""
        return type(self)(
            self._tables,
            fallback=fallback,
            indexes=self._indexes,
            folder=self._folder,
            fingerprint=self._fingerprint,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        if self._folder is not None:
            return _reopen, (type(self), str(self._folder), self._fallback)
        return _rebuild, (type(self), self._tables, self._fallback)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_surfaces={self.num_surfaces}, num_entities={self.num_entities}, "
            f"num_candidates={self.num_candidates}, vector_size={self.vector_size})"
        )

    @property
    def num_entities(self) -> int:
        """E, the number of entities."""
        return self._tables.num_entities

    @property
    def num_surfaces(self) -> int:
        """The number of surfaces that have candidates."""
        return self._tables.num_surfaces

    @property
    def num_candidates(self) -> int:
        """The number of (surface, entity) pairs."""
        return self._tables.num_candidates

    @property
    def vector_size(self) -> int:
        """D, the width of the entity vectors; 0 when there are none."""
        return self._tables.vector_size

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the data come from."""
        return dict(self._tables.provenance)

    @property
    def fallback(self) -> Fallback:
        """What surfaces without candidates fall back on."""
        return self._fallback

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the tables hold, as it was when they were saved. See `verify`."""
        if self._fingerprint is None:
            self._fingerprint = self._tables.fingerprint()
        return self._fingerprint

    def verify(self) -> None:
        """Reads all tables and compares them with their fingerprint.

        Raises:
            KnowledgeBaseError: When they differ: the folder is damaged or was changed by hand.
        """
        if self._fingerprint is not None and self._tables.fingerprint() != self._fingerprint:
            raise KnowledgeBaseError(
                f"{self._folder}: the tables do not have the fingerprint that they were saved with; the folder is "
                "damaged, or one of its files was replaced; build or fetch it again"
            )

    def lookup(
        self, surfaces: Sequence[str], limit: int = 16, *, fallback: Fallback | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Candidates of M surfaces: exact match once white space around a surface is stripped.

        A surface that has none falls back, unless `fallback` is "none": on all surfaces with its case folding
        ("casefold"), or on all that also only differ in compatibility forms, diacritics, kinds of apostrophes,
        dashes and white space, or a possessive at the end ("normalized"). Their candidates are merged; of each
        the highest prior stands.

        Args:
            surfaces: The M surfaces.
            limit: K, how many candidates a surface may have.
            fallback: Takes the place of the knowledge base's own.

        Returns:
            Entity ids int32 [M, K], by descending prior, then by name; -1 = padding.
            Priors float32 [M, K], 0 where padded.
        """
        if limit < 1:
            raise ValueError(f"limit: expected at least 1, got {limit}")
        index = self._index(self._fallback if fallback is None else check_fallback(fallback))
        return find_candidates(self._tables, surfaces, limit, index)

    def candidates(self, surface: str, limit: int = 16, *, fallback: Fallback | None = None) -> list[Candidate]:
        """Candidates of one surface, as `lookup` finds them."""
        entity_ids, priors = self.lookup([surface], limit, fallback=fallback)
        return [
            Candidate(self.entity_name(int(entity_id)), float(prior))
            for entity_id, prior in zip(entity_ids[0], priors[0], strict=True)
            if entity_id >= 0
        ]

    def _index(self, fallback: Fallback) -> FallbackIndex | None:
        if fallback == "none":
            return None
        index = self._indexes.get(fallback)
        if index is None:
            index = build_fallback_index(self._tables.aliases.surfaces, fallback)
            self._indexes[fallback] = index
        return index

    def entity_name(self, entity_id: int) -> str:
        """The name of an entity.

        Raises:
            IndexError: When no entity has that id.
        """
        if not 0 <= entity_id < self.num_entities:
            raise IndexError(f"entity id {entity_id} is outside 0..{self.num_entities - 1}")
        return str(self._tables.entities.restore_key(entity_id))

    def entity_id(self, name: str) -> int | None:
        """The id of an entity, None when it is unknown."""
        entity_id = find_key(self._tables.entities, name)
        return None if entity_id < 0 else entity_id

    def vectors(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Vectors of entities, dequantised.

        Args:
            ids: int, any shape; -1 = padding, which gets zeros.

        Returns:
            float32 [*ids.shape, D]. An entity that was given no vector gets a draw from N(mean, std) of
            those given, fixed by its name.

        Raises:
            IndexError: When no entity has an id.
        """
        checked = self._check_ids(ids)
        return self._tables.vectors.take(checked.ravel(), self.entity_name).reshape(*checked.shape, self.vector_size)

    def vector_for(self, name: str) -> np.ndarray:
        """The vector float32 [D] of an entity by name, also of one that is unknown here: its fixed draw."""
        entity_id = self.entity_id(name)
        if entity_id is None:
            return draw_vector(name, self._tables.vectors.mean, self._tables.vectors.std)
        return np.asarray(self.vectors([entity_id])[0])

    def has_vector(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Whether entities were given vectors of their own: bool, the shape of `ids`; False for -1."""
        checked = self._check_ids(ids)
        if self.num_entities == 0:
            return np.zeros(checked.shape, dtype=bool)
        return np.asarray((checked >= 0) & (self._tables.vectors.rows[np.maximum(checked, 0)] >= 0))

    def description(self, entity: str) -> str | None:
        """The description of an entity; None when it has none or is unknown."""
        return self._text(entity, self._tables.descriptions)

    def wikidata(self, entity: str) -> str | None:
        """The Wikidata id of an entity, such as ``Q42``; None when it has none or is unknown."""
        named = _WIKIDATA.fullmatch(entity)
        return named[1] if named else self._text(entity, self._tables.wikidata)

    def _text(self, entity: str, table: TextTable | None) -> str | None:
        entity_id = self.entity_id(entity) if table is not None else None
        return None if table is None or entity_id is None else table.get(entity_id)

    def url(self, entity: str) -> str | None:
        """Where readers find an entity: its own URL, else what the template gives, also for one that is unknown here.

        ``wikidata:Q42`` goes to Wikidata, and so does an entity with a Wikidata id when there is no template.
        """
        own = self._text(entity, self._tables.urls)
        if own is not None:
            return own
        wikidata, template = _WIKIDATA.fullmatch(entity), self._tables.url_template
        if wikidata is None and template is not None:
            # A lone surrogate, which no UTF-8 URL can hold, becomes a question mark instead of an error.
            return template.replace("{entity}", quote(entity, safe="/:(),", errors="replace"))
        known = self.wikidata(entity)
        return None if known is None else f"https://www.wikidata.org/wiki/{known}"

    def _check_ids(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        checked = np.asarray(ids)
        if checked.size == 0:
            return checked.astype(np.int64)
        if checked.dtype.kind not in "iu":
            raise TypeError(f"entity ids: expected integers, got {checked.dtype}")
        if checked.min() < -1 or checked.max() >= self.num_entities:
            bad = checked.min() if checked.min() < -1 else checked.max()
            raise IndexError(f"entity id {bad} is outside 0..{self.num_entities - 1} (-1 = padding)")
        return checked.astype(np.int64)


def _reopen(cls: type[KnowledgeBase], folder: str, fallback: Fallback) -> KnowledgeBase:
    return cls.from_pretrained(folder, fallback=fallback)


def _rebuild(cls: type[KnowledgeBase], tables: Tables, fallback: Fallback) -> KnowledgeBase:
    return cls(tables, fallback=fallback)
