"""``hf-corefel kb vectors``: in one go, in shards, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor
from hf_corefel.cli import app
from hf_corefel.kb import KnowledgeBase
from hf_corefel.kb.entity_vectors import fit_projection


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["kb", "vectors", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.stdout.split()), result.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [("Oslo", [("Oslo", 1.0)]), ("Zwolle", [("Zwolle", 0.5), ("Zwolle_(ship)", 0.5)])]
    KnowledgeBase.build(rows, lazy_vectors=True).save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def model(tiny_folder: Path, tmp_path: Path) -> Path:
    loaded, processor = CorefELModel.from_pretrained(tiny_folder), CorefELProcessor.from_pretrained(tiny_folder)
    kb = processor.knowledge_base
    projection = fit_projection(loaded.encoder.model, processor.tokenizer, kb, descriptions={}, show_progress=False)
    own = processor.with_knowledge_base(kb.with_projection(projection))
    CorefELPipeline(model=loaded, processor=own).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_all_at_once(folder: Path, model: Path) -> None:
    code, out, error = run(folder, "--model", model)
    assert (code, error) == (0, "")
    assert out == f"{folder}: 3 vectors made, all are saved"
    assert KnowledgeBase.from_pretrained(folder).has_vector(np.arange(3)).all()
    assert run(folder, "--model", model)[1].endswith("0 vectors made, all are saved")


def test_shards(folder: Path, model: Path) -> None:
    assert run(folder, "--model", model, "--shards", 2)[1].endswith("2 vectors made, 1 left for other shards")
    assert run(folder, "--model", model, "--shards", 2, "--shard", 1)[1].endswith("1 vectors made, all are saved")
    assert KnowledgeBase.from_pretrained(folder).has_vector(np.arange(3)).all()


def test_what_is_wrong(folder: Path, model: Path, tiny_folder: Path, tmp_path: Path) -> None:
    code, _, error = run(folder, "--shards", 2, "--shard", 2)
    assert (code, "--shard counts from 0, so with --shards 2 the last is 1" in error) == (1, True)
    code, _, error = run(folder, "--model", tiny_folder)
    assert (code, "no projection from that" in error) == (1, True)
    code, _, error = run(tmp_path / "nothing", "--model", model)
    assert (code, "file not found" in error) == (1, True)
