"""Where a corpus lies: in the folder that is named, or, as in a clone of its repository, in one below it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from .errors import CorpusError
from .registry import CORPORA, CorpusSpec

__all__ = ["corpus_files", "corpus_folder", "files_of", "find_corpus", "is_corpus"]

_LEVELS = 2
# A message names so many of the places that it is about.
_MOST_NAMED = 5


def find_corpus(path: str | Path, wanted: str | None = None) -> tuple[str, Path]:
    """Return name and place of a corpus: what is named itself, or else the only one up to two levels below a folder.

    What lies inside a corpus is no other one, and hidden folders are not looked into.

    Args:
        path: A folder, or a file.
        wanted: Looks for the corpus of this name only.

    Raises:
        CorpusError: When there is no corpus, several below the folder, or two that claim one place; the message names
            them and what was looked for.
        ValueError: When no corpus has the wanted name.
    """
    path, specs = Path(path), _specs(wanted)
    if not path.exists():
        raise CorpusError(f"{path}: no such {'file or ' if wanted is None else ''}folder")
    found = [(spec, path) for spec in _claims(path, specs)]
    if not found and path.is_dir():
        found = list(_below(path, specs, _LEVELS))
    if not found:
        where = ", there or up to two folders below" if path.is_dir() else ""
        looked = ", ".join(spec.described for spec in specs)
        raise CorpusError(f"{path}: no corpus that is known here; expected the files of {looked}{where}")
    _check_one_claim(found)
    if len(found) > 1:
        named = [f"{folder.relative_to(path)} ({spec.name})" for spec, folder in found[:_MOST_NAMED]]
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise CorpusError(
            f"{path}: holds {len(found)} corpora, {', '.join(named)}{more}; name the folder of one of them"
        )
    return found[0][0].name, found[0][1]


def corpus_folder(path: str | Path, wanted: str) -> Path:
    """Return the place of a corpus by `find_corpus`; the path itself where there is none, or it is a file.

    So a reader of the format says in its own words what it misses there.

    Raises:
        CorpusError: When there are several below the path.
    """
    path, specs = Path(path), _specs(wanted)
    if not path.is_dir() or _claims(path, specs) or not any(_below(path, specs, _LEVELS)):
        return path
    return find_corpus(path, wanted)[1]


def is_corpus(folder: str | Path, wanted: str) -> bool:
    """Return whether a folder itself holds a corpus."""
    return bool(_claims(Path(folder), _specs(wanted)))


def corpus_files(path: str | Path) -> list[Path]:
    """Return the files of a corpus, each of which is read; none when there is no corpus that is known here."""
    path = Path(path)
    if path.is_file():
        return [path]
    try:
        name, folder = find_corpus(path)
    except CorpusError:
        return []
    return files_of(folder, CORPORA[name])


def files_of(folder: Path, spec: CorpusSpec) -> list[Path]:
    """Return the files of a corpus in its folder."""
    return sorted({file for pattern in spec.files for file in folder.glob(pattern) if file.is_file()})


def _specs(wanted: str | None) -> list[CorpusSpec]:
    """The corpus that is wanted, or all that can be imported."""
    if wanted is not None:
        return [CORPORA[wanted]]
    specs = []
    for name in CORPORA:
        try:
            specs.append(CORPORA[name])
        except ValueError as error:
            # A broken package must not keep others from their corpora.
            warnings.warn(str(error), stacklevel=3)
    return specs


def _claims(path: Path, specs: list[CorpusSpec]) -> list[CorpusSpec]:
    """The corpora that a folder or file is."""
    claims = []
    for spec in specs:
        try:
            if spec.sniff(path):
                claims.append(spec)
        except OSError:  # what may not be read holds nothing that can be read
            continue
        except Exception as error:  # noqa: BLE001 - a guest that fails must not keep others from their corpora
            warnings.warn(f"corpus {spec.name!r}: its sniff failed on {path}: {error!r}", stacklevel=4)
    return claims


def _check_one_claim(found: list[tuple[CorpusSpec, Path]]) -> None:
    """Raise when one place is two corpora."""
    places: dict[Path, list[CorpusSpec]] = {}
    for spec, place in found:
        places.setdefault(place, []).append(spec)
    for place, specs in places.items():
        if len(specs) > 1:
            both = " and ".join(spec.described for spec in specs)
            raise CorpusError(f"{place}: has the files of {both}; say which one is meant by its name")


def _below(folder: Path, specs: list[CorpusSpec], levels: int) -> Iterator[tuple[CorpusSpec, Path]]:
    """The corpora in the folders below, by name; each in the uppermost folder that shows it."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except OSError:  # what may not be read holds nothing that can be read
        return
    for name in names:
        below = folder / name
        claims = _claims(below, specs)
        if claims:
            yield from ((spec, below) for spec in claims)
        elif levels > 1:
            yield from _below(below, specs, levels - 1)
