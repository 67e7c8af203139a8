"""What brackets and initials say of spans, as numbers that two spans have in common."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter

import numpy as np

from ..utils.word_lists import SMALL_WORDS
from .brackets import Bracket, find_brackets
from .span_index import SpanIndex, words_within
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
    _label_places(labels, brackets, text, spans)
    forms = _FormIndex(words.form)
    long_forms = [(i, bracket.long_form) for i, bracket in enumerate(brackets) if bracket.long_form is not None]
    terms = [(i, term) for i, bracket in enumerate(brackets) if bracket.defines for term in bracket.terms]
    for column, named in ((LONG, long_forms), (SHORT, terms)):
        _label_forms(labels[:, column], named, brackets, text, words, forms, index)
    _label_initials(labels, text, words, index)
    return labels


class _Sorted:
    """Finds numbers by their size.

    Args:
        values: The numbers.
    """

    def __init__(self, values: np.ndarray) -> None:
        self._order = np.argsort(values, kind="stable")
        self._values = values[self._order]

    def rows(self, least: int, most: int) -> np.ndarray:
        """Where those stand that are neither less nor more; in no order."""
        first, stop = np.searchsorted(self._values, [least, most + 1])
        return self._order[first:stop]


class _FormIndex:
    """Finds sequences of word forms without looking at all words.

    Args:
        forms: The word forms of a text.
    """

    def __init__(self, forms: np.ndarray) -> None:
        self._forms = forms
        self._places = _Sorted(forms)
        self._counts = np.bincount(forms)

    def find(self, sequence: Sequence[int]) -> np.ndarray:
        """Returns where a sequence (not empty) stands, in no order."""
        # Many names begin with the same word; few have all their words in common.
        rarest = int(np.argmin(self._counts[list(sequence)]))
        found = self._places.rows(sequence[rarest], sequence[rarest]) - rarest
        found = found[(found >= 0) & (found <= len(self._forms) - len(sequence))]
        for i, form in enumerate(sequence):
            found = found[self._forms[found + i] == form]
        return found


def _label_places(labels: np.ndarray, brackets: list[Bracket], text: str, spans: SpanTable) -> None:
    """Marks what stands directly before brackets and in them."""
    begin, end = spans.offsets[:, 0], spans.offsets[:, 1]
    begins, ends = _Sorted(begin), _Sorted(end)
    # Of brackets in a row, which all stand behind the same words, the last one counts.
    last_of = {bracket.before: number for number, bracket in enumerate(brackets)}
    bares = {before: _bare_end(text, before) for before in last_of}
    for before, number in sorted(last_of.items(), key=itemgetter(1)):
        labels[ends.rows(bares[before], before), BEFORE] = number
    for number, bracket in enumerate(brackets):
        if bracket.long_form is not None:
            first, last = bracket.long_form
            near = begins.rows(first - len("the "), first)
            labels[near[(end[near] <= last) & (end[near] >= bares[bracket.before])], LONG] = number
        for term_begin, term_end in bracket.terms:
            near = begins.rows(bracket.content[0], term_begin)
            labels[near[(end[near] <= bracket.content[1]) & (end[near] >= term_end)], INSIDE] = number


def _bare_end(text: str, end: int) -> int:
    """The end of a stretch without the quotation marks and full stops at it."""
    while end and text[end - 1] in _QUOTES:
        end -= 1
    return end


def _label_forms(
    column: np.ndarray,
    named: list[tuple[int, tuple[int, int]]],
    brackets: list[Bracket],
    text: str,
    words: WordTable,
    forms: _FormIndex,
    index: SpanIndex,
) -> None:
    """Marks the spans that have the words of names: with the last bracket before them, else with the first one of all.

    Args:
        column: Where to mark them.
        named: Numbers of brackets, ascending, and the offsets of words that they define or define a term for.
        brackets: All brackets.
        text: The text.
        words: Its words.
        forms: Their forms.
        index: The spans.
    """
    # Words that are named again are looked up once.
    same: dict[tuple[int, ...], list[int]] = {}
    for number, offsets in named:
        first, width = words_within(words, *offsets)
        if width:
            same.setdefault(tuple(words.form[first : first + width].tolist()), []).append(number)
    marks: list[tuple[int, int, int]] = []
    for sequence, numbers in same.items():
        width = len(sequence)
        numbers.sort(key=lambda number: brackets[number].content[0])
        since = [brackets[number].content[0] for number in numbers]
        inverted, last = ~min(numbers), np.maximum.accumulate(numbers).tolist()
        for place in forms.find(sequence).tolist():
            begin, end = int(words.begin[place]), int(words.end[place + width - 1])
            if any(character.isupper() or character.istitle() for character in text[begin:end]):
                so_far = bisect_right(since, begin)
                marks.append((last[so_far - 1] if so_far else inverted, place, width))
    # Other words may mark the same spans ("ECB", "the ECB"): the last bracket before a place comes last here, too. With
    # none before it, the number is inverted, which sorts it before all others, and the first bracket behind the rest.
    for mark, place, width in sorted(marks):
        column[index.rows_around(place, width)] = mark if mark >= 0 else ~mark


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
