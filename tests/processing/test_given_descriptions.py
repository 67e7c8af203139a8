"""What is said of given spans that cut, cross, nest, or have the same subwords."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing import (
    SubwordTokenizer,
    describe_given,
    describe_overlaps,
    given_spans,
    read_inner_names,
    split_words,
)

TEXT = "Anna Bergen-Oslo's xyz"


def describe(tokenizer: Any, text: str, offsets: list[tuple[int, int]]) -> list[str]:
    words = split_words(text)
    subwords = SubwordTokenizer(tokenizer)(text, words)
    return describe_given(text, given_spans(offsets, words, subwords)[0], words, subwords)


def test_whole_words_need_no_words(subwords_tokenizer: Any, byte_level_tokenizer: Any) -> None:
    for tokenizer in (subwords_tokenizer, byte_level_tokenizer):
        assert describe(tokenizer, TEXT, [(0, 4), (0, 11), (5, 11), (5, 16), (19, 22)]) == []
        assert describe(tokenizer, TEXT, []) == []
        # Blanks at the edges cut nothing.
        assert describe(tokenizer, "a  bc  d", [(1, 6)]) == []


def test_cut_words(subwords_tokenizer: Any) -> None:
    reads = "the model reads every subword that it touches"
    assert describe(subwords_tokenizer, TEXT, [(5, 9), (7, 11), (2, 7), (20, 21)]) == [
        f"span 2..7 ('na Be') cuts the word 'Anna' and the word 'Bergen'; {reads}",
        f"span 5..9 ('Berg') cuts the word 'Bergen'; {reads}",
        f"span 7..11 ('rgen') cuts the word 'Bergen'; {reads}",
        f"span 20..21 ('y') cuts the word 'xyz'; {reads}",
    ]


def test_cut_subwords(subwords_tokenizer: Any, byte_level_tokenizer: Any) -> None:
    # One subword over two words, of which each is whole.
    reads = 'the model reads all of "\'s"'
    assert describe(byte_level_tokenizer, TEXT, [(12, 17), (17, 18)]) == [
        'span 12..17 ("Oslo\'") cuts a subword of the tokenizer; the model reads all of "Oslo\'s"',
        f"span 17..18 ('s') cuts a subword of the tokenizer; {reads}",
    ]
    assert describe(subwords_tokenizer, TEXT, [(12, 17), (17, 18)]) == []


def test_spans_with_the_same_subwords(subwords_tokenizer: Any, byte_level_tokenizer: Any) -> None:
    cuts = "the model reads every subword that it touches"
    assert describe(subwords_tokenizer, "anna met", [(0, 4), (0, 3), (1, 4), (5, 8)]) == [
        f"span 0..3 ('ann') cuts the word 'anna'; {cuts}",
        "span 0..3 ('ann') and span 0..4 ('anna') have the same subwords; the model can hardly tell them apart",
        f"span 1..4 ('nna') cuts the word 'anna'; {cuts}",
        "span 0..3 ('ann') and span 1..4 ('nna') have the same subwords; the model can hardly tell them apart",
    ]
    last = describe(byte_level_tokenizer, TEXT, [(16, 17), (17, 18)])[-1]
    assert last == (
        "span 16..17 (\"'\") and span 17..18 ('s') have the same subwords; the model can hardly tell them apart"
    )


def test_crossing_and_nested_mentions() -> None:
    def overlaps(*spans: tuple[int, int]) -> list[str]:
        return describe_overlaps(TEXT, np.array(spans, dtype=np.int64).reshape(-1, 2))

    assert overlaps() == overlaps((0, 4), (5, 11), (11, 12)) == []
    assert overlaps((5, 11), (0, 11), (5, 9)) == [
        "given mentions that lie within others: 2, first span 5..11 ('Bergen') and span 0..11 ('Anna Bergen'); "
        "all were kept"
    ]
    assert overlaps((5, 16), (0, 11)) == [
        "given mentions that cross others: 1, first span 5..16 ('Bergen-Oslo') and span 0..11 ('Anna Bergen'); "
        "all were kept"
    ]
    assert len(overlaps((0, 11), (5, 16), (5, 11))) == 2


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=10))
@settings(max_examples=300, deadline=None)
def test_crossing_and_nested_mentions_are_counted(starts: list[tuple[int, int]]) -> None:
    spans = list({(begin, begin + width) for begin, width in starts})
    crossing = sum(any(b2 < b < e2 < e for b2, e2 in spans) for b, e in spans)
    nested = sum(any(b2 <= b and e <= e2 and (b, e) != (b2, e2) for b2, e2 in spans) for b, e in spans)
    messages = describe_overlaps("x" * 18, np.array(spans, dtype=np.int64).reshape(-1, 2))
    counts = {message.split()[3]: int(message.split(": ")[1].split(",")[0]) for message in messages}
    assert counts.get("cross", 0) == crossing and counts.get("lie", 0) == nested


def test_given_mentions_are_read_as_the_known_name_inside(subwords_tokenizer: Any) -> None:
    text = "The Chair Berg's, Anna, Oslo (Berg)"
    words = split_words(text)
    subwords = SubwordTokenizer(subwords_tokenizer)(text, words)
    offsets = [(0, 16), (4, 16), (18, 22), (24, 28), (29, 35)]

    def known(surfaces: list[str]) -> np.ndarray:
        return np.array([surface in ("Berg", "Oslo") for surface in surfaces])

    spans, _ = given_spans(offsets, words, subwords)
    read = read_inner_names(text, spans, words, subwords, known)
    assert read.offsets.tolist() == [list(places) for places in offsets]
    names = [text[begin:end] for begin, end in read.named.tolist()]
    assert names == ["Berg", "Berg", "Anna", "Oslo", "Berg"]
    berg, _ = given_spans([(10, 14)], words, subwords)
    for field in ("begin", "end", "word", "width"):
        assert getattr(read, field)[:2].tolist() == [getattr(berg, field)[0]] * 2
        assert getattr(read, field)[2:4].tolist() == getattr(spans, field)[2:4].tolist()
