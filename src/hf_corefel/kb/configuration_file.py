"""``kb_config.json``, which names every file of a knowledge base, with its size and its checksum.

A change puts new files beside the old ones and then replaces the configuration in one step, so that whoever reads it
finds one whole version or the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from ..candidates.hub import CONFIG_FILE, DEFAULT_BACKEND
from .errors import KnowledgeBaseError
from .file_layout import ARRAYS, TRIES
from .normal_form import SURFACE_FORM
from .storage import checksum_of, parse_json, require_file
from .tables import SIZES, check_metadata

__all__ = [
    "CONFIG_FILE",
    "FORMAT_VERSION",
    "WITH_CHECKSUMS",
    "SavedFile",
    "check_fields",
    "check_file",
    "config_checksum",
    "identity_of",
    "read_config",
    "read_file",
    "saved_files",
]

FORMAT_VERSION = 4
# Version 1 has neither fallbacks, Wikidata ids, URLs of entities nor a fingerprint; version 2 has no checksums, and
# each file always has the same name; version 3 has no types, links and redirects.
_READABLE = (1, 2, 3, 4)
WITH_CHECKSUMS = 3


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
    return parse_json(read_file(path), path)


def read_file(path: Path) -> bytes:
    """Return what a file holds; raise KnowledgeBaseError when there is none."""
    require_file(path)
    return path.read_bytes()


def check_fields(config: dict[str, Any], path: Path) -> int:
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
    if config.get("vectors", "stored") not in ("stored", "lazy"):
        raise KnowledgeBaseError(f"{path}: field 'vectors': expected 'stored' or 'lazy', got {config['vectors']!r}")
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
    if isinstance(version, int) and version < WITH_CHECKSUMS:
        return {file: SavedFile(file, -1, "") for file in (*TRIES, *ARRAYS)}
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


def check_file(folder: Path, file: SavedFile, *, checksum: bool) -> None:
    """Raise KnowledgeBaseError unless a file has the size, and on demand the checksum, that it was saved with."""
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
