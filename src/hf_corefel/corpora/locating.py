"""Where a corpus lies: in the folder that is named, or, as in a clone of its repository, in one below it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from .errors import CorpusError

__all__ = [
    "AIDA_FILE",
    "AIDA_PLUS_FOLDERS",
    "CORPUS_FORMATS",
    "DWIE_FOLDERS",
    "CorpusFormat",
    "corpus_files",
    "corpus_folder",
    "find_corpus",
    "is_corpus",
]

CorpusFormat = Literal["dwie", "aida", "aida_plus", "gum"]
CORPUS_FORMATS: tuple[CorpusFormat, ...] = get_args(CorpusFormat)
AIDA_FILE = "AIDA-YAGO2-dataset.tsv"
AIDA_PLUS_FOLDERS = ("train", "testa", "testb")
DWIE_FOLDERS = ("annos_with_content", "annos_only", "annos")

# What shows that a folder is of the format, in the order in which they are asked.
_SIGNS: dict[CorpusFormat, tuple[str, ...]] = {
    "dwie": ("DW_*.json", *(f"{folder}/DW_*.json" for folder in DWIE_FOLDERS)),
    "aida": (AIDA_FILE,),
    "aida_plus": tuple(f"{folder}/*.json" for folder in AIDA_PLUS_FOLDERS),
    "gum": ("dep/*.conllu", "*.conllu"),
}
_LEVELS = 2
# A message names so many of the places that it is about.
_MOST_NAMED = 5


def find_corpus(path: str | Path, wanted: CorpusFormat | None = None) -> tuple[CorpusFormat, Path]:
    """Return the format and the folder of a corpus: the folder itself, or else the only one up to two levels below it.

    What lies inside a corpus is no other one, and hidden folders are not looked into.

    Args:
        path: A folder.
        wanted: Looks for this format only.

    Raises:
        CorpusError: When there is no corpus, or several below the folder; the message names them.
    """
    path = Path(path)
    if not path.is_dir():
        raise CorpusError(f"{path}: no such folder")
    found = [(name, path) for name in _formats_of(path, wanted)] or list(_below(path, wanted, _LEVELS))
    kinds = ", ".join(CORPUS_FORMATS) if wanted is None else wanted
    if not found:
        raise CorpusError(
            f"{path}: no corpus that is known here; expected the files of {kinds}, there or up to two folders below"
        )
    if len(found) > 1 and found[0][1] != path:
        named = [f"{folder.relative_to(path)} ({name})" for name, folder in found[:_MOST_NAMED]]
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise CorpusError(
            f"{path}: holds {len(found)} corpora, {', '.join(named)}{more}; name the folder of one of them"
        )
    return found[0]


def corpus_folder(path: str | Path, wanted: CorpusFormat) -> Path:
    """Return the folder of a corpus by `find_corpus`; the path itself where there is none, or it is a file.

    So a reader of the format says in its own words what it misses there.

    Raises:
        CorpusError: When there are several below the path.
    """
    path = Path(path)
    if not path.is_dir() or _formats_of(path, wanted) or not any(_below(path, wanted, _LEVELS)):
        return path
    return find_corpus(path, wanted)[1]


def is_corpus(folder: str | Path, wanted: CorpusFormat) -> bool:
    """Return whether a folder itself holds a corpus of a format."""
    return bool(_formats_of(Path(folder), wanted))


def corpus_files(path: str | Path) -> list[Path]:
    """The files by which a corpus is told, each of which is read; empty when there is no corpus that is known here."""
    path = Path(path)
    if path.is_file():
        return [path]
    try:
        _, folder = find_corpus(path)
    except CorpusError:
        return []
    return sorted({file for patterns in _SIGNS.values() for pattern in patterns for file in folder.glob(pattern)})


def _formats_of(folder: Path, wanted: CorpusFormat | None) -> list[CorpusFormat]:
    names = CORPUS_FORMATS if wanted is None else (wanted,)
    return [name for name in names if any(any(folder.glob(pattern)) for pattern in _SIGNS[name])]


def _below(folder: Path, wanted: CorpusFormat | None, levels: int) -> Iterator[tuple[CorpusFormat, Path]]:
    """The corpora in the folders below, by name; each in the uppermost folder that shows it."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except OSError:  # what may not be read holds nothing that can be read
        return
    for name in names:
        below = folder / name
        formats = _formats_of(below, wanted)
        if formats:
            yield formats[0], below
        elif levels > 1:
            yield from _below(below, wanted, levels - 1)
