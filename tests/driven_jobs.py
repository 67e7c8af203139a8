"""Jobs of many documents in processes of their own, with a model that does what texts say; see `bulk/job_driver.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).parent / "bulk" / "job_driver.py"
SECONDS = 300
COMMAND = ["annotate", "in.jsonl", "-o", "out", "--shard-size", "5"]


def begin(folder: Path, *options: str, seconds: float = 0.0) -> subprocess.Popen[str]:
    """Begins the command in a folder, in a process group of its own as a shell does."""
    return subprocess.Popen(
        [sys.executable, str(DRIVER), *COMMAND, *options],
        cwd=folder,
        env={
            **os.environ,
            "SECONDS_A_DOCUMENT": str(seconds),
            # Processes of other engines import the driver from there.
            "PYTHONPATH": os.pathsep.join([str(DRIVER.parent), os.environ.get("PYTHONPATH", "")]),
        },
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=SECONDS)
    return process.returncode, said


def write_input(folder: Path, texts: list[str]) -> None:
    lines = (json.dumps({"id": f"d{number}", "text": text}) + "\n" for number, text in enumerate(texts))
    (folder / "in.jsonl").write_text("".join(lines))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ids_of(found: dict[str, bytes]) -> list[str]:
    return [json.loads(line)["id"] for name in sorted(found) if "jsonl" in name for line in found[name].splitlines()]
