"""A Hub on loopback, and processes that talk to it and to nothing else."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forked_python import run_python

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"


def _server_module() -> Any:
    spec = importlib.util.spec_from_file_location("loopback_hub", HERE / "server.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


server = _server_module()


class ClientError(Exception):
    """A snippet raised; the message names the class and what it said."""


class Client:
    """Runs snippets in one process (see ``client.py``); each is the body of a function of ``given``."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.warnings: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "client.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, code: str, **given: Any) -> Any:
        """What the snippet returns; paths are sent as strings."""
        assert self._process.stdin is not None and self._process.stdout is not None
        order = {"code": code, "given": {name: _plain(value) for name, value in given.items()}}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise ClientError(answer["error"]) from RuntimeError(answer["traceback"])
        self.warnings = answer["warnings"]
        return answer["value"]

    def close(self) -> None:
        self._process.communicate()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


@pytest.fixture(scope="session")
def hub() -> Iterator[Any]:
    """The server; it lives as long as the tests, so each of them names repositories of its own."""
    running = server.HubServer()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(scope="session")
def environment(hub: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """Makes the environment of a process of the owner's, with an empty cache; a variable set to "" is left out."""

    def make(**changes: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        settings = {
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(tmp_path_factory.mktemp("hf-home")),
            "HF_TOKEN": server.TOKEN,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "*",
            "PYTHONPATH": path,
        }
        return {name: value for name, value in {**kept, **settings, **changes}.items() if value}

    return make


@pytest.fixture(scope="session")
def client(environment: Callable[..., dict[str, str]]) -> Iterator[Client]:
    """The owner of the Hub's repositories."""
    running = Client(environment())
    yield running
    running.close()


@pytest.fixture(scope="session")
def stranger(environment: Callable[..., dict[str, str]]) -> Iterator[Client]:
    """Somebody without a token, whose cache and Hub are the same place on no disk."""
    running = Client(environment(HF_TOKEN="", HF_HUB_DISABLE_IMPLICIT_TOKEN="1"))
    yield running
    running.close()


@pytest.fixture
def run_script(environment: Callable[..., dict[str, str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a script of Python in a process of its own."""

    def run(code: str, *arguments: Any, **changes: str) -> subprocess.CompletedProcess[str]:
        return run_python("-c", code, *map(str, arguments), env=environment(**changes))

    return run
