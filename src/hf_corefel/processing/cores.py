"""The core of a span: what is left of it without determiners before and possessive endings and signs after."""

from __future__ import annotations

import unicodedata

import numpy as np

from ..utils.characters import APOSTROPHES
from ..utils.word_lists import DETERMINERS, POSSESSIVE_DETERMINERS
from .spans import SpanTable
from .words import WordTable

__all__ = ["span_cores"]

_BEFORE = DETERMINERS | POSSESSIVE_DETERMINERS
# Signs that belong to what they stand beside: "5%", "#metoo", "AT&T".
_MEANING = frozenset("%#@&*/\\‰§")


def span_cores(text: str, words: WordTable, spans: SpanTable) -> np.ndarray:
    """Returns the code points ``[S, 2]`` of each span's core; the whole span where nothing would be left.

    Two spans of which one contains the other and that have one core are two spellings of a mention: "Bundestag" and
    "the Bundestag", "Elon Musk" and "Elon Musk's", "house" and "her house", but not "her" and "her house".

    Args:
        text: The text.
        words: Its words.
        spans: The S candidate spans.
    """
    cores = spans.offsets.copy()
    if not len(spans) or not len(words):
        return cores
    surfaces = [text[b:e] for b, e in zip(words.begin.tolist(), words.end.tolist(), strict=True)]
    sign = [_is_sign(surface) for surface in surfaces]
    leading = np.array([sign[i] or word.casefold() in _BEFORE for i, word in enumerate(surfaces)])
    trailing = np.array([sign[i] or _is_ending(surfaces, i) for i in range(len(surfaces))])
    # The next word that is no such word, from each word on; the last one, up to each word.
    count = len(surfaces)
    numbers = np.arange(count)
    following = np.minimum.accumulate(np.where(leading, count, numbers)[::-1])[::-1]
    preceding = np.maximum.accumulate(np.where(trailing, -1, numbers))
    first, last = following[spans.word], preceding[spans.word + spans.width - 1]
    left = (first <= last) & (first < count)
    # A span may begin or end within a word.
    cores[left, 0] = np.maximum(cores[left, 0], words.begin[first[left]])
    cores[left, 1] = np.minimum(cores[left, 1], words.end[last[left]])
    return cores


def _is_sign(word: str) -> bool:
    return all(unicodedata.category(character)[0] == "P" and character not in _MEANING for character in word)


def _is_ending(surfaces: list[str], i: int) -> bool:
    """Whether a word is a possessive ending: "s" behind an apostrophe and a word, or "'s"."""
    word = surfaces[i].casefold()
    if word[:1] in APOSTROPHES and word[1:] == "s":
        return True
    return word == "s" and i > 1 and surfaces[i - 1] in APOSTROPHES
