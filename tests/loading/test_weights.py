"""Weights: safetensors only, and none drawn at random, damaged or left out without a word."""

from __future__ import annotations

import copy
import json
import pickle
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, pipeline
from typer.testing import CliRunner

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, Document
from hf_corefel.cli.app import app
from hf_corefel.hub import publish
from hf_corefel.loading.weights import WeightsWarning, not_finite
from hf_corefel.pipeline_corefel import load_pipeline

from .conftest import TEXT, edit

PARTS = ("pruner.", "pairs.", "entities.", "spans.", "encoder.", "pairs.root")


@pytest.fixture
def folder(copied: Callable[[str], Path]) -> Path:
    return copied("model")


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> None:
    path = folder / "model.safetensors"
    weights = change(load_file(path))
    path.unlink()
    save_file(weights, path, metadata={"format": "pt"})


def without(prefix: str) -> Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]:
    return lambda weights: {name: value for name, value in weights.items() if not name.startswith(prefix)}


def quietly(load: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightsWarning)
        return load()


# Missing, beyond, of another size, not finite ----------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("with_fingerprint", [True, False])
def test_missing_weights_are_an_error_for_annotating(folder: Path, part: str, with_fingerprint: bool) -> None:
    change_weights(folder, without(part))
    if not with_fingerprint:
        (folder / "fingerprint.json").unlink()
    message = rf"{folder}: \d+ weights are missing from it and were drawn at random \({part}"
    for load in (
        lambda: load_pipeline(folder),
        lambda: load_pipeline(folder, verify=False),
        lambda: pipeline("coref-el", model=str(folder)),
        lambda: publish(folder, "acme/broken"),
    ):
        with pytest.raises(ValueError, match=message):
            quietly(load)
    done = CliRunner().invoke(app, ["annotate", "-", "--json", "--model", str(folder)], input=TEXT)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"cannot load the model {folder}: " in done.stderr and "drawn at random" in done.stderr


def test_missing_weights_are_a_warning_for_training(folder: Path) -> None:
    change_weights(folder, without("pruner."))
    for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained):
        with pytest.warns(WeightsWarning, match=rf"{folder}: \d+ weights are missing .*pruner\..*and \d+ more"):
            model = load(folder)
        assert {name.split(".")[0] for name in model.untrained_weights()} == {"pruner"}


def test_a_model_that_was_trained_since_may_annotate(folder: Path, tiny_documents: list[Document]) -> None:
    change_weights(folder, without("pairs.root"))
    model = quietly(lambda: CorefELModel.from_pretrained(folder))
    processor = CorefELProcessor.from_pretrained(folder)
    for same in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(model).half().float()):
        with pytest.raises(ValueError, match=r"drawn at random \(pairs\.root\)"):
            CorefELPipeline(model=same, processor=processor, task="coref-el")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model(**processor(tiny_documents, gold=True).inputs).loss.backward()
    optimizer.step()
    assert model.untrained_weights() == []
    assert CorefELPipeline(model=model, processor=processor, task="coref-el")(TEXT)


def test_a_head_that_was_never_trained_may_not_annotate(
    tiny_model: Callable[..., CorefELModel], tiny_processor: Callable[[Any], CorefELProcessor], tmp_path: Path
) -> None:
    model = tiny_model(head="local")
    model.save_pretrained(tmp_path)
    processor = tiny_processor(model.config)
    assert CorefELPipeline(model=model, processor=processor, task="coref-el")(TEXT)
    assert model.set_head("global") == ["pairs.root"]
    with pytest.warns(WeightsWarning, match="1 weights are missing"):
        loaded = CorefELModel.from_pretrained(tmp_path, head="global")
    for each in (model, loaded):
        with pytest.raises(ValueError, match=r"\(pairs\.root\)"):
            CorefELPipeline(model=each, processor=processor, task="coref-el")
    # Nor when it was saved in between, which is no training.
    for each, folder in ((model, tmp_path / "switched"), (loaded, tmp_path / "loaded")):
        each.save_pretrained(folder)
        processor.save_pretrained(folder)
        with pytest.warns(WeightsWarning, match=r"1 weights are in it as they were drawn at random; .*pairs\.root"):
            again = CorefELModel.from_pretrained(folder)
        assert torch.equal(again.pairs.root, each.pairs.root)
        assert again.untrained_weights() == ["pairs.root"] and not hasattr(again.config, "untrained_weights")
        with pytest.raises(ValueError, match=r"\(pairs\.root\)"):
            quietly(lambda folder=folder: load_pipeline(folder))
    # Heads that do not read them are none the worse.
    model.set_head("local")
    assert model.untrained_weights() == ["pairs.root"]
    assert CorefELPipeline(model=model, processor=processor, task="coref-el")(TEXT)
    processor.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeightsWarning)
        switched = load_pipeline(tmp_path).model
    assert switched.untrained_weights() == ["pairs.root"]
    model.set_head("global")
    with torch.no_grad():
        model.pairs.root += 1
    assert CorefELPipeline(model=model, processor=processor, task="coref-el")(TEXT)
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    assert CorefELModel.from_pretrained(tmp_path).untrained_weights() == []
    edit(tmp_path / "config.json", untrained_weights=3)
    with pytest.raises(ValueError, match=rf"{tmp_path}: config\.json: untrained_weights must be a list of names"):
        CorefELModel.from_pretrained(tmp_path)


def test_a_folder_without_a_configuration_is_no_model(folder: Path) -> None:
    config = CorefELModel.from_pretrained(folder).config
    (folder / "config.json").unlink()
    for load in (CorefELModel.from_pretrained, load_pipeline):
        with pytest.raises(OSError, match=rf"{folder}: no config\.json; copy or save the model again"):
            load(folder)
    assert CorefELModel.from_pretrained(folder, config=config).config.own_fields() == config.own_fields()


@pytest.mark.parametrize("load", [load_pipeline, CorefELModel.from_pretrained, CorefELModel.from_encoder])
@pytest.mark.parametrize("name", ["/nowhere/at/all", "./nowhere", "../nowhere", "runs/first/model"])
def test_a_path_where_nothing_is(load: Callable[[str], Any], name: str) -> None:
    with pytest.raises(OSError, match=f"^{re.escape(name)}: there is no such folder"):
        load(name)


def test_a_whole_model_is_no_encoder(folder: Path) -> None:
    with pytest.raises(ValueError, match=rf"{folder}: a whole CorefELModel, .*CorefELModel\.from_pretrained"):
        CorefELModel.from_encoder(str(folder))


def test_weights_beyond_the_models_are_said(folder: Path) -> None:
    change_weights(folder, lambda weights: {**weights, "pairs.extra": torch.zeros(3)})
    with pytest.warns(WeightsWarning, match=r"1 weights are in it that the model has no place for.*pairs\.extra"):
        load_pipeline(folder, verify=False)


def test_weights_of_another_size(folder: Path) -> None:
    change_weights(folder, lambda weights: {**weights, "pairs.root": torch.zeros(3)})
    with pytest.raises(ValueError, match=rf"{folder}: the weight pairs\.root is of size \(3,\), and config\.json asks"):
        CorefELModel.from_pretrained(folder)
    with pytest.warns(WeightsWarning, match=r"1 weights are missing .*pairs\.root"):
        model = CorefELModel.from_pretrained(folder, ignore_mismatched_sizes=True)
    with pytest.raises(ValueError, match=r"\(pairs\.root\)"):
        CorefELPipeline(model=model, task="coref-el")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite(folder: Path, value: float) -> None:
    def spoil(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        weights["pairs.root"][0] = value
        return weights

    change_weights(folder, spoil)
    with pytest.warns(WeightsWarning, match=r"1 weights hold NaN or infinite values: pairs\.root"):
        CorefELModel.from_pretrained(folder)
    with pytest.raises(ValueError, match=rf"{folder}: 1 weights hold NaN or infinite values \(pairs\.root\)"):
        quietly(lambda: load_pipeline(folder))


def test_large_finite_weights_are_finite() -> None:
    layer = torch.nn.Linear(4, 4)
    torch.nn.init.constant_(layer.weight, 3e38)
    assert not torch.isfinite(layer.weight.sum())
    assert not_finite(layer) == []


# Pickles -----------------------------------------------------------------------------------------------


class Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.fixture
def pickled(folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """Puts pickles that leave a mark in place of the weights."""

    def make(*names: str) -> Path:
        (folder / "model.safetensors").unlink()
        for name in names:
            (folder / name).write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
        return folder

    return make


@pytest.mark.parametrize(
    "name",
    [
        "pytorch_model.bin",
        "adapter_model.bin",
        "tf_model.h5",
        "model.pt",
        "model.ckpt",
        "flax_model.msgpack",
        "model.pth",
    ],
)
def test_a_folder_with_pickles_only_is_refused_by_name(pickled: Callable[..., Path], tmp_path: Path, name: str) -> None:
    folder = pickled(name)
    for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained, load_pipeline, CorefELModel.from_encoder):
        with pytest.raises(OSError, match=rf"{folder}: its weights are in {re.escape(name)} only"):
            load(str(folder))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("index", ["pytorch_model.bin.index.json", "model.safetensors.index.json"])
@pytest.mark.parametrize("shard", ["pytorch_model-00001-of-00001.bin", "../model.safetensors", "model.safetensors"])
def test_an_index_of_pickles(pickled: Callable[..., Path], tmp_path: Path, index: str, shard: str) -> None:
    folder = pickled(*([shard] if shard.endswith(".bin") else []))
    edit(folder / index, metadata={}, weight_map={"pairs.root": shard})
    for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained, CorefELModel.from_encoder):
        with pytest.raises((OSError, ValueError), match=rf"{folder}.*{'index' if 'safe' in index else '.bin'}"):
            load(str(folder))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [{}, {"weight_map": 3}, {"weight_map": {"pairs.root": 3}}, {"weight_map": {}}])
def test_a_damaged_index(pickled: Callable[..., Path], content: dict[str, Any]) -> None:
    folder = pickled()
    edit(folder / "model.safetensors.index.json", **content)
    with pytest.raises(ValueError, match=r"model\.safetensors\.index\.json: weight_map"):
        CorefELModel.from_pretrained(folder)


@pytest.mark.parametrize("options", [{"use_safetensors": False}, {"from_tf": True}, {"gguf_file": "x.gguf"}])
def test_a_model_is_read_of_nothing_else(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="safetensors"):
        CorefELModel.from_pretrained(folder, **options)


def test_an_encoder_in_a_pickle_is_read_when_the_caller_says_so(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(OSError, match=r"pytorch_model\.bin only.*encoder_kwargs=\{\"use_safetensors\": False\}"):
        CorefELModel.from_encoder(str(folder), window_size=16)
    model = CorefELModel.from_encoder(str(folder), encoder_kwargs={"use_safetensors": False}, window_size=16)
    expected = load_file(tiny_encoder / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert torch.equal(model.get_input_embeddings().weight, expected)


def test_an_encoder_without_all_of_its_weights(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    change_weights(folder, without("encoder.layer.1.output"))
    with pytest.warns(WeightsWarning, match=r"weights are missing .*encoder\.layer\.1\.output"):
        CorefELModel.from_encoder(str(folder), window_size=16)


# Sizes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"ffnn_depth": 10**6}, "ffnn_depth must be at most 100; got 1000000"),
        ({"mention_ffnn_size": 10**12}, "mention_ffnn_size must be at most"),
        ({"pair_ffnn_size": 90_000, "ffnn_depth": 90}, r"describes a model of [\d,]+ weights, but [\d,]+ were saved"),
        ({"entity_vector_size": 10**9}, "entity_vector_size must be at most"),
        ({"max_candidates": 10**9}, "max_candidates must be at most"),
        ({"window_size": 10**9}, "window_size must be at most"),
        ({"max_span_words": 10**9}, "max_span_words must be at most"),
        ({"case_embedding_size": 10**4000}, "case_embedding_size must be at most"),
    ],
)
def test_absurd_sizes_are_refused_before_memory_is_asked_for(folder: Path, fields: dict[str, Any], named: str) -> None:
    edit(folder / "config.json", **fields)
    with pytest.raises(ValueError, match=rf"{folder}.*config\.json.*{named}"):
        load_pipeline(folder)


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("num_hidden_layers", 10**7, "num_hidden_layers must be at most 1000"),
        ("hidden_size", 10**12, "hidden_size must be at most"),
        ("hidden_size", "16", "hidden_size"),
        ("hidden_size", 0, "hidden_size must be a positive integer"),
        ("num_attention_heads", -1, "num_attention_heads must be a positive integer"),
        ("vocab_size", 10**10, "vocab_size must be at most"),
        ("intermediate_size", 10**12, "intermediate_size is beyond any encoder"),
        ("intermediate_size", 10**8, "describes a model of .* such as encoder_config.intermediate_size = 100000000"),
        ("max_position_embeddings", 10**12, "max_position_embeddings is beyond any encoder"),
        ("hidden_act", "import os", "the model cannot be loaded|hidden_act"),
        ("model_type", "nothing", "encoder_config.model_type must be one that transformers knows"),
        ("model_type", 3, "encoder_config.model_type must be one that transformers knows"),
    ],
)
def test_absurd_sizes_of_the_encoder(folder: Path, name: str, value: Any, named: str) -> None:
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    edit(folder / "config.json", encoder_config={**content["encoder_config"], name: value})
    with pytest.raises(ValueError, match=rf"{folder}(/config\.json)?: .*({named})"):
        load_pipeline(folder)
