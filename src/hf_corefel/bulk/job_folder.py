"""The folder of a job: shards of results under their final names only when they are whole, and what is done of it.

``manifest.journal`` has what the job was begun for and a line a finished shard; ``manifest.json`` takes its place when
all are there. So a folder with ``manifest.json`` is complete, and one with the journal alone is not.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..formats.json_text import json_text
from ..utils.files import FileBusyError, locked
from .annotator import BulkError

__all__ = ["JOURNAL_FILE", "MANIFEST_FILE", "JobFolder", "ShardEntry", "put_in_place", "unfinished"]

MANIFEST_FILE = "manifest.json"
JOURNAL_FILE = "manifest.journal"
_UNFINISHED = ".part-"
# The names that `unfinished` gives in the folder of a job, and no other: what else is there belongs to somebody else.
_OURS_UNFINISHED = re.compile(
    r"((part|failed)-\d{6,}\.[a-z.]+|attempts-\d{6,}|manifest\.(json|journal))\.part-[0-9a-f]{32}"
)
# What a job has been begun for, and earlier releases did not note.
_NOTED_LATER = ("reading", "packing", "loading", "content_of_the_model", "content_of_the_knowledge_base")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A finished shard.

    Attributes:
        shard: Its number, from 0, in the order of the input.
        documents: How many documents of the input it stands for, those that failed among them.
        failed: How many of them failed.
        file: The name of the file of its results, None where there are none.
        bytes: The size of that file.
        sha256: Its SHA-256.
        failures: The name of the file of those that failed, None where there are none.
        input: A hash of the documents.
    """

    shard: int
    documents: int
    failed: int
    file: str | None
    bytes: int
    sha256: str | None
    failures: str | None
    input: str


@contextmanager
def put_in_place(path: Path) -> Iterator[Path]:
    """Give the path of a file to fill, and rename it to its final name when the block ends well.

    For those who hold the folder, and those who work for them: there is no lock, so each, on whatever machine, has a
    partial file of its own.
    """
    partial = unfinished(path, uuid4().hex)
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


class JobFolder:
    """The shards of a job that are done.

    Args:
        path: The folder.
        entries: The shards.
        complete: Whether these are all.

    Attributes:
        entries: The shards that are done, by their numbers.
        complete: Whether these are all.
    """

    def __init__(self, path: Path, begun_for: Mapping[str, Any], entries: list[ShardEntry], *, complete: bool) -> None:
        self.path, self._begun_for, self.complete = path, begun_for, complete
        self.entries = {entry.shard: entry for entry in entries}
        self._journal = path / JOURNAL_FILE

    @classmethod
    @contextmanager
    def held(cls, path: Path, begun_for: Mapping[str, Any], *, resume: bool) -> Iterator[JobFolder]:
        """Give the folder of a job, begun or gone on with, and keep other runs out while inside.

        Args:
            path: The folder, made when it does not exist.
            begun_for: Inputs and options that the results depend on; anything JSON takes.
            resume: Whether a job that was begun there may be gone on with.

        Raises:
            FileBusyError: When another process writes there.
            BulkError: When there are other things, an earlier job with other inputs or options, or one at all and
                `resume` was not said.
            OSError: When the folder cannot be made or read.
        """
        if os.path.lexists(path) and not path.is_dir():
            raise BulkError(f"{path}: the results of many documents are a folder, and this is a file; name another")
        path.mkdir(parents=True, exist_ok=True)
        try:
            with locked(path / MANIFEST_FILE):
                # Nothing is removed from a folder that turns out not to be that of this job.
                job = cls._opened(path, json.loads(json.dumps(begun_for)), resume=resume)
                _remove_unfinished(path)
                try:
                    yield job
                finally:
                    _remove_unfinished(path)
        except FileBusyError as error:
            if error.filename != str(path / MANIFEST_FILE):
                raise
            raise FileBusyError(
                None, "another run is writing into this folder; wait for it or name another", str(path)
            ) from error

    @classmethod
    def _opened(cls, path: Path, wanted: dict[str, Any], *, resume: bool) -> JobFolder:
        manifest, journal = path / MANIFEST_FILE, path / JOURNAL_FILE
        if manifest.exists():
            found = _parsed(manifest, manifest.read_bytes())
            if not resume:
                raise BulkError(f"{path}: holds the results of a job that is complete; name another folder")
            begun_for, listed = _checked(path, found.get("job"), wanted), found.get("shards") or []
            entries = _entries(path, listed)
            with suppress(OSError):
                journal.unlink()
            job = cls(path, begun_for, entries, complete=True)
            if len(entries) < len(listed):
                job.reopen()
            return job
        if journal.exists():
            if not resume:
                raise BulkError(
                    f"{path}: holds a job that is not complete; go on with it by --resume, or name another folder"
                )
            begun_for, entries = _read_journal(path, journal, wanted)
            return cls(path, begun_for, entries, complete=False)
        others = sorted(
            name for name in os.listdir(path) if not name.startswith(".") and not _OURS_UNFINISHED.fullmatch(name)
        )
        if others:
            raise BulkError(f"{path}: is no folder of such a job, it holds {others[0]!r}; name an empty or new folder")
        job = cls(path, wanted, [], complete=False)
        job._begin_journal()
        return job

    def _begin_journal(self) -> None:
        lines = [{"version": _VERSION, "job": self._begun_for}, *map(asdict, self.entries.values())]
        with put_in_place(self._journal) as place:
            place.write_text("".join(map(_line, lines)), encoding="utf-8")

    def reopen(self) -> None:
        """Put a journal in the place of the manifest, before more is done of a job that was complete.

        Raises:
            OSError: When it cannot be written.
        """
        if not self.complete:
            return
        self._begin_journal()  # first: until the manifest is gone, it is what counts
        (self.path / MANIFEST_FILE).unlink()
        self.complete = False

    def add(self, entry: ShardEntry) -> None:
        """Note that a shard is done, in a line that is whole on the disk or not there.

        Raises:
            OSError: When it cannot be written.
        """
        line = _line(asdict(entry)).encode()
        # Without a buffer, which would be written once more when the file is closed.
        with self._journal.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                while line:
                    line = line[file.write(line) :]
                os.fsync(file.fileno())
            except BaseException:
                with suppress(OSError):
                    os.truncate(self._journal, size)
                raise
        self.entries[entry.shard] = entry

    def complete_it(self) -> None:
        """Put the manifest in the place of the journal, unless it is there.

        Raises:
            OSError: When it cannot be written.
        """
        if self.complete:
            return
        entries = [self.entries[number] for number in sorted(self.entries)]
        manifest = {
            "version": _VERSION,
            "job": self._begun_for,
            "documents": sum(entry.documents for entry in entries),
            "failed": sum(entry.failed for entry in entries),
            "shards": [asdict(entry) for entry in entries],
        }
        with put_in_place(self.path / MANIFEST_FILE) as place:
            place.write_text(json_text(manifest, indent=1) + "\n", encoding="utf-8")
        self._journal.unlink()
        self.complete = True


def unfinished(path: Path, writer: str) -> Path:
    """Return where somebody keeps what belongs to a file as long as that is not whole; removed by the next run."""
    return path.with_name(f"{path.name}{_UNFINISHED}{writer}")


def _line(data: Mapping[str, Any]) -> str:
    return json_text(data) + "\n"  # UTF-8 lacks what stands for the bytes of some names of files


def _remove_unfinished(path: Path) -> None:
    """Remove what killed processes left; for the holder of the folder."""
    with suppress(OSError):
        for name in os.listdir(path):
            if _OURS_UNFINISHED.fullmatch(name):
                with suppress(OSError):
                    (path / name).unlink()


def _read_journal(path: Path, journal: Path, wanted: dict[str, Any]) -> tuple[dict[str, Any], list[ShardEntry]]:
    """What a journal says; a last line that is cut is removed from it."""
    data = journal.read_bytes()
    whole = data.rfind(b"\n") + 1
    first, *lines = data[:whole].splitlines() or [b""]
    begun_for = _checked(path, _parsed(journal, first).get("job"), wanted)
    if whole < len(data):
        os.truncate(journal, whole)
    listed = []
    for line in lines:
        with suppress(ValueError):  # a shard of a damaged line is done once more
            listed.append(json.loads(line))
    return begun_for, _entries(path, listed)


def _entries(path: Path, listed: Iterable[Any]) -> list[ShardEntry]:
    """The shards of a list whose files are there; the others are done once more."""
    entries = []
    for item in listed:
        with suppress(TypeError):
            entries.append(ShardEntry(**item))
    return [entry for entry in entries if _is_there(path, entry)]


def _is_there(path: Path, entry: ShardEntry) -> bool:
    try:
        return (entry.file is None or (path / entry.file).stat().st_size == entry.bytes) and (
            entry.failures is None or (path / entry.failures).exists()
        )
    except OSError:
        return False


def _parsed(file: Path, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise BulkError(f"{file}: the file is damaged; name another folder and begin again")
    return found


def _checked(path: Path, found: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what the job was begun for, as it is noted there; raises an error when something else is wanted."""
    found = found if isinstance(found, dict) else {}
    for name in {**found, **wanted}:
        if name not in found and name in _NOTED_LATER:
            continue
        if found.get(name) != wanted.get(name):
            raise BulkError(
                f"{path}: the job that was begun there has another {name.replace('_', ' ')} "
                f"({_short(found.get(name))}, now {_short(wanted.get(name))}); give the same, or name another folder"
            )
    return found


def _short(value: Any) -> str:
    text = json_text(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
