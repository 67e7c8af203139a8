"""The component of spaCy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("spacy")

import spacy
import torch
from spacy.language import Language

import hf_corefel.spacy_corefel  # noqa: F401  (tells spaCy the name where no installed package does)
from hf_corefel import KnowledgeBase, load_pipeline

TEXTS = ["Anna Berg met Carl Moss in Oslo. Berg praised Moss.", "", "The mayor of Bergen met the coach.", "Norway won."]


@pytest.fixture(scope="module")
def nlp(tiny_folder: Path) -> Language:
    language = spacy.blank("en")
    language.add_pipe("coref_el", config={"model": str(tiny_folder), "device": "cpu", "batch_size": 2})
    return language


def found(doc: Any) -> list[tuple[str | None, list[tuple[int, int]]]]:
    return [
        (next((span.kb_id_ or None for span in group), None), [(span.start_char, span.end_char) for span in group])
        for group in doc._.coref_clusters
    ]


def test_documents_have_what_the_pipeline_finds(nlp: Language, tiny_folder: Path) -> None:
    results = load_pipeline(str(tiny_folder), device="cpu")(TEXTS)
    docs = list(nlp.pipe(TEXTS, batch_size=3))
    assert [doc.text for doc in docs] == TEXTS
    for doc, result in zip(docs, results, strict=True):
        wanted = [
            (cluster["entity"], [(m["begin"], m["end"]) for m in cluster["mentions"]]) for cluster in result["clusters"]
        ]
        assert found(doc) == wanted
        assert found(nlp(doc.text)) == wanted
        assert len([key for key in doc.spans if key.startswith("coref_clusters_")]) == len(wanted)
        linked = {(m, entity or "") for entity, mentions in wanted for m in mentions}
        assert {((ent.start_char, ent.end_char), ent.kb_id_) for ent in doc.ents} <= linked
    assert any(found(doc) for doc in docs) and any(doc.ents for doc in docs)


def test_saved_pipeline_says_the_same(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    assert loaded.config["components"]["coref_el"]["batch_size"] == 2
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    for other in (loaded, again):
        assert found(other(TEXTS[0])) == found(nlp(TEXTS[0])) != []
    doc = nlp(TEXTS[0])
    copy = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert found(copy) == found(doc)


@pytest.mark.parametrize("mode", ["expand", "contract", "strict"])
def test_mentions_that_cut_a_token_of_spacy(tiny_folder: Path, mode: str) -> None:
    language = spacy.blank("en")
    # Tokens that end at blanks only: "Oslo." is one.
    language.tokenizer = spacy.tokenizer.Tokenizer(language.vocab)
    language.add_pipe("coref_el", config={"model": str(tiny_folder), "device": "cpu", "alignment_mode": mode})
    with pytest.warns(UserWarning, match=f"alignment_mode='{mode}'"):
        doc = language(TEXTS[0])
    surfaces = {span.text for group in doc._.coref_clusters for span in group}
    assert ("Oslo." in surfaces) is (mode == "expand")
    assert "Oslo" not in surfaces


def test_entities_of_before_stay_when_asked_to(tiny_folder: Path) -> None:
    language = spacy.blank("en")
    language.add_pipe("entity_ruler").add_patterns([{"label": "WORD", "pattern": "praised"}])
    language.add_pipe("coref_el", config={"model": str(tiny_folder), "device": "cpu", "set_ents": False})
    doc = language(TEXTS[0])
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("praised", "WORD")]
    assert doc._.coref_clusters


def test_wrong_options_are_named() -> None:
    with pytest.raises(ValueError, match="alignment_mode: expected one of expand, contract, strict"):
        spacy.blank("en").add_pipe("coref_el", config={"alignment_mode": "nearest"})
    with pytest.raises(ValueError, match="options: model is a field of its own beside options"):
        spacy.blank("en").add_pipe("coref_el", config={"options": {"model": "some/model"}})
    with pytest.raises(ValueError, match="parameters: batch_size cannot be given here, for it is a field of its own"):
        spacy.blank("en").add_pipe("coref_el", config={"parameters": {"batch_size": 2}})


def test_a_knowledge_base_of_ones_own(tiny_folder: Path, tmp_path: Path) -> None:
    vectors = {"E7": np.ones(8, dtype=np.float32)}  # as wide as those of the model's knowledge base
    KnowledgeBase.build([("Carl Moss", [("E7", 1.0)])], vectors=vectors).save_pretrained(tmp_path / "kb")
    language = spacy.blank("en")
    options = {"knowledge_base": str(tmp_path / "kb"), "dtype": "bfloat16"}
    language.add_pipe("coref_el", config={"model": str(tiny_folder), "device": "cpu", "options": options})
    language.to_disk(tmp_path / "saved")
    for pipe in (language, spacy.load(tmp_path / "saved")):
        assert {ent.kb_id_ for ent in pipe(TEXTS[0]).ents if ent.kb_id_} == {"E7"}
        component: Any = pipe.get_pipe("coref_el")
        assert component._annotator().model.dtype == torch.bfloat16


def test_the_warnings_of_results_are_there(tiny_folder: Path) -> None:
    language = spacy.blank("en")
    parameters = {"min_probability": 0.9999}
    language.add_pipe("coref_el", config={"model": str(tiny_folder), "device": "cpu", "parameters": parameters})
    expected = load_pipeline(str(tiny_folder), device="cpu")(TEXTS, **parameters)
    docs = list(language.pipe(TEXTS))
    assert [doc._.coref_warnings for doc in docs] == [result["warnings"] for result in expected]
    assert any(doc._.coref_warnings for doc in docs)
