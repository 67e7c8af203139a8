"""All tables of a knowledge base: their folder, its version stamp, and whether they fit each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .alias_table import AliasTable
from .errors import KnowledgeBaseError
from .fallback import Fallback, FallbackIndex, check_fallback
from .projection import Projection
from .storage import (
    ENTITY_TRIE_FILE,
    SURFACE_TRIE_FILE,
    map_tensors,
    map_trie,
    read_json,
    write_file,
    write_json,
    write_tensors,
)
from .text_table import TextTable
from .vector_table import VectorTable

__all__ = [
    "FORMAT_VERSION",
    "TEXTS",
    "OpenedFolder",
    "Tables",
    "check_metadata",
    "open_folder",
    "read_fingerprint",
    "save_folder",
]

FORMAT_VERSION = 2
# Version 1 has neither fallbacks, Wikidata ids, URLs of entities nor a fingerprint, and is the same otherwise.
_READABLE = (1, 2)

CONFIG_FILE = "kb_config.json"
_TABLES_FILE = "tables.safetensors"
_VECTORS_FILE = "vectors.safetensors"
_PROJECTION_FILE = "projection.safetensors"
_FALLBACK_TRIE_FILE = "fallback.marisa"
_FALLBACK_FILE = "fallback.safetensors"
# The texts that an entity may have, by the name of their field, and how messages call one; each has its own file.
TEXTS = {"descriptions": "description", "wikidata": "Wikidata id", "urls": "URL"}
_SIZES = ("num_entities", "num_surfaces", "num_candidates", "vector_size")


@dataclass(frozen=True, slots=True)
class Tables:
    """What a knowledge base holds; nothing here ever changes.

    Attributes:
        entities: A `marisa_trie.Trie` that numbers the E entities.
        aliases: Surfaces and their candidates.
        vectors: Entity vectors.
        descriptions: What entities are.
        wikidata: Their Wikidata ids.
        urls: Where readers find those that the template does not lead to.
        url_template: Where readers find the others, with ``{entity}`` for the quoted name; None = nowhere.
        provenance: Where the data come from.
        projection: From an encoder's vectors to those of the entities.
    """

    entities: Any
    aliases: AliasTable
    vectors: VectorTable
    descriptions: TextTable | None
    wikidata: TextTable | None
    urls: TextTable | None
    url_template: str | None
    provenance: dict[str, Any]
    projection: Projection | None = None

    @property
    def num_entities(self) -> int:
        return len(self.entities)

    @property
    def num_surfaces(self) -> int:
        return len(self.aliases.surfaces)

    @property
    def num_candidates(self) -> int:
        return len(self.aliases.entity_ids)

    @property
    def vector_size(self) -> int:
        return self.vectors.size

    def files(self) -> Iterator[tuple[str, dict[str, np.ndarray] | None]]:
        """Names of the files of arrays, with the arrays; None for a file that there is not."""
        yield _TABLES_FILE, dict(self.aliases.items())
        yield _VECTORS_FILE, dict(self.vectors.items())
        for name in TEXTS:
            table = getattr(self, name)
            yield _text_file(name), dict(table.items()) if table is not None else None
        yield _PROJECTION_FILE, dict(self.projection.items()) if self.projection is not None else None

    def fingerprint(self) -> str:
        """SHA-256 of what the tables hold, in hexadecimal. Reads all of them."""
        digest = hashlib.sha256(json.dumps(self.url_template).encode())
        digest.update(self.entities.tobytes())
        digest.update(self.aliases.surfaces.tobytes())
        for file, arrays in self.files():
            for name, array in (arrays or {}).items():
                digest.update(f"{file}/{name} {array.dtype.str} {array.shape}\n".encode())
                digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class OpenedFolder:
    """A saved knowledge base.

    Attributes:
        tables: Its tables, memory-mapped.
        fallback: Its fallback.
        index: The index of the fallback; None for "none".
        fingerprint: What `Tables.fingerprint` gave when it was saved; None in a folder of version 1.
    """

    tables: Tables
    fallback: Fallback
    index: FallbackIndex | None
    fingerprint: str | None


def _text_file(name: str) -> str:
    return f"{name}.safetensors"


def save_folder(folder: Path, tables: Tables, fallback: Fallback, index: FallbackIndex | None) -> None:
    """Writes the folder that `open_folder` opens; every file is put in place in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / ENTITY_TRIE_FILE, tables.entities.save)
    write_file(folder / SURFACE_TRIE_FILE, tables.aliases.surfaces.save)
    files = [*tables.files(), (_FALLBACK_FILE, dict(index.items()) if index is not None else None)]
    for file, arrays in files:
        if arrays is not None:
            write_tensors(folder / file, arrays)
        else:
            (folder / file).unlink(missing_ok=True)
    if index is not None:
        write_file(folder / _FALLBACK_TRIE_FILE, index.keys.save)
    else:
        (folder / _FALLBACK_TRIE_FILE).unlink(missing_ok=True)
    config = {
        "format_version": FORMAT_VERSION,
        "fingerprint": tables.fingerprint(),
        "url_template": tables.url_template,
        **{name: getattr(tables, name) for name in _SIZES},
        "vector_format": tables.vectors.format,
        **{f"has_{name}": getattr(tables, name) is not None for name in TEXTS},
        "projection": dict(tables.projection.info) if tables.projection is not None else None,
        "fallback": fallback,
        "provenance": tables.provenance,
    }
    write_json(folder / CONFIG_FILE, config)


def open_folder(folder: Path) -> OpenedFolder:
    """Maps the tables of a folder into memory.

    Raises:
        KnowledgeBaseError: When a file is missing or damaged, or of an unknown format version.
    """
    path = folder / CONFIG_FILE
    config = read_json(path)
    version = config.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise KnowledgeBaseError(
            f"{path}: format_version {version} is newer than {FORMAT_VERSION}, the newest that this release reads; "
            "update hf-corefel (pip install --upgrade hf-corefel), or build the knowledge base again with this release"
        )
    if version not in _READABLE or isinstance(version, bool):
        raise KnowledgeBaseError(
            f"{path}: format_version {version!r} is unknown here, this release reads "
            f"{' and '.join(map(str, _READABLE))}; build the knowledge base again or use the release that wrote it"
        )
    for name in ("url_template", "provenance", *_SIZES, "has_descriptions"):
        if name not in config:
            raise KnowledgeBaseError(f"{path}: missing field {name!r}")
    if not isinstance(config["provenance"], dict):
        raise KnowledgeBaseError(f"{path}: field 'provenance': expected an object, got {config['provenance']!r}")
    check_metadata(config["url_template"], config["provenance"])
    texts = {
        name: TextTable(*_arrays(folder / _text_file(name), "offsets", "text")) if config.get(f"has_{name}") else None
        for name in TEXTS
    }
    info, projection = config.get("projection"), None
    if info is not None:
        if not isinstance(info, dict):
            raise KnowledgeBaseError(f"{path}: field 'projection': expected an object or null, got {info!r}")
        mean, components, offset = _arrays(folder / _PROJECTION_FILE, "mean", "components", "offset")
        projection = Projection(mean, components, offset, info)
    tables = Tables(
        entities=map_trie(folder / ENTITY_TRIE_FILE),
        aliases=AliasTable(
            map_trie(folder / SURFACE_TRIE_FILE), *_arrays(folder / _TABLES_FILE, "offsets", "entity_ids", "priors")
        ),
        vectors=VectorTable(*_arrays(folder / _VECTORS_FILE, "rows", "codes", "scales", "mean", "std")),
        **texts,
        url_template=config["url_template"],
        provenance=config["provenance"],
        projection=projection,
    )
    for name in _SIZES:
        if getattr(tables, name) != config[name]:
            raise KnowledgeBaseError(
                f"{folder}: {name} is {getattr(tables, name)} in the tables and {config[name]!r} in {CONFIG_FILE}; "
                "the files are not of one knowledge base"
            )
    fallback = check_fallback(config.get("fallback", "none"), f"{path}: field 'fallback'")
    index = None
    if fallback != "none":
        index = FallbackIndex(
            fallback, map_trie(folder / _FALLBACK_TRIE_FILE), *_arrays(folder / _FALLBACK_FILE, "offsets", "rows")
        )
    _check_shapes(folder, tables, index)
    return OpenedFolder(tables, fallback, index, config.get("fingerprint"))


def read_fingerprint(folder: Path) -> str | None:
    """The fingerprint of a folder as it is now; None when it has none or is no knowledge base any more."""
    try:
        fingerprint = read_json(folder / CONFIG_FILE).get("fingerprint")
    except KnowledgeBaseError:
        return None
    return fingerprint if isinstance(fingerprint, str) else None


def check_metadata(url_template: object, provenance: Mapping[str, Any]) -> None:
    """Raises KnowledgeBaseError when a template has no place for the entity or provenance is no JSON."""
    if url_template is not None and not (isinstance(url_template, str) and "{entity}" in url_template):
        raise KnowledgeBaseError(f"url_template: expected a string with {{entity}} or None, got {url_template!r}")
    try:
        json.dumps(dict(provenance))
    except TypeError as error:
        raise KnowledgeBaseError(f"provenance: expected what JSON takes: {error}") from error


def _check_shapes(folder: Path, tables: Tables, index: FallbackIndex | None) -> None:
    """Raises when arrays do not fit each other; the sizes only, so it costs nothing."""
    aliases, vectors = tables.aliases, tables.vectors
    size, rows = vectors.size, len(vectors.codes)
    fits = {
        "offsets": aliases.offsets.shape == (tables.num_surfaces + 1,),
        "priors": aliases.priors.shape == aliases.entity_ids.shape,
        "rows": vectors.rows.shape == (tables.num_entities,),
        "scales": vectors.scales.shape == (rows if vectors.format == "int8" else 0,),
        "mean and std": vectors.mean.shape == vectors.std.shape == (size,),
        "projection": tables.projection is None or tables.projection.vector_size == size,
        "fallback offsets": index is None or index.offsets.shape == (len(index.keys) + 1,),
        "fallback rows": index is None or len(index.rows) <= tables.num_surfaces,
    }
    for name, what in TEXTS.items():
        table = getattr(tables, name)
        fits[f"{what} offsets"] = table is None or table.offsets.shape == (tables.num_entities + 1,)
    for name, good in fits.items():
        if not good:
            raise KnowledgeBaseError(f"{folder}: array of {name} has the wrong size; the folder is damaged")


def _arrays(path: Path, *names: str) -> list[np.ndarray]:
    tensors = map_tensors(path)
    missing = [name for name in names if name not in tensors]
    if missing:
        raise KnowledgeBaseError(f"{path}: missing array {missing[0]!r}")
    return [tensors[name] for name in names]
