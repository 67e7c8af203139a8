from __future__ import annotations

import pytest

from hf_corefel.processing.inner_names import inner_names


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("the United States", ["United States"]),
        ("Merkel's", ["Merkel"]),
        ("Merkel’s", ["Merkel"]),
        ("the Netherlands'", ["the Netherlands", "Netherlands"]),
        ("Chancellor Angela Merkel", ["Angela Merkel"]),
        ("former German Chancellor Angela Merkel's", ["former German Chancellor Angela Merkel", "Angela Merkel"]),
        ("the U.S. Secretary of State", ["U.S. Secretary of State"]),
        ("U.S. President Barack Obama", ["Barack Obama"]),
        ("French Prime Minister Edouard Philippe", ["Edouard Philippe"]),
        ("Prof. Dr. Anna Berg,", ["Prof. Dr. Anna Berg", "Anna Berg"]),
        ("Mr Obama", ["Obama"]),
        ("“NATO”,", ["NATO"]),
        ("the U.S.", ["U.S."]),
        # What stands before a name may be part of it.
        ("University of Paris", []),
        ("Anna Bergen", []),
        ("New York", []),
        ("President of France", []),
        ("General Motors", ["Motors"]),
        ("Merkel", []),
        ("  ", []),
        ("", []),
        ("'s", ["s"]),
    ],
)
def test_inner_names(surface: str, expected: list[str]) -> None:
    assert [surface[begin:end] for begin, end in inner_names(surface)] == expected
