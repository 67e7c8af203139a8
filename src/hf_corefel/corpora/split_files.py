"""Files of a corpus whose splits are told by the names of its files or folders."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from .errors import CorpusError

__all__ = ["SPLIT_NAMES", "files_below", "files_of_split", "split_of"]

# What files and folders of a split are called.
SPLIT_NAMES = {"train": ("train", "training"), "dev": ("dev", "development", "valid", "validation"), "test": ("test",)}


def split_of(name: str) -> str | None:
    """Return the split that a file or folder is named after, None when it is after none.

    Its first word counts, and the last before its ending: ``train.english.v4_gold_conll``, ``dev_revised.json``,
    ``en_gum-corefud-dev.conllu``; one in the middle may be a word of a title.
    """
    words = "".join(character if character.isalnum() else " " for character in name.lower()).split()
    stem = "".join(character if character.isalnum() else " " for character in Path(name.lower()).stem).split()
    ends = (*words[:1], *stem[-1:])
    return next((split for split, names in SPLIT_NAMES.items() if any(word in names for word in ends)), None)


def files_below(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match a pattern, and those in its folders that are named after a split."""
    folders = [folder, *sorted(item for item in folder.iterdir() if item.is_dir() and split_of(item.name))]
    found = {
        file
        for place in folders
        for pattern in patterns
        for file in (place.glob(pattern) if place == folder else place.rglob(pattern))
        if file.is_file()
    }
    return sorted(found)


def files_of_split(
    path: Path,
    split: str,
    patterns: Sequence[str],
    what: str,
    accept: Callable[[Path], bool] = lambda file: True,
) -> list[Path]:
    """Return the files of a split in the order of their names.

    Files that are named after none are those of ``train`` where no other file is.

    Args:
        path: A file, whose only split is ``all``, or a folder.
        split: ``train``, ``dev``, ``test`` or ``all``.
        patterns: What files are called.
        what: What messages call the files.
        accept: Which of them count.

    Raises:
        CorpusError: When there is no file.
        ValueError: When there is no such split, or no file is named after it.

    Warns:
        UserWarning: When files are in no split, as those that are named after none beside those of ``train``, or are
            not read at all, as those in folders that are named after none.
    """
    if split not in (*SPLIT_NAMES, "all"):
        raise ValueError(f"split must be one of {', '.join(SPLIT_NAMES)}, all; got {split!r}")
    if path.is_file():
        if split != "all":
            raise ValueError(f"split must be 'all' for a single file; got {split!r}")
        return [path]
    below = files_below(path, patterns) if path.is_dir() else []
    files = [file for file in below if accept(file)]
    if not files:
        raise CorpusError(f"{path}: no {what} ({', '.join(patterns)}) here")
    known = set(below)
    if passed := [file for file in _all_below(path, patterns) if file not in known and accept(file)]:
        warnings.warn(
            f"{path}: files in folders that are named after no split are not read ({len(passed)}, such as "
            f"{passed[0].relative_to(path)}); move them, or name their folders after splits",
            stacklevel=3,
        )
    if split == "all":
        return files
    # The folder says it of all that is below it, such as the files of OntoNotes.
    splits = {file: _split_below(file, path) for file in files}
    chosen = [file for file in files if splits[file] == split]
    unnamed = [file for file in files if splits[file] is None]
    if split == "train" and not chosen:
        return unnamed or _none_named(split, path)
    if split == "train" and unnamed:
        warnings.warn(
            f"{path}: {len(unnamed)} files are in no split, for they are named after none, such as "
            f"{unnamed[0].relative_to(path)}; split 'all' takes every file",
            stacklevel=3,
        )
    return chosen or _none_named(split, path)


def _all_below(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """The files that match a pattern however deep they lie, but for hidden folders."""
    found = {file for pattern in patterns for file in folder.rglob(pattern) if file.is_file()}
    return sorted(f for f in found if not any(part.startswith(".") for part in f.relative_to(folder).parts[:-1]))


def _none_named(split: str, path: Path) -> NoReturn:
    raise ValueError(
        f"split {split!r}: {path} has no file or folder that is named after it ({', '.join(SPLIT_NAMES[split])}); "
        "'all' takes every file"
    )


def _split_below(file: Path, folder: Path) -> str | None:
    return next((split for part in file.relative_to(folder).parts if (split := split_of(part))), None)
