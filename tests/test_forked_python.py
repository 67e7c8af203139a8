"""Programs that are forked are as those that are started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forked_python import FORKS, PACKAGE, TORCH, run_python

PROGRAM = """
import atexit, os, sys, threading, time
print(sys.argv, sys.path[0], os.getcwd(), os.environ.get("ASKED"), sys.stdin.read())
print("caf\u00e9 \u2603")
print("wrong", file=sys.stderr)
atexit.register(print, "at the end")
threading.Thread(target=lambda: (time.sleep(0.1), print("later"))).start()
{end}
"""
ENDS = {
    "": 0,
    "sys.exit(3)": 3,
    "sys.exit(None)": 0,
    "sys.exit('said')": 1,
    "1 / 0": 1,
    "os.kill(os.getpid(), 9)": -9,
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", ["-c", "-m", "script"])
def test_as_a_process_that_is_started(tmp_path: Path, way: str, end: str) -> None:
    code = PROGRAM.format(end=end)
    (tmp_path / "program.py").write_text(code, encoding="utf-8")
    named = {"-c": ["-c", code], "-m": ["-m", "program"], "script": [str(tmp_path / "program.py")]}[way]
    command = [*named, "one", "two words"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | {"ASKED": "yes"}
    started = subprocess.run(
        [sys.executable, *command],
        input="given \u2603",
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    forked = run_python(*command, imported=(), input="given \u2603", cwd=tmp_path, env=environment)
    assert forked.returncode == started.returncode == ENDS[end]
    assert forked.stdout == started.stdout
    # A traceback has frames of the fork above the program's own.
    assert forked.stderr.splitlines()[:1] == started.stderr.splitlines()[:1]
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


def test_the_encoding_of_streams() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:backslashreplace"}
    assert run_python("-c", "print('\u2603')", imported=(), env=environment).stdout == "\\u2603\n"


forks = pytest.mark.skipif(not FORKS, reason="there programs are started")


@forks
def test_what_takes_too_long_is_ended() -> None:
    assert run_python("-c", "import time; time.sleep(60)", imported=(), timeout=0.2).returncode < 0


@forks
def test_what_is_imported() -> None:
    code = "import sys; print(*sorted({'torch', 'transformers', 'huggingface_hub', 'hf_corefel'} & set(sys.modules)))"
    names = {imported: run_python("-c", code, imported=imported).stdout.split() for imported in ((), TORCH, PACKAGE)}
    assert names == {(): [], TORCH: ["torch"], PACKAGE: ["hf_corefel", "huggingface_hub", "torch", "transformers"]}


def test_one_program_leaves_nothing_to_the_next() -> None:
    assert run_python("-c", "import os, sys; os.environ['LEFT'] = sys.left = 'here'", imported=()).returncode == 0
    done = run_python("-c", "import os, sys; print(os.environ.get('LEFT'), hasattr(sys, 'left'))", imported=())
    assert done.stdout == "None False\n"
