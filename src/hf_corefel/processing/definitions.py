"""What brackets and initials say of spans, as numbers that two spans have in common."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from ..utils.word_lists import SMALL_WORDS
from .brackets import Bracket, find_brackets
from .span_index import SpanIndex, find_forms, words_within
from .spans import SpanTable
from .words import WordTable

__all__ = ["NUM_DEFINITION_LABELS", "label_definitions"]

BEFORE, INSIDE, LONG, SHORT, INITIALS, CAPITALS = range(6)
NUM_DEFINITION_LABELS = 6

_CAPITALS = re.compile(r"(?:[A-Z]\.){1,5}[A-Z]\.?|[A-Z](?:&?[A-Z]){1,5}s?|[A-Z][a-z][A-Z]{1,3}")
_MOST_CAPITALS = 300
_QUOTES = "\"“”„«»'‘’.,"


def label_definitions(text: str, words: WordTable, spans: SpanTable) -> np.ndarray:
    """Returns numbers ``[S, 6]`` by which two spans are known to be one another's names, -1 where there is none.

    Args:
        text: The text.
        words: Its words.
        spans: The S candidate spans.

    Returns:
        By column, in the order of the constants of this module: the bracket (`find_brackets`) right behind the span;
        the bracket that it is the term of; the bracket that defines a term for it, or for the same words elsewhere; the
        bracket that defined it as a term, which every place has where the term stands again: the last such bracket
        before it, else the first; the capitals that its words begin with ("ECB" for "European Central Bank"); the
        capitals that it is. Terms are compared by the forms of their words, but one with a capital letter is not found
        where there is none ("the company"). Spans may have a determiner and a possessive ending around these words.
    """
    labels = np.full((len(spans), NUM_DEFINITION_LABELS), -1, dtype=np.int64)
    if not len(spans) or not len(words):
        return labels
    index = SpanIndex(text, words, spans)
    brackets = find_brackets(text)
    for number, bracket in enumerate(brackets):
        _label_place(labels, number, bracket, text, spans)
    # In this order, so that the last bracket before a place, else the first one of all, comes last.
    places = [*reversed(range(len(brackets))), *range(len(brackets))]
    for turn, number in enumerate(places):
        bracket = brackets[number]
        since = bracket.content[0] if turn >= len(brackets) else 0
        if bracket.long_form is not None:
            _label_forms(labels[:, LONG], number, bracket.long_form, since, text, words, index)
            for term in bracket.terms:
                _label_forms(labels[:, SHORT], number, term, since, text, words, index)
    _label_initials(labels, text, words, index)
    return labels


def _label_place(labels: np.ndarray, number: int, bracket: Bracket, text: str, spans: SpanTable) -> None:
    """Marks what stands directly before a bracket and in it."""
    begin, end = spans.offsets[:, 0], spans.offsets[:, 1]
    bare = len(text[: bracket.before].rstrip(_QUOTES))
    labels[(end <= bracket.before) & (end >= bare), BEFORE] = number
    if bracket.long_form is not None:
        first, last = bracket.long_form
        labels[(end <= last) & (end >= bare) & (begin <= first) & (begin >= first - len("the ")), LONG] = number
    for term_begin, term_end in bracket.terms:
        inside = (begin >= bracket.content[0]) & (end <= bracket.content[1])
        labels[inside & (begin <= term_begin) & (end >= term_end), INSIDE] = number


def _label_forms(
    column: np.ndarray,
    number: int,
    offsets: tuple[int, int],
    since: int,
    text: str,
    words: WordTable,
    index: SpanIndex,
) -> None:
    """Marks the spans from the code point ``since`` on that have the words at the offsets."""
    first, width = words_within(words, *offsets)
    if not width:
        return
    for place in find_forms(words.form, words.form[first : first + width].tolist()):
        begin, end = int(words.begin[place]), int(words.end[place + width - 1])
        if begin >= since and any(character.isupper() or character.istitle() for character in text[begin:end]):
            column[index.rows_around(place, width)] = number


def _label_initials(labels: np.ndarray, text: str, words: WordTable, index: SpanIndex) -> None:
    """Marks abbreviations in capitals, and the runs of capitalised words that they are the initials of."""
    surfaces = [text[b:e] for b, e in zip(words.begin.tolist(), words.end.tolist(), strict=True)]
    numbers: dict[str, int] = {}
    for match in _CAPITALS.finditer(text):
        if (match.start() and text[match.start() - 1].isalnum()) or text[match.end() : match.end() + 1].isalnum():
            continue
        letters = "".join(character for character in match[0] if character.isalpha())
        letters = letters[:-1] if letters.endswith("s") else letters
        if len(numbers) >= _MOST_CAPITALS and letters not in numbers:
            break
        label = numbers.setdefault(letters.upper(), len(numbers))
        # The last full stop of "U.N." may end the sentence, too.
        for end in {match.end(), match.start() + len(match[0].rstrip("."))}:
            labels[index.rows_around(*words_within(words, match.start(), end)), CAPITALS] = label
    for skipped in (SMALL_WORDS, frozenset[str]()):
        # The words that count, and their initials as one string, in which abbreviations are looked up.
        counted = [i for i, word in enumerate(surfaces) if word[0].isalnum() and word not in skipped]
        initials = "".join(_initial(surfaces[i]) for i in counted)
        for letters, label in numbers.items():
            for match in re.finditer(f"(?={letters})", initials):
                run = counted[match.start() : match.start() + len(letters)]
                if _is_run(run, surfaces, words, text):
                    labels[index.rows_around(run[0], run[-1] - run[0] + 1), INITIALS] = label


def _initial(word: str) -> str:
    """The first letter as a capital; a sign that is in no abbreviation for what no initial is taken of."""
    letter = word[0].upper()
    return letter if len(letter) == 1 and letter.isascii() and letter.isalpha() else "-"


def _is_run(run: list[int], surfaces: list[str], words: WordTable, text: str) -> bool:
    """Whether the words stand together in one name: with capitals but for small words, nothing but these between."""
    for before, after in pairwise(run):
        between = surfaces[before + 1 : after]
        if any(word not in SMALL_WORDS and word not in "-&.‐‑–" for word in between):
            return False
        if "\n\n" in text[words.end[before] : words.begin[after]]:
            return False
    return all(surfaces[i][0].isupper() or surfaces[i] in SMALL_WORDS for i in run) and surfaces[run[0]][0].isupper()
