"""Texts, words, mentions, spans and candidates, given in any mixture, with every kind of tokenizer."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from hf_corefel import AnnotatedDocument, Candidate, CorefELPipeline, Document

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city of Bergen."


def at(surface: str, start: int = 0, text: str = TEXT) -> tuple[int, int]:
    begin = text.index(surface, start)
    return begin, begin + len(surface)


ANNA, BERG, CARL, OSLO = at("Anna Berg"), at("Berg", 30), at("Carl Moss"), at("Oslo")
WORDS = [at("Anna Berg"), at("met"), at("Carl Moss"), at("Oslo"), at("Berg", 30), at("Moss", 40), at("Bergen")]
MIXTURE: dict[str, str | Document] = {
    "text": TEXT,
    "words": Document(TEXT, words=WORDS),
    "mentions": Document(TEXT, mentions=[ANNA, CARL, OSLO, BERG, at("Bergen")]),
    "spans": Document(TEXT, spans=[ANNA, CARL, OSLO, BERG, at("Bergen"), at("the city of Bergen")]),
    "candidates": Document(TEXT, candidates={OSLO: [Candidate("Elsewhere", 0.7)], at("the city of Bergen"): []}),
    "empty": "",
    "all of it": Document(
        TEXT, words=WORDS, mentions=[ANNA, BERG, OSLO], candidates={BERG: [Candidate("Anna_Berg", 0.9)]}
    ),
    "blank": Document(" \n\t", mentions=[(0, 2)]),
    "spans with candidates": Document(TEXT, spans=[ANNA, OSLO], candidates={OSLO: [Candidate("Oslo_(band)", 1.0)]}),
    # No two windows alike: equal spans in equal windows have equal scores up to rounding, and ties may fall either way.
    "long": " ".join(" ".join(random.Random(seed).sample(TEXT.split(), len(TEXT.split()))) for seed in range(4)),
}


def offsets_of(result: AnnotatedDocument) -> list[tuple[int, int]]:
    return sorted(mention.offsets for cluster in result.clusters for mention in cluster.mentions)


def numbers(result: AnnotatedDocument) -> list[float]:
    found = []
    for cluster in result.clusters:
        for mention in cluster.mentions:
            found += [mention.probability, mention.edge_probability, mention.link_probability]
    return [number for number in found if number is not None]


def structure(result: AnnotatedDocument) -> list[tuple[str | None, list[tuple[int, int]]]]:
    return [(cluster.entity, [mention.offsets for mention in cluster.mentions]) for cluster in result.clusters]


@pytest.fixture(scope="module")
def alone(annotate: CorefELPipeline) -> dict[str, AnnotatedDocument]:
    return {name: annotate.annotate([document])[0] for name, document in MIXTURE.items()}


def test_every_form_gives_what_it_says(alone: dict[str, AnnotatedDocument], annotate: CorefELPipeline) -> None:
    for result in alone.values():
        for cluster in result.clusters:
            for mention in cluster.mentions:
                assert result.text[mention.begin : mention.end] == mention.text
    assert len(offsets_of(alone["text"])) >= 5
    begins, ends = zip(*WORDS, strict=True)
    words = offsets_of(alone["words"])
    assert len(words) >= 3 and all(begin in begins and end in ends for begin, end in words)
    assert offsets_of(alone["mentions"]) == sorted([ANNA, CARL, OSLO, BERG, at("Bergen")])
    assert set(offsets_of(alone["spans"])) <= {ANNA, CARL, OSLO, BERG, at("Bergen"), at("the city of Bergen")}
    assert len(offsets_of(alone["spans"])) >= 2
    encoded = annotate.processor.encode(MIXTURE["candidates"])
    assert "Elsewhere" in encoded.entities
    assert list(at("the city of Bergen")) in encoded.spans.offsets.tolist()
    assert offsets_of(alone["all of it"]) == sorted([ANNA, BERG, OSLO])
    entities = {cluster.entity for cluster in alone["spans with candidates"].clusters}
    assert entities <= {"Oslo_(band)", "Anna_Berg", "Berg_(painter)", None}
    assert alone["empty"].clusters == alone["blank"].clusters == []
    assert alone["blank"].text == " \n\t"
    assert alone["blank"].warnings == ["span 0..2 (' \\n') holds no word and was dropped"]


@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.slow), 3, len(MIXTURE)])
def test_mixtures_in_one_batch(annotate: CorefELPipeline, alone: dict[str, AnnotatedDocument], size: int) -> None:
    names = list(MIXTURE)
    for order in (names, names[::-1]):
        together = annotate.annotate([MIXTURE[name] for name in order], batch_size=size)
        for name, result in zip(order, together, strict=True):
            assert structure(result) == structure(alone[name]), name
            assert numbers(result) == pytest.approx(numbers(alone[name]), abs=1e-4), name
            assert result.warnings == alone[name].warnings


def test_mentions_that_cut_cross_or_nest_stay_where_they_are(annotate: CorefELPipeline) -> None:
    mentions = [ANNA, at("Anna"), (2, 7), (5, 12), at("Oslo"), (28, 29), (4, 5), at("Moss. Then")]
    (result,) = annotate.annotate([Document(TEXT, mentions=mentions)])
    assert offsets_of(result) == sorted(set(mentions) - {(4, 5)})
    text = "\n".join(result.warnings)
    assert "span 4..5 (' ') holds no word and was dropped" in text
    assert "span 2..7 ('na Be') cuts the word 'Anna' and the word 'Berg'" in text
    assert "span 28..29 ('s') cuts the word 'Oslo'" in text
    assert "given mentions that cross others: " in text
    assert "given mentions that lie within others: " in text


def test_mentions_with_the_same_subwords_are_told(annotate: CorefELPipeline) -> None:
    (result,) = annotate.annotate([Document(TEXT, mentions=[BERG, OSLO, ANNA])])
    assert not result.warnings
    # "Berg" is one piece of every vocabulary.
    begin, end = BERG
    (result,) = annotate.annotate([Document(TEXT, mentions=[BERG, (begin, end - 1)])])
    assert offsets_of(result) == [(begin, end - 1), BERG]
    names = f"span {begin}..{end - 1} ('Ber') and span {begin}..{end} ('Berg')"
    assert f"{names} have the same subwords; the model can hardly tell them apart" in result.warnings


@pytest.mark.parametrize("text", ["", "   \n\t", "\u00a0\u2003\r\n", "Oslo", ".", "\u200b", "\ufe0f", "👩🏽"])
def test_documents_of_a_word_or_none(annotate: CorefELPipeline, text: str) -> None:
    alone = annotate.annotate([text])[0]
    assert alone.text == text and not alone.warnings
    assert AnnotatedDocument.from_dict(alone.to_dict()) == alone
    assert sum(len(cluster.mentions) for cluster in alone.clusters) <= 1
    for size in (1, 3):
        before, among, after = annotate.annotate([TEXT, text, TEXT], batch_size=size)
        assert structure(among) == structure(alone)
        assert structure(before) == structure(after) and len(offsets_of(before)) >= 5


def test_no_candidate_anywhere(annotate: CorefELPipeline) -> None:
    text = "She praised the mayor. The mayor left; she met the coach, and the coach left."
    encoded = annotate.processor.encode(text)
    assert (encoded.candidate_rows == -1).all() and not encoded.entities
    (result, other, again) = annotate.annotate([text, TEXT, text], batch_size=3)
    assert {cluster.entity for cluster in result.clusters} == {None}
    assert len(offsets_of(result)) >= 5
    assert structure(result) == structure(again)
    assert any(cluster.entity for cluster in other.clusters)


def test_everything_pruned(family: str, make_pipeline: Callable[..., CorefELPipeline]) -> None:
    """No span is taken for a mention and none is linked: valid, empty, with its text."""
    annotate = make_pipeline(family)
    annotate.model.pruner.ffnn.layers[-1].bias.data.fill_(-1000.0)
    annotate.model.entities.ffnn.layers[-1].bias.data.fill_(-1000.0)
    for size in (1, 3):
        results = annotate.annotate([TEXT, "", "Oslo"], batch_size=size)
        assert [(result.text, result.clusters) for result in results] == [(TEXT, []), ("", []), ("Oslo", [])]
    given = annotate.annotate([Document(TEXT, mentions=[ANNA, OSLO])])[0]
    assert offsets_of(given) == [ANNA, OSLO]
    nothing = annotate.annotate([Document(TEXT, mentions=[]), Document(TEXT, spans=[]), Document(TEXT, words=[])])
    assert [(result.text, result.clusters, result.warnings) for result in nothing] == [(TEXT, [], [])] * 3
