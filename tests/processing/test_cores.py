"""What is left of a span without determiners, possessive endings and signs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hf_corefel.processing import span_cores

sys.path.insert(0, str(Path(__file__).parent))

from label_tools import all_spans, row_of


@pytest.mark.parametrize(
    ("surface", "core"),
    [
        ("the Bundestag", "Bundestag"),
        ("Bundestag", "Bundestag"),
        ("The chancellor", "chancellor"),
        ("Elon Musk's", "Elon Musk"),
        ("Elon Musk'", "Elon Musk"),
        ("Elon Musk’s", "Elon Musk"),
        ("Elon Musk's SpaceX", "Elon Musk's SpaceX"),
        ("the states'", "states"),
        ("her house", "house"),
        ("her", "her"),
        ("their own house", "own house"),
        ("“Die Welt”", "Die Welt"),
        ("Acme Inc.", "Acme Inc"),
        ("(ECB)", "ECB"),
        ("this", "this"),
        ("the", "the"),
        ("...", "..."),
        ("5%", "5%"),
        ("#metoo", "#metoo"),
    ],
)
def test_core(surface: str, core: str) -> None:
    text = f"x {surface} y"
    words, spans = all_spans(text)
    begin, end = span_cores(text, words, spans)[row_of(text, spans, surface)].tolist()
    assert text[begin:end] == core


def test_every_core_lies_in_its_span() -> None:
    text = "The mayor's (own) “house”, 's the ' end. the"
    words, spans = all_spans(text)
    cores = span_cores(text, words, spans)
    assert (cores[:, 0] >= spans.offsets[:, 0]).all() and (cores[:, 1] <= spans.offsets[:, 1]).all()
    assert (cores[:, 0] < cores[:, 1]).all()
