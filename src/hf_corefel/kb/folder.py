"""Opens the folder of a knowledge base: tables that are mapped once they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .alias_table import AliasTable
from .configuration_file import (
    CONFIG_FILE,
    WITH_CHECKSUMS,
    SavedFile,
    check_fields,
    check_file,
    config_checksum,
    identity_of,
    read_file,
    saved_files,
)
from .errors import KnowledgeBaseError
from .fallback import Fallback, FallbackIndex, check_fallback
from .file_layout import ARRAYS, NUMBERS, TRIES
from .normal_form import SURFACE_FORM
from .number_tables import LinkTable, TypeTable
from .older_formats import check_fingerprint, rebuilt_trie
from .projection import Projection
from .redirect_table import RedirectTable
from .storage import (
    ENTITY_TRIE_FILE,
    FALLBACK_TRIE_FILE,
    REDIRECT_TRIE_FILE,
    SURFACE_TRIE_FILE,
    map_tensors,
    map_trie,
    parse_json,
)
from .tables import (
    ALIASES_FILE,
    FACTS,
    FALLBACK_FILE,
    PROJECTION_FILE,
    REDIRECTS_FILE,
    SIZES,
    TEXTS,
    VECTORS_FILE,
    Arrays,
    Tables,
    fact_file,
)
from .text_table import TextTable
from .vector_table import VectorTable

__all__ = ["CHECKED_BYTES", "OpenedFolder", "map_vectors", "map_version", "open_folder"]

# The files of a folder of so many bytes in all are read and compared whenever it is opened.
CHECKED_BYTES = 1 << 28
# A writer may put a new version in place while a reader opens the files of the one before.
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class OpenedFolder:
    """A saved knowledge base.

    Attributes:
        tables: Its tables, memory-mapped.
        fallback: Its fallback.
        index: The index of the fallback; None for "none", and where it has to be made in memory.
        fingerprint: What `Tables.fingerprint` gave when it was saved; None in a folder of version 1.
        index_fingerprint: What `index_fingerprint` gave then; None without an index.
        identity: What `identity_of` gives for its configuration.
        content_fingerprint: What `hf_corefel.kb.content` gave when it was saved; None before version 4.
    """

    tables: Tables
    fallback: Fallback
    index: FallbackIndex | None
    fingerprint: str | None
    index_fingerprint: str | None
    identity: str
    content_fingerprint: str | None


def open_folder(folder: Path, *, check: bool | None = None) -> OpenedFolder:
    """Map the tables of a folder into memory.

    Args:
        folder: The folder.
        check: Compare the checksums of all files. Otherwise only tries are, since a damaged one would crash the
            process, and the sizes of the others. None does the former up to `CHECKED_BYTES`.

    Raises:
        KnowledgeBaseError: When a file is missing or damaged, or of an unknown format version.
        OSError: When a file cannot be read.
    """
    path = folder / CONFIG_FILE
    for _ in range(_ATTEMPTS):
        data = read_file(path)
        try:
            opened = _open_version(folder, parse_json(data, path), check)
        except (KnowledgeBaseError, OSError):
            if read_file(path) == data:
                raise
            continue
        if read_file(path) == data:
            return opened
    raise KnowledgeBaseError(f"{folder}: other processes write it all the time; open it when they are done")


def _open_version(folder: Path, config: dict[str, Any], check: bool | None) -> OpenedFolder:
    path = folder / CONFIG_FILE
    version = check_fields(config, path)
    fallback = check_fallback(config.get("fallback", "none"), f"{path}: field 'fallback'")
    info = config.get("projection")
    if info is not None and not isinstance(info, dict):
        raise KnowledgeBaseError(f"{path}: field 'projection': expected an object or null, got {info!r}")
    needed = [ENTITY_TRIE_FILE, SURFACE_TRIE_FILE, ALIASES_FILE, VECTORS_FILE]
    needed += [fact_file(name) for name in FACTS if config.get(f"has_{name}")]
    needed += [REDIRECT_TRIE_FILE, REDIRECTS_FILE] if config.get("has_redirects") else []
    needed += [PROJECTION_FILE] if info is not None else []
    # Nothing says whether the index of an older folder is whole, and one whose surfaces were folded in another way is
    # of no use; it is made again when it is needed.
    indexed = fallback != "none" and version >= WITH_CHECKSUMS and config.get("fallback_form") == SURFACE_FORM
    needed += [FALLBACK_TRIE_FILE, FALLBACK_FILE] if indexed else []

    if version >= WITH_CHECKSUMS:
        files = saved_files(config, path)
        for missing in [file for file in needed if file not in files]:
            raise KnowledgeBaseError(f"{path}: field 'files': {missing!r} is missing")
        every = _is_small(files) if check is None else check
        for file in needed:
            check_file(folder, files[file], checksum=every or file in TRIES)
        places = {file: folder / files[file].name for file in needed}
    else:
        places = {file: folder / file for file in needed}
    arrays = _map_arrays(places)
    tries = {file: place for file, place in places.items() if file in TRIES}
    tables = _make_tables(config, places, arrays, _open_tries(folder, config, version, tries, arrays))
    for name in SIZES:
        if getattr(tables, name) != config[name]:
            raise KnowledgeBaseError(
                f"{folder}: {name} is {getattr(tables, name)} in the tables and {config[name]!r} in {CONFIG_FILE}; "
                "the files are not of one knowledge base"
            )
    index = _map_index(places, arrays, fallback, tables) if indexed else None
    tables.check_shapes(folder, index)
    # Last, for what is wrong with a field is said better above.
    if version >= WITH_CHECKSUMS and check is not False and config.get("checksum") != config_checksum(config):
        raise KnowledgeBaseError(
            f"{path}: field 'checksum': the file is not as it was saved; it is damaged or was changed by hand: fetch "
            "or build the knowledge base again, or open it with check=False and save it"
        )
    return OpenedFolder(
        tables,
        fallback,
        index,
        config.get("fingerprint"),
        config.get("fallback_fingerprint") if index is not None else None,
        identity_of(config),
        config.get("content_fingerprint"),
    )


def _is_small(files: Mapping[str, SavedFile]) -> bool:
    sizes = [file.bytes for file in files.values() if isinstance(file.bytes, int)]
    return sum(sizes) <= CHECKED_BYTES


def map_version(
    places: Mapping[str, Path],
    *,
    fallback: Fallback,
    url_template: str | None,
    provenance: dict[str, Any],
    projection: dict[str, Any] | None,
    lazy_vectors: bool,
) -> tuple[Tables, FallbackIndex | None]:
    """Map the files of a version that was just written.

    Args:
        places: The files, by what they are called in a folder that was saved once.
        fallback: What surfaces without candidates fall back on.
        url_template: Where readers find entities.
        provenance: Where the data come from.
        projection: What the configuration says of the projection.
        lazy_vectors: Whether vectors are made when they are needed.

    Raises:
        KnowledgeBaseError: When arrays do not fit each other.
    """
    config = {
        "vectors": "lazy" if lazy_vectors else "stored",
        "surface_form": SURFACE_FORM,
        "url_template": url_template,
        "provenance": provenance,
        "projection": projection,
    }
    arrays = _map_arrays(places)
    tables = _make_tables(config, places, arrays, [map_trie(places[file]) for file in TRIES[:2]])
    index = None if fallback == "none" else _map_index(places, arrays, fallback, tables)
    tables.check_shapes(places[ENTITY_TRIE_FILE].parent, index)
    return tables, index


def map_vectors(path: Path) -> VectorTable:
    """Map a file of vectors.

    Raises:
        KnowledgeBaseError: When it is none.
    """
    return VectorTable(**_arrays(path, ARRAYS[VECTORS_FILE]), file=str(path))


def _map_arrays(places: Mapping[str, Path]) -> dict[str, Arrays]:
    return {file: _arrays(place, ARRAYS[file]) for file, place in places.items() if file in ARRAYS}


def _map_index(
    places: Mapping[str, Path], arrays: Mapping[str, Arrays], fallback: Fallback, tables: Tables
) -> FallbackIndex:
    keys, file = map_trie(places[FALLBACK_TRIE_FILE]), str(places[FALLBACK_FILE])
    return FallbackIndex(fallback, keys, **arrays[FALLBACK_FILE], num_surfaces=tables.num_surfaces, file=file)


def _open_tries(
    folder: Path, config: dict[str, Any], version: int, places: dict[str, Path], arrays: dict[str, Arrays]
) -> list[Any]:
    """The tries of entities and of surfaces, mapped only once it is known that they are whole."""
    counts = {ENTITY_TRIE_FILE: config["num_entities"], SURFACE_TRIE_FILE: config["num_surfaces"]}
    if version < WITH_CHECKSUMS:
        if not isinstance(config.get("fingerprint"), str):
            return [rebuilt_trie(places[file], count) for file, count in counts.items()]
        check_fingerprint(
            folder,
            config["fingerprint"],
            config["url_template"],
            [places[file] for file in counts],
            [(file, arrays.get(file)) for file in ARRAYS],
        )
    return [map_trie(places[file]) for file in counts]


def _make_tables(
    config: dict[str, Any], places: Mapping[str, Path], arrays: dict[str, Arrays], tries: list[Any]
) -> Tables:
    entities, surfaces = tries
    form = config.get("surface_form", 0)

    def fields(file: str) -> dict[str, Any]:
        return {**arrays[file], "file": str(places[file])}

    kinds: dict[str, Any] = {**dict.fromkeys(TEXTS, TextTable), "types": TypeTable, "links": LinkTable}
    facts = {
        name: kind(**fields(file)) if file in arrays else None
        for name, kind, file in ((name, kind, fact_file(name)) for name, kind in kinds.items())
    }
    projection = None
    if PROJECTION_FILE in arrays:
        projection = Projection(**fields(PROJECTION_FILE), info=config["projection"])
    redirects = None
    if REDIRECTS_FILE in arrays:
        titles = map_trie(places[REDIRECT_TRIE_FILE])
        redirects = RedirectTable(titles, **fields(REDIRECTS_FILE), num_entities=len(entities))
    return Tables(
        entities=entities,
        aliases=AliasTable(surfaces=surfaces, **fields(ALIASES_FILE), num_entities=len(entities), surface_form=form),
        vectors=VectorTable(**fields(VECTORS_FILE)),
        **facts,
        url_template=config["url_template"],
        provenance=config["provenance"],
        projection=projection,
        redirects=redirects,
        lazy_vectors=config.get("vectors") == "lazy",
    )


def _arrays(path: Path, expected: dict[str, tuple[str, int]]) -> Arrays:
    tensors = map_tensors(path)
    for name, (numbers, axes) in expected.items():
        if name not in tensors:
            raise KnowledgeBaseError(f"{path}: missing array {name!r}")
        array = tensors[name]
        if array.dtype.str[1:] not in NUMBERS[numbers] or array.ndim != axes:
            raise KnowledgeBaseError(
                f"{path}: array {name!r}: expected {axes} axes of {' or '.join(NUMBERS[numbers])}, got {array.ndim} "
                f"of {array.dtype.str[1:]}; the file is damaged"
            )
    return {name: tensors[name] for name in expected}
