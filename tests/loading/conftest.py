"""A small model that says the same each time, folders of it to spoil, and processes that load them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forked_python

SOURCE = Path(__file__).resolve().parents[2] / "src"
TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."


@pytest.fixture(scope="session")
def saved(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved pipeline, fingerprint included: do not change it."""
    from hf_corefel.pipeline_corefel import load_pipeline

    folder = tmp_path_factory.mktemp("saved") / "model"
    load_pipeline(tiny_folder).save_pretrained(folder)
    return folder


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a copy of that folder under a name; what is not changed is linked."""

    def make(name: str) -> Path:
        target = tmp_path / name
        target.mkdir()
        for path in saved.iterdir():
            if path.is_dir() or path.suffix == ".safetensors":
                (target / path.name).symlink_to(path)
            else:
                (target / path.name).write_bytes(path.read_bytes())
        return target

    return make


def edit(path: Path, **fields: Any) -> None:
    """Sets fields of a JSON file, which is made where it is not there; None takes one out."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    content = {name: value for name, value in {**content, **fields}.items() if value is not None}
    path.write_text(json.dumps(content), encoding="utf-8")


def run_python(code: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, with lines on its standard input."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HF_HUB_OFFLINE": "1"}
    return forked_python.run_python("-c", code, *arguments, input=given, env=environment)
