"""A model that is saved over an earlier one takes its place whole: no file of the other is read in its stead."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers.modeling_utils
from torch import nn

from hf_corefel import CorefELModel
from hf_corefel.pipeline_corefel import load_pipeline

Make = Callable[..., CorefELModel]
SHARDS = {"max_shard_size": "5KB"}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_saved_as(model: nn.Module, folder: Path, **options: Any) -> bool:
    loaded = CorefELModel.from_pretrained(folder, **options).state_dict()
    return all(torch.equal(value, loaded[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("variant", [None, "fp16"])
@pytest.mark.parametrize(("earlier", "later"), [({}, SHARDS), (SHARDS, {}), (SHARDS, {"max_shard_size": "9KB"})])
def test_no_weights_of_the_earlier_model_stay(
    tiny_model: Make, tmp_path: Path, variant: str | None, earlier: dict[str, str], later: dict[str, str]
) -> None:
    tiny_model(1).save_pretrained(tmp_path, variant=variant, **earlier)
    model = tiny_model(2)
    model.save_pretrained(tmp_path, variant=variant, **later)
    assert is_saved_as(model, tmp_path, variant=variant)
    model.save_pretrained(tmp_path / "alone", variant=variant, **later)
    assert {path.name for path in tmp_path.iterdir()} == {"alone", *(p.name for p in (tmp_path / "alone").iterdir())}


def test_other_variants_and_other_files_stay(tiny_model: Make, tmp_path: Path) -> None:
    whole, half = tiny_model(1), tiny_model(2)
    (tmp_path / "README.md").write_text("A card.")
    whole.save_pretrained(tmp_path)
    half.save_pretrained(tmp_path, variant="half", **SHARDS)
    assert is_saved_as(whole, tmp_path) and is_saved_as(half, tmp_path, variant="half")
    assert (tmp_path / "README.md").read_text() == "A card."


def test_graphs_of_the_earlier_model_go(tiny_model: Make, tmp_path: Path) -> None:
    graphs = tmp_path / "onnx"
    graphs.mkdir()
    (graphs / "mine.onnx").write_bytes(b"a graph of the user's")
    tiny_model().save_pretrained(tmp_path)
    assert (graphs / "mine.onnx").exists()
    (graphs / "graphs.json").write_text("{}")
    tiny_model().save_pretrained(tmp_path)
    assert not graphs.exists()
    with pytest.raises(OSError, match="it has no ONNX graphs"):
        load_pipeline(tmp_path, backend="onnx")


@pytest.mark.parametrize("options", [{}, SHARDS])
def test_a_full_disk_leaves_the_earlier_model(
    tiny_model: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    earlier = tiny_model(1)
    earlier.save_pretrained(tmp_path)
    (tmp_path / "fingerprint.json").write_text("{}")
    before = content(tmp_path)

    def full(tensors: Any, path: Any, **unused: Any) -> None:
        Path(path).write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(transformers.modeling_utils, "safe_save_file", full)
        with pytest.raises(OSError, match="No space left"):
            tiny_model(2, head="local").save_pretrained(tmp_path, **options)
    assert content(tmp_path) == before
    assert is_saved_as(earlier, tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_move_that_fails_leaves_the_earlier_model(
    tiny_model: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    earlier = tiny_model(1)
    earlier.save_pretrained(tmp_path)
    (tmp_path / "fingerprint.json").write_text("{}")
    before, replace = content(tmp_path), os.replace

    def refuse(source: Any, place: Any) -> None:
        if Path(source) == tmp_path / ".saving" / name:
            raise PermissionError(13, "it is open elsewhere", str(place))
        replace(source, place)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse)
        with pytest.raises(PermissionError, match="open elsewhere"):
            tiny_model(2, head="local").save_pretrained(tmp_path)
    assert content(tmp_path) == before and not (tmp_path / ".replaced").exists()
    assert is_saved_as(earlier, tmp_path)


def test_what_a_kill_has_left_goes_with_the_next_save(tiny_model: Make, tmp_path: Path) -> None:
    for name in (".saving", ".replaced"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(b"of before")
    model = tiny_model()
    model.save_pretrained(tmp_path)
    assert is_saved_as(model, tmp_path) and not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_process_beside_the_first_one_replaces_nothing(tiny_model: Make, tmp_path: Path) -> None:
    tiny_model(1).save_pretrained(tmp_path)
    before = content(tmp_path)
    tiny_model(2, head="local").save_pretrained(tmp_path, is_main_process=False)
    assert json.loads(content(tmp_path)["config.json"]) == json.loads(before["config.json"])


def test_the_repository_is_called_as_the_folder(
    tiny_model: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def save(self: Any, save_directory: Any, push_to_hub: bool = False, **kwargs: Any) -> None:
        given.update(kwargs, push_to_hub=push_to_hub)

    monkeypatch.setattr(transformers.modeling_utils.PreTrainedModel, "save_pretrained", save)
    tiny_model().save_pretrained(tmp_path / "my-model", push_to_hub=True)
    assert given["repo_id"] == "my-model" and given["push_to_hub"]
