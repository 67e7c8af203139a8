"""Whose reading settings count where a model and a processor differ, and that it is said."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import pipeline

from hf_corefel import CorefELConfig, CorefELModel, CorefELProcessor, CorefELTrainer
from hf_corefel.configuration.fields import READING_FIELDS
from hf_corefel.loading.agreement import SettingsWarning
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."
# What may change in a model that is there, each to another value than the tiny model's.
CHANGED = {
    "max_span_pieces": 2,
    "span_keep_ratio": 0.25,
    "min_kept_spans": 4,
    "max_kept_spans": 3,
    "max_partners": 7,
    "max_candidates": 1,
    "window_size": 12,
    "window_overlap": 2,
}


def quietly(make: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return make()


def edit(path: Path, **fields: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **fields}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, tiny_folder: Path) -> Path:
    """A copy without fingerprint, whose checksums other files would not have."""
    target = tmp_path / "model"
    target.mkdir()
    for source in tiny_folder.iterdir():
        if source.name != "fingerprint.json":
            (target / source.name).symlink_to(source)
    for name in ("config.json", "processor_config.json"):
        (target / name).unlink()
        (target / name).write_bytes((tiny_folder / name).read_bytes())
    return target


def changed_after_loading(folder: Path, name: str) -> CorefELModel:
    model = CorefELModel.from_pretrained(folder)
    setattr(model.config, name, CHANGED[name])
    return model


def with_a_configuration(folder: Path, name: str) -> CorefELModel:
    config = CorefELConfig.from_pretrained(folder, **{name: CHANGED[name]})
    return CorefELModel.from_pretrained(folder, config=config)


WAYS: dict[str, Callable[[Path, str], CorefELPipeline]] = {
    "load_pipeline": lambda folder, name: load_pipeline(folder, model_kwargs={name: CHANGED[name]}),
    "pipeline": lambda folder, name: pipeline("coref-el", model=str(folder), model_kwargs={name: CHANGED[name]}),
    "from_pretrained": lambda folder, name: CorefELPipeline(
        CorefELModel.from_pretrained(folder, **{name: CHANGED[name]})
    ),
    "processor by folder": lambda folder, name: CorefELPipeline(
        CorefELModel.from_pretrained(folder, **{name: CHANGED[name]}), processor=str(folder)
    ),
    "with a configuration": lambda folder, name: CorefELPipeline(with_a_configuration(folder, name)),
    "changed after loading": lambda folder, name: CorefELPipeline(changed_after_loading(folder, name)),
    "processor": lambda folder, name: CorefELPipeline(
        CorefELModel.from_pretrained(folder),
        processor=CorefELProcessor.from_pretrained(folder, **{name: CHANGED[name]}),
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHANGED)
def test_what_the_caller_changes_acts(tiny_folder: Path, tmp_path: Path, name: str, way: str) -> None:
    """With the fingerprint in its place: it is of what was saved, not of what was asked for."""
    annotate = quietly(lambda: WAYS[way](tiny_folder, name))
    before = CorefELProcessor.from_pretrained(tiny_folder).settings
    assert annotate.processor.settings == before.replace(**{name: CHANGED[name]})
    if name == "max_candidates":
        assert annotate.processor.encode(TEXT).candidate_rows.shape[1] == 1
        # What is saved reads so, too, and both files say it.
        annotate.save_pretrained(tmp_path)
        again = quietly(lambda: load_pipeline(tmp_path))
        assert again.processor.settings.max_candidates == again.model.config.max_candidates == 1
        assert again(TEXT) == annotate(TEXT)


def test_fields_that_shape_the_model_are_all_others() -> None:
    assert {*CHANGED, "max_span_words", "mention_scopes", "default_mention_scope"} == set(READING_FIELDS)


@pytest.mark.parametrize("make", [CorefELPipeline, CorefELTrainer])
def test_a_processor_with_another_value_is_refused(tiny_folder: Path, make: Any) -> None:
    model = CorefELModel.from_pretrained(tiny_folder, max_candidates=1)
    processor = CorefELProcessor.from_pretrained(tiny_folder)
    message = r"^max_candidates was set to 1 in the model, but the processor that was given has 3, .*max_candidates=1"
    with pytest.raises(ValueError, match=message):
        make(model=model, processor=processor)
    processor = CorefELProcessor.from_pretrained(tiny_folder, max_candidates=2)
    with pytest.raises(ValueError, match="the processor that was given has 2"):
        make(model=model, processor=processor)
    processor.settings = processor.settings.replace(max_candidates=1)
    quietly(lambda: make(model=model, processor=processor))


@pytest.mark.parametrize("file", ["config.json", "processor_config.json"])
def test_files_that_differ_are_named_and_the_processor_reads(folder: Path, file: str) -> None:
    edit(folder / file, max_candidates=2, window_overlap=1)
    there, here = (3, 2) if file == "config.json" else (2, 3)
    message = (
        rf"model: its processor and its configuration differ in max_candidates \({there} and {here}\), window_over"
    )
    with pytest.warns(SettingsWarning, match=message):
        annotate = load_pipeline(folder)
    assert annotate.processor.settings.max_candidates == there


def test_a_change_acts_where_the_files_differ_in_another_field(folder: Path) -> None:
    edit(folder / "processor_config.json", window_overlap=1)
    with pytest.warns(SettingsWarning, match=r"differ in window_overlap \(1 and 0\);"):
        annotate = load_pipeline(folder, model_kwargs={"max_candidates": 1})
    assert (annotate.processor.settings.window_overlap, annotate.processor.settings.max_candidates) == (1, 1)


def test_a_model_that_was_made_here_differs_from_its_processor(
    tiny_model: Callable[..., Any], tiny_processor: Callable[[Any], Any]
) -> None:
    model = tiny_model()
    quietly(lambda: CorefELPipeline(model=model, processor=tiny_processor(model.config)))
    other = CorefELConfig(
        **{**{name: getattr(model.config, name) for name in READING_FIELDS}, "max_candidates": 2}, entity_vector_size=8
    )
    with pytest.warns(SettingsWarning, match=r"the model: its processor .* max_candidates \(2 and 3\)"):
        CorefELPipeline(model=model, processor=tiny_processor(other))
