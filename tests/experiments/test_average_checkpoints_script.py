from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file, save_file

from script_loading import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/average_checkpoints.py")


def test_the_mean_takes_the_place_of_the_weights(script: ModuleType, tmp_path: Path) -> None:
    model = tmp_path / "final"
    model.mkdir()
    save_file({"a": torch.zeros(2, dtype=torch.float16)}, model / "model.safetensors")
    (model / "config.json").write_text("{}")
    (model / "training_record.json").write_text(json.dumps({"seed": 1, "development_scores": {"score": 0.5}}))
    paths = []
    for number, values in enumerate(([1.0, 2.0], [2.0, 6.0])):
        folder = tmp_path / f"checkpoint-{number}"
        folder.mkdir()
        save_file({"a": torch.tensor(values)}, folder / "model.safetensors")
        paths.append(str(folder / "model.safetensors"))
    out = tmp_path / "averaged"
    script.main(["--model", str(model), "--checkpoints", *paths, "--out", str(out)])
    state = load_file(out / "model.safetensors")
    assert state["a"].dtype == torch.float16
    assert state["a"].tolist() == [1.5, 4.0]
    record = json.loads((out / "training_record.json").read_text())
    assert record == {"seed": 1, "weights_averaged_over": ["checkpoint-0", "checkpoint-1"]}
    assert (out / "config.json").is_file()


def test_weights_of_the_start_are_mixed_in(script: ModuleType, tmp_path: Path) -> None:
    model = tmp_path / "final"
    model.mkdir()
    state = {"a": torch.tensor([4.0, 8.0]), "late": torch.tensor([1.0])}
    save_file(state, model / "model.safetensors")
    (model / "training_record.json").write_text("{}")
    save_file({"a": torch.tensor([0.0, 4.0])}, tmp_path / "start.safetensors")
    common = ["--model", str(model), "--checkpoints", str(model / "model.safetensors"), "--out", str(tmp_path / "out")]
    script.main([*common, "--start", str(tmp_path / "start.safetensors"), "--start-share", "0.25"])
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert found["a"].tolist() == [3.0, 7.0] and found["late"].tolist() == [0.75]
    record = json.loads((tmp_path / "out" / "training_record.json").read_text())
    assert record == {"weights_averaged_over": ["final"], "share_of_the_start": 0.25}
    save_file({"b": torch.zeros(1)}, tmp_path / "start.safetensors")
    with pytest.raises(SystemExit, match=r"start\.safetensors: 'b' does not fit"):
        script.mixed(state, tmp_path / "start.safetensors", 0.5)


def test_files_of_different_models_are_refused(script: ModuleType, tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "one.safetensors")
    save_file({"b": torch.zeros(1)}, tmp_path / "two.safetensors")
    with pytest.raises(SystemExit, match=r"two\.safetensors: 'a'"):
        script.average([tmp_path / "one.safetensors", tmp_path / "two.safetensors"])
