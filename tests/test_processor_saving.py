from __future__ import annotations

import json
import multiprocessing
import pickle
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel import Candidate, CorefELConfig, CorefELProcessor, Document, KnowledgeBase
from hf_corefel.kb import KnowledgeBaseError

TEXT = "Anna Bergen met Carl. Bergen left the city of Oslo!"
MakeProcessor = Callable[..., CorefELProcessor]


@pytest.fixture(scope="session")
def processor(letter_processor: MakeProcessor) -> CorefELProcessor:
    return letter_processor()


def assert_equal(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert tensor.dtype == right[name].dtype
        assert torch.equal(tensor, right[name]), name


@pytest.fixture(scope="session")
def folder(processor: CorefELProcessor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processor") / "new" / "folder"
    processor.save_pretrained(folder)
    return folder


@pytest.fixture
def broken(folder: Path, tmp_path: Path) -> Path:
    """The settings of a copy, to be spoilt."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "processor_config.json"


@pytest.mark.parametrize("kind", ["subwords_tokenizer", "byte_level_tokenizer"])
def test_saving_and_loading(
    letter_processor: MakeProcessor, request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    given = {(16, 20): [Candidate("Unheard", 0.5)]}
    texts = [Document(TEXT), Document(TEXT + " 👩\u200d👧 é\r\n" + TEXT, candidates=given), Document("")]
    documents = [replace(text, clusters=[]) for text in texts]
    processor = letter_processor(request.getfixturevalue(kind), window_overlap=3, max_kept_spans=5)
    processor.save_pretrained(tmp_path)
    for loaded in (CorefELProcessor.from_pretrained(tmp_path), CorefELProcessor.from_pretrained(str(tmp_path))):
        assert_equal(loaded(documents, gold=True).inputs, processor(documents, gold=True).inputs)
        assert loaded.encode(TEXT).warnings == processor.encode(TEXT).warnings != []


def test_auto_processor(folder: Path, processor: CorefELProcessor) -> None:
    from transformers import AutoProcessor

    loaded = AutoProcessor.from_pretrained(str(folder))
    assert type(loaded) is CorefELProcessor
    assert_equal(loaded(TEXT).inputs, processor(TEXT).inputs)


def test_loading_with_another_knowledge_base(folder: Path, processor: CorefELProcessor) -> None:
    other = KnowledgeBase.build([("Oslo", [("Oslo_(crater)", 1.0)])], vectors={"Oslo_(crater)": np.ones(8)})
    for changed in (
        CorefELProcessor.from_pretrained(folder, knowledge_base=other),
        processor.with_knowledge_base(other),
    ):
        assert changed.encode(TEXT).entities == ["Oslo_(crater)"]
        assert changed.settings == processor.settings
    assert "Oslo_(crater)" not in processor.encode(TEXT).entities


def test_a_knowledge_base_of_another_width(subwords_tokenizer: Any, processor: CorefELProcessor) -> None:
    other = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])], vectors={"Oslo": np.ones(5)})
    with pytest.raises(ValueError, match=r"knowledge_base: .* 5 wide, .*config\.entity_vector_size is 8"):
        CorefELProcessor(subwords_tokenizer, other, CorefELConfig(entity_vector_size=8))
    with pytest.raises(ValueError, match=r"knowledge_base: .* 5 wide, the model expects 8"):
        processor.with_knowledge_base(other)
    # Without a configuration, the width is the knowledge base's.
    assert CorefELProcessor(subwords_tokenizer, other)("Oslo").inputs["entity_vectors"].shape == (1, 1, 5)


def test_windows_that_hold_nothing(broken: Path) -> None:
    broken.write_text(json.dumps({**json.loads(broken.read_text()), "window_size": 2}))
    with pytest.raises(ValueError, match=r"config\.window_size \(2\) leaves no room"):
        CorefELProcessor.from_pretrained(broken.parent)


def test_nothing_saved(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"processor_config\.json"):
        CorefELProcessor.from_pretrained(tmp_path)


def test_a_missing_setting(broken: Path) -> None:
    settings = json.loads(broken.read_text())
    del settings["max_kept_spans"]
    broken.write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=r"processor_config\.json: missing field 'max_kept_spans'"):
        CorefELProcessor.from_pretrained(broken.parent)


def test_damaged_settings(broken: Path) -> None:
    broken.write_text('{"max_span_words": ')
    with pytest.raises(ValueError, match=r"processor_config\.json: no valid JSON"):
        CorefELProcessor.from_pretrained(broken.parent)


def test_a_missing_knowledge_base(broken: Path) -> None:
    shutil.rmtree(broken.parent / "knowledge_base")
    with pytest.raises(KnowledgeBaseError, match=r"kb_config\.json"):
        CorefELProcessor.from_pretrained(broken.parent)


def test_spawned_workers(folder: Path, processor: CorefELProcessor) -> None:
    loaded = CorefELProcessor.from_pretrained(folder)
    # The knowledge base goes by its path.
    assert len(pickle.dumps(loaded)) < len(pickle.dumps(processor))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for each in (loaded, processor):
            encoded = pool.submit(each.encode, TEXT).result()
            assert_equal(each.collate([encoded]), processor(TEXT).inputs)


def test_nothing_that_is_asked_for_is_passed_over(
    processor: CorefELProcessor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TypeError, match="takes no argument 'repo_id' by itself"):
        processor.save_pretrained(tmp_path / "saved", repo_id="acme/x")
    assert not (tmp_path / "saved").exists()
    pushed: list[Any] = []
    monkeypatch.setattr(CorefELProcessor, "push_to_hub", lambda self, *names, **more: pushed.append((names, more)))
    processor.save_pretrained(tmp_path / "saved", push_to_hub=True, private=True)
    assert pushed == [(("saved",), {"private": True})]
