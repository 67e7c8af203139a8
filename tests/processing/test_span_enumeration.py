from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing import SpanTable, SubwordTokenizer, enumerate_spans, given_spans, read, split_words

_CHARACTERS = st.sampled_from("aAbB1.,'- \t\n\r\u00a0é\u0301東👩\u200d👧🏽❤\ufe0fשָ\u200b\ufeff")
texts = st.one_of(st.text(max_size=25), st.text(_CHARACTERS, max_size=25))


def surfaces(text: str, spans: SpanTable) -> list[str]:
    return [text[b:e] for b, e in spans.offsets.tolist()]


def enumerate_text(tokenizer: Any, text: str, max_words: int = 3, max_subwords: int = 8) -> SpanTable:
    words = split_words(text)
    return enumerate_spans(words, SubwordTokenizer(tokenizer)(text, words), max_words, max_subwords)


def place(tokenizer: Any, text: str, offsets: list[tuple[int, int]]) -> tuple[SpanTable, list[tuple[int, int]]]:
    words = split_words(text)
    return given_spans(offsets, words, SubwordTokenizer(tokenizer)(text, words))


def test_all_short_spans_in_reading_order(subwords_tokenizer: Any) -> None:
    text = "Anna Berg, Oslo"
    spans = enumerate_text(subwords_tokenizer, text)
    expected = "Anna|Anna Berg|Anna Berg,|Berg|Berg,|Berg, Oslo|, Oslo|Oslo"
    assert surfaces(text, spans) == expected.split("|")
    assert spans.begin.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    assert spans.end.tolist() == [1, 2, 3, 2, 3, 4, 4, 4]
    assert spans.width.tolist() == [1, 2, 3, 1, 2, 3, 2, 1]
    assert spans.case.tolist()[:3] == [[1, 1], [1, 1], [1, 6]]


def test_long_spans_are_left_out(subwords_tokenizer: Any) -> None:
    text = "anna xyz berg"
    assert surfaces(text, enumerate_text(subwords_tokenizer, text, 1, 8)) == ["anna", "xyz", "berg"]
    # "xyz" takes three subwords.
    assert surfaces(text, enumerate_text(subwords_tokenizer, text, 3, 2)) == ["anna", "berg"]
    assert surfaces(text, enumerate_text(subwords_tokenizer, text, 3, 4)) == [
        "anna",
        "anna xyz",
        "xyz",
        "xyz berg",
        "berg",
    ]


def test_repeated_words_keep_their_places(subwords_tokenizer: Any) -> None:
    spans = enumerate_text(subwords_tokenizer, "anna  anna\r\n\tanna", 1)
    assert spans.offsets.tolist() == [[0, 4], [6, 10], [13, 17]]
    assert spans.begin.tolist() == [0, 1, 2]


def test_what_shows_nothing_is_no_word_of_a_span(subwords_tokenizer: Any) -> None:
    text = "anna \u200b berg"
    assert surfaces(text, enumerate_text(subwords_tokenizer, text)) == ["anna", text, "berg"]
    assert len(enumerate_text(subwords_tokenizer, "\u200b")) == 0


def test_words_without_subwords_end_no_span(subwords_tokenizer: Any) -> None:
    # BERT deletes a mark upon a blank with the accents of letters.
    text = "anna \u0301 berg"
    assert surfaces(text, enumerate_text(subwords_tokenizer, text)) == ["anna", text, "berg"]


@pytest.mark.parametrize("text", ["#", "[", "🙂", "...", "_ _", "\u00ad", "—", "$ %"])
def test_signs_alone_are_no_span(byte_level_tokenizer: Any, text: str) -> None:
    assert len(enumerate_text(byte_level_tokenizer, text)) == 0


def test_spans_stay_within_a_line_or_only_within_a_block(subwords_tokenizer: Any) -> None:
    text = "Anna\nBerg\n\nOslo"
    assert surfaces(text, enumerate_text(subwords_tokenizer, text)) == ["Anna", "Berg", "Oslo"]
    words = split_words(text)
    spans = enumerate_spans(words, SubwordTokenizer(subwords_tokenizer)(text, words), 3, 8, across_lines=True)
    assert surfaces(text, spans) == ["Anna", "Anna\nBerg", "Berg", "Oslo"]


@pytest.mark.parametrize("text", ["", " \n\t\u00a0"])
def test_nothing_to_enumerate(subwords_tokenizer: Any, text: str) -> None:
    spans = enumerate_text(subwords_tokenizer, text)
    assert len(spans) == 0
    assert spans.offsets.shape == spans.case.shape == (0, 2)
    assert spans.begin.shape == spans.end.shape == spans.width.shape == (0,)


@given(text=texts, max_words=st.integers(1, 4), max_subwords=st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_spans_of_any_text(
    subwords_tokenizer: Any, byte_level_tokenizer: Any, text: str, max_words: int, max_subwords: int
) -> None:
    for tokenizer in (subwords_tokenizer, byte_level_tokenizer):
        words = split_words(text)
        subwords = SubwordTokenizer(tokenizer)(text, words)
        spans = enumerate_spans(words, subwords, max_words, max_subwords)
        word_at_begin, word_at_end = words.begin.tolist(), words.end.tolist()
        assert [tuple(o) for o in spans.offsets.tolist()] == sorted({tuple(o) for o in spans.offsets.tolist()})
        found = set()
        for s, (begin, end) in enumerate(spans.offsets.tolist()):
            assert text[begin:end].strip() == text[begin:end] != ""
            first, last = word_at_begin.index(begin), word_at_end.index(end)
            found.add((first, last))
            assert spans.width[s] == last - first + 1
            assert spans.case[s].tolist() == [words.case[first], words.case[last]]
            assert spans.begin[s] == subwords.first[first] and spans.end[s] == subwords.last[last] + 1
        assert found == {
            (i, j)
            for i in range(len(words))
            for j in range(i, min(i + max_words, len(words)))
            if subwords.first[i] >= 0 and subwords.last[j] >= 0 and subwords.last[j] - subwords.first[i] < max_subwords
            if words.line[i] == words.line[j]
            and any(c.isalpha() or c.isdigit() for c in read(text[word_at_begin[i] : word_at_end[j]]).text)
        }
        # Given back as they are, the same spans hold the same subwords and the same words.
        again, dropped = given_spans([(b, e) for b, e in spans.offsets.tolist()], words, subwords)
        assert not dropped
        np.testing.assert_array_equal(again.offsets, spans.offsets)
        np.testing.assert_array_equal(again.width, spans.width)
        np.testing.assert_array_equal(again.case, spans.case)
        np.testing.assert_array_equal(again.begin, spans.begin)
        np.testing.assert_array_equal(again.end, spans.end)


@given(text=texts, data=st.data())
@settings(max_examples=200, deadline=None)
def test_given_spans_of_any_text(
    subwords_tokenizer: Any, byte_level_tokenizer: Any, text: str, data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=6))
    offsets = list({(b, e) for b, e in cuts if b < e})
    for tokenizer in (subwords_tokenizer, byte_level_tokenizer):
        spans, dropped = place(tokenizer, text, offsets)
        kept = [tuple(o) for o in spans.offsets.tolist()]
        assert sorted([*kept, *dropped]) == sorted(offsets)
        assert all(left <= right for left, right in pairwise(kept))
        assert (spans.end > spans.begin).all() and (spans.width > 0).all()
        assert all(text[b:e].strip() for b, e in kept)
        # "*" is read by itself, but is a mark of the list in "*0", where nothing of it is read.
        reading = read(text)
        shown = [
            character
            for b, e in dropped
            for character, begin, end in zip(reading.text, reading.begin, reading.end, strict=True)
            if begin < e and end > b
        ]
        assert not "".join(shown).strip() or tokenizer is subwords_tokenizer


def test_given_spans_take_every_subword_that_they_touch(subwords_tokenizer: Any) -> None:
    text = "Anna Bergen-Oslo xyz"
    offsets = [(17, 20), (5, 9), (18, 19), (9, 12), (0, 4), (3, 6), (4, 5)]
    spans, dropped = place(subwords_tokenizer, text, offsets)
    assert surfaces(text, spans) == ["Anna", "a B", "Berg", "en-", "xyz", "y"]
    # anna | berg ##en | - | oslo | x ##y ##z
    assert spans.begin.tolist() == [0, 0, 1, 2, 5, 6]
    assert spans.end.tolist() == [1, 2, 2, 4, 8, 7]
    assert spans.width.tolist() == [1, 2, 1, 2, 1, 1]
    assert spans.case.tolist() == [[1, 1], [1, 1], [1, 1], [1, 6], [0, 0], [0, 0]]
    assert dropped == [(4, 5)]


def test_given_spans_without_a_word_are_dropped(subwords_tokenizer: Any, byte_level_tokenizer: Any) -> None:
    for tokenizer in (subwords_tokenizer, byte_level_tokenizer):
        spans, dropped = place(tokenizer, "a  \r\n\t\u00a0b", [(1, 3), (3, 7), (1, 7), (2, 8)])
        assert spans.offsets.tolist() == [[2, 8]]
        assert dropped == [(1, 3), (1, 7), (3, 7)]
        assert spans.width.tolist() == [1]
        assert place(tokenizer, "a \u200b", [(2, 3)])[1] == [(2, 3)]
    # BERT's normalizer deletes a mark upon a blank: a word, but nothing to read.
    assert place(subwords_tokenizer, "a \u0301", [(2, 3)])[1] == [(2, 3)]
    assert place(byte_level_tokenizer, "a \u0301", [(2, 3)])[1] == []


def test_no_given_spans(subwords_tokenizer: Any) -> None:
    spans, dropped = place(subwords_tokenizer, "anna", [])
    assert len(spans) == 0 and dropped == []
    assert spans.offsets.shape == spans.case.shape == (0, 2)
