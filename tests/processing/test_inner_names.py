from __future__ import annotations

import pytest

from hf_corefel.processing.inner_names import inner_names


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("the United States", ["United States", "States"]),
        ("Merkel's", ["Merkel"]),
        ("Merkel’s", ["Merkel"]),
        ("the Netherlands'", ["the Netherlands", "Netherlands"]),
        ("Chancellor Angela Merkel", ["Angela Merkel", "Merkel"]),
        (
            "former German Chancellor Angela Merkel's",
            [
                "former German Chancellor Angela Merkel",
                "German Chancellor Angela Merkel",
                "Chancellor Angela Merkel",
                "Angela Merkel",
                "Merkel",
            ],
        ),
        ("“NATO”,", ["NATO"]),
        ("the U.S.", ["U.S."]),
        ("University of Paris", ["of Paris"]),
        ("Bank of England", ["of England"]),
        ("Mayor of London Sadiq Khan", ["of London Sadiq Khan", "Sadiq Khan", "Khan"]),
        ("Merkel", []),
        ("  ", []),
        ("", []),
        ("'s", ["s"]),
    ],
)
def test_inner_names(surface: str, expected: list[str]) -> None:
    assert [surface[begin:end] for begin, end in inner_names(surface)] == expected
