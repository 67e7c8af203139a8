"""Which spans of a long document are scored in pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.long_documents.partners import PartnerKeys, choose_pairs

NONE = np.int64(-1)


def _keys(count: int, **given: np.ndarray) -> PartnerKeys:
    """Keys of spans that have nothing in common but what is given."""
    values = {
        "words": np.arange(count)[:, None],
        "entities": np.full((count, 1), NONE),
        "definitions": np.full((count, 6), NONE),
        "persons": np.full(count, NONE),
        "mention": np.full(count, -1.0),
    }
    return PartnerKeys(**{**values, **given})


def _pairs(keys: PartnerKeys, most: int) -> set[tuple[int, int]]:
    early, late = choose_pairs(keys, most)
    pairs = list(zip(early.tolist(), late.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 120), st.integers(1, 70))
def test_every_span_chooses_as_many_as_it_may(seed: int, count: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    keys = _keys(
        count,
        words=rng.integers(-1, 9, (count, 3)),
        entities=rng.integers(-1, 6, (count, 2)),
        definitions=rng.integers(-1, 3, (count, 6)),
        persons=rng.integers(-1, 2, count),
        mention=rng.normal(size=count),
    )
    pairs = _pairs(keys, most)
    assert all(0 <= early < late < count for early, late in pairs)
    partners = np.bincount(np.array([*pairs], dtype=np.int64).reshape(-1), minlength=count)
    assert len(pairs) <= most * count and (partners >= np.minimum(np.arange(count), most)).all()
    assert _pairs(keys, most) == pairs


def test_few_spans_are_all_partners() -> None:
    count = 65
    assert _pairs(_keys(count), 64) == {(i, j) for j in range(count) for i in range(j)}


def test_what_is_alike_meets_across_a_book() -> None:
    count, first, last = 5_000, 100, 4_990
    words = np.arange(count)[:, None]
    for kind in ("text", "word", "entity", "definition", "person"):
        keys = _keys(count)
        if kind == "text":
            keys = _keys(count, words=np.where(words == last, first, words))
        elif kind == "word":
            second = np.full((count, 1), NONE)
            second[[first, last]] = count
            keys = _keys(count, words=np.hstack([words, second]))
        elif kind == "entity":
            keys.entities[[first, last]] = 7
        elif kind == "definition":
            keys.definitions[first, 2], keys.definitions[last, 3] = 1, 1
        else:
            keys.persons[[first, last]] = 0
        assert (first, last) in _pairs(keys, 64), kind
        assert (first, last) not in _pairs(_keys(count), 64)


def test_names_of_many_mentions_reach_their_likeliest() -> None:
    """Of a thousand mentions of a name the last ones, the first one and the three likeliest are partners."""
    count = 4_000
    mention = np.full(count, 1.0)
    mention[[800, 1_600, 2_400]] = 5.0
    words = np.arange(count)[:, None].copy()
    named = np.arange(0, count, 4)
    words[named] = count
    pairs = _pairs(_keys(count, words=words, mention=mention), 64)
    last = int(named[-1])
    assert {(early, last) for early in (0, 800, 1_600, 2_400, last - 4, last - 8, last - 12)} <= pairs


def test_pairs_grow_with_the_spans() -> None:
    rng = np.random.default_rng(0)
    numbers = []
    for count in (1_000, 2_000, 4_000):
        keys = _keys(count, words=rng.integers(0, 50, (count, 2)), mention=rng.normal(size=count))
        numbers.append(len(choose_pairs(keys, 40)[0]))
    assert numbers[1] < 2.1 * numbers[0] and numbers[2] < 2.1 * numbers[1]
