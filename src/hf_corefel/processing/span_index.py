"""The spans of a document by their words."""

from __future__ import annotations

import numpy as np

from ..utils.characters import APOSTROPHES
from ..utils.word_lists import NAME_DETERMINERS
from .spans import SpanTable
from .words import WordTable

__all__ = ["SpanIndex", "words_within"]


class SpanIndex:
    """Finds the spans that are given words, as they stand or with a determiner and a possessive ending around them.

    Args:
        text: The text.
        words: Its words.
        spans: The candidate spans.
    """

    def __init__(self, text: str, words: WordTable, spans: SpanTable) -> None:
        self._text, self._words = text, words
        self._stride = len(words) + 1
        keys = spans.word * self._stride + spans.width
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def rows(self, first: int, width: int) -> np.ndarray:
        """Rows of the spans of exactly these words."""
        key = first * self._stride + width
        return self._order[slice(*np.searchsorted(self._keys, [key, key + 1]))]

    def rows_around(self, first: int, width: int) -> np.ndarray:
        """Rows of the spans of these words, with or without the determiner before and the possessive ending after."""
        begins = [first, first - 1] if first and self._word(first - 1).casefold() in NAME_DETERMINERS else [first]
        end = first + width
        ends = [end]
        if end < self._stride - 1 and self._word(end) in APOSTROPHES and not self._gap(end):
            ends.append(end + 1)
            if end + 2 < self._stride and self._word(end + 1).casefold() == "s" and not self._gap(end + 1):
                ends.append(end + 2)
        return np.concatenate([self.rows(begin, stop - begin) for begin in begins for stop in ends])

    def _word(self, number: int) -> str:
        return self._text[self._words.begin[number] : self._words.end[number]]

    def _gap(self, number: int) -> bool:
        return bool(self._words.begin[number] > self._words.end[number - 1])


def words_within(words: WordTable, begin: int, end: int) -> tuple[int, int]:
    """First word and number of words that touch the code points from ``begin`` to ``end``."""
    first = int(np.searchsorted(words.end, begin, side="right"))
    return first, max(0, int(np.searchsorted(words.begin, end, side="left")) - first)
