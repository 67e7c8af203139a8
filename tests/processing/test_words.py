from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing import has_more_words, read, split_words
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
        ("_Merkel_ snake_case __", ["Merkel", "snake_case", "_", "_"]),
        ("Mer\u00adkel, Chan-\n  cellor", ["Mer\u00adkel", ",", "Chan-\n  cellor"]),
        ("Merkel's U.S. tour", ["Merkel", "'", "s", "U", ".", "S", ".", "tour"]),
        ("a  b\tc\r\nd\u00a0e", ["a", "b", "c", "d", "e"]),
        ("Merkel met Merkel", ["Merkel", "met", "Merkel"]),
        ("e\u0301te\u0301 naïve", ["e\u0301te\u0301", "naïve"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם עולם.", ["שָׁלוֹם", "עולם", "."]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("서울에서 한국어", ["서울에서", "한국어"]),
        ("𝔸 100,000 €5", ["𝔸", "100", ",", "000", "€", "5"]),
    ],
)
def test_words_are_runs_of_letters_or_single_signs(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京 is 東京", ["東", "京", "is", "東", "京"]),
        ("トヨタのAKB48", ["ト", "ヨ", "タ", "の", "AKB48"]),
        ("ラーメン。ﾗｰ", ["ラ", "ー", "メ", "ン", "。", "ﾗ", "ｰ"]),
        ("第3章", ["第", "3", "章"]),
        ("人々〇", ["人", "々", "〇"]),
        ("か\u3099x 葛\U000e0100城", ["か\u3099", "x", "葛\U000e0100", "城"]),
    ],
)
def test_every_character_of_chinese_and_japanese_is_a_word(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hi 👋🏽!", ["hi", "👋🏽", "!"]),
        ("x👩\u200d👩\u200d👧y👧", ["x", "👩\u200d👩\u200d👧", "y", "👧"]),
        ("🇳🇴🇩🇪 🇳", ["🇳🇴", "🇩🇪", "🇳"]),
        ("1\ufe0f\u20e3 #\ufe0f\u20e3#", ["1\ufe0f\u20e3", "#\ufe0f\u20e3", "#"]),
        ("❤\ufe0f❤ 🏳\ufe0f\u200d🌈.", ["❤\ufe0f", "❤", "🏳\ufe0f\u200d🌈", "."]),
        ("🏴\U000e0067\U000e0062\U000e007f!", ["🏴\U000e0067\U000e0062\U000e007f", "!"]),
        # A mark upon a blank: white space is never part of a word.
        ("a \u0301", ["a", "\u0301"]),
        ("\r\n\ufe0f", ["\ufe0f"]),
    ],
)
def test_what_reads_as_one_character_is_not_cut(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


_JOINING = st.sampled_from(
    "aB1.# \u00a0\n\r\u0301\u200d\u200c\ufe0f\u20e3👩🏽👧❤🇳🇴🏴\U000e0067\U000e007f東か\u3099한ᄒ\u1161\u0600क\u094dษ"
)


@given(st.one_of(st.text(max_size=30), st.text(_JOINING, max_size=30)))
@settings(max_examples=400, deadline=None)
def test_no_word_begins_or_ends_within_a_character(text: str) -> None:
    words = split_words(text)
    limits = {*words.begin.tolist(), *words.end.tolist()}
    for cluster in regex.finditer(r"\X", text):
        cut = limits & set(range(cluster.start() + 1, cluster.end()))
        assert all(text[at - 1].isspace() or text[at].isspace() for at in cut)


# What is neither emoji nor Chinese or Japanese: letters of several scripts, digits, signs and white space.
_ORDINARY = st.sampled_from("abcdefgXYZéßøŁčαΩжЯшשלمرحक भ한국01239 \u00a0\u2003.,;:!?'\"()[]–—/&%$€£§°©™…“”‘’«»•")


@given(st.text(_ORDINARY, max_size=80))
@settings(max_examples=400, deadline=None)
def test_ordinary_text_splits_as_models_were_trained(text: str) -> None:
    assert surfaces(text) == re.findall(r"\w+|[^\w\s]", text)


@pytest.mark.parametrize(
    "text",
    [
        "Chancellor Angela Merkel's party (CDU) won 32.9% — its “worst” result since 1949.",
        "The U.S.-led coalition paid €2.5bn/£2bn; Québec's premier didn’t object…",
        "«Где Москва?» — спросил О'Коннор.\r\n\tΑθήνα, 5 °C",
    ],
)
def test_ordinary_sentences_split_as_models_were_trained(text: str) -> None:
    assert surfaces(text) == re.findall(r"\w+|[^\w\s]", text)


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_words_tile_everything_that_is_read_but_white_space(text: str) -> None:
    words, reading = split_words(text), read(text)
    covered = {i for b, e in zip(words.begin.tolist(), words.end.tolist(), strict=True) for i in range(b, e)}
    seen = {
        i
        for character, b, e in zip(reading.text, reading.begin.tolist(), reading.end.tolist(), strict=True)
        if not character.isspace()
        for i in range(b, e)
    }
    # A word that is read without something within it goes on to its end.
    assert seen <= covered
    within = [text[i] for i in covered - seen if not text[i].isspace()]
    assert all(unicodedata.category(sign) in ("Cf", "Cc") or sign in "*_#-" for sign in within)
    assert (words.begin[1:] >= words.end[:-1]).all()
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
        # A line that runs on is no end.
        (
            "Merkel spoke to the Bundestag, in\nBerlin, and then\nwent home.",
            ["Merkel spoke to the Bundestag, in\nBerlin, and then\nwent home."],
        ),
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


# An accent on another sign than a letter counts for itself.
@given(st.lists(st.sampled_from([*"ab. 北カé\n", "a\u0301", "カ\u0301"]), max_size=30), st.integers(0, 30))
def test_more_words_than_a_limit(parts: list[str], limit: int) -> None:
    text = "".join(parts)
    assert has_more_words(text, limit) is (len(split_words(text)) > limit)


def test_long_runs_count_for_several_words() -> None:
    text = "x" * 1000
    assert has_more_words(text, 9) and not has_more_words(text, 10)
    assert has_more_words(text, 9, [(0, 1000)])
    assert has_more_words("a b c", 2, [(0, 1), (2, 3), (4, 5)]) and not has_more_words("a b c", 2, [(0, 3), (4, 5)])
    assert not has_more_words(" " * 1000, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Obama left. Merkel stayed.", ["Obama left.", "Merkel stayed."]),
        ('He said "no." Merkel stayed!', ['He said "no."', "Merkel stayed!"]),
        ("Mr. Obama met Dr. Dre and J. K. Rowling.", ["Mr. Obama met Dr. Dre and J. K. Rowling."]),
        ("The U.S. Army and Apple Inc. Germany", ["The U.S. Army and Apple Inc. Germany"]),
        ("St. Louis vs. Boston, Sept. 5", ["St. Louis vs. Boston, Sept. 5"]),
        ("Who? Anna. (Berg) came", ["Who?", "Anna.", "(Berg) came"]),
        ("3.5 percent. and so on", ["3.5 percent. and so on"]),
    ],
)
def test_a_line_ends_where_a_sentence_surely_ends(text: str, expected: list[str]) -> None:
    words = split_words(text)
    found = [text[words.begin[words.line == n].min() : words.end[words.line == n].max()] for n in np.unique(words.line)]
    assert found == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Schröder", "Schro\u0308der"),
        ("Berlin", "BERLIN"),
        ("Berlin", "Ｂｅｒｌｉｎ"),
        ("Merkel", "Mer\u00adkel"),
        ("Malmö", "Malmo"),
        ("d'Ivoire", "d’Ivoire"),
        ("Straße", "STRASSE"),
        ("–", "-"),
    ],
)
def test_words_that_differ_in_form_only_share_a_number(one: str, other: str) -> None:
    forms = split_words(f"{one} {other}").form.tolist()
    assert forms[: len(forms) // 2] == forms[len(forms) // 2 :]
