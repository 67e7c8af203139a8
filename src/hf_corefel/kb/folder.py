"""Opens the folder of a knowledge base: its configuration, and tables that are mapped once they are checked.

``kb_config.json`` names every file, with its size and its checksum. A change puts new files beside the old ones and
then replaces the configuration in one step, so that whoever reads it finds one whole version or the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from ..candidates.hub import CONFIG_FILE, DEFAULT_BACKEND
from .alias_table import AliasTable
from .errors import KnowledgeBaseError
from .fallback import Fallback, FallbackIndex, check_fallback
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
    checksum_of,
    map_tensors,
    map_trie,
    parse_json,
    require_file,
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
    check_metadata,
    fact_file,
)
from .text_table import TextTable
from .vector_table import VectorTable

__all__ = [
    "CONFIG_FILE",
    "FORMAT_VERSION",
    "OpenedFolder",
    "SavedFile",
    "config_checksum",
    "identity_of",
    "open_folder",
    "read_config",
    "saved_files",
]

FORMAT_VERSION = 4
# Version 1 has neither fallbacks, Wikidata ids, URLs of entities nor a fingerprint; version 2 has no checksums, and
# each file always has the same name; version 3 has no types, links and redirects.
_READABLE = (1, 2, 3, 4)
_WITH_CHECKSUMS = 3

# A writer may put a new version in place while a reader opens the files of the one before.
_ATTEMPTS = 20

_NUMBERS = {
    "offsets": ("u4", "u8"),
    "ids": ("u4",),
    "int32": ("i4",),
    "float": ("f4",),
    "bytes": ("u1",),
    "vectors": ("i1", "f2", "f4"),
}
_TEXT_ARRAYS = {"offsets": ("offsets", 1), "text": ("bytes", 1)}
# The arrays of each file, called as the fields of their table, with the numbers that they hold and how many axes.
_ARRAYS: dict[str, dict[str, tuple[str, int]]] = {
    ALIASES_FILE: {"offsets": ("offsets", 1), "entity_ids": ("ids", 1), "priors": ("float", 1)},
    VECTORS_FILE: {
        "rows": ("int32", 1),
        "codes": ("vectors", 2),
        "scales": ("float", 1),
        "mean": ("float", 1),
        "std": ("float", 1),
    },
    **{fact_file(name): _TEXT_ARRAYS for name in TEXTS},
    PROJECTION_FILE: {"mean": ("float", 1), "components": ("float", 2), "offset": ("float", 1)},
    fact_file("types"): {"codes": ("bytes", 1)},
    fact_file("links"): {"counts": ("int32", 1)},
    REDIRECTS_FILE: {"targets": ("ids", 1)},
    FALLBACK_FILE: {"offsets": ("offsets", 1), "rows": ("ids", 1)},
}
_TRIES = (ENTITY_TRIE_FILE, SURFACE_TRIE_FILE, FALLBACK_TRIE_FILE, REDIRECT_TRIE_FILE)


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
    """

    tables: Tables
    fallback: Fallback
    index: FallbackIndex | None
    fingerprint: str | None
    index_fingerprint: str | None
    identity: str


class SavedFile(NamedTuple):
    """What the configuration says about a file: its name in the folder, its size, and its XXH3 checksum."""

    name: str
    bytes: int
    checksum: str


def config_checksum(config: Mapping[str, Any]) -> str:
    """Return the checksum of all other fields of a configuration."""
    return _digest({name: value for name, value in config.items() if name != "checksum"})


def identity_of(config: Mapping[str, Any]) -> str:
    """Return what is the same for two configurations when they stand for the same content under any file names."""
    files = config.get("files")
    named = files.items() if isinstance(files, dict) else ()
    content = {key: {**file, "name": ""} for key, file in named if isinstance(file, dict)}
    return _digest({**config, "files": content, "checksum": ""})


def _digest(value: object) -> str:
    try:
        return xxhash.xxh3_128_hexdigest(json.dumps(value, sort_keys=True).encode())
    except RecursionError as error:
        raise KnowledgeBaseError(f"{CONFIG_FILE}: nested too deeply") from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a folder as it is now.

    Raises:
        KnowledgeBaseError: When there is none, or it is no JSON object.
    """
    path = folder / CONFIG_FILE
    return parse_json(_read(path), path)


def _read(path: Path) -> bytes:
    require_file(path)
    return path.read_bytes()


def open_folder(folder: Path, *, check: bool = True) -> OpenedFolder:
    """Map the tables of a folder into memory.

    Args:
        folder: The folder.
        check: Compare the checksums of all files. Otherwise only tries are, since a damaged one would crash the
            process, and the sizes of the others.

    Raises:
        KnowledgeBaseError: When a file is missing or damaged, or of an unknown format version.
        OSError: When a file cannot be read.
    """
    path = folder / CONFIG_FILE
    for _ in range(_ATTEMPTS):
        data = _read(path)
        try:
            opened = _open_version(folder, parse_json(data, path), check)
        except (KnowledgeBaseError, OSError):
            if _read(path) == data:
                raise
            continue
        if _read(path) == data:
            return opened
    raise KnowledgeBaseError(f"{folder}: other processes write it all the time; open it when they are done")


def _open_version(folder: Path, config: dict[str, Any], check: bool) -> OpenedFolder:
    path = folder / CONFIG_FILE
    version = _check_fields(config, path)
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
    indexed = fallback != "none" and version >= _WITH_CHECKSUMS and config.get("fallback_form") == SURFACE_FORM
    needed += [FALLBACK_TRIE_FILE, FALLBACK_FILE] if indexed else []

    if version >= _WITH_CHECKSUMS:
        files = saved_files(config, path)
        for missing in [file for file in needed if file not in files]:
            raise KnowledgeBaseError(f"{path}: field 'files': {missing!r} is missing")
        for file in needed:
            _check_file(folder, files[file], checksum=check or file in _TRIES)
        places = {file: folder / files[file].name for file in needed}
    else:
        places = {file: folder / file for file in needed}
    arrays = {file: _arrays(place, _ARRAYS[file]) for file, place in places.items() if file in _ARRAYS}
    tries = {file: place for file, place in places.items() if file in _TRIES}
    tables = _make_tables(config, places, arrays, _open_tries(folder, config, version, tries, arrays))
    for name in SIZES:
        if getattr(tables, name) != config[name]:
            raise KnowledgeBaseError(
                f"{folder}: {name} is {getattr(tables, name)} in the tables and {config[name]!r} in {CONFIG_FILE}; "
                "the files are not of one knowledge base"
            )
    index = None
    if indexed:
        keys, file = map_trie(places[FALLBACK_TRIE_FILE]), str(places[FALLBACK_FILE])
        index = FallbackIndex(fallback, keys, **arrays[FALLBACK_FILE], num_surfaces=tables.num_surfaces, file=file)
    tables.check_shapes(folder, index)
    # Last, for what is wrong with a field is said better above.
    if version >= _WITH_CHECKSUMS and check and config.get("checksum") != config_checksum(config):
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
    )


def _check_fields(config: dict[str, Any], path: Path) -> int:
    """The format version, once the fields that all versions have are there."""
    if config.get("backend", DEFAULT_BACKEND) != DEFAULT_BACKEND:
        raise KnowledgeBaseError(
            f"{path}: field 'backend': it is of the backend {config['backend']!r}, and no alias table; "
            "hf_corefel.candidates.open_knowledge_base opens all kinds"
        )
    version = config.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise KnowledgeBaseError(
            f"{path}: format_version {version} is newer than {FORMAT_VERSION}, the newest that this release reads; "
            "update hf-corefel (pip install --upgrade hf-corefel), or build the knowledge base again with this release"
        )
    if not isinstance(version, int) or isinstance(version, bool) or version not in _READABLE:
        raise KnowledgeBaseError(
            f"{path}: format_version {version!r} is unknown here, this release reads 1 to {FORMAT_VERSION}; build the "
            "knowledge base again or use the release that wrote it"
        )
    for name in ("url_template", "provenance", *SIZES, "has_descriptions"):
        if name not in config:
            raise KnowledgeBaseError(f"{path}: missing field {name!r}")
    _check_surface_form(config.get("surface_form", 0), path)
    if not isinstance(config["provenance"], dict):
        raise KnowledgeBaseError(f"{path}: field 'provenance': expected an object, got {config['provenance']!r}")
    try:
        check_metadata(config["url_template"], config["provenance"])
    except KnowledgeBaseError as error:
        raise KnowledgeBaseError(f"{path}: field {error}") from error
    return version


def _check_surface_form(form: object, path: Path) -> None:
    if isinstance(form, bool) or not isinstance(form, int) or form < 0:
        raise KnowledgeBaseError(f"{path}: field 'surface_form': expected a number from 0 on, got {form!r}")
    if form > SURFACE_FORM:
        raise KnowledgeBaseError(
            f"{path}: surface_form {form} is newer than {SURFACE_FORM}, the newest that this release reads; update "
            "hf-corefel (pip install --upgrade hf-corefel), or build the knowledge base again with this release"
        )


def saved_files(config: Mapping[str, Any], path: Path) -> dict[str, SavedFile]:
    """Return the files that a configuration names, by what they are called in a folder that was saved once.

    Args:
        config: The configuration; older than version 3 it gives sizes and checksums that stand for nothing.
        path: Where it comes from, for messages.

    Raises:
        KnowledgeBaseError: When it describes no files, or one outside the folder.
    """
    version = config.get("format_version")
    if isinstance(version, int) and version < _WITH_CHECKSUMS:
        return {file: SavedFile(file, -1, "") for file in _listed_files()}
    described = config.get("files")
    if not isinstance(described, dict):
        raise KnowledgeBaseError(f"{path}: field 'files': expected an object, got {described!r}")
    files = {}
    for key, value in described.items():
        try:
            file = SavedFile(**value)
        except TypeError as error:
            raise KnowledgeBaseError(
                f"{path}: field 'files': {key!r}: expected name, bytes and checksum, got {value!r}"
            ) from error
        if not isinstance(file.name, str) or Path(file.name).name != file.name or "\0" in file.name:
            raise KnowledgeBaseError(
                f"{path}: field 'files': {key!r}: {file.name!r} is no name of a file in the folder"
            )
        files[key] = file
    return files


def _listed_files() -> Iterator[str]:
    yield from _TRIES
    yield from _ARRAYS


def _check_file(folder: Path, file: SavedFile, *, checksum: bool) -> None:
    path = folder / file.name
    require_file(path)
    if path.stat().st_size != file.bytes:
        raise KnowledgeBaseError(
            f"{path}: the file has {path.stat().st_size} bytes, and had {file.bytes!r} when it was saved; it is "
            "damaged or cut: fetch or build the knowledge base again"
        )
    if checksum and checksum_of(path) != file.checksum:
        raise KnowledgeBaseError(
            f"{path}: the file does not have the checksum that it was saved with; it is damaged or was changed: fetch "
            "or build the knowledge base again"
        )


def _open_tries(
    folder: Path, config: dict[str, Any], version: int, places: dict[str, Path], arrays: dict[str, Arrays]
) -> list[Any]:
    """The tries of entities and of surfaces, mapped only once it is known that they are whole."""
    counts = {ENTITY_TRIE_FILE: config["num_entities"], SURFACE_TRIE_FILE: config["num_surfaces"]}
    if version < _WITH_CHECKSUMS:
        if not isinstance(config.get("fingerprint"), str):
            return [rebuilt_trie(places[file], count) for file, count in counts.items()]
        check_fingerprint(
            folder,
            config["fingerprint"],
            config["url_template"],
            [places[file] for file in counts],
            [(file, arrays.get(file)) for file in _ARRAYS],
        )
    return [map_trie(places[file]) for file in counts]


def _make_tables(
    config: dict[str, Any], places: dict[str, Path], arrays: dict[str, Arrays], tries: list[Any]
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
    )


def _arrays(path: Path, expected: dict[str, tuple[str, int]]) -> Arrays:
    tensors = map_tensors(path)
    for name, (numbers, axes) in expected.items():
        if name not in tensors:
            raise KnowledgeBaseError(f"{path}: missing array {name!r}")
        array = tensors[name]
        if array.dtype.str[1:] not in _NUMBERS[numbers] or array.ndim != axes:
            raise KnowledgeBaseError(
                f"{path}: array {name!r}: expected {axes} axes of {' or '.join(_NUMBERS[numbers])}, got {array.ndim} "
                f"of {array.dtype.str[1:]}; the file is damaged"
            )
    return {name: tensors[name] for name in expected}
