"""A knowledge base whose vectors are made when documents need them: the same answers however they are read."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, KnowledgeBase, load_pipeline
from hf_corefel.candidates import ComposedKnowledgeBase
from hf_corefel.kb import KnowledgeBaseError
from hf_corefel.kb.entity_vectors import fit_projection
from hf_corefel.kb.vector_filling import Filled, fill_vectors

TEXTS = [
    "Anna Berg met the coach. The coach visited Zwolle.",
    "Carl Moss lives in Oslo. He knows Anna Berg.",
    "",
    "Zwolle is old, and Oslo is older than Zwolle.",
]
ROWS = [
    ("Anna Berg", [("Anna_Berg", 0.75), ("Anna_Berg_(singer)", 0.25)]),
    ("Zwolle", [("Zwolle", 0.5), ("Zwolle_(ship)", 0.5)]),
    ("Oslo", [("Oslo", 1.0)]),
    ("Carl Moss", [("Carl_Moss", 0.5), ("Moss_(town)", 0.25)]),
]


@pytest.fixture(scope="module")
def model(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model whose knowledge base has the map from the model's own encoder."""
    folder = tmp_path_factory.mktemp("model")
    loaded, processor = CorefELModel.from_pretrained(tiny_folder), CorefELProcessor.from_pretrained(tiny_folder)
    kb = processor.knowledge_base
    projection = fit_projection(loaded.encoder.model, processor.tokenizer, kb, descriptions={}, show_progress=False)
    pipeline = CorefELPipeline(model=loaded, processor=processor.with_knowledge_base(kb.with_projection(projection)))
    pipeline.save_pretrained(folder)
    return folder


def fresh(folder: Path) -> Path:
    """A knowledge base that was just made, without vectors and without a projection."""
    descriptions = {"Zwolle_(ship)": "an old ship", "Zwolle": "a town by the water"}
    KnowledgeBase.build(ROWS, descriptions=descriptions, lazy_vectors=True).save_pretrained(folder)
    return folder


def rounded(results: Any) -> list[Any]:
    """Clusters with their entities; a vector may differ by a step of its code, so probabilities by a little."""
    return [
        [([(m["begin"], m["end"]) for m in c["mentions"]], c["entity"]) for c in result["clusters"]]
        for result in results
    ]


def caches(folder: Path) -> list[Path]:
    return list(folder.glob(".vectors-*.cache"))


def test_alone_in_batches_and_in_workers(model: Path, tmp_path: Path) -> None:
    alone = load_pipeline(model, knowledge_base=fresh(tmp_path / "alone"))
    expected = [alone(text) for text in TEXTS]
    assert any(c["entity"] for result in expected for c in result["clusters"])
    for number, options in enumerate(({"batch_size": 4}, {"batch_size": 1, "num_workers": 2}, {"batch_size": 2})):
        folder = fresh(tmp_path / f"{number}")
        annotate = load_pipeline(model, knowledge_base=folder)
        assert rounded(annotate(TEXTS, **options)) == rounded(expected)
        # Once they are there, also the numbers are the same.
        assert len(caches(folder)) == 1
        assert annotate(TEXTS, **options) == load_pipeline(model, knowledge_base=folder)(TEXTS, **options)


def test_in_workers_that_are_spawned(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load_pipeline(model, knowledge_base=fresh(tmp_path / "alone"))(TEXTS)
    annotate = load_pipeline(model, knowledge_base=fresh(tmp_path / "kb"))
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method("spawn", force=True)
    try:
        found = annotate(TEXTS, batch_size=2, num_workers=1)
    finally:
        multiprocessing.set_start_method(before, force=True)
    assert rounded(found) == rounded(expected)


def test_all_at_once_or_lazily(model: Path, tmp_path: Path) -> None:
    lazily, at_once = fresh(tmp_path / "lazily"), fresh(tmp_path / "at once")
    annotate = load_pipeline(model, knowledge_base=lazily)
    expected = annotate(TEXTS)
    kb, maker = load_pipeline(model, knowledge_base=at_once).processor.knowledge_base, annotate.processor.knowledge_base
    assert fill_vectors(kb, maker.vectorizer) == Filled(kb.num_entities, 0)
    filled = KnowledgeBase.from_pretrained(at_once)
    ids = np.arange(filled.num_entities)
    step = np.abs(filled.vectors(ids)).max(axis=1, keepdims=True) / 127
    # What a text is read together with may move a value over the border of one step of its code.
    assert (np.abs(filled.vectors(ids) - maker.vectors(ids)) <= 1.01 * step).all()
    again = load_pipeline(model, knowledge_base=at_once)
    assert rounded(again(TEXTS)) == rounded(expected)
    assert not caches(at_once)


def test_what_makes_them(model: Path, tmp_path: Path) -> None:
    annotate = load_pipeline(model, knowledge_base=fresh(tmp_path / "kb"))
    kb = annotate.processor.knowledge_base
    projection = CorefELProcessor.from_pretrained(model).knowledge_base.projection
    assert kb.vector_size == projection.vector_size
    vectorizer = kb.vectorizer
    made = vectorizer(["Zwolle_(ship)"], ["an old ship"])[0]
    np.testing.assert_allclose(kb.vector_for("Zwolle_(ship)"), made, atol=0.01 * np.abs(made).max())
    # The same model makes the same again, another one would not be taken for it.
    again = load_pipeline(model, knowledge_base=tmp_path / "kb").processor.knowledge_base.vectorizer
    assert vectorizer.identity == again.identity
    with torch.no_grad():
        next(annotate.model.encoder.model.parameters()).add_(1.0)
    other = CorefELPipeline(annotate.model, knowledge_base=tmp_path / "kb", verify=False)
    assert other.processor.knowledge_base.vectorizer.identity != vectorizer.identity


def test_one_object_for_several_and_changes_at_run_time(model: Path) -> None:
    kb = KnowledgeBase.build(ROWS, lazy_vectors=True)
    annotate = load_pipeline(model, knowledge_base=kb)
    annotate(TEXTS[0])
    kb.add("Vik", ["Vik"], description="a town")
    assert "Vik" in annotate.processor.encode("Vik is near Oslo.").entities
    annotate("Vik is near Oslo.")


def test_a_composed_one(model: Path, tmp_path: Path) -> None:
    own = CorefELProcessor.from_pretrained(model).knowledge_base
    lazy = KnowledgeBase.build(ROWS, projection=own.projection, lazy_vectors=True)
    annotate = load_pipeline(model, knowledge_base=ComposedKnowledgeBase([own, lazy]))
    found = annotate(TEXTS, batch_size=2)
    assert rounded(found) == rounded([annotate(text) for text in TEXTS])
    assert lazy._lazy._known


def test_the_processor_alone_says_what_is_missing(model: Path, tmp_path: Path) -> None:
    processor = load_pipeline(model, knowledge_base=fresh(tmp_path / "kb")).processor
    assert processor(TEXTS[0])["entity_vectors"].isfinite().all()
    processor.knowledge_base.vectorizer = None
    with pytest.raises(KnowledgeBaseError, match="load_pipeline"):
        processor(TEXTS[3])


def test_a_model_that_cannot_make_them(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="own knowledge base has no projection from that"):
        load_pipeline(tiny_folder, knowledge_base=fresh(tmp_path / "kb"))


def test_saved_with_its_model(model: Path, tmp_path: Path) -> None:
    annotate = load_pipeline(model, knowledge_base=fresh(tmp_path / "kb"))
    expected = annotate(TEXTS)
    annotate.save_pretrained(tmp_path / "saved")
    again = load_pipeline(tmp_path / "saved")
    assert rounded(again(TEXTS)) == rounded(expected)
    assert len(caches(tmp_path / "saved" / "knowledge_base")) == 1
    # What is kept there is no change of the model.
    load_pipeline(tmp_path / "saved")
