"""Command lines in processes of their own, for what a test must survive: kills, full disks, closed streams."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Done(NamedTuple):
    """How a command ended: its exit status, or minus the signal that ended it, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def commands(tmp_path: Path) -> Callable[..., list[Done]]:
    """Runs the cases of `command_driver.py` in a folder of the test, all in one interpreter's forks."""
    if sys.platform == "win32":
        pytest.skip("needs fork")

    def run(*cases: dict[str, Any]) -> list[Done]:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("command_driver.py"))],
            cwd=tmp_path,
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return [Done(*item) for item in json.loads(done.stdout)]

    return run
