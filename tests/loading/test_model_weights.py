"""The model's weights survive saving, loading and switching heads, and are never left uninitialised."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from hf_corefel import CorefELConfig, CorefELModel, CorefELProcessor, Document
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.layers.matches import LateInput

Make = Callable[..., CorefELModel]
MakeProcessor = Callable[[CorefELConfig], CorefELProcessor]

# Everything that a configuration can switch on.
EVERYTHING = {
    "case_embedding_size": 3,
    "use_width_prior": True,
    "use_candidate_prior": True,
    "pair_product_dim": 5,
    "use_pair_entities": True,
    "use_pair_matches": True,
    "use_pair_definitions": True,
    "use_speakers": True,
    "edge_activation": "arsinh",
}
ROOTS = [("global", "paper"), ("global", "original"), *[(head, "paper") for head in HEADS if head != "global"]]


def _same(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def _copy(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.fixture
def poisoned_memory() -> Iterator[None]:
    """Fills memory with NaN wherever PyTorch leaves it uninitialised."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


# Weights -----------------------------------------------------------------------------------------------


def test_encoder_weights_are_taken_exactly(tiny_encoder: Path, tiny_model: Make) -> None:
    expected = AutoModel.from_pretrained(tiny_encoder).state_dict()
    expected = {name: value for name, value in expected.items() if not name.startswith("pooler.")}
    assert len(expected) > 30
    assert _same(tiny_model().encoder.model.state_dict(), expected)


def test_encoder_arguments_are_passed_on(tmp_path: Path, tiny_encoder: Path, tiny_model: Make) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "inner")
    model = CorefELModel.from_encoder(str(tmp_path), encoder_kwargs={"subfolder": "inner"}, window_size=16)
    assert _same(model.encoder.state_dict(), tiny_model().encoder.state_dict())


def test_windows_are_no_longer_than_the_encoder_reads(tiny_encoder: Path) -> None:
    assert CorefELModel.from_encoder(str(tiny_encoder)).config.window_size == 64
    assert CorefELModel.from_encoder(str(tiny_encoder), window_size=20).config.window_size == 20
    with pytest.raises(ValueError, match="window_size"):
        CorefELModel.from_encoder(str(tiny_encoder), window_size=65)


def test_encoder_in_half_precision(
    tiny_encoder: Path, tmp_path: Path, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    """Its weights are taken over; what is computed in does not depend on how they were stored."""
    encoder = AutoModel.from_pretrained(tiny_encoder).half()
    encoder.save_pretrained(tmp_path)
    model = CorefELModel.from_encoder(str(tmp_path), entity_vector_size=8, window_size=16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    model.save_pretrained(tmp_path / "saved")
    loaded = CorefELModel.from_pretrained(tmp_path / "saved")
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
    weight = encoder.embeddings.word_embeddings.weight
    assert torch.equal(model.encoder.model.embeddings.word_embeddings.weight, weight.float())
    assert torch.isfinite(model(**tiny_processor(model.config)(tiny_documents, gold=True).inputs).loss)


@pytest.mark.parametrize(("head", "root_score"), ROOTS)
def test_saved_model_is_loaded_exactly(tmp_path: Path, tiny_model: Make, head: str, root_score: str) -> None:
    model = tiny_model(head=head, root_score=root_score, **EVERYTHING)
    model.save_pretrained(tmp_path)
    loaded, info = CorefELModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert _same(loaded.state_dict(), model.state_dict())
    assert not loaded.training
    assert loaded.config.head == head and loaded.config.root_score == root_score


def test_only_safetensors_are_written(tmp_path: Path, tiny_model: Make) -> None:
    model = tiny_model()
    model.save_pretrained(tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert files - {"generation_config.json"} == {"config.json", "model.safetensors"}
    assert _same(load_file(tmp_path / "model.safetensors"), dict(model.state_dict()))
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == ["CorefELModel"]


def test_auto_classes(tmp_path: Path, tiny_model: Make) -> None:
    model = tiny_model(head="local")
    model.save_pretrained(tmp_path)
    assert type(AutoConfig.from_pretrained(tmp_path)) is CorefELConfig
    loaded = AutoModel.from_pretrained(tmp_path)
    assert type(loaded) is CorefELModel
    assert _same(loaded.state_dict(), model.state_dict())
    assert type(AutoModel.from_config(model.config)) is CorefELModel


def test_half_precision_is_loaded_as_single(tmp_path: Path, tiny_model: Make) -> None:
    model = tiny_model().half()
    model.save_pretrained(tmp_path)
    assert {value.dtype for value in load_file(tmp_path / "model.safetensors").values()} == {torch.float16}
    for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained):
        loaded = load(tmp_path)
        assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
        assert _same(loaded.state_dict(), {k: v.float() for k, v in model.state_dict().items()})
        asked = load(tmp_path, dtype=torch.float16)
        assert {parameter.dtype for parameter in asked.parameters()} == {torch.float16}


def test_bad_head_is_refused(tmp_path: Path, tiny_model: Make) -> None:
    tiny_model().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"CorefELConfig\.head "):
        CorefELModel.from_pretrained(tmp_path, head="xx")
    config = CorefELConfig.from_pretrained(tmp_path)
    config.dropout = 3
    with pytest.raises(ValueError, match=r"CorefELConfig\.dropout "):
        CorefELModel(config)


# Switching heads ---------------------------------------------------------------------------------------

ROOT, NIL, ENTITY_ROOT = "pairs.root", "entities.nil", "entities.root"


def test_switching_heads_keeps_every_parameter(
    tmp_path: Path, tiny_model: Make, caplog: pytest.LogCaptureFixture
) -> None:
    model = tiny_model(head="local")
    objects = dict(model.named_parameters())
    transformers_logging.enable_propagation()
    new: dict[str, list[str]] = {}
    for head in ("global", "standalone_linking", "standalone_coref", "local", "global"):
        before = _copy(model)
        with caplog.at_level(logging.WARNING):
            caplog.clear()
            new.setdefault(head, model.set_head(head))
        assert model.config.head == head
        after = model.state_dict()
        assert all(torch.equal(after[name], value) for name, value in before.items())
        added = sorted(after.keys() - before.keys())
        assert all(torch.isfinite(after[name]).all() for name in added)
        assert all(name in caplog.text for name in added) and bool(added) == bool(caplog.text)
    transformers_logging.disable_propagation()
    assert new == {"global": [ROOT], "standalone_linking": [NIL], "standalone_coref": [], "local": []}
    assert all(dict(model.named_parameters())[name] is value for name, value in objects.items())
    model.save_pretrained(tmp_path)
    loaded, info = CorefELModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert _same(loaded.state_dict(), model.state_dict())
    other, info = CorefELModel.from_pretrained(tmp_path, head="standalone_coref", output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert _same(other.state_dict(), model.state_dict())


def test_head_whose_scorer_cannot_be_made_changes_nothing(tiny_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(head="local")
    before = _copy(model)

    def fail(*unused: Any) -> None:
        raise RuntimeError("no scorer")

    monkeypatch.setattr("hf_corefel.modeling_corefel.add_head_modules", fail)
    with pytest.raises(RuntimeError, match="no scorer"):
        model.set_head("standalone_linking")
    assert model.config.head == "local"
    assert _same(model.state_dict(), before)


def test_refused_head_changes_nothing(tiny_model: Make) -> None:
    model = tiny_model(head="local")
    before = _copy(model)
    with pytest.raises(ValueError, match=r"CorefELConfig\.head "):
        model.set_head("xx")
    assert model.config.head == "local"
    assert _same(model.state_dict(), before)


@pytest.mark.parametrize("start", HEADS)
@pytest.mark.parametrize("head", HEADS)
def test_switched_model_works_like_one_that_was_loaded(
    tmp_path: Path,
    tiny_model: Make,
    tiny_processor: MakeProcessor,
    tiny_documents: list[Document],
    start: str,
    head: str,
) -> None:
    model = tiny_model(head=start, dropout=0.4, **EVERYTHING)
    model.save_pretrained(tmp_path)
    new = model.set_head(head)
    assert not any(module.training for module in model.modules())
    loaded, info = CorefELModel.from_pretrained(tmp_path, head=head, output_loading_info=True)
    assert sorted(info["missing_keys"]) == new
    assert not info["unexpected_keys"]
    assert loaded.state_dict().keys() == model.state_dict().keys()
    loaded.load_state_dict(model.state_dict())
    inputs = tiny_processor(model.config)(tiny_documents, gold=True).inputs
    left, right = model(**inputs), loaded(**inputs)
    assert torch.isfinite(left.loss)
    # The same weights at other places of the memory: sums may be rounded in another order.
    torch.testing.assert_close(left.loss, right.loss, rtol=1e-6, atol=0.0)


def test_root_score_can_be_changed_at_loading(tmp_path: Path, tiny_model: Make) -> None:
    model = tiny_model(root_score="paper")
    model.set_head("standalone_linking")
    model.save_pretrained(tmp_path)
    loaded, info = CorefELModel.from_pretrained(
        tmp_path, head="global", root_score="original", output_loading_info=True
    )
    assert sorted(info["missing_keys"]) == [ENTITY_ROOT]
    state = loaded.state_dict()
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())
    assert torch.isfinite(state[ENTITY_ROOT]).all()


def test_modules_named_in_the_configuration_are_carried(tiny_model: Make) -> None:
    model = tiny_model(head="standalone_coref", head_modules=["nil", "pair_root"])
    names = set(model.state_dict())
    assert {ROOT, NIL, "entities.span.weight"} <= names and ENTITY_ROOT not in names
    before = _copy(model)
    assert model.set_head("local") == []
    assert _same(model.state_dict(), before)


def test_new_parameters_go_where_the_model_is(tiny_model: Make) -> None:
    model = tiny_model(head="standalone_coref").to(torch.float64)
    assert model.set_head("standalone_linking")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}


def test_every_new_parameter_is_initialised(tmp_path: Path, tiny_model: Make, poisoned_memory: None) -> None:
    assert torch.empty(3).isnan().all()
    model = tiny_model(head="standalone_coref", **EVERYTHING)
    model.save_pretrained(tmp_path)
    models = [model, CorefELModel(model.config)]
    for head, root_score in ROOTS:
        models.append(CorefELModel.from_pretrained(tmp_path, head=head, root_score=root_score))
        models.append(tiny_model(head=head, root_score=root_score))
    for head in HEADS:
        model.set_head(head)
    for made in models:
        for name, parameter in made.named_parameters():
            assert torch.isfinite(parameter).all(), name
            assert parameter.abs().max() < 10, name
    for name in (ROOT, NIL):
        assert model.state_dict()[name].std() > 0.01


def test_initialisation_follows_the_seed(tmp_path: Path, tiny_model: Make) -> None:
    assert _same(tiny_model(3).state_dict(), tiny_model(3).state_dict())
    assert not _same(tiny_model(3).state_dict(), tiny_model(4).state_dict())
    tiny_model(head="standalone_coref").save_pretrained(tmp_path)

    def load(seed: int) -> dict[str, Tensor]:
        torch.manual_seed(seed)
        return CorefELModel.from_pretrained(tmp_path, head="global").state_dict()

    assert _same(load(5), load(5))
    assert not torch.equal(load(5)[ROOT], load(6)[ROOT])

    def switch(seed: int) -> dict[str, Tensor]:
        model = tiny_model(head="standalone_coref")
        torch.manual_seed(seed)
        model.set_head("global")
        return model.state_dict()

    assert _same(switch(5), switch(5))
    assert not torch.equal(switch(5)[ROOT], switch(6)[ROOT])


# What transformers offers ------------------------------------------------------------------------------


def test_token_embeddings_can_be_resized(
    tmp_path: Path, tiny_encoder: Path, tiny_model: Make, tiny_knowledge_base: Any
) -> None:
    model = tiny_model()
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    before = model.get_input_embeddings().weight.detach().clone()
    size = len(before)
    assert tokenizer.add_tokens(["zebra", "yacht"]) == 2
    model.resize_token_embeddings(size + 2)
    assert model.config.encoder_config.vocab_size == size + 2
    assert torch.equal(model.get_input_embeddings().weight[:size], before)
    model.save_pretrained(tmp_path)
    loaded = CorefELModel.from_pretrained(tmp_path)
    assert loaded.get_input_embeddings().weight.shape[0] == size + 2
    assert _same(loaded.state_dict(), model.state_dict())
    batch = CorefELProcessor(tokenizer, tiny_knowledge_base, model.config)("A zebra met a yacht.")
    assert batch.inputs["input_ids"].max() == size + 1
    assert torch.isfinite(loaded(**batch.inputs).span_scores).all()
    replacement = nn.Embedding(size, 16)
    model.set_input_embeddings(replacement)
    assert model.get_input_embeddings() is replacement


@pytest.mark.parametrize("name", ["use_pair_matches", "use_pair_entities", "use_pair_definitions", "use_speakers"])
def test_a_trained_model_that_gets_another_input_scores_as_before(
    tmp_path: Path, tiny_model: Make, tiny_processor: MakeProcessor, name: str
) -> None:
    plain = tiny_model(seed=5)
    plain.save_pretrained(tmp_path)
    informed = CorefELModel.from_pretrained(tmp_path, **{name: True}).eval()
    text = "Anna: Anna Berg (the 'Mayor') met Carl Moss in Oslo.\nBen: I know that the Mayor praised Moss."
    inputs = tiny_processor(plain.config)(text).inputs
    with torch.no_grad():
        expected, found = plain(**inputs), informed(**inputs)
        assert torch.equal(found.pair, expected.pair) and found.pair.abs().sum() > 0
        assert torch.equal(found.root_pair, expected.root_pair)
        late = [module for module in informed.pairs.modules() if isinstance(module, LateInput)]
        assert late
        for module in late:
            nn.init.normal_(module.weight)
        assert not torch.allclose(informed(**inputs).pair, expected.pair)


@pytest.mark.parametrize(
    ("option", "missing"),
    [
        ("use_pair_matches", "word_forms"),
        ("use_pair_definitions", "span_definitions"),
        ("use_speakers", "span_speakers"),
    ],
)
def test_an_input_that_is_missing_is_named(
    tiny_model: Make, tiny_processor: MakeProcessor, option: str, missing: str
) -> None:
    informed = tiny_model(**{option: True})
    inputs = tiny_processor(informed.config)("Angela Merkel met Barack Obama. Merkel spoke.").inputs
    del inputs[missing]
    with pytest.raises(ValueError, match=missing):
        informed(**inputs)
