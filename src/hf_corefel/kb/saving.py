"""Saves a knowledge base so that its folder always holds one whole version, whatever ends the writing.

1. The files of the new version are written into a hidden folder inside, read back, and moved beside the old ones under
   names that are free.
2. One `os.replace` puts a configuration in place that names them. Before it, the folder is the old version; after it,
   the new one.
3. Files that only the old version had are removed. Processes that have them mapped keep them.

The hidden folder also lists the names of both versions, so that the next writer removes what a killed one left.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..utils.files import locked
from .configuration_file import (
    CONFIG_FILE,
    FORMAT_VERSION,
    SavedFile,
    config_checksum,
    identity_of,
    read_config,
    saved_files,
)
from .content import content_fingerprint
from .errors import KnowledgeBaseError
from .fallback import Fallback, FallbackIndex
from .normal_form import SURFACE_FORM
from .storage import FALLBACK_TRIE_FILE, checksum_of, sync, write_json, write_tensors, write_trie
from .tables import FACTS, FALLBACK_FILE, SIZES, Tables, index_fingerprint

__all__ = ["UNFINISHED", "Described", "current_identity", "is_own_file", "put_version", "save_folder", "writers_lock"]

UNFINISHED = ".unfinished"
_NAMES_FILE = "names.json"
_ANY_FILE = re.compile(
    rf"(entities|surfaces|fallback|tables|vectors|projection|redirects|{'|'.join(FACTS)})(\.[0-9]+)?\.(marisa|safetensors)"
)
# Seconds that a writer waits for another one.
WAIT = 600.0


def is_own_file(name: str) -> bool:
    """Return whether a file in the folder of a knowledge base is part of it by its name, whichever version it is of."""
    return _ANY_FILE.fullmatch(name) is not None


@contextmanager
def writers_lock(folder: Path) -> Iterator[None]:
    """Keep other writers of a folder waiting while inside; the folder is made when it does not exist.

    Raises:
        OSError: When it cannot be made or written, or another writer takes longer than ten minutes.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a knowledge base is saved to a folder, and this is none", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / CONFIG_FILE, timeout=WAIT):
        yield


def current_identity(folder: Path) -> str | None:
    """Return what tells the content of a folder from others; None when it holds no knowledge base, or a damaged one."""
    try:
        return identity_of(read_config(folder))
    except (KnowledgeBaseError, OSError):
        return None


def save_folder(folder: Path, tables: Tables, fallback: Fallback, index: FallbackIndex | None) -> str:
    """Write the folder that `open_folder` opens; for the holder of its `writers_lock`.

    Returns:
        What `current_identity` gives from now on.

    Raises:
        KnowledgeBaseError: When a value cannot be right: the folder that the tables come from is damaged.
        OSError: When a file cannot be written. The folder is as before then.
    """
    tables.check()
    if index is not None:
        index.check()
    contents = _contents(tables, index)

    def write(places: Mapping[str, Path]) -> Described:
        for file, content in contents.items():
            (write_tensors if isinstance(content, dict) else write_trie)(places[file], content)
        return Described(tables, fallback, index)

    return put_version(folder, list(contents), write)


@dataclass(frozen=True, slots=True)
class Described:
    """What the configuration says of files that were written."""

    tables: Tables
    fallback: Fallback
    index: FallbackIndex | None


def put_version(
    folder: Path,
    files: Sequence[str],
    write: Callable[[Mapping[str, Path]], Described],
    kept: Mapping[str, SavedFile] | None = None,
) -> str:
    """Have a folder hold a new version in one step; for the holder of its `writers_lock`.

    Args:
        folder: The folder.
        files: What the files to write are called in a folder that was saved once.
        write: Writes each to its place in a hidden folder, where it may leave other files that nobody needs
            afterwards, and returns what they hold.
        kept: Files of the present version that are part of the new one as they are.

    Returns:
        What `current_identity` gives from now on.

    Raises:
        OSError: When a file cannot be written. The folder is as before then, as with any error of `write`.
    """
    _remove_unnamed(folder, _leftover_names(folder))
    old = {*_named_files(folder), *_leftover_names(folder)}
    unfinished = folder / UNFINISHED
    try:
        unfinished.mkdir(exist_ok=True)
        names = _free_names(folder, files)
        write_json(unfinished / _NAMES_FILE, {"names": sorted({*old, *names.values()})})
        sync(unfinished)
        described = write({file: unfinished / name for file, name in names.items()})
        saved = dict(kept or {})
        for file, name in names.items():
            written = unfinished / name
            sync(written)
            saved[file] = SavedFile(name, written.stat().st_size, checksum_of(written))
        config = _config(described, saved)
        for name in names.values():
            os.rename(unfinished / name, folder / name)
        write_json(unfinished / CONFIG_FILE, config)
        sync(unfinished / CONFIG_FILE)
        sync(folder)
        os.replace(unfinished / CONFIG_FILE, folder / CONFIG_FILE)
        sync(folder)
    finally:
        # Whether the step before was taken or not, the configuration that is there says which files are needed.
        _remove_unnamed(folder, {*old, *_leftover_names(folder)})
    return identity_of(config)


def _contents(tables: Tables, index: FallbackIndex | None) -> dict[str, Any]:
    """Tries and arrays by the names of their files."""
    contents: dict[str, Any] = dict(tables.tries())
    contents.update((file, arrays) for file, arrays in tables.files() if arrays is not None)
    if index is not None:
        contents.update({FALLBACK_TRIE_FILE: index.keys, FALLBACK_FILE: dict(index.items())})
    return contents


def _config(described: Described, files: Mapping[str, SavedFile]) -> dict[str, Any]:
    tables, index = described.tables, described.index
    config = {
        "format_version": FORMAT_VERSION,
        "surface_form": tables.aliases.surface_form,
        # That of the folded surfaces is always the present one.
        "fallback_form": SURFACE_FORM if index is not None else None,
        "fingerprint": tables.fingerprint(),
        "content_fingerprint": content_fingerprint(tables),
        "fallback_fingerprint": index_fingerprint(index),
        "url_template": tables.url_template,
        **{name: getattr(tables, name) for name in SIZES},
        "vector_format": tables.vectors.format,
        "vectors": "lazy" if tables.lazy_vectors else "stored",
        **{f"has_{name}": getattr(tables, name) is not None for name in (*FACTS, "redirects")},
        "projection": dict(tables.projection.info) if tables.projection is not None else None,
        "fallback": described.fallback,
        "provenance": tables.provenance,
        "files": {file: saved._asdict() for file, saved in files.items()},
    }
    # As a reader gets it, with strings for keys and lists for tuples.
    config = json.loads(json.dumps(config))
    return {**config, "checksum": config_checksum(config)}


def _free_names(folder: Path, files: Sequence[str]) -> dict[str, str]:
    """Names that no file in the folder has: ``tables.safetensors``, or else ``tables.1.safetensors``, and so on."""
    number = 0
    while True:
        names = {file: file if number == 0 else file.replace(".", f".{number}.") for file in files}
        if not any(os.path.lexists(folder / name) for name in names.values()):
            return names
        number += 1


def _named_files(folder: Path) -> set[str]:
    """The names of the files that a folder's configuration needs; when it cannot be read, all that may be meant."""
    path = folder / CONFIG_FILE
    if not path.exists():
        return set()
    try:
        return {file.name for file in saved_files(read_config(folder), path).values()}
    except KnowledgeBaseError:
        return set(filter(is_own_file, os.listdir(folder)))


def _leftover_names(folder: Path) -> set[str]:
    """The names of both versions of a writer that did not come to its end; none when there was none."""
    try:
        names = json.loads((folder / UNFINISHED / _NAMES_FILE).read_bytes())["names"]
        return {name for name in names if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _remove_unnamed(folder: Path, candidates: set[str]) -> None:
    """Remove those files that the folder's configuration does not name, and what an unfinished version left."""
    kept = []
    for name in candidates - _named_files(folder):
        try:
            (folder / name).unlink(missing_ok=True)
        except PermissionError:
            # Windows keeps what a process has mapped; the list of names stays for the next writer then.
            kept.append(name)
    if not kept and (folder / UNFINISHED).is_dir():
        shutil.rmtree(folder / UNFINISHED)
