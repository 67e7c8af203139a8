"""Files that are whole or not there: written beside their place, put there in one step, by one writer at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = ["FileBusyError", "locked", "partial_path", "whole_file"]


class FileBusyError(OSError):
    """Another process is writing the same file or folder; `filename` says which."""


def partial_path(path: Path) -> Path:
    """Return where a file is written until it is whole: ``results.jsonl.part`` beside ``results.jsonl``."""
    return path.with_name(f"{path.name}.part")


@contextmanager
def locked(path: Path, *, timeout: float = 0.0) -> Iterator[None]:
    """Hold the writers' lock of a file or folder while inside; other processes and threads stay out.

    The lock is a file beside `path` that the operating system frees when its holder dies; it is removed afterwards.

    Args:
        path: What is going to be written. It does not have to exist, its folder does.
        timeout: Seconds to wait for another writer.

    Raises:
        FileBusyError: When another writer still holds the lock after that time.
        OSError: When the lock's file cannot be made.
    """
    place = path.with_name(f".{path.name}.lock")
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
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give the path of a file to fill, and put it in place of `path` in one step when the block ends well.

    Until then an earlier file stays whole, and processes that have it open or mapped keep it. When the block raises,
    what was written is removed and the earlier file stays; after a kill the partial file stays beside it
    (`partial_path`), and the next writer replaces it. What is no regular file, such as ``/dev/null`` or a pipe, is
    given as it is.

    Args:
        path: The file. A symbolic link stays one: the file that it leads to is replaced.

    Raises:
        FileBusyError: When another process is writing the same file.
        OSError: When its folder is missing or cannot be written.
    """
    path = Path(path)
    try:
        mode: int | None = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        yield path
        return
    target = path.resolve()
    partial = partial_path(target)
    with locked(target):
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
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
