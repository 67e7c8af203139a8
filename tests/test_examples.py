"""The example scripts run from end to end."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import pipeline

import hf_corefel
from hf_corefel import CorefELModel, Document

EXAMPLES = Path(__file__).parents[1] / "examples"
TINY = {
    "max_span_words": 3,
    "max_candidates": 3,
    "window_size": 16,
    "mention_ffnn_size": 8,
    "pair_ffnn_size": 8,
    "entity_ffnn_size": 8,
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs an example as a script with the given options."""

    def main(name: str, **options: object) -> None:
        arguments = [part for key, value in options.items() for part in (f"--{key}", str(value))]
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    return main


@pytest.fixture
def articles(tmp_path: Path, tiny_documents: list[Document]) -> Path:
    """The tiny documents as DWIE articles: the training split twice over, and a test article."""
    folder = tmp_path / "dwie"
    folder.mkdir()
    for number in range(6):
        document = tiny_documents[number % 3]
        clusters = document.clusters or []
        article = {
            "id": f"DW_{number}",
            "content": document.text,
            "tags": ["all", "test" if number == 5 else "train"],
            "concepts": [{"concept": c, "link": cluster.entity} for c, cluster in enumerate(clusters)],
            "mentions": [
                {"begin": m.begin, "end": m.end, "text": m.text, "concept": c}
                for c, cluster in enumerate(clusters)
                for m in cluster.mentions
            ],
        }
        (folder / f"DW_{number}.json").write_text(json.dumps(article), encoding="utf-8")
    return folder


def test_fine_tuning(
    run: Callable[..., None],
    tmp_path: Path,
    articles: Path,
    tiny_encoder: Path,
    tiny_knowledge_base: Any,
    tiny_documents: list[Document],
    capsys: pytest.CaptureFixture[str],
) -> None:
    kb, output = tmp_path / "kb", tmp_path / "run"
    tiny_knowledge_base.save_pretrained(kb)
    common = {
        "data_dir": articles,
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "per_device_train_batch_size": 1,
        "save_steps": 2,
        "logging_steps": 1,
        "seed": 3,
    }
    start = {"encoder": tiny_encoder, "knowledge_base": kb, "config": json.dumps({"head": "local", **TINY})}
    run("03_fine_tune.py", **common, **start, output_dir=output, max_steps=2, half_precision=True)
    final = output / "final"
    record = json.loads((final / "training_record.json").read_text(encoding="utf-8"))
    # Every tenth training article, hence the first, is held out.
    assert record["train_ids"] == ["DW_1", "DW_2", "DW_3", "DW_4"]
    assert record["seed"] == 3
    assert record["trained_on_development"] is False
    assert [Path(part).name for part in record["command"][:2]] == ["python", "03_fine_tune.py"]
    assert set(record["versions"]) == {"torch", "transformers", "hf-corefel"}
    assert 0.0 <= record["development_scores"]["eval_score"] <= 1.0
    assert "gold within reach" in capsys.readouterr().out
    assert {value.dtype for value in load_file(final / "model.safetensors").values()} == {torch.float16}
    result = pipeline("coref-el", model=str(final))("Anna Berg met Carl Moss in Oslo.")
    assert result["text"] == "Anna Berg met Carl Moss in Oslo."
    assert CorefELModel.from_pretrained(final).config.head == "local"

    # Called again, it goes on from the last checkpoint.
    run("03_fine_tune.py", **common, **start, output_dir=output, max_steps=4)
    state = json.loads((output / "checkpoint-4" / "trainer_state.json").read_text(encoding="utf-8"))
    assert state["global_step"] == 4
    assert [entry["step"] for entry in state["log_history"] if "loss" in entry] == [1, 2, 3, 4]

    # Or from the one that is named.
    elsewhere, second = tmp_path / "elsewhere", output / "checkpoint-2"
    run("03_fine_tune.py", **common, **start, output_dir=elsewhere, max_steps=3, resume_from_checkpoint=second)
    state = json.loads((elsewhere / "checkpoint-3" / "trainer_state.json").read_text(encoding="utf-8"))
    assert [entry["step"] for entry in state["log_history"] if "loss" in entry] == [1, 2, 3]

    # From a checkpoint, with another head, for which it is not calibrated, and with the development articles.
    other = tmp_path / "other"
    saved = json.loads((final / "config.json").read_text(encoding="utf-8"))
    (final / "config.json").write_text(json.dumps({**saved, "calibration": {"nil_offset": 0.5}}), encoding="utf-8")
    config = json.dumps({"head": "global"})
    own = tmp_path / "own.jsonl"
    lines = [json.dumps({**tiny_documents[0].to_dict(), "id": name}) + "\n" for name in ("mine.0", 0, 7)]
    own.write_text("".join(lines), encoding="utf-8")
    options = {"config": config, "documents": own, "max_steps": 1, "train_on_all": True, "bf16_full_eval": True}
    run("03_fine_tune.py", **common, **options, model=final, output_dir=other)
    trained = CorefELModel.from_pretrained(other / "final").config
    assert (trained.head, trained.calibration) == ("global", None)
    weights = load_file(other / "final" / "model.safetensors").values()
    assert {value.dtype for value in weights} == {torch.float32}, "as they were trained, not as they were evaluated"
    record = json.loads((other / "final" / "training_record.json").read_text(encoding="utf-8"))
    assert record["trained_on_development"] is True
    assert record["train_ids"] == ["0", "7", *(f"DW_{n}" for n in range(5)), "mine.0"]
    assert record["started_from"]["seed"] == 3

    # From a teacher too, which is asked once of each text: five articles have three, and one has no gold.
    said = tmp_path / "said"
    own.write_text(json.dumps({"id": "plain", "text": "Carl Moss left Oslo."}) + "\n", encoding="utf-8")
    teacher = {"teacher": other / "final", "teacher_cache": said}
    run("03_fine_tune.py", **common, **options, **teacher, model=other / "final", output_dir=tmp_path / "pupil")
    assert len(list(said.glob("*.safetensors"))) == 4
    del teacher["teacher"]
    run("03_fine_tune.py", **common, **options, **teacher, model=other / "final", output_dir=tmp_path / "another")
    record = json.loads((tmp_path / "another" / "final" / "training_record.json").read_text(encoding="utf-8"))
    assert record["training"]["distillation"]["documents_without_gold"] == 1


def launch(command: list[str], options: dict[str, Any]) -> None:
    """Run a command with options, on the package that is tested."""
    done = subprocess.run(
        [*command, *(part for key, value in options.items() for part in (f"--{key}", str(value)))],
        env={**os.environ, "PYTHONPATH": str(Path(hf_corefel.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_fine_tuning_through_accelerate(
    tmp_path: Path, articles: Path, tiny_encoder: Path, tiny_knowledge_base: Any
) -> None:
    kb, output = tmp_path / "kb", tmp_path / "run"
    tiny_knowledge_base.save_pretrained(kb)
    options = {
        "data_dir": articles,
        "encoder": tiny_encoder,
        "knowledge_base": kb,
        "config": json.dumps(TINY),
        "output_dir": output,
        "max_steps": 1,
        "report_to": "none",
    }
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    command += ["--config_file", str(EXAMPLES / "accelerate" / "cpu.yaml"), str(EXAMPLES / "03_fine_tune.py")]
    launch(command, options)
    assert CorefELModel.from_pretrained(output / "final").config.head == "global"
    arguments = torch.load(output / "checkpoint-1" / "training_args.bin", weights_only=False)
    assert (str(arguments.device), arguments.world_size) == ("cpu", 1)


@pytest.mark.slow
def test_two_processes_fill_one_cache(tmp_path: Path, articles: Path, tiny_folder: Path) -> None:
    options = {
        "data_dir": articles,
        "model": tiny_folder,
        "teacher": tiny_folder,
        "teacher_cache": tmp_path / "said",
        "output_dir": tmp_path / "run",
        "max_steps": 1,
        "use_cpu": True,
        "report_to": "none",
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    launch([*command, str(EXAMPLES / "03_fine_tune.py")], options)
    assert len(list((tmp_path / "said").glob("*.safetensors"))) == 3
    assert CorefELModel.from_pretrained(tmp_path / "run" / "final").config.head == "global"


def test_fine_tuning_needs_something_to_start_from(run: Callable[..., None], tmp_path: Path, articles: Path) -> None:
    with pytest.raises(SystemExit, match="--encoder"):
        run("03_fine_tune.py", data_dir=articles, output_dir=tmp_path / "run", use_cpu=True)
