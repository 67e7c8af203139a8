"""The fingerprint: silent when all is as it was saved, and naming the cause when something is not."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, pipeline

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, Document, KnowledgeBase
from hf_corefel.hub import FingerprintWarning, check_fingerprint, fingerprint, save_fingerprint
from hf_corefel.hub.fingerprint import _TEXT, compare_fingerprints
from hf_corefel.pipeline_corefel import load_pipeline


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A saved pipeline that a test may spoil."""
    load_pipeline(tiny_folder).save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


def warned(folder: Path, **kwargs: Any) -> list[str]:
    """What loading the folder says of its fingerprint."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_pipeline(folder, **kwargs)
    return [str(item.message) for item in caught if item.category is FingerprintWarning]


def test_it_is_saved_with_the_pipeline_and_fits(folder: Path) -> None:
    saved = json.loads((folder / "fingerprint.json").read_text(encoding="utf-8"))
    assert len(saved["token_ids"]) > 10
    assert np.shape(saved["scores"]["mention"]) == (5,)
    assert np.shape(saved["scores"]["link"]) == (5, 2)
    assert np.shape(saved["scores"]["pair"]) == (5, 5)
    assert saved["knowledge_base"]["num_entities"] == 8
    assert set(saved["versions"]) == {"hf-corefel", "tokenizers", "torch", "transformers"}
    assert warned(folder) == []
    again = load_pipeline(folder)
    assert fingerprint(again.model, again.processor) == saved


def test_the_task_checks_it_too(folder: Path) -> None:
    spoil_weights(folder)
    with pytest.warns(FingerprintWarning, match="scores differ"):
        pipeline("coref-el", model=str(folder))


def spoil_weights(folder: Path, seed: int = 1) -> None:
    model = CorefELModel.from_pretrained(folder)
    kept = (folder / "fingerprint.json").read_bytes()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for parameter in model.pruner.parameters():
            torch.nn.init.normal_(parameter)
    model.save_pretrained(folder)
    (folder / "fingerprint.json").write_bytes(kept)


def test_other_weights(folder: Path) -> None:
    spoil_weights(folder)
    (message,) = warned(folder)
    assert str(folder) in message
    assert "mention scores differ" in message and "weights are not those" in message
    assert "tokenizer" not in message.lower() and "knowledge base" not in message.lower()


@pytest.mark.parametrize("part", ["link", "pair"])
def test_weights_of_a_scorer_alone(folder: Path, part: str) -> None:
    saved = json.loads((folder / "fingerprint.json").read_text(encoding="utf-8"))
    saved["scores"][part][1][0] += 1e3
    (folder / "fingerprint.json").write_text(json.dumps(saved))
    (message,) = warned(folder)
    assert f"The {part} scores differ" in message


def test_releases_of_libraries_are_named(folder: Path) -> None:
    saved = json.loads((folder / "fingerprint.json").read_text(encoding="utf-8"))
    saved["scores"]["mention"][0] += 100
    saved["versions"]["transformers"] = "3.0.0"
    (folder / "fingerprint.json").write_text(json.dumps(saved))
    (message,) = warned(folder)
    assert "saved with transformers 3.0.0, here" in message
    assert "torch" not in message


def test_another_tokenizer(folder: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "other")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    words = tokenizer["model"]["vocab"]
    words["met"], words["praised"] = words["praised"], words["met"]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids("met") == words["met"]
    (message,) = warned(folder)
    assert "The tokenizer differs" in message
    assert "scores" not in message, "these follow from the tokens"


def test_another_knowledge_base(folder: Path, tiny_knowledge_base: KnowledgeBase) -> None:
    names = [tiny_knowledge_base.entity_name(i) for i in range(tiny_knowledge_base.num_entities)]
    vectors = tiny_knowledge_base.vectors(np.arange(len(names)))
    changed = KnowledgeBase.build([("Oslo", [("Oslo", 0.25)])], vectors=(names, vectors))
    changed.save_pretrained(folder / "knowledge_base")
    (message,) = warned(folder)
    assert "The knowledge base changed" in message and "num_surfaces" in message and "candidates" in message
    assert "vectors" not in message and "scores" not in message


def test_scores_of_the_bundled_model_depend_on_no_knowledge_base() -> None:
    # Every word of the probe, as an entity of its own.
    words = [word.strip(".,") for word in _TEXT.split()]
    names = {word: np.ones(128) for word in words}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for known in (words, ["Oslo"]):
            rows = [(word, [(word, 1.0)]) for word in known]
            load_pipeline(knowledge_base=KnowledgeBase.build(rows, vectors={**names, "Oslo": np.ones(128)}))


def test_a_knowledge_base_of_ones_own_is_no_difference(folder: Path) -> None:
    own = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])], vectors={"Oslo": np.ones(8, dtype=np.float32)})
    assert warned(folder, knowledge_base=own) == []
    spoil_weights(folder)
    assert len(warned(folder, knowledge_base=own)) == 1


def test_switched_off(folder: Path) -> None:
    spoil_weights(folder)
    assert warned(folder, verify=False) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline("coref-el", model=str(folder), verify=False)


# The counters that torch keeps of changes do not see those of fused optimizers.
@pytest.mark.parametrize("settings", [{"foreach": False}, {"fused": True}], ids=["plain", "fused"])
def test_a_model_that_was_trained_since_is_not_compared(
    folder: Path, tiny_documents: list[Document], settings: dict[str, Any]
) -> None:
    model, processor = CorefELModel.from_pretrained(folder), CorefELProcessor.from_pretrained(folder)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, **settings)
    model(**processor(tiny_documents, gold=True).inputs).loss.backward()
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error", FingerprintWarning)
        CorefELPipeline(model=model, task="coref-el")
    assert check_differs(model, processor, folder)


def check_differs(model: CorefELModel, processor: CorefELProcessor, folder: Path) -> list[str]:
    with pytest.warns(FingerprintWarning):
        return check_fingerprint(model, processor, str(folder))


def test_casting_a_model_is_no_change(folder: Path) -> None:
    spoil_weights(folder)
    model = CorefELModel.from_pretrained(folder, dtype=torch.float16).float()
    with pytest.warns(FingerprintWarning):
        CorefELPipeline(model=model, task="coref-el")


def test_another_head_of_the_same_model(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FingerprintWarning)
        CorefELPipeline(model=CorefELModel.from_pretrained(folder, head="local"), task="coref-el")


@pytest.mark.parametrize("head", ["local", "standalone_coref", "standalone_linking"])
def test_every_head_has_one(
    head: str, tiny_model: Callable[..., Any], tiny_processor: Callable[[Any], Any], tmp_path: Path
) -> None:
    model = tiny_model(head=head)
    CorefELPipeline(model=model, processor=tiny_processor(model.config), task="coref-el").save_pretrained(tmp_path)
    assert warned(tmp_path) == []


def test_half_precision_is_near_enough(folder: Path) -> None:
    model = CorefELModel.from_pretrained(folder, dtype=torch.bfloat16)
    processor = CorefELProcessor.from_pretrained(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FingerprintWarning)
        assert check_fingerprint(model, processor, str(folder)) == []


def test_saving_a_part_anew_removes_it(folder: Path) -> None:
    model, processor = CorefELModel.from_pretrained(folder), CorefELProcessor.from_pretrained(folder)
    for part in (model, processor):
        save_fingerprint(model, processor, folder)
        part.save_pretrained(folder)
        assert not (folder / "fingerprint.json").exists()
    assert warned(folder) == []


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format_version": 1, "text": 3}'])
def test_a_damaged_file(folder: Path, content: str) -> None:
    (folder / "fingerprint.json").write_text(content)
    (message,) = [*warned(folder), ""][:1]
    assert ("cannot be read" in message) == (content != '{"format_version": 1, "text": 3}')


def test_fingerprints_of_another_probe_are_not_compared(folder: Path) -> None:
    saved = json.loads((folder / "fingerprint.json").read_text(encoding="utf-8"))
    other = {**saved, "token_ids": []}
    assert compare_fingerprints(other, saved)
    assert compare_fingerprints({**other, "text": "Another probe."}, saved) == []
    assert compare_fingerprints({**other, "format_version": 1}, saved) == []


def test_the_model_keeps_its_mode(folder: Path) -> None:
    model, processor = CorefELModel.from_pretrained(folder, dropout=0.5), CorefELProcessor.from_pretrained(folder)
    expected = fingerprint(model, processor)
    assert fingerprint(model.train(), processor) == expected
    assert model.training
