"""The command goes on where one file, or the terminal, cannot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from forked_python import PACKAGE, run_python
from hf_corefel.cli import app
from hf_corefel.documents import AnnotatedDocument, Document


def test_a_file_that_is_too_much_for_memory_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def annotate(documents: list[Document], batch_size: int) -> list[dict[str, Any]]:
        if any(document.text == "huge" for document in documents):
            raise RuntimeError("not enough memory")
        return [AnnotatedDocument(document.text, [], document.id).to_dict() for document in documents]

    module = ModuleType("hf_corefel.pipeline_corefel")
    module.load_pipeline = lambda model=None: annotate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    huge, fine = tmp_path / "huge.txt", tmp_path / "fine.txt"
    huge.write_text("huge")
    fine.write_text("fine")
    result = CliRunner().invoke(app, ["annotate", "--json", str(huge), str(fine)])
    assert result.exit_code == 1
    assert f"cannot annotate {huge}: not enough memory" in result.stderr
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == ["fine"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ("-m", "hf_corefel.cli", *arguments)
    return run_python(*command, imported=PACKAGE, env={**os.environ, **environment})


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_terminal_that_knows_ascii_only_gets_marks(tiny_folder: Path, tmp_path: Path, options: tuple[str]) -> None:
    file = tmp_path / "text.txt"
    file.write_text("Anna Berg met Carl Moss in Oslo. \u2603 Berg praised Moss.", encoding="utf-8")
    done = run("annotate", str(file), "--model", str(tiny_folder), *options, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2" in done.stdout


def test_damaged_weights_are_named_in_one_line(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_folder, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    file = tmp_path / "text.txt"
    file.write_text("Anna Berg met Carl Moss.")
    done = run("annotate", str(file), "--model", str(folder))
    assert done.returncode == 1
    assert done.stderr.startswith(f"hf-corefel: cannot load the model {folder}: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_leaves_early_is_no_error_to_talk_about(tiny_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("Anna Berg met Carl Moss in Oslo. Berg praised Moss.")
    command = [sys.executable, "-m", "hf_corefel.cli", "annotate", "--model", str(tiny_folder), "--json", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=120) == 1


@pytest.mark.parametrize("quiet", [False, True])
def test_warnings_are_messages_of_the_command_unless_quiet(tiny_folder: Path, tmp_path: Path, quiet: bool) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    fingerprint = {"knowledge_base": "another", "weights": "another", "processor": "another"}
    (folder / "fingerprint.json").write_text(json.dumps(fingerprint))
    file = tmp_path / "text.txt"
    file.write_text("Anna Berg met Carl Moss.")
    done = run("annotate", str(file), "--model", str(folder), "--json", *(["--quiet"] if quiet else []))
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert bool(lines) is not quiet
    assert all(line.startswith("hf-corefel: warning: ") for line in lines)


@pytest.mark.parametrize("quiet", [False, True])
def test_what_evaluate_leaves_out_is_a_message_unless_quiet(tiny_folder: Path, tmp_path: Path, quiet: bool) -> None:
    article = {"id": "DW_1", "content": "Anna Berg met Carl Moss.", "tags": ["test"], "mentions": [], "concepts": []}
    (tmp_path / "DW_1.json").write_text(json.dumps(article))
    (tmp_path / "DW_2.json").write_text(json.dumps(article | {"id": "DW_2", "concepts": 3}))
    done = run("evaluate", str(tmp_path), "--model", str(tiny_folder), *(["--quiet"] if quiet else []))
    assert done.returncode == 0
    named = f"{tmp_path / 'DW_2.json'}: field 'concepts': expected list, got 3"
    assert done.stderr.splitlines() == ([] if quiet else [f"hf-corefel: warning: skipped: {named}"])


@pytest.mark.parametrize("options", [("--json",), pytest.param(("--format", "json"), marks=pytest.mark.slow)])
def test_json_is_valid_whatever_the_encoding_of_standard_output(
    tiny_folder: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    text = "Anna Berg met Carl Moss in Oslo. caf\u00e9 \u2603 \U0001f600"
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8")
    for encoding in ("cp1252", "utf-8"):
        done = run("annotate", str(file), "--model", str(tiny_folder), *options, PYTHONIOENCODING=encoding)
        assert done.stdout.isascii() is (encoding == "cp1252")
        found = json.loads(done.stdout)
        assert (found[0] if isinstance(found, list) else found)["text"] == text
        assert ("\u2603" in done.stdout) is (encoding == "utf-8")
