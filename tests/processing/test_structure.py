from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing import split_words
from hf_corefel.processing.structure import find_borders


def stretches(text: str, kind: str) -> list[str]:
    words = split_words(text)
    numbers = getattr(words, kind)
    return [text[words.begin[numbers == n].min() : words.end[numbers == n].max()] for n in np.unique(numbers)]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Paris\n\nFrance", ["Paris", "France"]),
        ("Paris\r\n \t\u00a0\r\nFrance", ["Paris", "France"]),
        ("Paris\x0cFrance", ["Paris", "France"]),
        ("# Berlin\nMerkel spoke.", ["Berlin", "Merkel spoke."]),
        ("Berlin\n=====\nMerkel spoke.", ["Berlin", "=====", "Merkel spoke."]),
        ("== Berlin ==\nMerkel spoke.", ["== Berlin ==", "Merkel spoke."]),
        ("- Tom Baker\n- Mary Jones", ["- Tom Baker", "- Mary Jones"]),
        (
            "They came:\n1. Tom Baker\n2) Mary Jones\n(iv) Ann Lee",
            ["They came:", "1. Tom Baker", "2) Mary Jones", "(iv) Ann Lee"],
        ),
        ("• Tom Baker\n– Mary Jones\n[x] Ann Lee", ["• Tom Baker", "– Mary Jones", "[x] Ann Lee"]),
        ("> Tom Baker\nwrote\n> Mary Jones", ["> Tom Baker\nwrote", "> Mary Jones"]),
        ("From: Tom Baker\nTo: Mary Jones", ["From: Tom Baker", "To: Mary Jones"]),
        ("Anna Berg: Hello Tom\nTom: Hello", ["Anna Berg: Hello Tom", "Tom: Hello"]),
        ("| Tom | Paris |", ["| Tom", "| Paris", "|"]),
        ("Name\tCity\nTom Baker\tOslo", ["Name", "City", "Tom Baker", "Oslo"]),
        ("Tom Baker\tNew York\t1990", ["Tom Baker", "New York", "1990"]),
        ("name\tcity\tage\nTom Baker\tOslo\t41", ["name", "city", "age", "Tom Baker", "Oslo", "41"]),
        ("Tom Baker\tpainter\tHe lives in Oslo.", ["Tom Baker", "painter", "He lives in Oslo."]),
        # Tabs in place of the blanks of a sentence.
        ("Barack\tObama\tleft.", ["Barack\tObama\tleft."]),
        (
            "On\tMonday\tAnna\tBerg\tspoke\tto\tthe\tpresident\tof\tthe\nUnited\tStates\tof\tAmerica\tin\tOslo.",
            ["On\tMonday\tAnna\tBerg\tspoke\tto\tthe\tpresident\tof\tthe", "United\tStates\tof\tAmerica\tin\tOslo."],
        ),
    ],
)
def test_blocks(text: str, blocks: list[str]) -> None:
    # What stands in the cells of a line, or under each other in a table, are blocks of their own.
    found = [part for block in stretches(text, "block") for part in block.split("\n") if "\t" in text]
    assert (found or stretches(text, "block")) == blocks


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Tom Baker\nMary Jones\nAnn Lee", ["Tom Baker", "Mary Jones", "Ann Lee"]),
        ("Name\tCity", ["Name", "City"]),
        ("Barack\nObama left.", ["Barack", "Obama left."]),
        ("12 High Street\nOslo\nNorway", ["12 High Street", "Oslo", "Norway"]),
        (
            "Berlin talks\nMerkel spoke of the coalition and its plans.",
            ["Berlin talks", "Merkel spoke of the coalition and its plans."],
        ),
        # What runs on is one line: a small letter, a word in two, a full line of a paragraph.
        ("barack\nobama left", ["barack\nobama left"]),
        ("The Franco-\nGerman talks", ["The Franco-\nGerman talks"]),
        (
            "On Monday the chancellor spoke to Angela\nBerg and to the president of the United\nStates of America.",
            ["On Monday the chancellor spoke to Angela\nBerg and to the president of the United\nStates of America."],
        ),
        ("It was late.\nTom left", ["It was late.", "Tom left"]),
    ],
)
def test_lines(text: str, lines: list[str]) -> None:
    assert stretches(text, "line") == lines


@given(st.text(st.sampled_from("aB1.:,-#*>|= \t\n\r\x0c\u2028\u00a0\u00ad"), max_size=60))
@settings(max_examples=400, deadline=None)
def test_borders_of_any_text(text: str) -> None:
    borders = find_borders(text)
    for places in (borders.firm, borders.loose):
        assert places == sorted(places)
        assert all(0 <= at <= len(text) for at in places)
    words = split_words(text)
    assert (np.diff(words.block) >= 0).all() and (np.diff(words.line) >= 0).all()
    # Lines lie within blocks, and blank lines part blocks.
    for i in range(len(words) - 1):
        if words.block[i] != words.block[i + 1]:
            assert words.line[i] != words.line[i + 1]
        gap = text[words.end[i] : words.begin[i + 1]]
        if len(gap.strip(" \u00a0\u00ad").splitlines()) > 2:
            assert words.block[i] != words.block[i + 1]


@pytest.mark.parametrize(
    ("line", "loose", "firm"),
    [("Tom Baker,Oslo\n", 99_999, 0), ("-\n", 99_999, 0), ("tom\n", 0, 0), ("Name\tCity\n", 99_999, 100_000)],
)
def test_a_paragraph_of_many_lines_costs_no_more_a_line(line: str, loose: int, firm: int) -> None:
    """A hundred thousand of them end at all."""
    borders = find_borders(line * 100_000)
    assert (len(borders.loose), len(borders.firm)) == (loose, firm)


def test_a_text_of_one_line_has_no_borders() -> None:
    assert find_borders("Merkel spoke. Macron left: they met") == find_borders("")
