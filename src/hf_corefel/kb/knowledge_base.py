"""`KnowledgeBase`: which entities a surface form may stand for, and what is known about them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..documents import Candidate
from .alias_table import AliasTable, build_alias_table
from .description_table import DescriptionTable
from .errors import KnowledgeBaseError
from .readers import read_alias_jsonl
from .storage import (
    ENTITY_TRIE_FILE,
    SURFACE_TRIE_FILE,
    find_key,
    map_tensors,
    map_trie,
    read_json,
    write_file,
    write_json,
    write_tensors,
)
from .vector_table import NamedVectors, VectorFormat, VectorTable, draw_vector, named_vectors

__all__ = ["DEFAULT_URL_TEMPLATE", "FORMAT_VERSION", "KnowledgeBase"]

DEFAULT_URL_TEMPLATE = "https://en.wikipedia.org/wiki/{entity}"
FORMAT_VERSION = 1

_CONFIG_FILE = "kb_config.json"
_TABLES_FILE = "tables.safetensors"
_VECTORS_FILE = "vectors.safetensors"
_DESCRIPTIONS_FILE = "descriptions.safetensors"
_WIKIDATA = re.compile(r"wikidata:([QPL][0-9]+)")


class KnowledgeBase:
    """Alias table, entity vectors and descriptions.

    Read-only once it is built, so threads may share it. One that was loaded with `from_pretrained` is
    mapped into memory: opening does not depend on its size, processes on one machine share its pages,
    and pickling it (for spawned workers) passes the folder's path only. One that was just built behaves
    the same, vectors included (they are quantised when built), but is pickled with its arrays.

    An entity id is a number from 0 to `num_entities` - 1 and means nothing in another knowledge base.
    """

    def __init__(
        self,
        entities: Any,
        aliases: AliasTable,
        vectors: VectorTable,
        descriptions: DescriptionTable | None,
        url_template: str | None,
        provenance: Mapping[str, Any],
        folder: Path | None = None,
    ) -> None:
        """Takes finished tables; use `build`, `from_jsonl` or `from_pretrained`."""
        self._entities = entities
        self._aliases = aliases
        self._vectors = vectors
        self._descriptions = descriptions
        self._url_template = url_template
        self._provenance = dict(provenance)
        self._folder = folder

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
    ) -> KnowledgeBase:
        """Builds a knowledge base in memory.

        A surface that comes twice (also after stripping), or an entity that comes twice under a surface,
        is merged: the highest prior stands. Entities that only have a vector or a description are kept.

        Args:
            aliases: Pairs of a surface and its (entity, prior) pairs, prior = p(entity | surface).
            vectors: Entity vectors, by name or as names and an array [V, D]. An entity without one gets
                a fixed draw from N(mean, std) of those given.
            descriptions: Texts by entity name; an empty one is none.
            vector_format: How vectors are stored: "int8" with one scale a vector, "float16" or "float32".
            max_candidates: Keep only the candidates with the highest priors; None keeps all.
            url_template: Where readers find an entity, with ``{entity}`` for its quoted name; None = nowhere.
            provenance: Anything JSON takes that says where the data come from.

        Raises:
            KnowledgeBaseError: When a surface or entity name is empty or holds a NUL, a prior is not
                between 0 and 1, or a vector has another width or is not finite; the message says where.
        """
        if max_candidates is not None and max_candidates < 1:
            raise KnowledgeBaseError(f"max_candidates: expected at least 1 or None, got {max_candidates}")
        _check_metadata(url_template, provenance or {})
        names, matrix = named_vectors(vectors)
        texts = descriptions or {}
        entities, table = build_alias_table(aliases, [*names, *texts], max_candidates=max_candidates)
        ids = np.fromiter((entities[name] for name in names), dtype=np.int64, count=len(names))
        return cls(
            entities,
            table,
            VectorTable.build(len(entities), ids, matrix, vector_format),
            DescriptionTable.build(entities, texts) if texts else None,
            url_template,
            provenance or {},
        )

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
    def from_pretrained(cls, folder: str | Path) -> KnowledgeBase:
        """Opens what `save_pretrained` wrote, memory-mapped.

        Raises:
            KnowledgeBaseError: When a file is missing or damaged, or another format version was written.
        """
        folder = Path(folder).absolute()
        path = folder / _CONFIG_FILE
        config = read_json(path)
        if config.get("format_version") != FORMAT_VERSION:
            raise KnowledgeBaseError(
                f"{path}: format_version {config.get('format_version')!r} is unknown here, this release reads "
                f"{FORMAT_VERSION}; build the knowledge base again or use the release that wrote it"
            )
        expected = ("url_template", "provenance", "num_entities", "num_surfaces", "num_candidates", "vector_size")
        for name in (*expected, "has_descriptions"):
            if name not in config:
                raise KnowledgeBaseError(f"{path}: missing field {name!r}")
        if not isinstance(config["provenance"], dict):
            raise KnowledgeBaseError(f"{path}: field 'provenance': expected an object, got {config['provenance']!r}")
        _check_metadata(config["url_template"], config["provenance"])
        descriptions = None
        if config["has_descriptions"]:
            descriptions = DescriptionTable(*_arrays(folder / _DESCRIPTIONS_FILE, "offsets", "text"))
        kb = cls(
            map_trie(folder / ENTITY_TRIE_FILE),
            AliasTable(
                map_trie(folder / SURFACE_TRIE_FILE),
                *_arrays(folder / _TABLES_FILE, "offsets", "entity_ids", "priors"),
            ),
            VectorTable(*_arrays(folder / _VECTORS_FILE, "rows", "codes", "scales", "mean", "std")),
            descriptions,
            config["url_template"],
            config["provenance"],
            folder,
        )
        for name in expected[2:]:
            if getattr(kb, name) != config[name]:
                raise KnowledgeBaseError(
                    f"{folder}: {name} is {getattr(kb, name)} in the tables and {config[name]!r} in {_CONFIG_FILE}; "
                    "the files are not of one knowledge base"
                )
        kb._check_shapes(folder)
        return kb

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes the folder that `from_pretrained` opens. Processes that have an older one open keep theirs."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / ENTITY_TRIE_FILE, self._entities.save)
        write_file(folder / SURFACE_TRIE_FILE, self._aliases.surfaces.save)
        write_tensors(folder / _TABLES_FILE, dict(self._aliases.items()))
        write_tensors(folder / _VECTORS_FILE, dict(self._vectors.items()))
        if self._descriptions is not None:
            write_tensors(folder / _DESCRIPTIONS_FILE, dict(self._descriptions.items()))
        else:
            (folder / _DESCRIPTIONS_FILE).unlink(missing_ok=True)
        config = {
            "format_version": FORMAT_VERSION,
            "url_template": self._url_template,
            "num_entities": self.num_entities,
            "num_surfaces": self.num_surfaces,
            "num_candidates": self.num_candidates,
            "vector_size": self.vector_size,
            "vector_format": self._vectors.format,
            "has_descriptions": self._descriptions is not None,
            "provenance": self._provenance,
        }
        write_json(folder / _CONFIG_FILE, config)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._folder is not None:
            return type(self).from_pretrained, (str(self._folder),)
        parts = (self._entities, self._aliases, self._vectors, self._descriptions, self._url_template)
        return type(self), (*parts, self._provenance)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_surfaces={self.num_surfaces}, num_entities={self.num_entities}, "
            f"num_candidates={self.num_candidates}, vector_size={self.vector_size})"
        )

    @property
    def num_entities(self) -> int:
        """E, the number of entities."""
        return len(self._entities)

    @property
    def num_surfaces(self) -> int:
        """The number of surfaces that have candidates."""
        return len(self._aliases.surfaces)

    @property
    def num_candidates(self) -> int:
        """The number of (surface, entity) pairs."""
        return len(self._aliases.entity_ids)

    @property
    def vector_size(self) -> int:
        """D, the width of the entity vectors; 0 when there are none."""
        return self._vectors.size

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the data come from."""
        return dict(self._provenance)

    def lookup(self, surfaces: Sequence[str], limit: int = 16) -> tuple[np.ndarray, np.ndarray]:
        """Candidates of M surfaces: exact match once white space around a surface is stripped.

        Args:
            surfaces: The M surfaces.
            limit: K, how many candidates a surface may have.

        Returns:
            Entity ids int32 [M, K], by descending prior, then by name; -1 = padding.
            Priors float32 [M, K], 0 where padded.
        """
        if limit < 1:
            raise ValueError(f"limit: expected at least 1, got {limit}")
        return self._aliases.lookup(surfaces, limit)

    def candidates(self, surface: str, limit: int = 16) -> list[Candidate]:
        """Candidates of one surface, as `lookup` finds them."""
        entity_ids, priors = self.lookup([surface], limit)
        return [
            Candidate(self.entity_name(int(entity_id)), float(prior))
            for entity_id, prior in zip(entity_ids[0], priors[0], strict=True)
            if entity_id >= 0
        ]

    def entity_name(self, entity_id: int) -> str:
        """The name of an entity.

        Raises:
            IndexError: When no entity has that id.
        """
        if not 0 <= entity_id < self.num_entities:
            raise IndexError(f"entity id {entity_id} is outside 0..{self.num_entities - 1}")
        return str(self._entities.restore_key(entity_id))

    def entity_id(self, name: str) -> int | None:
        """The id of an entity, None when it is unknown."""
        entity_id = find_key(self._entities, name)
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
        return self._vectors.take(checked.ravel(), self.entity_name).reshape(*checked.shape, self.vector_size)

    def vector_for(self, name: str) -> np.ndarray:
        """The vector float32 [D] of an entity by name, also of one that is unknown here: its fixed draw."""
        entity_id = self.entity_id(name)
        if entity_id is None:
            return draw_vector(name, self._vectors.mean, self._vectors.std)
        return np.asarray(self.vectors([entity_id])[0])

    def has_vector(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Whether entities were given vectors of their own: bool, the shape of `ids`; False for -1."""
        checked = self._check_ids(ids)
        if self.num_entities == 0:
            return np.zeros(checked.shape, dtype=bool)
        return np.asarray((checked >= 0) & (self._vectors.rows[np.maximum(checked, 0)] >= 0))

    def description(self, entity: str) -> str | None:
        """The description of an entity; None when it has none or is unknown."""
        entity_id = self.entity_id(entity)
        if entity_id is None or self._descriptions is None:
            return None
        return self._descriptions.get(entity_id)

    def url(self, entity: str) -> str | None:
        """Where readers find an entity; also for one that is unknown here. None without a template.

        ``wikidata:Q42`` goes to Wikidata.
        """
        wikidata = _WIKIDATA.fullmatch(entity)
        if wikidata:
            return f"https://www.wikidata.org/wiki/{wikidata[1]}"
        if self._url_template is None:
            return None
        # A lone surrogate, which no UTF-8 URL can hold, becomes a question mark instead of an error.
        return self._url_template.replace("{entity}", quote(entity, safe="/:(),", errors="replace"))

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

    def _check_shapes(self, folder: Path) -> None:
        """Raises when arrays do not fit each other; the sizes only, so it costs nothing."""
        aliases, vectors, descriptions = self._aliases, self._vectors, self._descriptions
        size, rows = vectors.size, len(vectors.codes)
        fits = {
            "offsets": aliases.offsets.shape == (self.num_surfaces + 1,),
            "priors": aliases.priors.shape == aliases.entity_ids.shape,
            "rows": vectors.rows.shape == (self.num_entities,),
            "scales": vectors.scales.shape == (rows if vectors.format == "int8" else 0,),
            "mean and std": vectors.mean.shape == vectors.std.shape == (size,),
            "description offsets": descriptions is None or descriptions.offsets.shape == (self.num_entities + 1,),
        }
        for name, good in fits.items():
            if not good:
                raise KnowledgeBaseError(f"{folder}: array of {name} has the wrong size; the folder is damaged")


def _check_metadata(url_template: object, provenance: Mapping[str, Any]) -> None:
    if url_template is not None and not (isinstance(url_template, str) and "{entity}" in url_template):
        raise KnowledgeBaseError(f"url_template: expected a string with {{entity}} or None, got {url_template!r}")
    try:
        json.dumps(dict(provenance))
    except TypeError as error:
        raise KnowledgeBaseError(f"provenance: expected what JSON takes: {error}") from error


def _arrays(path: Path, *names: str) -> list[np.ndarray]:
    tensors = map_tensors(path)
    missing = [name for name in names if name not in tensors]
    if missing:
        raise KnowledgeBaseError(f"{path}: missing array {missing[0]!r}")
    return [tensors[name] for name in names]
