from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.kb.normal_form import folded_form, normal_form


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("New York", "New York"),
        ("New\nYork", "New York"),
        (" New \t\u00a0 York\r\n", "New York"),
        ("Stutt-\ngart", "Stuttgart"),
        ("Baden-\r\n Württemberg", "Baden-Württemberg"),
        ("Stutt\u00adgart\u200b", "Stuttgart"),
        ("Schro\u0308der", "Schröder"),
        ("Côte d’Ivoire", "Côte d'Ivoire"),
        ("O´Neill and O`Neill", "O'Neill and O'Neill"),
        ("Jean–Claude\u2011Juncker", "Jean-Claude-Juncker"),
        ("“Die Zeit”", '"Die Zeit"'),
        ("ＮＡＴＯ", "NATO"),
        ("ﬁnnair", "finnair"),
        ("NATO", "NATO"),
        ("\u200b", ""),
        ("", ""),
    ],
)
def test_normal_form(surface: str, expected: str) -> None:
    assert normal_form(surface) == expected


@given(st.text(max_size=20))
@settings(max_examples=500, deadline=None)
def test_normal_forms_are_stable(surface: str) -> None:
    for form in (normal_form, folded_form):
        once = form(surface)
        assert form(once) == once
    assert normal_form(surface) == normal_form(surface).strip()


@pytest.mark.parametrize(
    ("one", "other"),
    [("angela merkel", "ANGELA MERKEL"), ("Straße", "STRASSE"), ("ΌΣΟΣ", "όσος"), ("İzmir", "i\u0307zmir")],
)
def test_folded_forms_agree(one: str, other: str) -> None:
    assert folded_form(one) == folded_form(other)
