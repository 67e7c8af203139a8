from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.kb.short_forms import lead_initialisms, short_forms


@pytest.mark.parametrize(
    ("title", "type", "surfaces"),
    [
        ("Denton,_Texas", None, ["Denton"]),
        ("Newcastle,_New_South_Wales", "place", ["Newcastle"]),
        ("Yes,_Minister", "work", []),
        ("Crosby,_Stills,_Nash_&_Young", None, []),
        ("Python_(programming_language)", None, ["Python"]),
        ("Alexander_Wood_(soccer)", "person", ["Alexander Wood", "Wood"]),
        ("Angela Merkel", "person", ["Merkel"]),
        ("Angela Merkel", None, []),
        ("George_W._Bush", "person", ["George Bush", "Bush"]),
        ("J._K._Rowling", "person", ["J.K. Rowling", "Rowling"]),
        ("Ursula_von_der_Leyen", "person", ["von der Leyen"]),
        ("Martin_Luther_King,_Jr.", "person", ["Martin Luther King", "King"]),
        ("Sir_Alex_Ferguson", "person", ["Ferguson"]),
        ("Christian_IX_of_Denmark", "person", []),
        ("Philip_II", "person", []),
        ("Plato", "person", []),
        ("Tesla,_Inc.", None, ["Tesla"]),
        ("Inter_Miami_CF", None, ["Inter Miami"]),
        ("FC_Bayern_Munich", None, ["Bayern Munich"]),
        ("University_of_Oxford", None, ["Oxford University", "Oxford"]),
        ("Harvard_University", None, ["Harvard"]),
        ("The_Rolling_Stones", None, ["Rolling Stones"]),
        ("Republic_of_Ireland", None, ["Ireland"]),
        ("Inc.", None, []),
        ("C", None, []),
        ("", None, []),
    ],
)
def test_short_forms(title: str, type: str | None, surfaces: list[str]) -> None:
    assert [form.surface for form in short_forms(title, type)] == surfaces


@given(st.text(max_size=40), st.sampled_from([None, "person", "place", "organization", "work"]))
def test_a_short_form_is_another_name_once(title: str, type: str | None) -> None:
    forms = short_forms(title, type)
    surfaces = [form.surface for form in forms]
    assert len(set(surfaces)) == len(surfaces)
    for form in forms:
        assert 0.0 < form.discount <= 1.0
        assert len(form.surface) > 1
        assert form.surface != title.replace("_", " ")


@pytest.mark.parametrize(
    ("title", "lead", "surfaces"),
    [
        ("Massachusetts_Institute_of_Technology", "The Massachusetts Institute of Technology (MIT) is a", ["MIT"]),
        ("World_Health_Organization", "The World Health Organization (WHO; French: OMS, born 1948) is", ["WHO"]),
        ("United_States", "The United States of America (USA), (US or U.S.),", ["USA", "US", "U.S."]),
        ("Angela_Merkel", "Angela Dorothea Merkel (née Kasner; born 17 July 1954) is", []),
        ("Federal_Bureau_of_Investigation", "The FBI is the domestic intelligence service", []),
        ("Nile", "The Nile (Arabic: an-Nil; NL) is", []),
    ],
)
def test_lead_initialisms(title: str, lead: str, surfaces: list[str]) -> None:
    assert [form.surface for form in lead_initialisms(title, lead)] == surfaces


@given(st.text(max_size=30), st.text(max_size=120))
def test_any_lead_is_read(title: str, lead: str) -> None:
    assert all(form.surface for form in lead_initialisms(title, lead))
