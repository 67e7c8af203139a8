"""``hf-corefel calibrate``: tables, a report, a picture, a calibrated model, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from hf_corefel import Document, load_pipeline
from hf_corefel.cli import app
from hf_corefel.formats import write_jsonl


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["calibrate", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def corpus(tmp_path: Path, tiny_documents: list[Any]) -> Path:
    write_jsonl(tmp_path / "mine.jsonl", tiny_documents)
    return tmp_path / "mine.jsonl"


def test_a_model_is_measured_as_it_is(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    report, picture = tmp_path / "report.json", tmp_path / "picture.svg"
    code, out, error = run(corpus, "--model", tiny_folder, "--report", report, "--picture", picture)
    assert (code, error) == (0, "")
    assert out.split()[:5] == ["Corpus", "Decisions", "Number", "Right", "%"] and "min_probability" in out
    assert "Calibration:" not in out and "after" not in out
    found = json.loads(report.read_text(encoding="utf-8"))
    assert list(found) == ["before"] and found["before"]["mine"]["links"]["decisions"] > 0
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_a_calibrated_model_is_written(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(corpus.read_text(encoding="utf-8"), encoding="utf-8")
    place = tmp_path / "calibrated"
    code, out, error = run(corpus, other, "--model", tiny_folder, "--out", place, "--leave-one-out", "--limit", 2)
    assert (code, error) == (0, "")
    assert out.startswith("Calibration: mention_scale ") and "held out" in out and f"written to {place}" in out
    before, after = load_pipeline(tiny_folder), load_pipeline(place)
    assert before.model.config.calibration is None and set(after.model.config.calibration or ()) == {
        "mention_scale",
        "pair_scale",
        "link_scale",
        "nil_offset",
    }
    for name, value in before.model.state_dict().items():
        assert value.equal(after.model.state_dict()[name]), name


def test_what_is_wrong_is_said(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    model = "--model", tiny_folder
    code, _, error = run(corpus, *model, "--out", tmp_path)
    assert code == 1 and f"--out: {tmp_path} exists already; name a new folder" in error
    code, _, error = run(corpus, corpus, *model)
    assert code == 1 and "another corpus is called mine" in error
    code, _, error = run(corpus, *model, "--leave-one-out")
    assert code == 1 and "one corpus only" in error
    write_jsonl(tmp_path / "bare.jsonl", [Document("Oslo is old.", id="bare")])
    code, _, error = run(tmp_path / "bare.jsonl", *model)
    assert code == 1 and "clusters: missing" in error and "Traceback" not in error
    code, _, error = run(tmp_path / "none.jsonl", *model)
    assert code == 1 and "none.jsonl" in error
