"""Mention scopes: a condition of the model, with spans and pruning of its own, from document to loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, Document, DocumentError, load_pipeline

SCOPES = {"named": {}, "all": {"max_span_words": 5, "span_keep_ratio": 0.9}}
TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."


@pytest.fixture
def model(tiny_model: Callable[..., Any]) -> CorefELModel:
    made: CorefELModel = tiny_model(max_span_words=3, span_keep_ratio=0.3, mention_scopes=SCOPES)
    return made


@pytest.fixture
def processor(model: CorefELModel, tiny_processor: Callable[..., Any]) -> CorefELProcessor:
    made: CorefELProcessor = tiny_processor(model.config)
    return made


def test_every_scope_has_its_own_spans_and_limit(processor: CorefELProcessor) -> None:
    plain, named, every = (processor.encode(Document(TEXT, mention_scope=scope)) for scope in (None, "named", "all"))
    assert (plain.scope, named.scope, every.scope) == (0, 0, 1)
    assert plain.spans.width.max() == named.spans.width.max() == 3
    assert every.spans.width.max() == 5
    words = 12
    assert (named.limit, every.limit) == (int(0.3 * words) + 1, int(0.9 * words) + 1)


def test_documents_that_name_no_scope_have_the_default(
    processor: CorefELProcessor, tiny_model: Any, tmp_path: Path
) -> None:
    assert processor.settings.default_scope == "named"
    model = tiny_model(mention_scopes=SCOPES, default_mention_scope="all")
    CorefELPipeline(
        model=model,
        processor=CorefELProcessor(processor.tokenizer, processor.knowledge_base, model.config),
        task="coref-el",
    ).save_pretrained(tmp_path)
    loaded = CorefELPipeline(model=CorefELModel.from_pretrained(tmp_path).eval(), task="coref-el")
    assert loaded.processor.settings.default_scope == "all"
    plain, named, every = (
        loaded.processor.encode(Document(TEXT, mention_scope=scope)) for scope in (None, "named", "all")
    )
    assert (plain.scope, named.scope, every.scope) == (1, 0, 1)
    assert plain.spans.width.max() == every.spans.width.max() == 5
    said, other, unsaid = (
        loaded.annotate([TEXT], **options)[0].to_dict()
        for options in ({"mention_scope": "all"}, {"mention_scope": "named"}, {})
    )
    assert said == unsaid != other
    asked = load_pipeline(tmp_path, model_kwargs={"default_mention_scope": "named"})
    assert asked.annotate([TEXT])[0].to_dict() == other


def test_the_scope_reaches_the_scores_of_its_document_only(model: CorefELModel, processor: CorefELProcessor) -> None:
    named, every = Document(TEXT, mention_scope="named"), Document(TEXT, mention_scope="all")
    given = [replace(document, mentions=[(0, 9), (14, 23), (33, 37)]) for document in (named, every)]
    mixed = processor(given)
    assert mixed.inputs["mention_scope"].tolist() == [0, 1]
    together = model(**mixed.inputs)
    for b, document in enumerate(given):
        alone = model(**processor([document]).inputs)
        torch.testing.assert_close(together.mention[b : b + 1], alone.mention)
        torch.testing.assert_close(together.pair[b : b + 1], alone.pair)
    assert not torch.allclose(together.mention[0], together.mention[1])
    assert not torch.allclose(together.pair[0], together.pair[1])


def test_without_the_input_the_first_scope_holds(model: CorefELModel, processor: CorefELProcessor) -> None:
    inputs = processor([Document(TEXT)]).inputs
    expected = model(**inputs).span_scores
    del inputs["mention_scope"]
    assert torch.equal(model(**inputs).span_scores, expected)


def test_both_embeddings_are_trained(model: CorefELModel, processor: CorefELProcessor, tiny_documents: Any) -> None:
    batch = processor([tiny_documents[0], replace(tiny_documents[1], mention_scope="all")], gold=True)
    model(**batch.inputs).loss.backward()
    gradient = model.spans.scope.weight.grad
    assert gradient.shape == (2, 20)
    assert (gradient.abs().sum(dim=1) > 0).all()


def test_unknown_scopes_are_refused(model: CorefELModel, processor: CorefELProcessor, tiny_model: Any) -> None:
    with pytest.raises(DocumentError, match=r"document 'x'\.mention_scope: expected 'named' or 'all' or 'entities'"):
        Document(TEXT, id="x", mention_scope="none")
    only = CorefELProcessor(
        processor.tokenizer, processor.knowledge_base, tiny_model(mention_scopes={"all": {}}).config
    )
    with pytest.raises(DocumentError, match=r"document 'x'\.mention_scope: 'named', but this model takes all"):
        only.encode(Document(TEXT, id="x", mention_scope="named"))
    without = CorefELProcessor(processor.tokenizer, processor.knowledge_base, tiny_model().config)
    with pytest.raises(DocumentError, match="one scope only"):
        without.encode(Document(TEXT, mention_scope="all"))


def test_scopes_survive_saving(model: CorefELModel, processor: CorefELProcessor, tmp_path: Path) -> None:
    pipeline = CorefELPipeline(model=model, processor=processor, task="coref-el")
    pipeline.save_pretrained(tmp_path)
    loaded = CorefELPipeline(model=CorefELModel.from_pretrained(tmp_path).eval(), task="coref-el")
    assert loaded.processor.settings.mention_scopes == SCOPES
    documents = [Document(TEXT, mention_scope=scope) for scope in ("named", "all")]
    for before, after in zip(pipeline.annotate(documents), loaded.annotate(documents), strict=True):
        assert [(c.entity, [m.offsets for m in c.mentions]) for c in before.clusters] == [
            (c.entity, [m.offsets for m in c.mentions]) for c in after.clusters
        ]
        assert [c.probability for c in before.clusters] == pytest.approx([c.probability for c in after.clusters])


def test_the_number_of_a_scope_does_not_depend_on_the_order_in_the_configuration(
    processor: CorefELProcessor, tiny_model: Callable[..., Any], tmp_path: Path
) -> None:
    tiny_model(mention_scopes=SCOPES).save_pretrained(tmp_path)
    loaded = CorefELModel.from_pretrained(tmp_path).config
    reversed_scopes = tiny_model(mention_scopes=dict(reversed(SCOPES.items()))).config
    for config in (loaded, reversed_scopes):
        made = CorefELProcessor(processor.tokenizer, processor.knowledge_base, config)
        numbers = [made.encode(Document(TEXT, mention_scope=scope)).scope for scope in (None, "named", "all")]
        assert numbers == [0, 0, 1]


def test_a_processor_from_before_scopes_has_none(processor: CorefELProcessor, tmp_path: Path) -> None:
    import json

    processor.save_pretrained(tmp_path)
    path = tmp_path / "processor_config.json"
    content = json.loads(path.read_text())
    del content["mention_scopes"]
    assert "default_mention_scope" not in content, "an older version would not know it"
    path.write_text(json.dumps(content))
    loaded = CorefELProcessor.from_pretrained(tmp_path)
    assert loaded.settings.mention_scopes is None
    assert loaded.encode(TEXT).scope == 0


def test_a_scope_that_is_added_moves_no_other(tiny_model: Any, tiny_processor: Any) -> None:
    """Numbers of scopes are places in a saved embedding; names are all there is under two of them."""
    for scopes, numbers in (
        ({"all": {}, "named": {}}, {"named": 0, "all": 1}),
        ({"entities": {}, "all": {}, "named": {}}, {"named": 0, "all": 1, "entities": 2}),
    ):
        processor = tiny_processor(tiny_model(mention_scopes=scopes).config)
        encoded = {scope: processor.encode(Document(TEXT, mention_scope=scope)) for scope in numbers}
        assert {scope: each.scope for scope, each in encoded.items()} == numbers
        assert {scope for scope, each in encoded.items() if each.names_only} == set(numbers) - {"all"}
