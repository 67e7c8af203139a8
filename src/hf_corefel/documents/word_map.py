"""Words of a text by their numbers: which word a character stands in, and where a word stands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from .checks import DocumentError, Offsets, check_list, check_string
from .plain_values import plain

__all__ = ["WordMap", "join_words"]


class WordMap:
    """Finds words by characters and characters by words; names of methods are those of a tokenizer's `BatchEncoding`.

    Args:
        words: Offsets of the words in code points, in order and without overlap.
    """

    def __init__(self, words: Iterable[Offsets]) -> None:
        self.words = list(words)
        self._begins = [begin for begin, _ in self.words]
        self._ends = [end for _, end in self.words]

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of_text(cls, text: str, words: Iterable[Offsets] | None = None) -> WordMap:
        """Return the map of a text's words; it is split as the model's processor does where none are given."""
        if words is None:
            from ..processing.words import split_words

            table = split_words(text)
            words = zip(table.begin.tolist(), table.end.tolist(), strict=True)
        return cls(words)

    def char_to_word(self, index: int) -> int | None:
        """Return the number of the word that a code point stands in; None where it is in none, as blanks are."""
        number = bisect_right(self._begins, index) - 1
        return number if number >= 0 and index < self._ends[number] else None

    def word_to_chars(self, number: int) -> Offsets:
        """Return begin and end of a word in code points."""
        return self.words[number]

    def chars_to_words(self, begin: int, end: int) -> tuple[int, int]:
        """Return the words that a piece of text touches: the number of the first, and one past that of the last.

        Both are equal where it touches none.
        """
        first = bisect_right(self._ends, begin)
        return first, max(first, bisect_left(self._begins, end))


def join_words(words: Sequence[str], spaces: Sequence[bool] | None = None) -> tuple[str, list[Offsets]]:
    """Return the text that words make, and their offsets in it.

    Args:
        words: The words, none of them empty.
        spaces: Whether a blank stands behind each word; when None, one stands between any two.

    Raises:
        DocumentError: When a word is no string or empty, or there is not one space for each word.
    """
    listed = check_list(words, "words")
    behind = [True] * len(listed) if spaces is None else [bool(plain(space)) for space in check_list(spaces, "spaces")]
    if len(behind) != len(listed):
        raise DocumentError(f"spaces: expected one for each of the {len(listed)} words, got {len(behind)}")
    parts: list[str] = []
    offsets: list[Offsets] = []
    at = 0
    for number, (word, space) in enumerate(zip(listed, behind, strict=True)):
        surface = check_string(word, f"words[{number}]")
        offsets.append((at, at + len(surface)))
        blank = " " if space and (spaces is not None or number + 1 < len(listed)) else ""
        parts += [surface, blank]
        at += len(surface) + len(blank)
    return "".join(parts), offsets
