"""What definitions and initials say of spans, as pairs of surfaces."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from hf_corefel.layers.labels import definition_features
from hf_corefel.processing import label_definitions, split_words
from hf_corefel.processing.definitions import BEFORE, INSIDE, LONG, SHORT
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


def test_the_last_of_brackets_in_a_row_is_the_one_behind_a_span() -> None:
    text = "Wood Inc. (formerly Timber) (the “Buyer”) pays."
    words, spans = all_spans(text)
    labels = label_definitions(text, words, spans)
    assert labels[row_of(text, spans, "Wood Inc."), BEFORE] == labels[row_of(text, spans, "Buyer"), INSIDE] == 1
    assert labels[row_of(text, spans, "Timber"), INSIDE] == 0


def test_names_that_share_spans() -> None:
    """A name with a possessive ending may be another name: the last bracket before it counts."""
    text = "Acme Inc. (“Bank”) and Oak Inc. (“Bank’s”) met. Bank’s. Elm Inc. (“Bank”) met. Bank’s."
    words, spans = all_spans(text)
    labels = label_definitions(text, words, spans)[:, SHORT]
    assert [labels[row_of(text, spans, "Bank’s", i)] for i in range(3)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("(a) " * 50_000, 0),
        ("A (B) " * 50_000, 50_000),
        ("A " + "(B) " * 50_000, 1),
        ("((" * 50_000, 0),
        ("(a" * 50_000, 0),
        ("".join(f"Name{i} (Nm{i}) came. " for i in range(50_000)), 50_000),
    ],
    ids=["words", "names", "in_a_row", "opened", "opened_words", "distinct"],
)
def test_brackets_cost_no_more_in_long_texts(text: str, count: int) -> None:
    """Hundreds of thousands of words with them end at all."""
    words, spans = all_spans(text, longest=1)
    labels = label_definitions(text, words, spans)
    assert len(np.unique(labels[labels[:, BEFORE] >= 0, BEFORE])) == count


def test_names_that_are_defined_again_and_again() -> None:
    text = "European Central Bank (ECB) " * 20_000
    words, spans = all_spans(text, longest=3)
    labels = label_definitions(text, words, spans)
    surfaces = [text[begin:end] for begin, end in spans.offsets.tolist()]
    numbers = np.arange(20_000)
    assert np.array_equal(labels[[surface == "ECB" for surface in surfaces], SHORT], numbers)
    # The bracket stands behind its words, so that the one before it is the last one before them.
    names = labels[[surface == "European Central Bank" for surface in surfaces], LONG]
    assert np.array_equal(names, np.maximum(numbers - 1, 0))
