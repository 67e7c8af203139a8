from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_corefel import Document
from hf_corefel.processing import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Angela Merkel, 5 % – “no”.", "Angela Merkel, 5 % – “no”."),
        ("Barack\nObama\t left\u00a0now", "Barack Obama left now"),
        ("a\r\nb\u2028c\x85d", "a b c d"),
        ("a\n\nb\r\n \t\r\nc", "a\nb\nc"),
        ("Chan-\ncellor, Chan\u2010\r\n  cellor, Chan\u00ad\ncellor", "Chancellor, Chancellor, Chancellor"),
        ("Franco-\nGerman, Franco\u00ad\nGerman", "Franco-German, FrancoGerman"),
        ("1990-\n1995 and a -\nb", "1990- 1995 and a - b"),
        ("Mer\u00adkel\u200b\ufeff, \u202eO\u202cslo\x07", "Merkel, Oslo"),
        ("Mer\u200ckel می\u200cخواهم", "Merkel می\u200cخواهم"),
        ("Schro\u0308der, Scho\u0308\u00adn", "Schröder, Schön"),
        ("Ｂｅｒｌｉｎ, ﬁne, 𝐍𝐀𝐓𝐎, ｶﾀ", "Berlin, fine, NATO, カタ"),
        ("Tom™ ½ x² … €5 5°C", "Tom ™ ½ x² … €5 5 ° C"),
        ("🙂Barack Obama👋🏽left🇩🇪Berlin", "🙂 Barack Obama 👋🏽 left 🇩🇪 Berlin"),
        ("_Barack Obama_ **_Merkel_** ***x***, **a**b", "Barack Obama Merkel x, a**b"),
        ("# Berlin\n## The *old* town\n#5 C#", "Berlin The old town #5 C#"),
        ("snake_case __ 3 * 4 f(*x)", "snake_case __ 3 * 4 f(x)"),
        ("a \ud83d b", "a \ufffd b"),
        ("[SEP] <s> [CLS]", "[SEP] <s> [CLS]"),
        ("", ""),
    ],
)
def test_plain_form(text: str, expected: str) -> None:
    assert read(text).text == expected


def test_characters_know_where_they_come_from() -> None:
    text = "Mer\u00adkel  ﬁne🙂x"
    reading = read(text)
    assert reading.text == "Merkel fine 🙂 x"
    places = [
        (c, text[b:e]) for c, b, e in zip(reading.text, reading.begin.tolist(), reading.end.tolist(), strict=True)
    ]
    assert places[2:5] == [("r", "r"), ("k", "k"), ("e", "e")]
    assert places[6:9] == [(" ", "  "), ("f", "ﬁ"), ("i", "ﬁ")]
    assert places[11:] == [(" ", ""), ("🙂", "🙂"), (" ", ""), ("x", "x")]
    assert reading.to_source(np.array([[0, 6], [7, 11]])).tolist() == [[0, 7], [9, 12]]


@pytest.mark.parametrize("text", ["Berlin-\nBrandenburg", "Berlin\u2010 \r\n  Brandenburg", "Berlin-\u2028Brandenburg"])
def test_a_hyphen_that_is_kept_is_a_word_without_the_lines_end(text: str) -> None:
    words = [text[b:e] for b, e in Document(text).word_map().words]
    assert words == ["Berlin", text[6], "Brandenburg"]


_CHARACTERS = st.sampled_from(
    "aAé1.,'-_*# \t\n\r\u00a0\u0301\u0308東🙂👩\u200d👧🏽🇩🇪ﬁＢ\u00ad\u200b\u200c\ufeff\ud83d\u2028"
)


@given(st.one_of(st.text(max_size=30), st.text(_CHARACTERS, max_size=30)))
@example("\n#  ")
@settings(max_examples=500, deadline=None)
def test_places_ascend_and_the_plain_form_is_plain(text: str) -> None:
    reading = read(text)
    assert len(reading.text) == len(reading.begin) == len(reading.end)
    assert (reading.begin <= reading.end).all()
    assert (np.diff(reading.begin) >= 0).all() and (np.diff(reading.end) >= 0).all()
    assert len(text) == 0 or (reading.end <= len(text)).all()
    for character, begin, end in zip(reading.text, reading.begin.tolist(), reading.end.tolist(), strict=True):
        # Each letter and digit comes from its own place.
        if character.isalnum() and end - begin == 1 and text[begin] != character:
            assert unicodedata.normalize("NFKC", text[begin]) != text[begin]
    assert "  " not in reading.text and "\t" not in reading.text and "\ud83d" not in reading.text
