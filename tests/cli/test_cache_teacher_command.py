"""``hf-corefel cache-teacher``: gold, texts and results; again; and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hf_corefel import AnnotatedDocument, Document
from hf_corefel.cli import app
from hf_corefel.training import CachedTeacher


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["cache-teacher", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.stdout.split()), " ".join(result.stderr.split())


@pytest.fixture
def documents(tiny_documents: list[Document]) -> list[Document]:
    return [*tiny_documents[:2], Document("Carl Moss left Oslo. He met Anna Berg.")]


@pytest.fixture
def file(tmp_path: Path, documents: list[Document]) -> Path:
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(document.to_dict()) + "\n" for document in documents), encoding="utf-8")
    return path


def test_a_training_finds_what_was_written(
    file: Path, documents: list[Document], tiny_folder: Path, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    assert run(file, "--model", tiny_folder, "--out", said) == (0, f"{said}: 3 documents written", "")
    assert run(file, "--model", tiny_folder, "--out", said) == (0, f"{said}: 0 documents written", "")
    CachedTeacher(said).check(documents, ["a", "b", "c"], None)
    # Documents are told by their text, whatever their annotation.
    results = tmp_path / "results.jsonl"
    result = AnnotatedDocument(documents[0].text, documents[0].clusters or [])
    results.write_text(json.dumps(result.to_dict()) + "\n", encoding="utf-8")
    assert run(results, "--model", tiny_folder, "--out", said)[1] == f"{said}: 0 documents written"
    cut = run(file, "--model", tiny_folder, "--out", said, "--max-document-words", 8)
    assert (cut[0], cut[1] != f"{said}: 0 documents written") == (0, True)


def test_what_is_wrong(file: Path, tiny_folder: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    for arguments, message in (
        ((tmp_path / "nothing.jsonl",), "No such file"),
        ((file, "--threshold", 2), "threshold must be below 1; got 2.0"),
        ((file, "--temperature", 0), "temperature must be a finite number above 0; got 0.0"),
        ((file, "--device", "cuda:77"), "cannot load the model"),
    ):
        code, out, error = run(*arguments, "--model", tiny_folder, "--out", said)
        assert (code, out, message in error) == (1, "", True), error
    assert run(file, "--model", tiny_folder, "--out", said)[0] == 0
    code, _, error = run(file, "--model", tiny_folder, "--out", said, "--temperature", 2)
    assert (code, "temperature is 1.0 there, and 2.0 was asked for" in error) == (1, True)
    (tmp_path / "mine.jsonl").write_text('{"text": "Oslo.", "mention_scope": "all"}\n')
    code, _, error = run(tmp_path / "mine.jsonl", "--model", tiny_folder, "--out", said)
    assert (code, "mention_scope: 'all', but the teacher knows one scope only" in error) == (1, True)
