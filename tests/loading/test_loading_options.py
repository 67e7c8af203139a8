"""What is said when a model is loaded holds, or is refused by name."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
import transformers
from transformers import AutoProcessor, pipeline
from transformers.utils import logging as transformers_logging

from forked_python import run_python
from hf_corefel import CorefELConfig, CorefELModel, CorefELProcessor, KnowledgeBase
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline
from hf_corefel.utils.progress import bars_are_shown, progress_bar

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."


def shape(result: Any) -> Any:
    return [(c["entity"], [m["text"] for m in c["mentions"]]) for c in result["clusters"]]


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({}, torch.float32),
        ({"dtype": None}, torch.float32),
        ({"dtype": torch.bfloat16}, torch.bfloat16),
        ({"dtype": "bfloat16"}, torch.bfloat16),
        ({"torch_dtype": "bfloat16"}, torch.bfloat16),
        ({"dtype": torch.float16}, torch.float16),
        ({"dtype": "float64"}, torch.float64),
        ({"model_kwargs": {"dtype": torch.bfloat16}}, torch.bfloat16),
    ],
    ids=str,
)
def test_the_precision_that_is_asked_for(tiny_folder: Path, options: dict[str, Any], dtype: torch.dtype) -> None:
    loaded = load_pipeline(tiny_folder, **options)
    assert {weight.dtype for weight in loaded.model.parameters()} == {dtype}
    assert shape(loaded(TEXT)) == shape(load_pipeline(tiny_folder)(TEXT))
    task: Any = pipeline("coref-el", model=str(tiny_folder), **options)
    assert {weight.dtype for weight in task.model.parameters()} == {dtype}


def test_half_that_nobody_chose_is_computed_in_single_precision(tiny_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "half")
    CorefELModel.from_pretrained(tiny_folder).half().save_pretrained(folder)
    (folder / "fingerprint.json").unlink(missing_ok=True)
    assert pipeline("coref-el", model=str(folder)).model.dtype == torch.float32
    assert load_pipeline(folder).model.dtype == torch.float32
    assert load_pipeline(folder, dtype="float16").model.dtype == torch.float16


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_attention_that_is_asked_for(tiny_folder: Path, attention: str) -> None:
    loaded = load_pipeline(tiny_folder, attn_implementation=attention)
    assert loaded.model.encoder.model.config._attn_implementation == attention
    assert shape(loaded(TEXT)) == shape(load_pipeline(tiny_folder)(TEXT))


def test_places_of_a_model(tiny_folder: Path) -> None:
    assert load_pipeline(tiny_folder, device_map="cpu").device == torch.device("cpu")
    assert load_pipeline(tiny_folder, device_map={"": "cpu"})(TEXT)["clusters"]
    with pytest.raises(ValueError, match="device and device_map"):
        load_pipeline(tiny_folder, device="cpu", device_map="auto")


def test_fields_of_the_configuration_when_loading(tiny_folder: Path) -> None:
    assert (
        load_pipeline(tiny_folder, model_kwargs={"edge_activation": "arsinh"}).model.config.edge_activation == "arsinh"
    )


@pytest.fixture
def nested(tiny_folder: Path, tmp_path: Path) -> Path:
    """A folder that holds a model in a folder of its own, and nothing else."""
    shutil.copytree(tiny_folder, tmp_path / "outer" / "inner")
    return tmp_path / "outer"


def test_a_subfolder_holds_every_part(nested: Path, tiny_folder: Path) -> None:
    expected = shape(load_pipeline(tiny_folder)(TEXT))
    assert shape(load_pipeline(nested, subfolder="inner")(TEXT)) == expected
    assert shape(pipeline("coref-el", model=str(nested), model_kwargs={"subfolder": "inner"})(TEXT)) == expected
    processor = CorefELProcessor.from_pretrained(nested, subfolder="inner")
    model = CorefELModel.from_pretrained(nested, subfolder="inner").eval()
    assert shape(CorefELPipeline(model, processor, task="coref-el")(TEXT)) == expected
    assert shape(CorefELPipeline(model, task="coref-el")(TEXT)) == expected
    kb = KnowledgeBase.from_pretrained(nested, subfolder="inner")
    assert kb.fingerprint == processor.knowledge_base.fingerprint
    for load in (load_pipeline, CorefELProcessor.from_pretrained, KnowledgeBase.from_pretrained):
        with pytest.raises((OSError, ValueError), match="outer"):
            load(nested)


def test_a_processor_by_its_folder(nested: Path, tiny_folder: Path, tmp_path: Path) -> None:
    processor = CorefELProcessor.from_pretrained(tiny_folder)
    processor.save_pretrained(tmp_path / "processor")
    loaded = load_pipeline(tiny_folder, processor=str(tmp_path / "processor"))
    assert shape(loaded(TEXT)) == shape(load_pipeline(tiny_folder)(TEXT))
    other = KnowledgeBase.build([("Oslo", [("Oslo_(crater)", 1.0)])], vectors={"Oslo_(crater)": [1.0] * 8})
    other.save_pretrained(tmp_path / "kb")
    for given in (other, str(tmp_path / "kb"), tmp_path / "kb"):
        loaded = load_pipeline(tiny_folder, processor=tmp_path / "processor", knowledge_base=given)
        assert list(loaded.processor.knowledge_base.entities()) == ["Oslo_(crater)"]
        loaded = load_pipeline(tiny_folder, processor=processor, knowledge_base=given)
        assert list(loaded.processor.knowledge_base.entities()) == ["Oslo_(crater)"]


def test_settings_of_a_processor_when_loading(tiny_folder: Path) -> None:
    for load in (CorefELProcessor.from_pretrained, AutoProcessor.from_pretrained):
        processor = load(tiny_folder, max_candidates=1, window_size=12)
        assert (processor.settings.max_candidates, processor.settings.window_size) == (1, 12)
        assert processor.encode("Berg").candidate_rows.shape[1] == 1
        assert CorefELProcessor.from_pretrained(tiny_folder).encode("Berg").candidate_rows.shape[1] == 3
    with pytest.raises(ValueError, match=r"CorefELProcessor.from_pretrained: max_candidates"):
        CorefELProcessor.from_pretrained(tiny_folder, max_candidates=0)
    with pytest.raises(ValueError, match="min_kept_spans"):
        CorefELProcessor.from_pretrained(tiny_folder, max_kept_spans=1, min_kept_spans=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda folder, encoder: CorefELModel.from_encoder(encoder, entity_vector_sized=16), "'entity_vector_size'"),
        (lambda folder, encoder: CorefELModel.from_encoder(encoder, revisions="x"), "takes no argument 'revisions'"),
        (lambda folder, encoder: CorefELModel.from_encoder(encoder, heads="local"), "'head'"),
        (lambda folder, encoder: CorefELProcessor.from_pretrained(folder, max_candidate=1), "'max_candidates'"),
        (lambda folder, encoder: CorefELProcessor.from_pretrained(folder, sub_folder="x"), "'subfolder'"),
        (lambda folder, encoder: load_pipeline(folder, top=3), "'top'"),
        (lambda folder, encoder: load_pipeline(folder, atn_implementation="eager"), "'atn_implementation'"),
    ],
)
def test_unknown_arguments_are_refused(
    tiny_folder: Path, tiny_encoder: Path, call: Callable[[Path, str], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        call(tiny_folder, str(tiny_encoder))


def test_what_transformers_knows_of_configurations_is_taken(tiny_encoder: Path) -> None:
    model = CorefELModel.from_encoder(str(tiny_encoder), entity_vector_size=8, id2label={0: "a"}, window_size=16)
    assert model.config.id2label == {0: "a"}


def test_a_misspelt_field_of_a_configuration_is_said() -> None:
    with pytest.warns(UserWarning, match=r"unknown field 'entity_vector_sized'; did you mean 'entity_vector_size'\?"):
        CorefELConfig(entity_vector_sized=16)
    # A field of a later version is none of these.
    assert CorefELConfig(colour_of_the_sky="blue").colour_of_the_sky == "blue"


def test_the_verbosity_of_transformers_holds_here(tiny_folder: Path) -> None:
    logger = transformers_logging.get_logger("hf_corefel.anything")
    before = transformers_logging.get_verbosity()
    try:
        for level in (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG):
            transformers_logging.set_verbosity(level)
            assert logger.getEffectiveLevel() == level
        own = logging.getLogger("hf_corefel")
        own.setLevel(logging.ERROR)
        assert logger.getEffectiveLevel() == logging.ERROR, "whoever wants another level for this package has it"
        own.setLevel(logging.NOTSET)
    finally:
        transformers_logging.set_verbosity(before)


@pytest.mark.parametrize(("verbosity", "said"), [("error", False), ("warning", True)])
def test_the_variable_of_transformers_holds_here(tiny_encoder: Path, verbosity: str, said: bool) -> None:
    code = f"""
import {"hf_corefel, transformers" if said else "transformers, hf_corefel"}
model = hf_corefel.CorefELModel.from_encoder({str(tiny_encoder)!r}, window_size=16, head="standalone_coref")
model.set_head("global")
"""
    done = run_python("-c", code, env={**os.environ, "TRANSFORMERS_VERBOSITY": verbosity})
    assert done.returncode == 0, done.stderr
    assert ("never trained" in done.stderr) is said, done.stderr


def drawn(shown: bool = True) -> bool:
    """Whether a bar is drawn."""
    with contextlib.redirect_stderr(io.StringIO()) as stream, progress_bar(2, "Waiting", shown=shown) as bar:
        bar.update(2)
    return "Waiting" in stream.getvalue()


def test_bars_follow_those_of_the_libraries() -> None:
    assert bars_are_shown() and drawn() and not drawn(shown=False)
    for off, on in (
        (transformers.utils.logging.disable_progress_bar, transformers.utils.logging.enable_progress_bar),
        (datasets.disable_progress_bars, datasets.enable_progress_bars),
    ):
        off()
        try:
            assert not bars_are_shown() and not drawn()
        finally:
            on()
        assert drawn()
