"""Words by their numbers, and texts that are given as words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel import Document, DocumentError
from hf_corefel.documents.word_map import WordMap, join_words

word_lists = st.lists(st.text(min_size=1, max_size=4), max_size=8)


@given(word_lists, st.data())
def test_words_are_found_again_in_what_they_make(words: list[str], data: st.DataObject) -> None:
    spaces = data.draw(st.none() | st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    (text, offsets), document = join_words(words, spaces), Document.from_words(words, spaces)
    assert [text[begin:end] for begin, end in offsets] == words
    blanks = [" "] * len(words) if spaces is None else [" " * space for space in spaces]
    made = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    assert text == (made if spaces is not None else made[:-1])
    assert (document.text, document.words) == (text, offsets)
    assert document.word_map().words == offsets


@given(word_lists, st.lists(st.booleans(), min_size=8, max_size=8))
def test_the_map_is_what_a_search_finds(words: list[str], spaces: list[bool]) -> None:
    text, offsets = join_words(words, spaces[: len(words)])
    found = WordMap(offsets)
    assert len(found) == len(words)
    for index in range(-1, len(text) + 2):
        inside = [number for number, (begin, end) in enumerate(offsets) if begin <= index < end]
        assert found.char_to_word(index) == (inside[0] if inside else None)
    for number, word in enumerate(offsets):
        assert found.word_to_chars(number) == word
        assert found.chars_to_words(*word) == (number, number + 1)
    for begin in range(len(text)):
        for end in range(begin + 1, len(text) + 1):
            touched = [number for number, (b, e) in enumerate(offsets) if b < end and begin < e]
            first, last = found.chars_to_words(begin, end)
            assert list(range(first, last)) == touched


def test_words_of_a_text_are_those_of_the_processor() -> None:
    text = "Änne Berg's 👩‍🚀 left."
    words = Document(text).word_map()
    assert [text[begin:end] for begin, end in words.words] == ["Änne", "Berg", "'", "s", "👩‍🚀", "left", "."]
    assert words.char_to_word(4) is None and words.char_to_word(5) == 1
    assert Document(text, words=[(0, 9)]).word_map().words == [(0, 9)]
    assert WordMap.of_text("").words == []


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda words: np.array(words, dtype=object)])
def test_words_of_other_libraries(make: Callable[[list[str]], Any]) -> None:
    document = Document.from_words(make(["Anna", "Berg"]), id=3)
    assert document == Document("Anna Berg", 3, words=[(0, 4), (5, 9)])
    assert type(document.text) is str
    assert Document.from_words(make(["東京", "駅"]), np.array([False, False])).text == "東京駅"


@pytest.mark.parametrize(
    ("words", "spaces", "message"),
    [
        ("Anna", None, "words: expected a list, got str"),
        (["Anna", ""], None, r"words\[1\]: expected a non-empty string, got ''"),
        (["Anna", None], None, r"words\[1\]: expected a non-empty string, got None"),
        ([["Anna"]], None, r"words\[0\]: expected a non-empty string, got \['Anna'\]"),
        (["Anna"], [], "spaces: expected one for each of the 1 words, got 0"),
    ],
)
def test_what_are_no_words(words: Any, spaces: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=f"^{message}"):
        Document.from_words(words, spaces)
