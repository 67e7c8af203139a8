"""All tables of a knowledge base, and whether they fit each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .alias_table import AliasTable
from .errors import KnowledgeBaseError
from .fallback import FallbackIndex
from .number_tables import LinkTable, TypeTable
from .projection import Projection
from .redirect_table import RedirectTable
from .storage import ENTITY_TRIE_FILE, REDIRECT_TRIE_FILE, SURFACE_TRIE_FILE
from .text_table import TextTable
from .vector_table import VectorTable

__all__ = [
    "ALIASES_FILE",
    "FACTS",
    "FALLBACK_FILE",
    "PROJECTION_FILE",
    "REDIRECTS_FILE",
    "SIZES",
    "TEXTS",
    "VECTORS_FILE",
    "Arrays",
    "Tables",
    "check_metadata",
    "fact_file",
    "fingerprint_of",
    "index_fingerprint",
]

ALIASES_FILE = "tables.safetensors"
VECTORS_FILE = "vectors.safetensors"
PROJECTION_FILE = "projection.safetensors"
FALLBACK_FILE = "fallback.safetensors"
REDIRECTS_FILE = "redirects.safetensors"
# The texts that an entity may have, by the name of their field, and how messages call one; each has its own file.
TEXTS = {"descriptions": "description", "wikidata": "Wikidata id", "urls": "URL"}
# All that an entity may have one of, in the same way: texts, and what is told in a number.
FACTS = {**TEXTS, "types": "type", "links": "number of links"}
SIZES = ("num_entities", "num_surfaces", "num_candidates", "vector_size")

Arrays = dict[str, np.ndarray]


def fact_file(name: str) -> str:
    """Return the name of the file of a field of `FACTS`."""
    return f"{name}.safetensors"


def fingerprint_of(url_template: str | None, tries: Iterable[Any], files: Iterable[tuple[str, Arrays | None]]) -> str:
    """Return the SHA-256 of what tables hold, in hexadecimal.

    Args:
        url_template: Where readers find entities.
        tries: The bytes of the tries of entities, of surfaces and, where there are any, of redirects.
        files: The arrays as `Tables.files` gives them.
    """
    digest = hashlib.sha256(json.dumps(url_template).encode())
    for trie in tries:
        digest.update(trie)
    for file, arrays in files:
        _add_arrays(digest, file, arrays or {})
    return digest.hexdigest()


def index_fingerprint(index: FallbackIndex | None) -> str | None:
    """Return the SHA-256 of what the index of a fallback holds, in hexadecimal; None without one."""
    if index is None:
        return None
    digest = hashlib.sha256(index.keys.tobytes())
    _add_arrays(digest, FALLBACK_FILE, dict(index.items()))
    return digest.hexdigest()


def _add_arrays(digest: Any, file: str, arrays: Mapping[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        digest.update(f"{file}/{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


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
        types: Their coarse types.
        links: How many links lead to them.
        redirects: Other titles that lead to them.
        lazy_vectors: Whether entities that have no vector get one when it is needed first.
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
    types: TypeTable | None = None
    links: LinkTable | None = None
    redirects: RedirectTable | None = None
    lazy_vectors: bool = False

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

    def files(self) -> Iterator[tuple[str, Arrays | None]]:
        """Give the names of the files of arrays, with the arrays; None for a file that there is not."""
        yield ALIASES_FILE, dict(self.aliases.items())
        yield VECTORS_FILE, dict(self.vectors.items())
        for name in TEXTS:
            table = getattr(self, name)
            yield fact_file(name), dict(table.items()) if table is not None else None
        yield PROJECTION_FILE, dict(self.projection.items()) if self.projection is not None else None
        # After what older releases know: the fingerprint of a folder of theirs stays what it is.
        for name in ("types", "links"):
            table = getattr(self, name)
            yield fact_file(name), dict(table.items()) if table is not None else None
        yield REDIRECTS_FILE, dict(self.redirects.items()) if self.redirects is not None else None

    def tries(self) -> Iterator[tuple[str, Any]]:
        """Give the names of the files of tries, with the tries."""
        yield ENTITY_TRIE_FILE, self.entities
        yield SURFACE_TRIE_FILE, self.aliases.surfaces
        if self.redirects is not None:
            yield REDIRECT_TRIE_FILE, self.redirects.titles

    def fingerprint(self) -> str:
        """Return the SHA-256 of what the tables hold, in hexadecimal. Reads all of them."""
        return fingerprint_of(self.url_template, (trie.tobytes() for _, trie in self.tries()), self.files())

    def check(self) -> None:
        """Read every value.

        Raises:
            KnowledgeBaseError: When one cannot be right: a file is damaged.
        """
        self.aliases.check()
        self.vectors.check()
        tables = [getattr(self, name) for name in FACTS]
        for table in (*tables, self.redirects, self.projection):
            if table is not None:
                table.check()

    def check_shapes(self, folder: object, index: FallbackIndex | None) -> None:
        """Compare the sizes of the arrays, without reading them.

        Raises:
            KnowledgeBaseError: When they, or those of the index of the fallback, do not fit each other.
        """
        aliases, vectors = self.aliases, self.vectors
        size, rows = vectors.size, len(vectors.codes)
        fits = {
            "offsets": aliases.offsets.shape == (self.num_surfaces + 1,),
            "priors": aliases.priors.shape == aliases.entity_ids.shape,
            "rows": vectors.rows.shape == (self.num_entities,),
            "scales": vectors.scales.shape == (rows if vectors.format == "int8" else 0,),
            "mean and std": vectors.mean.shape == vectors.std.shape == (size,),
            "projection": self.projection is None or self.projection.vector_size == size,
            "fallback offsets": index is None or index.offsets.shape == (len(index.keys) + 1,),
            "fallback rows": index is None or len(index.rows) <= self.num_surfaces,
        }
        for name, what in TEXTS.items():
            table = getattr(self, name)
            fits[f"{what} offsets"] = table is None or table.offsets.shape == (self.num_entities + 1,)
        entities, redirects = (self.num_entities,), self.redirects
        fits["type codes"] = self.types is None or self.types.codes.shape == entities
        fits["link counts"] = self.links is None or self.links.counts.shape == entities
        fits["redirect targets"] = redirects is None or redirects.targets.shape == (len(redirects.titles),)
        for name, good in fits.items():
            if not good:
                raise KnowledgeBaseError(f"{folder}: array of {name} has the wrong size; the folder is damaged")


def check_metadata(url_template: object, provenance: Mapping[str, Any]) -> None:
    """Raise KnowledgeBaseError when a template has no place for the entity or provenance is no JSON in UTF-8."""
    if url_template is not None and not (isinstance(url_template, str) and "{entity}" in url_template):
        raise KnowledgeBaseError(f"url_template: expected a string with {{entity}} or None, got {url_template!r}")
    for name, value in (("url_template", url_template), ("provenance", dict(provenance))):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise KnowledgeBaseError(f"{name}: a text in it is no valid Unicode: {error.reason}") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise KnowledgeBaseError(f"{name}: expected what JSON takes: {error}") from error
