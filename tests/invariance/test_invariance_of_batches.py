"""A document's result does not depend on the documents beside it, on their order, or on padding."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariance_tools import Text, assert_rich, assert_same, assert_scores_close, scores_of

from hf_corefel import AnnotatedDocument, Candidate, CorefELPipeline, Document
from hf_corefel.processing import split_words

Alone = Callable[[Text], AnnotatedDocument]


@pytest.fixture(scope="module")
def alone(annotate: CorefELPipeline) -> Alone:
    """Results of documents by themselves; a text is annotated once."""

    @functools.cache
    def of_text(text: str) -> AnnotatedDocument:
        return annotate.annotate([text], batch_size=1)[0]

    return lambda document: of_text(document) if isinstance(document, str) else annotate.annotate([document])[0]


@given(data=st.data())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_company_in_any_order(
    annotate: CorefELPipeline, alone: Alone, anchor: str, sentences: list[str], data: st.DataObject
) -> None:
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=5), label="sentences of the others")
    others = [" ".join(data.draw(st.lists(st.sampled_from(sentences), min_size=n, max_size=n))) for n in lengths]
    documents = data.draw(st.permutations([anchor, *others]), label="order")
    size = data.draw(st.integers(1, len(documents) + 1), label="batch size")
    together = annotate.annotate(documents, batch_size=size)
    assert_rich(together)
    assert_same(together, [alone(document) for document in documents])


@pytest.mark.parametrize("size", [1, 2, 7])
def test_every_form_of_input_in_any_order(annotate: CorefELPipeline, alone: Alone, anchor: str, size: int) -> None:
    found = [mention.offsets for cluster in alone(anchor).clusters for mention in cluster.mentions]
    table = split_words(anchor)
    words = list(zip(table.begin.tolist(), table.end.tolist(), strict=True))
    scopes = annotate.processor.settings.mention_scopes or {}
    documents: list[Text] = [
        anchor,
        "",
        Document(anchor, mentions=found),
        Document(anchor, spans=found),
        Document(anchor, words=words[:-4]),
        " \n",
        Document(anchor, candidates={found[0]: [Candidate("Somewhere", 0.5)], found[1]: []}),
        Document(anchor + " " + anchor, id="twice", mentions=found[:6]),
        *(Document(anchor, mention_scope=scope) for scope in scopes),
    ]
    expected = [alone(document) for document in documents]
    assert_rich(expected[:1])
    assert_rich(expected[2:3])
    for order in (list(range(len(documents))), list(range(len(documents)))[::-1]):
        together = annotate.annotate([documents[i] for i in order], batch_size=size)
        assert_same(together, [expected[i] for i in order])


@pytest.mark.parametrize("times", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_a_text_that_repeats_itself(
    annotate: CorefELPipeline, alone: Alone, anchor: str, sentences: list[str], times: int
) -> None:
    """Its windows hold the same subwords at the same places: scores tie up to the rounding of a batch's shape."""
    repeated = " ".join([anchor] * times)
    expected = alone(repeated)
    assert_rich([expected])
    for documents in ([repeated, anchor], [sentences[0], repeated, "", sentences[1]]):
        found = annotate.annotate(documents, batch_size=len(documents))
        assert_same(found, [alone(document) for document in documents])


def test_scores_do_not_depend_on_the_company(annotate: CorefELPipeline, anchor: str, sentences: list[str]) -> None:
    model, processor = annotate.model, annotate.processor
    texts = [anchor, sentences[0], "", " ".join([anchor, *sentences] * 3), anchor + " " + sentences[1]]
    encoded = [processor.encode(text) for text in texts]
    with torch.no_grad():
        single = [model(**processor.collate([document])) for document in encoded]
        assert (single[0].retained >= 0).sum() >= 5
        for order in ([0, 1, 2, 3, 4], [3, 0], [4, 2, 0, 3, 1]):
            output = model(**processor.collate([encoded[i] for i in order]))
            for b, i in enumerate(order):
                sizes = len(encoded[i].spans), single[i].retained.shape[1]
                assert_scores_close(scores_of(output, b, *sizes), scores_of(single[i], 0, *sizes))


@given(windows=st.integers(0, 3), subwords=st.integers(0, 9), spans=st.integers(0, 7), entities=st.integers(0, 4))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_padding_changes_nothing(
    annotate: CorefELPipeline, anchor: str, windows: int, subwords: int, spans: int, entities: int
) -> None:
    """Padding beyond what any company brings, in every direction that a tensor has."""
    model, processor = annotate.model, annotate.processor
    inputs = dict(processor(anchor).inputs)
    with torch.no_grad():
        plain = model(**inputs)
    length = inputs["input_ids"].shape[2]
    # The encoder may read no more than a full window.
    wider = min(length + subwords, processor.settings.window_size)
    pad = torch.nn.functional.pad
    for name, value in (("input_ids", processor.tokenizer.pad_token_id), ("attention_mask", 0)):
        inputs[name] = pad(inputs[name], (0, wider - length, 0, windows), value=value)
    positions = inputs["subword_positions"]
    inputs["subword_positions"] = pad(positions // length * wider + positions % length, (0, subwords), value=-1)
    for name, value in (("span_begin", 0), ("span_end", 1), ("span_width", 0), ("span_mask", False)):
        inputs[name] = pad(inputs[name], (0, spans), value=value)
    for name, value in (("span_cases", 0), ("candidate_rows", -1), ("log_priors", 0.0)):
        inputs[name] = pad(inputs[name], (0, 0, 0, spans), value=value)
    inputs["entity_vectors"] = pad(inputs["entity_vectors"], (0, 0, 0, entities))
    with torch.no_grad():
        padded = model(**inputs)
    sizes = plain.span_scores.shape[1], plain.retained.shape[1]
    assert sizes[1] >= 5
    assert padded.span_scores.shape[1] == sizes[0] + spans
    assert_scores_close(scores_of(padded, 0, *sizes), scores_of(plain, 0, *sizes))
