"""Folders of results: what the files of a document are called in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from ..utils.files import whole_file
from .writer import Losses

__all__ = ["FolderNames", "plain_stem", "short_stem", "write_files"]

# Bytes of a file's name without its ending; file systems take names of 255.
_LONGEST_STEM = 200


def plain_stem(name: str) -> str:
    """Return what the name of a file may begin with, of any name: a dot is no ending, and a slash no folder."""
    return short_stem(re.sub(r"[^\w.-]", "_", name).lstrip(".")) or "document"


def short_stem(name: str) -> str:
    """Return the beginning of a file's name that leaves room for an ending and what is put beside it."""
    return name.encode(errors="replace")[:_LONGEST_STEM].decode(errors="ignore")


class FolderNames:
    """Gives each document a name of its own in a folder; those that would share one get numbers."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._taken: set[str] = set()

    def take(self, stem: str, fits: Callable[[str], bool] = lambda stem: True) -> str:
        """Return what the names of a document's files begin with.

        Args:
            stem: What they would begin with.
            fits: Tells whether a stem may be used.
        """
        while True:
            number = self._numbers[stem] = self._numbers[stem] + 1
            chosen = stem if number == 1 else f"{stem}-{number}"
            # Disks may take names that differ by case for one.
            if chosen.casefold() not in self._taken and fits(chosen):
                self._taken.add(chosen.casefold())
                return chosen


def write_files(folder: Path, stem: str, files: Mapping[str, str | bytes], losses: Losses) -> None:
    """Write the files of a document, by their endings, each put in place when it is whole."""
    from .files import encoded

    for suffix, content in files.items():
        with whole_file(folder / f"{stem}{suffix}") as place:
            place.write_bytes(encoded(content, losses))
