"""Words of a text, their letter case, and where sentences end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["WordTable", "letter_case", "split_words"]

# Runs of letters, digits and combining marks, or single other signs: a mention begins and ends at one of these.
# Python's \w lacks combining marks, without which Hindi or pointed Hebrew would fall into single letters. Those of
# the basic plane only: `re` searches a set that goes beyond it one character after the other.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M" and not c.isalnum())
_WORD = re.compile(rf"[\w{_MARKS}\u200c\u200d]+|[^\w\s]")
_SENTENCE_END = frozenset(".!?…。！？")


@dataclass(frozen=True)
class WordTable:
    """The words of a text.

    Attributes:
        begin: ``[M]`` first code points.
        end: ``[M]`` ends, exclusive.
        case: ``[M]`` letter-case classes, see `letter_case`.
        ends_sentence: ``[M]`` whether a sentence ends after the word.
    """

    begin: np.ndarray
    end: np.ndarray
    case: np.ndarray
    ends_sentence: np.ndarray

    def __len__(self) -> int:
        return len(self.begin)


def letter_case(word: str) -> int:
    """Class of a word: 0 lower, 1 Title, 2 UPPER, 3 one capital, 4 mIxed, 5 digits only, 6 no letters or digits."""
    if not any(character.isalpha() for character in word):
        return 5 if any(character.isdigit() for character in word) else 6
    if word.islower() or not any(character.isupper() or character.istitle() for character in word):
        return 0
    if word.isupper():
        return 2 if sum(character.isalpha() for character in word) > 1 else 3
    return 1 if word[0].isupper() and not any(character.isupper() for character in word[1:]) else 4


def split_words(text: str, words: Sequence[tuple[int, int]] | None = None) -> WordTable:
    """Splits a text into words, or describes the given ones.

    Args:
        text: The text.
        words: Offsets of words that are already split.
    """
    offsets = [match.span() for match in _WORD.finditer(text)] if words is None else list(words)
    begin = np.array([b for b, _ in offsets], dtype=np.int64)
    end = np.array([e for _, e in offsets], dtype=np.int64)
    case = np.array([letter_case(text[b:e]) for b, e in offsets], dtype=np.int64)
    ends = np.zeros(len(offsets), dtype=bool)
    for i, (b, e) in enumerate(offsets):
        following = offsets[i + 1][0] if i + 1 < len(offsets) else len(text)
        gap = text[e:following]
        ends[i] = "\n" in gap or (text[e - 1] in _SENTENCE_END and (bool(gap) or e - b > 1 or text[b] in "。！？"))
    if len(ends):
        ends[-1] = True
    return WordTable(begin, end, case, ends)
