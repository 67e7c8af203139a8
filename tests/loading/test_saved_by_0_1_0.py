"""A folder that version 0.1.0 saved: the tiny global model of ``conftest.py``, with what it said of the tiny texts."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel import CorefELModel, CorefELProcessor
from hf_corefel.pipeline_corefel import load_pipeline

FOLDER = Path(__file__).parents[1] / "data" / "tiny_0_1_0"
RESULT: list[dict[str, Any]] = json.loads((FOLDER / "result.json").read_text(encoding="utf-8"))


def approximately(value: Any) -> Any:
    """The same with room in its probabilities: releases of torch differ in their last places."""
    if isinstance(value, dict):
        return {key: approximately(item) for key, item in value.items()}
    if isinstance(value, list):
        return [approximately(item) for item in value]
    return pytest.approx(value, abs=1e-4) if isinstance(value, float) else value


def test_pipeline_gives_the_stored_result() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        annotate = load_pipeline(str(FOLDER))
        found = annotate([document["text"] for document in RESULT])
    assert len(RESULT) == 3 and all(document["clusters"] for document in RESULT)
    assert found == approximately(RESULT)


def test_model_and_processor_are_saved_as_they_were(tmp_path: Path) -> None:
    model, processor = CorefELModel.from_pretrained(FOLDER), CorefELProcessor.from_pretrained(FOLDER)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    for file in ("config.json", "processor_config.json"):
        before, now = (json.loads((folder / file).read_text(encoding="utf-8")) for folder in (FOLDER, tmp_path))
        for content in (before, now):
            # What transformers writes of itself and of its own classes differs between its releases.
            content.pop("transformers_version", None)
            content.pop("encoder_config", None)
            content.pop("torch_dtype", content.pop("dtype", None))
        assert now == before, file
    again = CorefELModel.from_pretrained(tmp_path).state_dict()
    assert list(again) == list(model.state_dict())
    assert all(torch.equal(value, again[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("head", ["local", "standalone_coref", "standalone_linking", "global"])
def test_every_head_of_then_is_taken(head: str) -> None:
    model = CorefELModel.from_pretrained(FOLDER)
    assert model.set_head(head) == (["entities.nil"] if head == "standalone_linking" else [])
    assert model.config.head == head
