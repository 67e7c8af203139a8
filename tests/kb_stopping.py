"""Stops the saving of a knowledge base at each of its steps, and says what the folder holds afterwards.

It runs as a program of its own that saves in forks. A step is an operation below the folder that changes it and of
which Python tells its audit hooks: opening a file to write, renaming, removing, making a folder.
`stop_at_every_step` starts it.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from kb_tampering import answers

_STEPS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod"}
_WRITING = os.O_WRONLY | os.O_RDWR
_SIZES = (0, 1, 50, 150, 300, 600, 1000, 1500, 2500, 5000)


def stop_at_every_step(folder: Path, how: str) -> list[list[str]]:
    """Save changes to copies of a folder, each saving stopped at another step.

    Args:
        folder: The folder of a knowledge base.
        how: ``kill``, ``interrupt`` (Ctrl-C), ``full`` (no space left at that step and any later one that makes a
            file), or ``cut`` and ``cut-kill``, where files cannot grow beyond a size, and the process gets an error or
            is killed.

    Returns:
        For each stop: its place; ``old`` or ``new``, what the folder then holds, or what is wrong with it; and whether
        the next saving leaves ``clean`` a folder, or what it leaves there besides.
    """
    command = [sys.executable, __file__, str(folder), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [list(found) for found in json.loads(done.stdout)]


def change(folder: Path) -> None:
    kb = KnowledgeBase.from_pretrained(folder)
    kb.add("Added", ["added surface"], description="what was added")
    kb.save_pretrained(folder)


def fork(action: Callable[[], None]) -> int:
    """Do something in a fork, and return its exit status: 0 when it came to its end, 1 with an error."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:  # noqa: BLE001 - the fork must not go on as its parent
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def stop_at(folder: Path, step: int, how: str) -> None:
    """Have this process stop at an operation on a file below the folder."""
    seen = 0

    def concerns(path: Any) -> bool:
        # What lies in a folder that is open is named by itself, and the folder by its number.
        return isinstance(path, int) or not os.path.isabs(path) or os.fsdecode(path).startswith(str(folder))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        opens = event == "open"
        if event not in _STEPS or (opens and not arguments[2] & _WRITING) or not concerns(arguments[0]):
            return
        seen += 1
        if how == "kill" and seen == step:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "interrupt" and seen == step:
            raise KeyboardInterrupt
        if how == "full" and seen >= step and (opens or event == "os.mkdir"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), arguments[0])

    sys.addaudithook(hook)


def limit(size: int, how: str) -> None:
    """Have this process write no file beyond a size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if how == "cut-kill" else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def held(folder: Path, versions: dict[str, str], surfaces: list[str]) -> str:
    try:
        return versions.get(answers(folder, surfaces, True), "mixed")
    except (KnowledgeBaseError, OSError) as error:
        return f"{error!r}"


def main(folder: Path, how: str) -> None:
    # Nobody pulls the plug here, and waiting for the disk takes most of the time.
    os.fsync = lambda descriptor: None
    surfaces = [*sorted(KnowledgeBase.from_pretrained(folder).surfaces()), "added surface"]
    copy = folder.with_name("stopped")

    def start() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)

    start()
    versions = {answers(copy, surfaces, True): "old"}
    change(copy)
    versions[answers(copy, surfaces, True)] = "new"
    expected = sorted(path.name for path in copy.iterdir())
    found = []
    for step in _SIZES if how.startswith("cut") else range(1, 1000):
        start()

        def action(step: int = step) -> None:
            limit(step, how) if how.startswith("cut") else stop_at(copy, step, how)
            change(copy)

        status = fork(action)
        state = held(copy, versions, surfaces)
        ended = status == 0
        # What is left of a stopped saving is gone after the next one, whichever names that has taken.
        fork(lambda: KnowledgeBase.from_pretrained(copy).save_pretrained(copy))
        left = {path.name for path in copy.iterdir()}
        count = len(expected) - (state == "old" and "descriptions.safetensors" not in os.listdir(folder))
        clean = "clean" if len(left) == count and held(copy, versions, surfaces) == state else str(sorted(left))
        found.append((f"{how} {step}", state, clean, "ended" if ended else "stopped"))
        if ended and not how.startswith("cut"):
            break
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
