"""Words of a text, their letter case, and where sentences end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import regex

from ..documents import Document, DocumentError
from ..utils.characters import APOSTROPHES, DASHES
from .reading import Reading, read
from .structure import find_borders

__all__ = ["NO_LETTERS", "WordTable", "check_length", "has_more_words", "letter_case", "split_words"]

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
_SAME_SIGNS = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(DASHES, "-"))
_SENTENCE_END = frozenset(".!?…。！？")
# Code points of what `has_more_words` counts as one word: a run without a space may be as long as the text.
_LONGEST_WORD = 100
_CLOSERS = frozenset("\"'”’»)]*_")
# What a full stop shortens rather than ends, beside single letters and words that hold a full stop.
_SHORTENED = re.compile(
    "adm|al|apr|assn|aug|ave|bros|capt|cf|cmdr|co|col|corp|dec|dept|dr|ed|eg|est|etc|feb|fig|fr|ft|gen|gov|hon|inc|jan|"
    "jr|jul|jun|lt|ltd|maj|mar|messrs|mme|mlle|mr|mrs|ms|mt|mx|nov|oct|op|pp|prof|pres|rep|rev|sec|sen|sens|sept|"
    "sgt|sr|st|ste|supt|vol|vs",
    re.IGNORECASE,
)
# The letter-case class of words without letters or digits.
NO_LETTERS = 6


@dataclass(frozen=True)
class WordTable:
    """The words of a text.

    Attributes:
        begin: ``[M]`` first code points.
        end: ``[M]`` ends, exclusive.
        case: ``[M]`` letter-case classes, see `letter_case`.
        form: ``[M]`` numbers of the case-folded forms, by first occurrence.
        ends_sentence: ``[M]`` whether a sentence ends after the word.
        block: ``[M]`` numbers, ascending, of the stretches that no mention leaves (`structure.Borders.firm`).
        line: ``[M]`` numbers, ascending, of the stretches within them that only known names leave: where a line may be
            the end of something, and where a sentence ends.

    Example:
        >>> from hf_corefel.processing import read, split_words
        >>> words = split_words(read("Oslo is old."), None)
        >>> list(zip(words.begin.tolist(), words.end.tolist()))
        [(0, 4), (5, 7), (8, 11), (11, 12)]
    """

    begin: np.ndarray
    end: np.ndarray
    case: np.ndarray
    form: np.ndarray
    ends_sentence: np.ndarray
    block: np.ndarray
    line: np.ndarray

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def has_loose_borders(self) -> bool:
        """Whether any block has several lines."""
        return bool(((self.line[1:] != self.line[:-1]) & (self.block[1:] == self.block[:-1])).any())


def letter_case(word: str) -> int:
    """Class of a word: 0 lower, 1 Title, 2 UPPER, 3 one capital, 4 mIxed, 5 digits only, 6 no letters or digits."""
    if not any(character.isalpha() for character in word):
        return 5 if any(character.isdigit() for character in word) else NO_LETTERS
    if word.islower() or not any(character.isupper() or character.istitle() for character in word):
        return 0
    if word.isupper():
        return 2 if sum(character.isalpha() for character in word) > 1 else 3
    return 1 if word[0].isupper() and not any(character.isupper() for character in word[1:]) else 4


def split_words(text: str | Reading, words: Sequence[tuple[int, int]] | None = None) -> WordTable:
    """Splits a text into words, or describes the given ones.

    A word is a run of letters, digits and combining marks, a single character of Chinese or Japanese, or a single
    other sign. None begins or ends within an extended grapheme cluster: an emoji with its skin tone, a family, a flag
    or a keycap is one word. (A mark upon white space, which is no part of a word, is one by itself.) Underscores around
    a word are signs, within one they belong to it. Words are those of the plain form (`reading.read`), so one that a
    line's end cuts is whole, and invisible characters are none; their offsets are those of the text.

    Args:
        text: The text, or its plain form.
        words: Offsets of words that are already split; they stand as they are.
    """
    reading = read(text) if isinstance(text, str) else text
    source = reading.source
    if words is None:
        plain = np.array(_find_words(reading.text), dtype=np.int64).reshape(-1, 2)
        surfaces = [reading.text[b:e] for b, e in plain.tolist()]
        offsets = reading.to_source(plain)
    else:
        offsets = np.array(list(words), dtype=np.int64).reshape(-1, 2)
        # A given word may show nothing; it is still a word.
        surfaces = [read(source[b:e]).text or source[b:e] for b, e in offsets.tolist()]
    begin, end = offsets[:, 0], offsets[:, 1]
    case = np.array([letter_case(word) for word in surfaces], dtype=np.int64)
    forms: dict[str, int] = {}
    form = np.array([forms.setdefault(_form(word), len(forms)) for word in surfaces], dtype=np.int64)
    borders = find_borders(source)
    block, line = (
        np.searchsorted(np.array(places, dtype=np.int64), begin, side="right")
        for places in (borders.firm, borders.loose)
    )
    line = line + block
    ends, surely = _sentence_ends(source, offsets.tolist(), surfaces)
    ends[:-1] |= line[1:] != line[:-1]
    line[1:] += np.cumsum(surely[:-1])
    return WordTable(begin, end, case, form, ends, block, line)


def _form(word: str) -> str:
    """What words share that differ in letter case and accents only."""
    if word.isascii():
        return word.lower()
    marked = unicodedata.normalize("NFKD", word.translate(_SAME_SIGNS).casefold())
    return "".join(character for character in marked if unicodedata.category(character) != "Mn") or word


def _sentence_ends(source: str, offsets: list[list[int]], surfaces: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Whether a sentence ends after each word: for laying out windows, and surely enough to end a mention."""
    ends, surely = np.zeros(len(offsets), dtype=bool), np.zeros(len(offsets), dtype=bool)
    for i, ((b, e), word) in enumerate(zip(offsets, surfaces, strict=True)):
        if word[-1] not in _SENTENCE_END:
            continue
        following = offsets[i + 1][0] if i + 1 < len(offsets) else len(source)
        unspaced = word[-1] in "。！？"
        ends[i] = following > e or e - b > 1 or unspaced
        # Brackets and quotation marks that close belong to the sentence.
        last = i
        while last + 1 < len(offsets) and offsets[last + 1][0] == offsets[last][1] and surfaces[last + 1] in _CLOSERS:
            last += 1
        if last + 1 == len(offsets):
            continue
        gap, after = source[offsets[last][1] : offsets[last + 1][0]], surfaces[last + 1]
        begins = bool(gap) and not after[0].islower() and (after[0].isalnum() or after in "\"'“‘«([¿¡*_#")
        before = surfaces[i - 1] if i and offsets[i - 1][1] == b else ""
        short = word[-1] == "." and (
            len(before) < 2
            or _SHORTENED.fullmatch(before)
            or (before.lower() == "no" and after[0].isdigit())
            or (i > 1 and surfaces[i - 2] == "." and offsets[i - 2][1] == offsets[i - 1][0])
        )
        surely[last] = unspaced or (begins and not short)
    if len(ends):
        ends[-1] = True
    return ends, surely


def has_more_words(text: str, limit: int, words: Sequence[tuple[int, int]] | None = None) -> bool:
    """Return whether a text has more words than a limit, without splitting all of a text that is far beyond it.

    Words are those of `split_words`, and a longer one than 100 code points counts once for each 100, as what it costs
    does. The signs of an emoji that is one word, and accents that stand on no letter, are counted one by one.

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
    if "_" in text:
        offsets = [part for begin, end in offsets for part in _without_underscores(text, begin, end)]
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


def _without_underscores(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """A word without the underscores around it, each of which is a word of its own, as other signs are."""
    word = text[begin:end]
    first = end - len(word.lstrip("_"))
    last = max(begin + len(word.rstrip("_")), first)
    core = [(first, last)] if last > first else []
    return [*((i, i + 1) for i in range(begin, first)), *core, *((i, i + 1) for i in range(last, end))]
