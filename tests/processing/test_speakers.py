"""Turns and quotations read off a text, and whom "I", "you" and names mean in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.documents import Document, Turn
from hf_corefel.layers.labels import speaker_features
from hf_corefel.processing import label_speakers, read_speakers
from hf_corefel.processing.turns import read_quotations, read_turns

sys.path.insert(0, str(Path(__file__).parent))

from label_tools import all_spans, row_of


def said(text: str, turns: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.speaker, text[turn.begin : turn.end]) for turn in turns]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna: I left.\nBen: Why?", [("Anna", "I left."), ("Ben", "Why?")]),
        ("ANNA BERG: You came.\nand stayed\n\nBen: Yes.", [("ANNA BERG", "You came.\nand stayed"), ("Ben", "Yes.")]),
        ("**Anna:** Hi, you.\n**Ben:** Hi!", [("Anna", "Hi, you."), ("Ben", "Hi!")]),
        ("[12:03] Anna: Hello.\n[12:04] Ben: Hello.", [("Anna", "Hello."), ("Ben", "Hello.")]),
        ("- Anna (laughing): No!\n- Ben: Yes!", [("Anna", "No!"), ("Ben", "Yes!")]),
        ("Intro.\nQ: Who are you?\nA: I am Anna.", [("Q", "Who are you?"), ("A", "I am Anna.")]),
        ("Émile Zola: J'accuse!\nÖzil: Why?", [("Émile Zola", "J'accuse!"), ("Özil", "Why?")]),
    ],
)
def test_turns(text: str, expected: list[tuple[str, str]]) -> None:
    assert said(text, read_turns(text)) == said(text, read_speakers(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Date: 3 May.\nSubject: You and Oslo.\nFrom: Anna.",
        "Anna: I left.",
        "It was clear: I left.\nBut this was odd: you came.",
        "The mayor said one thing: no. He said another: yes.",
        "Oslo: Norway\nParis: France\nRome: Italy",
        "See http://oslo.no\nOr https://bergen.no.",
        "Anna:\nBen:\n",
        "",
    ],
)
def test_prose_and_lists_have_no_turns(text: str) -> None:
    assert read_turns(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"I am tired," said Anna Berg.', [("Anna Berg", "I am tired,")]),
        ('"I am tired," Anna Berg said. "Go."', [("Anna Berg", "I am tired,"), ("Anna Berg", "Go.")]),
        ("“Why?” asked Ben.", [("Ben", "Why?")]),
        ('Anna Berg, the mayor of Oslo, said: "I will go."', [("Anna Berg", "I will go.")]),
        ('"I know", Ursula von der Leyen told them.', [("Ursula von der Leyen", "I know")]),
        ('"No," she said.', []),
        ('The "Company" pays Anna. She said so.', []),
        ('"We won," Anna said.\n\n"We lost."', [("Anna", "We won,")]),
    ],
)
def test_quotations(text: str, expected: list[tuple[str, str]]) -> None:
    assert said(text, read_quotations(text)) == expected


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='AbI: \n"“”,.!()*[]12', max_size=60))
def test_what_is_read_off_any_text_is_valid(text: str) -> None:
    turns = read_speakers(text)
    assert Document(text, speakers=turns).speakers == turns


SAME_SPEAKER, TWO_SPEAKERS, SAME_PERSON, TWO_PERSONS = range(4)
TALK = "Anna Berg: I saw you, Ben. My dog left.\nBen: You did? Mayor Berg, I left."


def pair(text: str, one: tuple[str, int], other: tuple[str, int], turns: list[Turn] | None = None) -> list[int]:
    words, spans = all_spans(text)
    labels = label_speakers(text, words, spans, read_speakers(text) if turns is None else turns)
    labels = labels[[row_of(text, spans, *one), row_of(text, spans, *other)]]
    found = speaker_features(torch.from_numpy(labels)[None], torch.ones(1, 2, dtype=torch.bool))[0]
    assert found[0, 1].tolist() == found[1, 0].tolist() and not found[0, 0].any()
    return [int(value) for value in found[0, 1].tolist()]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("I", 0), ("My", 0), [1, 0, 1, 0]),
        (("I", 0), ("I", 1), [0, 1, 0, 1]),
        (("I", 0), ("You", 0), [0, 1, 1, 0]),
        (("I", 0), ("you", 0), [1, 0, 0, 1]),
        (("you", 0), ("Ben", 0), [1, 0, 1, 0]),
        (("I", 0), ("Anna Berg", 0), [0, 0, 1, 0]),
        (("I", 0), ("Mayor Berg", 0), [0, 1, 1, 0]),
        (("I", 1), ("Ben", 1), [0, 0, 1, 0]),
        (("My dog", 0), ("I", 0), [1, 0, 0, 0]),
        (("dog", 0), ("Ben", 0), [1, 0, 0, 0]),
    ],
)
def test_pairs_of_a_talk(one: tuple[str, int], other: tuple[str, int], expected: list[int]) -> None:
    assert pair(TALK, one, other) == expected


def test_with_three_speakers_you_is_who_spoke_before() -> None:
    text = "Anna: I go.\nBen: You do.\nCarl: You too."
    assert pair(text, ("You", 0), ("Anna", 0))[SAME_PERSON] and pair(text, ("You", 1), ("Ben", 0))[SAME_PERSON]


def test_a_quotation_within_a_turn_has_its_own_speaker() -> None:
    text = "I say that I go and I stay"
    turns = [Turn(0, 26, "Anna"), Turn(11, 15, "Ben")]
    assert pair(text, ("I", 0), ("I", 1), turns) == [0, 1, 0, 1]
    assert pair(text, ("I", 0), ("I", 2), turns) == [1, 0, 1, 0]


def test_nobody_speaks() -> None:
    assert pair(TALK, ("I", 0), ("My", 0), []) == [0, 0, 0, 0]


def test_a_shorter_name_is_the_longer_ones() -> None:
    text = '"I won," Anna Berg said. "Why?" asked Ben. "I know," Berg said.'
    assert pair(text, ("I", 0), ("I", 1)) == [1, 0, 1, 0]
