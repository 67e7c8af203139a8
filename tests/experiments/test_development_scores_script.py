"""Development scores: what is there is of the same documents and model, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Cluster, Document, Mention, load_pipeline
from hf_corefel.formats import write_jsonl
from hf_corefel.hub.score_tables import development_table
from hf_corefel.pipeline_corefel import CorefELPipeline
from script_loading import load_script

SCRIPT = load_script("experiments/development_scores.py")


@pytest.fixture
def documents(tmp_path: Path, tiny_documents: list[Document]) -> Path:
    write_jsonl(tmp_path / "dev.tiny.jsonl", tiny_documents)
    return tmp_path / "dev.tiny.jsonl"


def scores_in(folder: Path) -> Any:
    return json.loads((folder / "development_scores.json").read_text(encoding="utf-8"))


def test_scores_of_something_else_are_not_taken_for_these(
    documents: Path, tiny_folder: Path, tiny_trained: Any, tiny_processor: Any, tmp_path: Path
) -> None:
    pipeline, out = load_pipeline(tiny_folder), tmp_path / "out"
    SCRIPT.write_scores(pipeline, [documents], out)
    written = (out / "development_scores.json").read_bytes()
    SCRIPT.write_scores(pipeline, [documents], out)
    other = tmp_path / "other" / documents.name
    other.parent.mkdir()
    write_jsonl(other, [Document("Oslo is old.", clusters=[Cluster((Mention(0, 4),), "Oslo")])])
    model = tiny_trained("local")
    another = CorefELPipeline(model=model, processor=tiny_processor(model.config), task="coref-el")
    for files, given, limit, field in (
        ([other], pipeline, None, "documents"),
        ([documents], pipeline, 1, "limit"),
        ([documents], another, None, "model"),
        ([documents, other], pipeline, None, "documents"),
    ):
        with pytest.raises(ValueError, match=f"has scores of tiny already, made of another {field};"):
            SCRIPT.write_scores(given, files, out, limit=limit)
    with pytest.raises(ValueError, match="made of another documents"):
        SCRIPT.write_scores(pipeline, [documents, other], tmp_path / "both")
    assert (out / "development_scores.json").read_bytes() == written
    # Those of older versions do not say what they were made of, and are taken as they are.
    older = {name: {k: v for k, v in found.items() if k != "made_of"} for name, found in scores_in(out).items()}
    (out / "development_scores.json").write_text(json.dumps(older), encoding="utf-8")
    SCRIPT.write_scores(pipeline, [other], out)
    assert scores_in(out) == older


def test_what_is_no_number_is_left_out_and_files_are_whole(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No link of this text is found."""
    pipeline, out, file = load_pipeline(tiny_folder), tmp_path / "out", tmp_path / "dev.nothing.jsonl"
    write_jsonl(file, [Document("the the", clusters=[Cluster((Mention(4, 7),), "Nobody")])])
    SCRIPT.write_scores(pipeline, [file], out)
    found = scores_in(out)["nothing"]
    assert found["el_m"] == 0.0 and not {"link_accuracy", "link_calibration_error"} & found.keys()
    assert "nothing" in development_table(scores_in(out))
    before = (out / "development_scores.json").read_bytes()
    # A write that fails leaves what is there.
    write_jsonl(tmp_path / "dev.more.jsonl", [Document("the the", clusters=[])])
    with monkeypatch.context() as patch:
        patch.setattr(SCRIPT, "development_score", lambda *args: ({"mentions": float("nan")}, []))
        with pytest.raises(ValueError, match="JSON"):
            SCRIPT.write_scores(pipeline, [tmp_path / "dev.more.jsonl"], out)
    assert (out / "development_scores.json").read_bytes() == before
    (out / "development_scores.json").write_bytes(before[:20])
    with pytest.raises(ValueError, match=r"development_scores.json: damaged .*; remove it and run it again"):
        SCRIPT.write_scores(pipeline, [file], out)


def test_a_file_without_documents_is_named_at_once(
    documents: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "dev.empty.jsonl"
    empty.touch()
    given = ["development_scores", "--model", tiny_folder, "--out", tmp_path / "out", "--documents", documents]
    monkeypatch.setattr("sys.argv", [*map(str, given), str(empty)])
    with pytest.raises(SystemExit, match=r"dev\.empty\.jsonl: there is no document"):
        SCRIPT.main()
    assert not (tmp_path / "out" / "development_scores.json").exists()
    monkeypatch.setattr("sys.argv", [*map(str, given), "--limit", "0"])
    with pytest.raises(SystemExit, match="limit: expected at least one document, got 0"):
        SCRIPT.main()
