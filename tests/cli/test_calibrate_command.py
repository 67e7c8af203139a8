"""``hf-corefel calibrate``: tables, a report, a picture, a calibrated model, and what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from hf_corefel import Document, load_pipeline
from hf_corefel.cli import app
from hf_corefel.formats import write_documents, write_jsonl
from little_corpora import Source, write_conll2012, write_docred


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


def test_nothing_that_is_read_and_nothing_twice_is_written(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    before = corpus.read_bytes()
    names = tmp_path / "names.tsv"
    names.write_text("x\ty\n", encoding="utf-8")
    for options, message in (
        (("--report", corpus), "--report: .*mine.jsonl: that is a file of the corpus or the model"),
        (("--picture", tiny_folder / "config.json"), "--picture: .*that is a file of the corpus or the model"),
        (("--report", tmp_path / "x", "--picture", tmp_path / "x"), "where --report and --picture both go"),
        (
            ("--picture", names, "--entity-map", names),
            "--picture: .*names.tsv: that is a file of the corpus or the model",
        ),
        (("--report", tmp_path / "none" / "x"), "--report: .*there is no folder"),
        (("--picture", tmp_path), "--picture: .*that is a folder; name a file in it"),
    ):
        code, out, error = run(corpus, "--model", tiny_folder, *options)
        assert (code, out) == (1, "") and re.search(message, " ".join(error.split())), error
    assert names.read_text(encoding="utf-8") == "x\ty\n"
    assert corpus.read_bytes() == before and not (tmp_path / "x").exists()


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


def test_a_few_values_are_fitted(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    only = "--only", "mention_scale", "--only", "nil_offset"
    code, _, error = run(corpus, "--model", tiny_folder, "--out", tmp_path / "calibrated", *only)
    assert (code, error) == (0, "")
    fitted = load_pipeline(tmp_path / "calibrated").model.config.calibration
    assert fitted is not None and (fitted["pair_scale"], fitted["link_scale"]) == (1.0, 1.0)
    code, _, error = run(corpus, "--model", tiny_folder, "--only", "nil")
    assert code == 1 and "--only: nothing is fitted; say --out or --leave-one-out too" in error
    code, _, error = run(corpus, "--model", tiny_folder, "--one-scale")
    assert code == 1 and "--one-scale: nothing is fitted; say --out or --leave-one-out too" in error
    code, _, error = run(corpus, "--model", tiny_folder, "--out", tmp_path / "other", "--only", "nil")
    assert code == 1 and "a calibration has no 'nil'" in error


def test_what_is_wrong_is_said(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    model = "--model", tiny_folder
    code, _, error = run(corpus, *model, "--out", tmp_path)
    assert code == 1 and f"--out: {tmp_path} exists already; name a new folder" in error
    code, _, error = run(corpus, corpus, *model)
    assert code == 1 and "another corpus is called mine" in error
    code, _, error = run(corpus, *model, "--leave-one-out")
    assert code == 1 and "one corpus only" in error
    write_jsonl(tmp_path / "bare.jsonl", [Document("Oslo.", clusters=[]), Document("Oslo is old.", id="bare")])
    code, _, error = run(tmp_path / "bare.jsonl", *model)
    assert code == 1 and "bare.jsonl: number 2, document 'bare'.clusters: missing" in " ".join(error.split())
    for place, reason in ((corpus / "model", "Not a directory"), (Path("/proc/none/model"), "No such file")):
        code, _, error = run(corpus, *model, "--out", place)
        assert code == 1 and f"--out: {place}: no folder can be made in {place.parent} ({reason}" in error.replace(
            "/proc (", "/proc/none ("
        )
    code, _, error = run(corpus, *model, "--out", tmp_path / "new", "--report", tmp_path / "new")
    assert code == 1 and "a file is written there too" in error
    code, _, error = run(tmp_path / "none.jsonl", *model)
    assert code == 1 and "none.jsonl" in error


def test_a_corpus_is_asked_for_the_mentions_that_it_annotates(
    tiny_folder: Path, tiny_model: Any, tiny_processor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the model's default is; a model with one scope is not told."""
    model = tiny_model(mention_scopes={"all": {}, "entities": {}}, default_mention_scope="entities")
    model.save_pretrained(tmp_path / "scoped")
    tiny_processor(model.config).save_pretrained(tmp_path / "scoped")
    (tmp_path / "corpus").mkdir()
    sentence = ["Anna", "Berg", "met", "Carl", "Moss", "."]
    write_conll2012(tmp_path / "corpus" / "x.conll", Source([sentence], [(None, [(0, 0, 1)])]))
    told = []

    def spy(pipeline: Any, documents: dict[str, list[Document]], **options: Any) -> None:
        told.extend(document.mention_scope for document in documents["corpus"])
        raise ValueError("seen")

    monkeypatch.setattr("hf_corefel.calibration.calibrate_corpora", spy)
    for folder in (tmp_path / "scoped", tiny_folder):
        code, _, error = run(tmp_path / "corpus", "--model", folder, "--split", "all")
        assert code == 1 and error.endswith("seen\n")
    assert told == ["all", None]

    # The caller may say another scope, which documents with one of their own do not take.
    asked = "--model", tmp_path / "scoped", "--mention-scope", "entities"
    run(tmp_path / "corpus", *asked, "--split", "all")
    write_jsonl(
        tmp_path / "corpus.jsonl", [Document("Oslo.", clusters=[]), Document("Oslo.", clusters=[], mention_scope="all")]
    )
    run(tmp_path / "corpus.jsonl", *asked)
    assert told[2:] == ["entities", "entities", "all"]
    for folder, scope, has in ((tmp_path / "scoped", "named", "are all, entities"), (tiny_folder, "all", "has none")):
        code, _, error = run(tmp_path / "corpus", "--model", folder, "--mention-scope", scope)
        assert code == 1 and f"--mention-scope: there is no scope {scope}; the model" in error and has in error


def test_json_of_a_corpus_and_lists_of_documents_are_read(
    tiny_documents: list[Document], tiny_folder: Path, tmp_path: Path
) -> None:
    source = Source([["Anna", "met", "Carl"], ["She", "left"]], [("Q1", [(0, 0, 0), (1, 0, 0)]), (None, [(0, 2, 2)])])
    docred = write_docred(tmp_path / "docred.json", source)
    write_documents(tmp_path / "listed.json", tiny_documents)
    (tmp_path / "lines.json").write_text(json.dumps(tiny_documents[0].to_dict()) + "\n", encoding="utf-8")
    places = docred, tmp_path / "listed.json", tmp_path / "lines.json"
    report = tmp_path / "report"
    code, _, error = run(*places, "--split", "all", "--model", tiny_folder, "--report", report)
    assert (code, error) == (0, "")
    assert list(json.loads(report.read_text(encoding="utf-8"))["before"]) == ["docred", "listed", "lines"]


def test_what_cannot_be_written_costs_nothing_else(
    corpus: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hf_corefel.calibration import CalibrationReport

    def full(*args: Any) -> None:
        raise OSError("no space")

    report, picture, out = (tmp_path / name for name in ("report.json", "picture.svg", "out"))
    given = corpus, "--model", tiny_folder, "--only", "mention_scale", "--out", out, "--report", report
    with monkeypatch.context() as patch:
        patch.setattr(CalibrationReport, "save", full)
        code, _, error = run(*given, "--picture", picture)
    assert code == 1 and "no space" in error and not out.exists()
    assert json.loads(report.read_text(encoding="utf-8"))["calibration"] and picture.exists()
    monkeypatch.setattr("hf_corefel.utils.files.whole_file", full)
    code, _, error = run(*given)
    assert code == 1 and "no space" in error and load_pipeline(out).model.config.calibration is not None
