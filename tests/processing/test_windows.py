from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.processing import Windows, lay_out_windows


def lay_out(
    count: int, capacity: int, overlap: int = 0, words: list[int] | None = None, sentences: list[int] | None = None
) -> Windows:
    ends = list(range(1, count + 1)) if words is None else words
    return lay_out_windows(count, np.array(ends, dtype=int), np.array(sentences or [], dtype=int), capacity, overlap)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[int, int, int, list[int], list[int]]:
    count = draw(st.integers(0, 60))
    capacity = draw(st.integers(1, 20))
    overlap = draw(st.integers(0, capacity - 1))
    words = sorted(draw(st.sets(st.integers(1, max(count, 1)), max_size=40)))
    words = [end for end in words if end <= count]
    sentences = sorted(draw(st.sets(st.sampled_from(words), max_size=8))) if words else []
    return count, capacity, overlap, words, sentences


@given(layouts())
@settings(max_examples=400, deadline=None)
def test_every_subword_is_read_once_where_it_has_most_context(
    layout: tuple[int, int, int, list[int], list[int]],
) -> None:
    count, capacity, overlap, words, sentences = layout
    windows = lay_out(count, capacity, overlap, words, sentences)
    assert len(windows.window) == len(windows.offset) == count
    assert bool(windows.bounds) == (count > 0)
    reached = begun = 0
    for begin, end in windows.bounds:
        assert 0 < end - begin <= capacity
        assert begin <= reached < end, "windows leave a gap, or one reads nothing new"
        assert begin > begun or begin == 0
        assert overlap or begin == reached
        reached, begun = end, begin
    assert reached == count
    for t in range(count):
        begin, end = windows.bounds[windows.window[t]]
        assert begin + windows.offset[t] == t < end
        room = [min(t - b, e - 1 - t) for b, e in windows.bounds if b <= t < e]
        assert min(t - begin, end - 1 - t) == max(room)


def test_no_more_windows_than_needed() -> None:
    assert lay_out(0, 5).bounds == []
    assert lay_out(5, 5).bounds == [(0, 5)]
    assert lay_out(11, 5).bounds == [(0, 5), (5, 10), (10, 11)]


def test_cuts_after_sentences_in_the_second_half() -> None:
    assert lay_out(20, 10, sentences=[4, 8, 20]).bounds == [(0, 8), (8, 18), (18, 20)]
    # A sentence that ends in the first half would make windows many.
    assert lay_out(20, 10, sentences=[4, 20]).bounds == [(0, 10), (10, 20)]


def test_cuts_after_words_else_anywhere() -> None:
    assert lay_out(12, 5, words=[3, 6, 9, 12]).bounds == [(0, 3), (3, 6), (6, 9), (9, 12)]
    assert lay_out(12, 5, words=[12]).bounds == [(0, 5), (5, 10), (10, 12)]


def test_overlapping_windows() -> None:
    windows = lay_out(10, 6, overlap=4)
    assert windows.bounds == [(0, 6), (2, 8), (4, 10)]
    # Subword 3 has two subwords on its shorter side in the first window; at 4 the second window is better.
    assert windows.window.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2, 2]
    assert windows.offset.tolist() == [0, 1, 2, 3, 2, 3, 2, 3, 4, 5]


def test_a_subword_in_the_middle_of_two_windows_is_read_in_the_earlier_one() -> None:
    windows = lay_out(9, 6, overlap=3)
    assert windows.bounds == [(0, 6), (3, 9)]
    # Subword 4 has one subword on its shorter side in either window.
    assert windows.window.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert windows.offset.tolist() == [0, 1, 2, 3, 4, 2, 3, 4, 5]
    again = lay_out(9, 6, overlap=3)
    np.testing.assert_array_equal(again.window, windows.window)


def test_an_overlap_begins_at_a_word() -> None:
    windows = lay_out(12, 6, overlap=3, words=[2, 4, 6, 8, 10, 12])
    assert windows.bounds == [(0, 6), (2, 8), (4, 10), (6, 12)]


def test_a_long_word_does_not_hold_overlapping_windows_back() -> None:
    # No word ends for a while after 10: windows that end there again would read nothing new.
    windows = lay_out(30, 10, overlap=5, words=[*range(1, 11), 30], sentences=[10])
    assert windows.bounds[:3] == [(0, 10), (5, 15), (10, 20)]


@pytest.mark.parametrize("overlap", [0, 1, 9])
def test_progress_without_any_place_to_cut(overlap: int) -> None:
    windows = lay_out(100, 10, overlap, words=[])
    assert windows.bounds[-1][1] == 100
    assert len(windows.bounds) == -(-(100 - overlap) // (10 - overlap))
