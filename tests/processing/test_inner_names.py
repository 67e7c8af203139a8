from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hf_corefel import CorefELPipeline, Document
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


@pytest.mark.parametrize("words", [[(5, 7)], [(0, 4), (5, 7)], []])
def test_a_name_that_given_words_leave_out_is_none(
    words: list[tuple[int, int]], tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]
) -> None:
    """A recogniser's mention may hold a known name that none of the given words covers."""
    model = tiny_model()
    annotate = CorefELPipeline(model, tiny_processor(model.config), task="coref-el", device="cpu")
    text = "Oslo ?!"
    (result,) = annotate.annotate([Document(text, words=words, mentions=[(0, 6)])])
    found = [mention.offsets for cluster in result.clusters for mention in cluster.mentions]
    assert found == ([(0, 6)] if words else []) and result.warnings
