"""Words of a text, their letter case, and where sentences end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import regex

from ..documents import Document, DocumentError

__all__ = ["WordTable", "check_length", "has_more_words", "letter_case", "split_words"]

# Runs of letters, digits and combining marks, or single other signs: a mention begins and ends at one of these.
# Python's \w lacks combining marks, without which Hindi or pointed Hebrew would fall into single letters. Those of
# the basic plane only: `re` searches a set that goes beyond it one character after the other.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M" and not c.isalnum())
_WORD = re.compile(rf"[\w{_MARKS}\u200c\u200d]+|[^\w\s]")
# Chinese and Japanese are written without spaces: each of their characters is a word, as BERT has it for Han. The sign
# that makes a vowel long is common to both kana.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70]"
_HAS_UNSPACED = regex.compile(_UNSPACED)
_PART = regex.compile(rf"{_UNSPACED}[\p{{M}}\u200c\u200d]*|(?:(?!{_UNSPACED}).)+", regex.DOTALL)
# Extended grapheme clusters (Unicode Standard Annex 29): what a reader takes for one character.
_CLUSTER = regex.compile(r"\X")
_SENTENCE_END = frozenset(".!?…。！？")
# Code points of what `has_more_words` counts as one word: a run without a space may be as long as the text.
_LONGEST_WORD = 100


@dataclass(frozen=True)
class WordTable:
    """The words of a text.

    Attributes:
        begin: ``[M]`` first code points.
        end: ``[M]`` ends, exclusive.
        case: ``[M]`` letter-case classes, see `letter_case`.
        form: ``[M]`` numbers of the case-folded forms, by first occurrence.
        ends_sentence: ``[M]`` whether a sentence ends after the word.
    """

    begin: np.ndarray
    end: np.ndarray
    case: np.ndarray
    form: np.ndarray
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

    A word is a run of letters, digits and combining marks, a single character of Chinese or Japanese, or a single
    other sign. None begins or ends within an extended grapheme cluster: an emoji with its skin tone, a family, a flag
    or a keycap is one word. (A mark upon white space, which is no part of a word, is one by itself.)

    Args:
        text: The text.
        words: Offsets of words that are already split; they stand as they are.
    """
    offsets = _find_words(text) if words is None else list(words)
    begin = np.array([b for b, _ in offsets], dtype=np.int64)
    end = np.array([e for _, e in offsets], dtype=np.int64)
    case = np.array([letter_case(text[b:e]) for b, e in offsets], dtype=np.int64)
    forms: dict[str, int] = {}
    form = np.array([forms.setdefault(text[b:e].casefold(), len(forms)) for b, e in offsets], dtype=np.int64)
    ends = np.zeros(len(offsets), dtype=bool)
    for i, (b, e) in enumerate(offsets):
        following = offsets[i + 1][0] if i + 1 < len(offsets) else len(text)
        gap = text[e:following]
        ends[i] = "\n" in gap or (text[e - 1] in _SENTENCE_END and (bool(gap) or e - b > 1 or text[b] in "。！？"))
    if len(ends):
        ends[-1] = True
    return WordTable(begin, end, case, form, ends)


def has_more_words(text: str, limit: int, words: Sequence[tuple[int, int]] | None = None) -> bool:
    """Return whether a text has more words than a limit, without splitting all of a text that is far beyond it.

    Words are those of `split_words`, and a longer one than 100 code points counts once for each 100, as what it costs
    does. The signs of an emoji that is one word are counted one by one.

    Args:
        text: The text.
        limit: The most words that are no more.
        words: Offsets of words that are already split; they count as they are given.
    """
    if max(len(text), len(words or ())) <= limit:
        return False
    unspaced = _HAS_UNSPACED.search(text) is not None
    runs = (match.span() for match in _WORD.finditer(text)) if words is None else iter(words)
    count = 0
    for begin, end in runs:
        parts = _PART.finditer(text, begin, end) if unspaced and words is None else ()
        lengths = [part.end() - part.start() for part in parts] or [end - begin]
        count += sum(-(-length // _LONGEST_WORD) for length in lengths)
        if count > limit:
            return True
    return False


def check_length(document: Document, max_document_words: int) -> None:
    """Raises `DocumentError` when a document has more words than that; see `has_more_words`."""
    if has_more_words(document.text, max_document_words, document.words):
        raise DocumentError(
            f"{document.name}: more than {max_document_words:,} words (max_document_words); split it into documents "
            "of its chapters, or raise the limit if the memory is there"
        )


def _find_words(text: str) -> list[tuple[int, int]]:
    offsets = [match.span() for match in _WORD.finditer(text)]
    if text.isascii():
        return offsets
    if _HAS_UNSPACED.search(text):
        offsets = [part.span() for begin, end in offsets for part in _PART.finditer(text, begin, end)]
    within = {i for match in _CLUSTER.finditer(text) for i in range(match.start() + 1, match.end())}
    if not within:
        return offsets
    joined: list[tuple[int, int]] = []
    for begin, end in offsets:
        if joined and joined[-1][1] == begin and begin in within:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined
