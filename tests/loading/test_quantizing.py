"""Quantised models: the encoder's weights are, the scorers' are not, and what cannot be saved is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers import AutoModel, pipeline

from hf_corefel import CorefELModel
from hf_corefel.heads.parameter_groups import OWN_SCORERS
from hf_corefel.loading.quantizing import EXACT_PARTS, leave_exact
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."

pytestmark = [
    # torch's own announces its move to torchao at every call.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning"),
]


def int8_weights() -> Any:
    """Configuration of torchao for weights alone, where it is installed."""
    quantization = pytest.importorskip("torchao.quantization")
    from transformers import TorchAoConfig

    return TorchAoConfig(quantization.Int8WeightOnlyConfig())


def int8_activations() -> Any:
    """Configuration of torchao for weights and activations."""
    quantization = pytest.importorskip("torchao.quantization")
    from transformers import TorchAoConfig

    return TorchAoConfig(quantization.Int8DynamicActivationInt8WeightConfig())


def bits_and_bytes(**fields: Any) -> Any:
    """Configuration of bitsandbytes."""
    pytest.importorskip("bitsandbytes")
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(**(fields or {"load_in_8bit": True}))


QUANTIZATIONS = {
    "torchao-weights": int8_weights,
    "torchao-activations": int8_activations,
    "bitsandbytes": bits_and_bytes,
}


@pytest.fixture(params=list(QUANTIZATIONS))
def quantization(request: pytest.FixtureRequest) -> Any:
    """A configuration of each kind."""
    return QUANTIZATIONS[request.param]()


def is_quantized(module: nn.Module) -> bool:
    """Whether a linear layer's weights are anything else than plain numbers of single precision."""
    weight: Any = module.weight
    return callable(weight) or type(weight) is not nn.Parameter or weight.dtype != torch.float32


def quantized_layers(model: nn.Module) -> set[str]:
    """Names of the linear layers that are quantised."""
    layers = {name: module for name, module in model.named_modules() if hasattr(module, "in_features")}
    return {name for name, layer in layers.items() if is_quantized(layer)}


def encoder_layers(folder: Path) -> set[str]:
    """Names of the linear layers of a saved model's encoder."""
    model = CorefELModel.from_pretrained(folder)
    return {n for n, m in model.named_modules() if isinstance(m, nn.Linear) and n.startswith("encoder.")}


def shape(result: Any) -> Any:
    """Entities and mentions of a result."""
    return [(c["entity"], [m["text"] for m in c["mentions"]]) for c in result["clusters"]]


def test_torch_leaves_the_scorers_alone(tiny_folder: Path, tmp_path: Path) -> None:
    loaded = load_pipeline(tiny_folder)
    expected = shape(loaded(TEXT))
    quantized = torch.ao.quantization.quantize_dynamic(loaded.model, {nn.Linear}, dtype=torch.qint8)
    assert quantized_layers(quantized) == encoder_layers(tiny_folder)
    again = CorefELPipeline(quantized, loaded.processor, task="coref-el")
    assert shape(again(TEXT)) == expected
    with pytest.raises(ValueError, match="quantize_dynamic"):
        quantized.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="quantize_dynamic"):
        again.save_pretrained(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_all_ways_of_loading_leave_the_scorers_alone(tiny_folder: Path, quantization: Any) -> None:
    expected, layers = shape(load_pipeline(tiny_folder)(TEXT)), encoder_layers(tiny_folder)
    for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained):
        assert quantized_layers(load(tiny_folder, quantization_config=quantization)) == layers
    settings = {"model_kwargs": {"quantization_config": quantization}}
    for annotate in (load_pipeline(tiny_folder, **settings), pipeline("coref-el", model=str(tiny_folder), **settings)):
        assert quantized_layers(annotate.model) == layers
        assert shape(annotate(TEXT)) == expected


def test_a_quantized_model_is_saved_and_loaded(tiny_folder: Path, quantization: Any, tmp_path: Path) -> None:
    loaded = load_pipeline(tiny_folder, model_kwargs={"quantization_config": quantization})
    if transformers.__version__.startswith("4.") and quantization.quant_method == "torchao":
        with pytest.raises(ValueError, match="not serializable"):
            loaded.save_pretrained(tmp_path)
        return
    loaded.save_pretrained(tmp_path)
    again = load_pipeline(tmp_path)
    assert quantized_layers(again.model) == encoder_layers(tiny_folder)
    assert shape(again(TEXT)) == shape(loaded(TEXT))
    batch = loaded.processor(TEXT)
    with torch.no_grad():
        before, after = loaded.model(**batch), again.model(**batch)
    assert torch.equal(before.retained, after.retained)
    torch.testing.assert_close(after.pair, before.pair, rtol=1e-4, atol=1e-4)


def test_a_quantized_model_takes_another_head(tiny_folder: Path, quantization: Any) -> None:
    model = CorefELModel.from_pretrained(tiny_folder, quantization_config=quantization)
    layers, pairs = quantized_layers(model), copy.deepcopy(model.pairs.state_dict())
    assert model.set_head("standalone_linking") == ["entities.nil"]
    assert quantized_layers(model) == layers and torch.isfinite(model.entities.nil).all()
    assert all(torch.equal(value, pairs[name]) for name, value in model.pairs.state_dict().items())


def test_quantizing_is_no_change_that_the_fingerprint_warns_of(
    tiny_folder: Path, quantization: Any, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    load_pipeline(tiny_folder).save_pretrained(tmp_path)
    load_pipeline(tmp_path, model_kwargs={"quantization_config": quantization})
    assert [str(w.message) for w in recwarn if w.category.__name__ == "FingerprintWarning"] == []


def test_four_bits_are_not_saved_once_they_were_rearranged(tiny_folder: Path, tmp_path: Path) -> None:
    """Such files give other annotations, and so does the model from which they were written."""
    four = bits_and_bytes(load_in_4bit=True)
    model = CorefELModel.from_pretrained(tiny_folder, quantization_config=four)
    weight: Any = model.encoder.model.encoder.layer[0].output.dense.weight
    model.save_pretrained(tmp_path / "before")
    weight.quant_state.packing_format_for_cpu = True
    with pytest.raises(ValueError, match="rearranged the 4-bit weights"):
        model.save_pretrained(tmp_path / "after")
    assert not (tmp_path / "after").exists()


@pytest.mark.parametrize("given", [None, ["encoder.model.encoder.layer.1"]])
def test_what_is_left_out_beside_the_scorers(given: list[str] | None) -> None:
    before = transformers.BitsAndBytesConfig(load_in_8bit=True, llm_int8_skip_modules=given)
    after = leave_exact(before)
    assert after.llm_int8_skip_modules == [*(given or ()), *EXACT_PARTS]
    assert before.llm_int8_skip_modules == given, "the caller's own is as it was"
    assert leave_exact(before.to_dict()).llm_int8_skip_modules == after.llm_int8_skip_modules
    assert leave_exact(after).llm_int8_skip_modules == after.llm_int8_skip_modules


def test_exact_parts_are_all_but_the_encoder(tiny_model: Callable[..., Any]) -> None:
    parts = {name for name, _ in tiny_model(head="global").named_children()}
    assert parts == {"encoder", *EXACT_PARTS} - {OWN_SCORERS}, "which only heads of others have"


def test_dtype_int8_needs_nothing_else(tiny_folder: Path, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    expected, layers = shape(load_pipeline(tiny_folder)(TEXT)), encoder_layers(tiny_folder)
    saved = tmp_path / "saved"
    load_pipeline(tiny_folder).save_pretrained(saved)
    for dtype in ("int8", torch.int8):
        for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained):
            assert quantized_layers(load(saved, dtype=dtype)) == layers
        for annotate in (load_pipeline(saved, dtype=dtype), pipeline("coref-el", model=str(saved), dtype=dtype)):
            assert quantized_layers(annotate.model) == layers
            assert shape(annotate(TEXT)) == expected
    assert [str(w.message) for w in recwarn if w.category.__name__ == "FingerprintWarning"] == []
    with pytest.raises(ValueError, match=r"weights are int8 .* save the model before"):
        annotate.save_pretrained(tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_one_way_of_quantizing_at_a_time(tiny_folder: Path) -> None:
    with pytest.raises(ValueError, match="both say how to quantise"):
        load_pipeline(tiny_folder, dtype="int8", model_kwargs={"quantization_config": {"load_in_8bit": True}})
