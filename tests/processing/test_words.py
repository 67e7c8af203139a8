from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing import split_words
from hf_corefel.processing.words import letter_case


def surfaces(text: str) -> list[str]:
    words = split_words(text)
    return [text[b:e] for b, e in zip(words.begin.tolist(), words.end.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\r\n\u00a0\u2003", []),
        ("Merkel", ["Merkel"]),
        ("Merkel's U.S. tour", ["Merkel", "'", "s", "U", ".", "S", ".", "tour"]),
        ("a  b\tc\r\nd\u00a0e", ["a", "b", "c", "d", "e"]),
        ("Merkel met Merkel", ["Merkel", "met", "Merkel"]),
        ("e\u0301te\u0301 naïve", ["e\u0301te\u0301", "naïve"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם עולם.", ["שָׁלוֹם", "עולם", "."]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("hi 👋🏽!", ["hi", "👋", "🏽", "!"]),
        ("👩\u200d👧", ["👩", "\u200d", "👧"]),
        ("東京 is 東京", ["東京", "is", "東京"]),
        ("𝔸 100,000 €5", ["𝔸", "100", ",", "000", "€", "5"]),
    ],
)
def test_words_are_runs_of_letters_or_single_signs(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_words_tile_everything_but_white_space(text: str) -> None:
    words = split_words(text)
    covered = [i for b, e in zip(words.begin.tolist(), words.end.tolist(), strict=True) for i in range(b, e)]
    assert covered == [i for i, character in enumerate(text) if not character.isspace()]
    assert len(words) == len(words.end) == len(words.case) == len(words.ends_sentence)
    assert (words.end > words.begin).all()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("merkel", 0),
        ("été", 0),
        ("東京", 0),
        ("b2b", 0),
        ("Merkel", 1),
        ("Élysée", 1),
        ("NATO", 2),
        ("G20S", 2),
        ("I", 3),
        ("G8", 3),
        ("McCain", 4),
        ("iPhone", 4),
        ("1980", 5),
        ("٣", 5),
        ("!", 6),
        ("👋", 6),
        ("_", 6),
    ],
)
def test_letter_case(word: str, expected: int) -> None:
    assert letter_case(word) == expected
    assert split_words(word, [(0, len(word))]).case.tolist() == [expected]


def sentences(text: str) -> list[str]:
    words, found, begin = split_words(text), [], 0
    for end, last in zip(words.end.tolist(), words.ends_sentence.tolist(), strict=True):
        if last:
            found.append(text[begin:end].strip())
            begin = end
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She left. He stayed!", ["She left.", "He stayed!"]),
        ("It grew 3.5 percent in the U.S.", ["It grew 3.5 percent in the U.S."]),
        ("Headline\nFirst line\r\nSecond", ["Headline", "First line", "Second"]),
        ("東京です。大阪です。", ["東京です。", "大阪です。"]),
        ("Really?! Yes", ["Really?!", "Yes"]),
        ("no end", ["no end"]),
    ],
)
def test_sentence_ends(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_given_words_stand_as_they_are() -> None:
    text = "New York, N.Y. rocks."
    words = split_words(text, [(0, 8), (10, 14), (15, 20), (20, 21)])
    assert words.begin.tolist() == [0, 10, 15, 20]
    assert words.end.tolist() == [8, 14, 20, 21]
    assert words.case.tolist() == [4, 2, 0, 6]
    # A word that holds its own full stop ends a sentence when a gap follows.
    assert words.ends_sentence.tolist() == [False, True, False, True]
    assert len(split_words(text, [])) == 0
