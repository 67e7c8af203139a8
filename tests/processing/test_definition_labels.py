"""What definitions and initials say of spans, as pairs of surfaces."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from hf_corefel.layers.labels import definition_features
from hf_corefel.processing import label_definitions, split_words
from hf_corefel.processing.spans import SpanTable

sys.path.insert(0, str(Path(__file__).parent))

from label_tools import all_spans, row_of

BRACKET, DEFINED, INITIALS = range(3)
CONTRACT = (
    'Hardwood Flooring Inc. (the "Company") sells wood. The Company shall pay. A company may not. '
    "Nobody knows the Company's board. Hardwood Flooring Inc. agrees."
)
BANK = "The European Central Bank (ECB) met. Later the ECB and ECB's president spoke for the European Central Bank."


def features(text: str, *surfaces: tuple[str, int]) -> torch.Tensor:
    """Features ``[N, N, 3]`` of spans with the surfaces, each the n-th such span."""
    words, spans = all_spans(text)
    labels = label_definitions(text, words, spans)[[row_of(text, spans, *surface) for surface in surfaces]]
    mask = torch.ones(1, len(surfaces), dtype=torch.bool)
    return definition_features(torch.from_numpy(labels)[None], mask)[0]


@pytest.mark.parametrize(
    ("text", "one", "other", "expected"),
    [
        (CONTRACT, ("Hardwood Flooring Inc.", 0), ("Company", 0), [1, 1, 0]),
        (CONTRACT, ("Hardwood Flooring Inc.", 0), ('the "Company"', 0), [1, 0, 0]),
        (CONTRACT, ("Hardwood Flooring Inc.", 0), ("The Company", 0), [0, 1, 0]),
        (CONTRACT, ("Hardwood Flooring Inc.", 0), ("the Company's", 0), [0, 1, 0]),
        (CONTRACT, ("Hardwood Flooring Inc.", 1), ("The Company", 0), [0, 1, 0]),
        (CONTRACT, ("The Company", 0), ("the Company", 0), [0, 1, 0]),
        (CONTRACT, ("Hardwood Flooring Inc.", 0), ("A company", 0), [0, 0, 0]),
        (CONTRACT, ("wood", 0), ("The Company", 0), [0, 0, 0]),
        (BANK, ("The European Central Bank", 0), ("ECB", 0), [1, 1, 1]),
        (BANK, ("the European Central Bank", 0), ("the ECB", 0), [0, 1, 1]),
        (BANK, ("European Central Bank", 0), ("ECB's", 0), [0, 1, 1]),
        (BANK, ("Central Bank", 0), ("ECB", 0), [1, 0, 0]),
        ("ECB (European Central Bank) rates. The ECB.", ("ECB", 0), ("European Central Bank", 0), [1, 1, 1]),
        ("The ECB (European Central Bank). So ECB.", ("ECB", 1), ("European Central Bank", 0), [0, 1, 1]),
        ("Angela Merkel (CDU) spoke. The CDU won.", ("Angela Merkel", 0), ("CDU", 0), [1, 0, 0]),
        ("Angela Merkel (CDU) spoke. The CDU won.", ("Angela Merkel", 0), ("CDU", 1), [0, 0, 0]),
        ("BERLIN (Reuters) – Reuters said.", ("BERLIN", 0), ("Reuters", 1), [0, 0, 0]),
        ("The United Nations met. The UN spoke.", ("The United Nations", 0), ("UN", 0), [0, 0, 1]),
        ("The United States of America, or the USA.", ("United States of America", 0), ("USA", 0), [0, 0, 1]),
        ("The Department of Health, or DoH.", ("Department of Health", 0), ("DoH", 0), [0, 0, 1]),
        ("The U.N. and the United Nations.", ("United Nations", 0), ("U.N.", 0), [0, 0, 1]),
        ("The united nations of the world. The UN.", ("united nations", 0), ("UN", 0), [0, 0, 0]),
    ],
)
def test_features_of_a_pair(text: str, one: tuple[str, int], other: tuple[str, int], expected: list[int]) -> None:
    found = features(text, one, other)
    assert found[0, 1].tolist() == found[1, 0].tolist() == expected
    assert not found[0, 0].any() and not found[1, 1].any()


def test_a_term_means_what_it_was_last_defined_for() -> None:
    text = (
        "The Buyer signs. Acme Inc. (the “Buyer”) signs. The Buyer pays Oak Inc. as agreed. "
        "Oak Inc. (the “Buyer”) signs. The Buyer pays."
    )
    acme, oak = ("Acme Inc.", 0), ("Oak Inc.", 1)
    found = features(text, ("The Buyer", 0), ("The Buyer", 1), ("The Buyer", 2), acme, oak)[..., DEFINED]
    assert found[:3, 3].tolist() == [1, 1, 0] and found[:3, 4].tolist() == [0, 0, 1]


def test_padding_and_spans_without_labels() -> None:
    labels = torch.zeros(1, 3, 6, dtype=torch.int64)
    assert not definition_features(labels, torch.tensor([[True, False, False]])).any()
    assert not definition_features(torch.full((1, 3, 6), -1), torch.ones(1, 3, dtype=torch.bool)).any()


def test_no_words_and_no_spans() -> None:
    none, pairs = np.zeros(0, int), np.zeros((0, 2), int)
    nothing = SpanTable(pairs, none, none, none, none, pairs, pairs)
    assert label_definitions("", split_words(""), nothing).shape == (0, 6)
    assert label_definitions(BANK, split_words(BANK), nothing).shape == (0, 6)
