"""Python programs in processes of their own that need not wait for imports: forks of a process that has done them.

`run_python` is `subprocess.run([sys.executable, ...])`, seconds of work shorter. A fork of `TORCH` has what
transformers imports of other packages, none of which knows of transformers, of the Hub or of this package: the program
imports those itself, in its order and under its environment. A fork of `PACKAGE` has them too, for tests of what a
program does when all is imported. A test of the very first import, or of streams that close early, starts a process
itself.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TORCH = ("torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor", "torch.export", "scipy.optimize")
PACKAGE = (*TORCH, "hf_corefel.pipeline_corefel")
SOURCE = str(Path(__file__).resolve().parents[1] / "src")
# Elsewhere a fork of what has imported torch may crash, or there is none: each program is started.
FORKS = sys.platform == "linux"


def run_python(
    *command: str,
    imported: tuple[str, ...] = TORCH,
    input: str = "",
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Runs ``-c code``, ``-m module`` or a script, with arguments.

    Args:
        imported: Modules that are there from the start.
        input: Standard input.
        env: The whole environment; this process's where None.
        cwd: The folder; this process's where None.
        timeout: Seconds after which a signal ends the program, which its status says.
    """
    env = dict(os.environ if env is None else env)
    if not FORKS:
        return subprocess.run(
            [sys.executable, *command],
            input=input,
            env=env,
            cwd=cwd,
            timeout=timeout,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    with tempfile.TemporaryDirectory() as folder:
        streams = [os.path.join(folder, name) for name in ("in", "out", "err")]
        Path(streams[0]).write_text(input, encoding="utf-8", newline="")
        order = {"command": command, "streams": streams, "env": env, "cwd": str(cwd or Path.cwd()), "seconds": timeout}
        server = _server(imported)
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, f"the process that forks has ended: {server.poll()}"
        out, err = (Path(path).read_bytes().decode("utf-8").replace("\r\n", "\n") for path in streams[1:])
    return subprocess.CompletedProcess([sys.executable, *command], int(answer), out, err)


@functools.cache
def _server(imported: tuple[str, ...]) -> subprocess.Popen[str]:
    """The process that forks, one for all tests of a process."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    server = subprocess.Popen(
        [sys.executable, __file__, *imported],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**plain, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        text=True,
    )
    atexit.register(server.communicate)  # it ends when its input does
    return server


def _serve(imported: list[str]) -> None:
    """Forks for each order and says how the fork ended."""
    path = sys.path[1:]
    sys.path.insert(1, SOURCE)
    for name in imported:
        importlib.import_module(name)
    # What the forks write and read is not among orders and answers.
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    gc.freeze()
    while line := orders.readline():
        order = json.loads(line)
        child = os.fork()
        if not child:
            orders.close(), answers.close()
            _end(_run(order, path))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


def _run(order: dict[str, Any], path: list[str]) -> int:
    """Runs the program of an order as if the interpreter had begun with it; its exit status."""
    signal.setitimer(signal.ITIMER_REAL, order["seconds"])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, file in enumerate(order["streams"]):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = sys.__stdin__ = open(0, encoding=encoding)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding=encoding, errors=errors or "strict")  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding=encoding, errors="backslashreplace", buffering=1)  # noqa: SIM115
    try:
        _become(order["command"], [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *path])
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except Exception:  # noqa: BLE001 - it may be any
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _become(command: list[str], path: list[str]) -> None:
    kind, *rest = command
    if kind == "-c":
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        sys.argv, sys.path[:] = ["-c", *rest[1:]], ["", *path]
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif kind == "-m":
        sys.argv, sys.path[:] = rest, [os.getcwd(), *path]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[:] = command, [os.path.dirname(kind), *path]
        runpy.run_path(kind, run_name="__main__")


def _end(status: int) -> None:
    """Ends a fork with all that an interpreter does at its end, save taking apart what it has imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve(sys.argv[1:])
