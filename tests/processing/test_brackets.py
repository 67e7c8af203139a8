"""Which brackets define names, of what, and which do not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing.brackets import find_brackets

DEFINING = [
    ('Hardwood Flooring Inc. (the "Company") sells wood.', "Hardwood Flooring Inc.", ["Company"]),
    ("The European Central Bank (ECB) spoke.", "European Central Bank", ["ECB"]),
    ("The ECB (European Central Bank) spoke.", "ECB", ["European Central Bank"]),
    ("Acme Corp. [the «Seller»] pays.", "Acme Corp.", ["Seller"]),
    ("Acme Corp. (the “Seller”) pays.", "Acme Corp.", ["Seller"]),
    ("Acme Corp. (the ‘Seller’) pays.", "Acme Corp.", ["Seller"]),
    ("Acme Corp. (die „Verkäuferin“) pays.", None, []),
    ("Acme Corp. (the 'Seller') pays.", "Acme Corp.", ["Seller"]),
    ("Acme Corp. (the **Seller**) pays.", "Acme Corp.", ["Seller"]),
    ("Acme Corp. (hereinafter referred to as the Seller) pays.", "Acme Corp.", ["Seller"]),
    (
        "The Federal Republic of Yugoslavia (or simply Yugoslavia) fell.",
        "Federal Republic of Yugoslavia",
        ["Yugoslavia"],
    ),
    ("Acme LLC (together with its subsidiaries, the “Group”) grew.", "Acme LLC", ["Group"]),
    ("Acme Ltd (“Acme” or the “Company”) grew.", "Acme Ltd", ["Acme", "Company"]),
    ("We saw that Acme Corp, hereinafter “the Seller”, paid.", "Acme Corp", ["Seller"]),
    ("The United States of America (USA) and Canada", "United States of America", ["USA"]),
    ("The Ministry of Defence (MoD) spoke.", "Ministry of Defence", ["MoD"]),
    ("The Organisation for Economic Co-operation and Development (OECD) said", None, ["OECD"]),
    ("The United Nations (U.N.) met.", "United Nations", ["U.N."]),
    ("the Bundesnachrichtendienst (BND) spies.", "Bundesnachrichtendienst", ["BND"]),
    ("Foo Bank\n(FB) fell.", "Foo Bank", ["FB"]),
    ("some non-governmental organisations (NGOs) left.", "non-governmental organisations", ["NGOs"]),
]


@pytest.mark.parametrize(("text", "long_form", "terms"), DEFINING)
def test_brackets_that_define(text: str, long_form: str | None, terms: list[str]) -> None:
    brackets = [bracket for bracket in find_brackets(text) if bracket.defines]
    if not terms:
        assert not brackets
        return
    (bracket,) = brackets
    assert bracket.long_form is not None
    assert [text[begin:end] for begin, end in bracket.terms] == terms
    if long_form is not None:
        assert text[slice(*bracket.long_form)] == long_form


@pytest.mark.parametrize(
    "text",
    [
        "BERLIN (Reuters) – Nothing happened.",
        "It was founded (2011) in Oslo.",
        "Angela Merkel (CDU) spoke.",
        "Anna Berg (born Moss) spoke.",
        "She lives in Utrecht (the Netherlands).",
        "He (she said “No way”) left.",
        "The deal (see “Annex A”) was closed.",
        "(ECB) stands alone.",
        "A list: (ECB) and more.",
        "The bank (a large one) closed.",
        "Nothing ) opens ( here.",
        "An end\n\n(ECB) begins.",
        "ECB (ECB) again.",
    ],
)
def test_brackets_that_do_not_define(text: str) -> None:
    assert not any(bracket.defines for bracket in find_brackets(text))


def test_what_stands_in_a_bracket_is_known_also_where_nothing_is_defined() -> None:
    text = "Angela Merkel (CDU) spoke."
    (bracket,) = find_brackets(text)
    assert text[: bracket.before] == "Angela Merkel" and text[slice(*bracket.terms[0])] == "CDU"


def test_brackets_behind_and_within_others() -> None:
    text = "Wood Inc. (formerly Timber) (the “Buyer”) pays Oak Inc. (a Delaware firm (the “Company”))."
    found = {
        text[slice(*term)]: text[slice(*bracket.long_form)]
        for bracket in find_brackets(text)
        if bracket.long_form is not None
        for term in bracket.terms
    }
    assert found == {"Timber": "Wood Inc.", "Buyer": "Wood Inc.", "Company": "Oak Inc."}


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=" ()[]\"'“”ABc.,\n", max_size=60))
def test_any_text_is_read(text: str) -> None:
    for bracket in find_brackets(text):
        assert 0 < bracket.before <= bracket.content[0] <= bracket.content[1] <= len(text)
        for begin, end in bracket.terms:
            assert bracket.content[0] <= begin < end <= bracket.content[1]
            assert text[begin:end] == text[begin:end].strip()


def test_long_texts_are_read() -> None:
    text = "((" * 20_000 + "The European Central Bank (ECB) " * 3_000 + '"' * 20_000
    assert sum(bracket.defines for bracket in find_brackets(text)) == 3_000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("(a) " * 100_000, 0),
        ("A (B) " * 100_000, 100_000),
        ("A " + "(B) " * 100_000, 100_000),
        ("((" * 100_000, 0),
        ("(a" * 100_000, 0),
        ("Wood" + '"' * 100_000 + "(B) " * 100_000, 100_000),
        ("Wood" + " (a" + " " * 100_000 + "(B) " * 100_000, 100_000),
        ("".join(f"Name{i} (Nm{i}) came. " for i in range(100_000)), 100_000),
        ('Oak Inc. (a firm (the "Company")) ' * 50_000, 50_000),
    ],
    ids=["words", "names", "in_a_row", "opened", "opened_words", "quotes", "blanks", "distinct", "nested"],
)
def test_brackets_cost_no_more_in_long_texts(text: str, count: int) -> None:
    """Hundreds of thousands of them end at all."""
    assert len(find_brackets(text)) == count


def test_brackets_in_a_row_stand_behind_the_same_words() -> None:
    text = "Wood (X) [B]\n(c) (D (E))\n\n(F) (G) Oak (H), (I)"
    befores = {text[slice(*bracket.terms[0])]: text[: bracket.before] for bracket in find_brackets(text)}
    # A blank line parts "(F)" and what stands behind it from the words; "E" stands behind "D" within a bracket.
    oak = text[: text.index(" (H")]
    assert befores == {"X": "Wood", "B": "Wood", "D": "Wood", "E": "Wood (X) [B]\n(c) (D", "H": oak}
