"""The name inside a mention that another recogniser has given: "the United States", "Merkel's", "Chancellor Merkel"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

__all__ = ["inner_names"]

_DETERMINER = re.compile(r"(?:the|a|an|this|that|these|those|our|their|his|her|its|my|your)\s+(?=\S)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=\w)(?:['’‘`´ʼ]s|(?<=[sxz])['’‘`´ʼ])\Z", re.IGNORECASE)
_AROUND = "\"'“”‘’«»„()[]{}<>*_,;:.!?"
_WORD = re.compile(r"\S+")
# What ties a name to the words before it: "Paris" is not what "University of Paris" means.
_TIE = re.compile(
    r"(?:of|in|at|for|on|to|from|by|with|and|or|de|la|le|du|der|die|das|von|van|del|di|da|al|el|[&–/-])", re.IGNORECASE
)


def inner_names(surface: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a mention that may be the name a table has, the nearest to the whole first.

    Without quotation marks and punctuation around it, without a possessive, without a determiner; then without the
    words before a name in it, one after the other, unless a preposition or conjunction ties the name to them. The
    whole surface is not among them.
    """
    seen = {(0, len(surface))}
    begin, end = 0, len(surface)
    for shorten in (_without_signs, _without_possessive, _without_signs, _without_determiner):
        begin, end = shorten(surface, begin, end)
        if begin < end and (begin, end) not in seen:
            seen.add((begin, end))
            yield begin, end
    words = list(_WORD.finditer(surface, begin, end))
    for before, word in pairwise(words):
        stretch = word.start(), end
        if not _TIE.fullmatch(before.group()) and word.group()[0].isalnum() and stretch not in seen:
            seen.add(stretch)
            yield stretch


def _without_signs(surface: str, begin: int, end: int) -> tuple[int, int]:
    """A full stop at the end stays where another one stands before it: "U.S."."""
    while begin < end and (surface[begin] in _AROUND or surface[begin].isspace()):
        begin += 1
    while end > begin and (surface[end - 1] in _AROUND or surface[end - 1].isspace()):
        if surface[end - 1] == "." and "." in surface[begin : end - 1]:
            break
        end -= 1
    return begin, end


def _without_possessive(surface: str, begin: int, end: int) -> tuple[int, int]:
    found = _POSSESSIVE.search(surface[begin:end])
    return begin, begin + found.start() if found else end


def _without_determiner(surface: str, begin: int, end: int) -> tuple[int, int]:
    found = _DETERMINER.match(surface, begin, end)
    return found.end() if found else begin, end
