"""Entities that a pipeline's knowledge base gets while it runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, KnowledgeBase
from hf_corefel.candidates import ComposedKnowledgeBase
from hf_corefel.kb.entity_vectors import fit_projection, projects_from
from hf_corefel.pipeline_corefel import load_pipeline


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A saved model whose knowledge base has the map from the model's own encoder."""
    model, processor = CorefELModel.from_pretrained(tiny_folder), CorefELProcessor.from_pretrained(tiny_folder)
    kb = processor.knowledge_base
    projection = fit_projection(model.encoder.model, processor.tokenizer, kb, descriptions={}, show_progress=False)
    pipeline = CorefELPipeline(model=model, processor=processor.with_knowledge_base(kb.with_projection(projection)))
    pipeline.save_pretrained(tmp_path)
    return tmp_path


def test_an_added_entity_gets_a_vector_of_title_and_description(folder: Path) -> None:
    kb = load_pipeline(folder).processor.knowledge_base
    assert kb.vectorizer is not None
    kb.add("Moss_(harbour)", ["the harbour"], description="a harbour in norway")
    kb.add("Moss_(bridge)", ["the bridge"], description="an old bridge")
    ids = np.array([kb.entity_id("Moss_(harbour)"), kb.entity_id("Moss_(bridge)")])
    assert kb.has_vector(ids).all()
    harbour, bridge = kb.vectors(ids)
    assert not np.allclose(harbour, bridge)
    expected = kb.vectorizer(["Moss_(harbour)"], ["a harbour in norway"])[0]
    np.testing.assert_allclose(harbour, expected, atol=0.05 * np.abs(expected).max())


def test_it_is_linked_at_once_and_gone_when_removed(folder: Path) -> None:
    pipeline = load_pipeline(folder)
    text = "Anna Berg met the coach. The coach visited Zwolle."
    kb = pipeline.processor.knowledge_base
    listed = pipeline.processor.encode(text).entities
    assert "Zwolle" not in listed
    kb.add("Zwolle", ["Zwolle"], description="old city")
    assert "Zwolle" in pipeline.processor.encode(text).entities
    kb.remove("Zwolle")
    assert pipeline.processor.encode(text).entities == listed


def test_only_a_map_from_the_own_encoder_is_taken(folder: Path, tiny_folder: Path) -> None:
    fitted, without = load_pipeline(folder), load_pipeline(tiny_folder)
    assert projects_from(fitted.processor.knowledge_base, fitted.model)
    assert without.processor.knowledge_base.vectorizer is None
    # A knowledge base from elsewhere may have been made for another encoder of the same width.
    other = CorefELProcessor.from_pretrained(folder).knowledge_base
    assert load_pipeline(tiny_folder, knowledge_base=other).processor.knowledge_base.vectorizer is None


@pytest.mark.parametrize("how", ["merged", "composed"])
def test_lazy_vectors_beside_given_ones_are_of_the_models_kind(folder: Path, how: str, tmp_path: Path) -> None:
    model, own = load_pipeline(folder), CorefELProcessor.from_pretrained(folder).knowledge_base
    given = KnowledgeBase.build([("lamp", [("Lamp", 1.0)])], vectors={"Lamp": own.vector_for("Moss_(moon)")})
    lazy = KnowledgeBase.build([("oslo", [("Oslo", 1.0)])], descriptions={"Oslo": "a city"}, lazy_vectors=True)
    both = KnowledgeBase.merge(given, lazy) if how == "merged" else ComposedKnowledgeBase([given, lazy])
    both.save_pretrained(tmp_path / "both")
    kb = load_pipeline(folder, knowledge_base=tmp_path / "both").processor.knowledge_base
    expected = model.processor.knowledge_base.vectorizer(["Oslo"], ["a city"])[0]
    np.testing.assert_allclose(kb.vector_for("Oslo"), expected, atol=0.05 * np.abs(expected).max())
    np.testing.assert_allclose(kb.vector_for("Lamp"), given.vector_for("Lamp"))
