"""The Dockerfile without Docker: what it copies is there, what it runs asks a package index only, what starts answers.

That its commands install a service which runs is tested in a fresh environment, in minutes (slow).
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

from hf_corefel.cli import app

ROOT = Path(__file__).parents[2]
PLACE = "/opt/hf-corefel"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with what follows them."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = (line.strip() for line in text.splitlines())
    return [
        (name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line and line[0] != "#")
    ]


def of(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


def copied() -> list[str]:
    """What is copied from the folder of the Dockerfile."""
    return [name for rest in of("COPY") if not rest.startswith("--from") for name in rest.split()[:-1]]


def started() -> list[str]:
    (entry,) = of("ENTRYPOINT")
    found: list[str] = json.loads(entry)
    return found


def health_check() -> list[str]:
    (check,) = of("HEALTHCHECK")
    found: list[str] = json.loads(check.partition("CMD ")[2])
    return found


def test_what_it_copies_is_there_and_not_left_out() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"]
    assert copied() and all((ROOT / name).exists() for name in copied())
    assert set(copied()) == set(kept)
    # All that the package is built from: its metadata names two files, and the wheel holds what lies beside the source.
    assert {"setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "src"} <= set(copied())


def test_it_asks_a_package_index_only() -> None:
    commands = of("RUN")
    assert not any(re.search(r"apt|apk|curl|wget|git |https?://|hf |huggingface", command) for command in commands)
    installs = [command for command in commands if "pip install" in command]
    assert len(installs) == 2 and all("--constraint constraints.txt" in command for command in installs)
    assert installs[-1].endswith('".[serve]"')
    assert {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"} <= set(of("ARG"))
    assert any("HF_HUB_OFFLINE=1" in rest for rest in of("ENV"))


def test_what_runs_is_no_root_and_takes_the_options_that_there_are() -> None:
    names = [name for name, _ in instructions()]
    assert of("USER") == ["service"] and names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN")
    program, command, *options = started()
    assert (program, command) == (f"{PLACE}/bin/hf-corefel", "serve")
    context = typer.main.get_command(app).commands["serve"].make_context("serve", list(options))  # type: ignore[attr-defined]
    assert (context.params["host"], context.params["port"]) == ("0.0.0.0", 8000)
    assert of("EXPOSE") == ["8000"] and ":8000/health" in health_check()[-1]


def test_nothing_big_gets_into_the_context() -> None:
    first, *others = [
        line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
    ]
    assert first == "*" and fnmatch.fnmatch("src/hf_corefel/__pycache__", others[-2])


@pytest.mark.slow
def test_its_commands_make_a_service_that_answers(tmp_path: Path, loading: ModuleType) -> None:
    context, place = tmp_path / "build", tmp_path / "environment"
    context.mkdir()
    for name in copied():
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, context / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, context / name)
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for command in of("RUN"):
        if "useradd" not in command:
            python = shlex.quote(sys.executable)
            here = re.sub(r"^python\b", python, command).replace(PLACE, str(place))
            subprocess.run(here, shell=True, check=True, cwd=context, env=variables, timeout=1_800)
    program, *options = [item.replace(PLACE, str(place)) for item in started()]
    port = str(loading.free_port())
    options[options.index("--port") + 1], options[options.index("--host") + 1] = port, "127.0.0.1"
    environment = {**variables, **dict(item.split("=", 1) for rest in of("ENV") for item in rest.split())}
    process = subprocess.Popen([program, *options], stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
    try:
        assert process.stderr is not None and "answering on" in process.stderr.readline()
        check = [item.replace(PLACE, str(place)).replace("8000", port) for item in health_check()]
        subprocess.run(check, check=True, timeout=600)
        (found,) = loading.ask(f"http://127.0.0.1:{port}", ["Angela Merkel met Barack Obama in Berlin."])
        assert [cluster["entity"] for cluster in found["clusters"]] == ["Angela_Merkel", "Barack_Obama", "Berlin"]
        process.terminate()
        assert process.wait(600) == 0
    finally:
        process.kill()
        process.communicate()
