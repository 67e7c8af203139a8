"""What is kept of a model that is not in the package."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Document
from hf_corefel.formats import write_jsonl
from hf_corefel.pipeline_corefel import load_pipeline
from script_loading import load_script

SCRIPT = load_script("experiments/record_model.py")


def test_a_record_has_no_folders_and_no_ids() -> None:
    first = {"command": ["python", "train.py", "--encoder", "/home/me/encoder"], "train_ids": ["a"]}
    record = {"command": ["python", "train.py"], "train_ids": ["a", "b"], "seed": 1, "started_from": first}
    found = SCRIPT.short_record(record)
    assert found["train_documents"] == 2 and found["started_from"]["train_documents"] == 1
    assert found["started_from"]["command"][-1] == "encoder" and found["seed"] == 1
    assert "train_ids" not in json.dumps(found) and record["train_ids"] == ["a", "b"]


def test_scores_and_predictions_are_kept_and_not_made_again(
    tmp_path: Path, tiny_folder: Path, tiny_documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, out = tmp_path / "model", tmp_path / "kept"
    shutil.copytree(tiny_folder, model)
    (model / "training_record.json").write_text('{"command": [], "train_ids": []}', encoding="utf-8")
    write_jsonl(tmp_path / "dev.tiny.jsonl", tiny_documents)
    asked = []

    def evaluated(corpus: Path, *, predictions: Path, **options: Any) -> dict[str, Any]:
        asked.append((corpus.name, options["split"], options.get("mention_scope")))
        found = load_pipeline(options["model"]).annotate(tiny_documents)
        write_jsonl(predictions, found)
        return {"documents": len(tiny_documents)}

    monkeypatch.setattr(sys.modules["bundle_checkpoint"], "evaluate_corpus", evaluated)
    given = ["--model", model, "--data-dir", tmp_path / "dwie", "--gum", tmp_path / "gum", "--out", out]
    monkeypatch.setattr("sys.argv", ["record", *map(str, given), "--development", str(tmp_path / "dev.tiny.jsonl")])
    SCRIPT.main()
    assert asked == [("dwie", "test", None), ("gum", "test", "named"), ("gum", "test", "all")]
    names = ("tiny", "dwie.test", "gum.test.named", "gum.test.all")
    kept = {name: gzip.decompress((out / f"{name}.jsonl.gz").read_bytes()).decode().splitlines() for name in names}
    assert {len(lines) for lines in kept.values()} == {len(tiny_documents)}
    offsets = [mention[:2] for _, _, mentions in json.loads(kept["dwie.test"][0])["clusters"] for mention in mentions]
    assert offsets and all(0 <= begin < end <= len(tiny_documents[0].text) for begin, end in offsets)
    assert json.loads((out / "test_scores.json").read_text(encoding="utf-8")) == {"documents": len(tiny_documents)}
    assert "tiny" in json.loads((out / "development_scores.json").read_text(encoding="utf-8"))
    SCRIPT.main()
    assert len(asked) == 3
