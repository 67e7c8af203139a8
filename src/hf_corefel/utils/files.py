"""Files that are whole or not there: written beside their place, put there in one step, by one writer at a time."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = [
    "FileBusyError",
    "FileIdentity",
    "file_identity",
    "locked",
    "overwrites",
    "partial_path",
    "sha256_of",
    "whole_file",
]

# Device and number of a file, which are the same under each of its names.
FileIdentity = tuple[int, int]
# Where Linux, and where macOS and the BSDs, list the files that a process has open.
_DESCRIPTORS = re.compile(r"/proc/(self|thread-self|\d+)(/task/\d+)?/fd|/dev/fd")
_MOST_LINKS = 40


class FileBusyError(OSError):
    """Another process is writing the same file or folder; `filename` says which."""


def partial_path(path: Path) -> Path:
    """Return where a file is written until it is whole: ``results.jsonl.part`` beside ``results.jsonl``."""
    return path.with_name(f"{path.name}.part")


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def file_identity(file: str | Path | int) -> FileIdentity | None:
    """Return what a file, or pipe, is told by under any name: symbolic and hard links, ``/dev/stdin``, other case.

    Args:
        file: Its path, or the number of an open one.

    Returns:
        Device and number; None for what may be read and written at once, such as a terminal, for a folder, and where
        there is nothing or nothing that can be asked.
    """
    try:
        found = os.stat(file)
    except (OSError, ValueError):  # ValueError: no path can hold a null character
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode) else None


def overwrites(path: str | Path, inputs: Iterable[FileIdentity]) -> bool:
    """Return whether writing a `whole_file` would replace one of some files, itself or by a helper's name beside it."""
    target = Path(os.path.realpath(path))
    touched = {file_identity(item) for item in (path, target, partial_path(target), _lock_path(target))}
    return not touched.isdisjoint(inputs)


@contextmanager
def locked(path: Path, *, timeout: float = 0.0) -> Iterator[None]:
    """Hold the writers' lock of a file or folder while inside; other processes and threads stay out.

    The lock is a file beside `path` that the operating system frees when its holder dies; it is removed afterwards.

    Args:
        path: What is going to be written. It does not have to exist, its folder does.
        timeout: Seconds to wait for another writer.

    Raises:
        FileBusyError: When another writer still holds the lock after that time.
        OSError: When there is no such folder, or the lock's file cannot be made.
    """
    if not os.path.isdir(path.parent):  # which the lock would make
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    place = _lock_path(path)
    lock = FileLock(place, timeout=timeout, is_singleton=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise FileBusyError(
            None, "another process is writing it; wait for that one or choose another name", str(path)
        ) from error
    try:
        yield
    finally:
        # Before it is freed: whoever waits for a lock whose file is gone makes a new one.
        place.unlink(missing_ok=True)
        lock.release()


@contextmanager
def whole_file(path: str | Path, *, keep_partial: bool = False) -> Iterator[Path]:
    """Give the path of a file to fill, and put it in place of `path` in one step when the block ends well.

    Until then an earlier file stays whole, and processes that have it open or mapped keep it. When the block raises,
    what was written is removed and the earlier file stays; after a kill the partial file stays beside it
    (`partial_path`), and the next writer replaces it. What is no regular file, such as ``/dev/null``, a pipe or
    ``/dev/stdout``, is given as it is.

    Args:
        path: The file. A symbolic link stays one: the file that it leads to is replaced.
        keep_partial: Leaves what was written in the partial file also when the block raises, unless that is nothing;
            a note of the exception (`BaseException.add_note`) says where it is.

    Raises:
        FileBusyError: When another process is writing the same file.
        OSError: When its folder is missing or cannot be written. When the whole file cannot be put in its place, it
            stays in the partial file.
    """
    path = Path(path)
    try:
        mode: int | None = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if _is_descriptor(path) or (mode is not None and not stat.S_ISREG(mode)):
        yield path
        return
    target = Path(os.path.realpath(path))
    partial = partial_path(target)
    with locked(target):
        kept = False
        try:
            # A leftover may belong to somebody else or be a link; writing through it would not be a new file.
            partial.unlink(missing_ok=True)
            partial.touch()
            usual = partial.stat().st_mode
            yield partial
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            # Some writers, safetensors among them, choose permissions of their own.
            partial.chmod(stat.S_IMODE(usual if mode is None else mode))
            keep_partial = True  # it is whole now, and as good as the one that it replaces
            os.replace(partial, target)
        except BaseException as error:
            kept = keep_partial and _holds_something(partial)
            if kept:
                error.add_note(f"what was finished is in {partial}; the next run that writes {target} replaces it")
            raise
        finally:
            if not kept:
                partial.unlink(missing_ok=True)


def _holds_something(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _is_descriptor(path: Path) -> bool:
    """Return whether a path stands for an open file, as ``/dev/stdout`` does: that file goes on where it is."""
    for _ in range(_MOST_LINKS):
        if _DESCRIPTORS.fullmatch(os.path.realpath(path.parent)):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / os.readlink(path)
    return False


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
