"""Cutting a row of subwords into windows that an encoder can take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Windows", "lay_out_windows"]


@dataclass(frozen=True)
class Windows:
    """Windows over the subwords of a document.

    Attributes:
        bounds: First subword and end (exclusive) of each of the W windows.
        window: ``[T]`` the window in which each subword is read.
        offset: ``[T]`` its place there, special tokens not counted.

    Example:
        >>> import numpy as np
        >>> from hf_corefel.processing import lay_out_windows
        >>> ends = np.arange(1, 11)
        >>> lay_out_windows(10, ends, ends[4:5], 6, 0).bounds
        [(0, 5), (5, 10)]
    """

    bounds: list[tuple[int, int]]
    window: np.ndarray
    offset: np.ndarray


def lay_out_windows(
    count: int, word_ends: np.ndarray, sentence_ends: np.ndarray, capacity: int, overlap: int = 0
) -> Windows:
    """Windows of at most `capacity` subwords, cut after sentences, else after words, else anywhere.

    A sentence end is taken only in the second half of a window, so that windows stay few. With an overlap,
    a subword of two windows is read in the one where it has more context on its shorter side.

    Args:
        count: Subwords T.
        word_ends: Subword positions (exclusive ends) after which a word ends, ascending.
        sentence_ends: The same for sentences.
        capacity: Subwords a window without special tokens, at least 1.
        overlap: Subwords that neighbouring windows share, less than `capacity`.
    """
    bounds: list[tuple[int, int]] = []
    start = 0
    while start < count:
        stop = min(start + capacity, count)
        if stop < count:
            # Behind the end of the window before, which an overlap puts after the beginning of this one.
            low = bounds[-1][1] if bounds else 0
            sentence = _last_within(sentence_ends, max(low, start + capacity // 2), stop)
            stop = sentence or _last_within(word_ends, low, stop) or stop
        bounds.append((start, stop))
        if stop == count:
            break
        # The next window must begin later than this one, also when it begins with subwords of it.
        begin = stop - min(overlap, stop - start - 1)
        start = _last_within(word_ends, start, begin) or begin if overlap else stop
    window = np.zeros(count, dtype=np.int64)
    offset = np.zeros(count, dtype=np.int64)
    context = np.full(count, -1, dtype=np.int64)
    for w, (first, end) in enumerate(bounds):
        place = np.arange(end - first)
        room = np.minimum(place, end - first - 1 - place)
        better = np.flatnonzero(room > context[first:end])
        window[first + better], offset[first + better], context[first + better] = w, place[better], room[better]
    return Windows(bounds, window, offset)


def _last_within(ends: np.ndarray, low: int, high: int) -> int | None:
    """The last of the sorted `ends` in (low, high], None when there is none."""
    at = int(np.searchsorted(ends, high, side="right")) - 1
    return int(ends[at]) if at >= 0 and ends[at] > low else None
