"""The folder beside the output where finished work is kept, so that a run that was killed goes on where it was.

Every unit of work has a folder of its own, which is written under another name and renamed when it is whole: a unit is
there or it is not. What the folder was made for (inputs and options) stands in ``work.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..kb.storage import sync
from ..utils.files import locked
from .problems import WikipediaError

__all__ = ["FACTS_VERSION", "InputFile", "WorkFolder", "identify", "writing_unit"]

# Of the files that units write; another version cannot be merged with them.
FACTS_VERSION = 1
_WORK_FILE = "work.json"
_UNFINISHED = ".part"
_PROBED = 1 << 20


class InputFile(NamedTuple):
    """What an input file is told by: its name, its size, and a hash of its beginning, middle and end."""

    name: str
    bytes: int
    hash: str


def identify(path: Path) -> InputFile:
    """Return what tells an input file from others without reading all of it.

    Raises:
        OSError: When it cannot be read.
    """
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for place in (0, max(0, size // 2), max(0, size - _PROBED)):
            file.seek(place)
            digest.update(file.read(_PROBED))
    return InputFile(path.name, size, digest.hexdigest()[:16])


class WorkFolder:
    """Finished units of work under their names, and what they were made from.

    Args:
        path: The folder, made when it does not exist.
        made_for: Inputs and options that the units depend on; anything JSON takes.

    Raises:
        WikipediaError: When the folder holds work that was made for something else, or is none of these folders.
        OSError: When it cannot be made or read.
    """

    def __init__(self, path: Path, made_for: Mapping[str, Any]) -> None:
        self.path = path
        wanted = json.loads(json.dumps({"facts_version": FACTS_VERSION, **made_for}))
        if os.path.lexists(path) and not path.is_dir():
            raise WikipediaError(f"{path}: the work is kept in a folder, and this is a file; name another --work-dir")
        path.mkdir(parents=True, exist_ok=True)
        file = path / _WORK_FILE
        if not file.exists():
            others = [name for name in os.listdir(path) if not name.startswith(_WORK_FILE)]
            if others:
                raise WikipediaError(
                    f"{path}: this is no folder of unfinished work, it holds {sorted(others)[0]!r}; name another "
                    "--work-dir"
                )
            partial = file.with_name(f"{_WORK_FILE}.part")
            partial.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
            os.replace(partial, file)
            return
        try:
            found = json.loads(file.read_bytes())
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise WikipediaError(f"{file}: the file is damaged; remove the folder {path} and start again")
        differing = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name)]
        if differing:
            raise WikipediaError(
                f"{path}: the work that was begun there has another {_words(differing)} "
                f"({_short(found.get(differing[0]))}, now {_short(wanted.get(differing[0]))}); run that command "
                "again, name another --work-dir, or remove the folder"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out while inside.

        Raises:
            FileBusyError: When another process works in the folder.
        """
        with locked(self.path):
            yield

    def is_done(self, name: str) -> bool:
        """Whether a unit is whole."""
        return (self.path / name).is_dir()

    def unit(self, name: str) -> Path:
        """The folder of a unit that is done."""
        return self.path / name

    def summary(self, name: str) -> dict[str, Any]:
        """Return what a unit's worker said of it in ``summary.json``."""
        found: dict[str, Any] = json.loads((self.path / name / "summary.json").read_bytes())
        return found

    def remove_unfinished(self) -> None:
        """Remove what killed processes left; for the holder of the folder."""
        for entry in self.path.iterdir():
            if _UNFINISHED in entry.name:
                shutil.rmtree(entry, ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder and all that it holds."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def writing_unit(work: Path, name: str) -> Iterator[Path]:
    """Give an empty folder to fill, and put it in place as a unit of a work folder when the block ends well."""
    partial = work / f"{name}{_UNFINISHED}-{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        for file in partial.iterdir():
            sync(file)
        sync(partial)
        # What another process finished in the meantime is the same.
        if not (work / name).exists():
            os.rename(partial, work / name)
            sync(work)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _words(names: Sequence[str]) -> str:
    return " and ".join(name.replace("_", " ") for name in names[:3])


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"
