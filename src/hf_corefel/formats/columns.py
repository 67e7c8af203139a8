"""What formats of columns share: words, sentences, and the brackets of mentions at words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..documents import Offsets
from .writer import AnyDocument, Losses, clusters_of, given_words

__all__ = ["CHANGED_TURNS", "CUT", "Columns", "changed_turns", "columns_of", "one_field"]

CHANGED_TURNS = "turns of speakers that become others, as each word or sentence has one speaker"
CUT = "mentions that do not begin and end with words"
_CROSSING = "mentions that cross another one of their cluster"
_WHITE = re.compile(r"\s")


@dataclass(frozen=True)
class Columns:
    """A document as words in sentences, with the clusters whose mentions open and close at each word.

    Attributes:
        words: Offsets of the words in code points.
        sentences: Numbers of each sentence's first word, and one past that of its last.
        opening: By a word's number, the clusters of the mentions of several words that begin there, outer ones first.
        closing: The same for those that end there, inner ones first.
        single: The same for mentions of that word alone.
    """

    words: list[Offsets]
    sentences: list[tuple[int, int]]
    opening: dict[int, list[int]] = field(default_factory=dict)
    closing: dict[int, list[int]] = field(default_factory=dict)
    single: dict[int, list[int]] = field(default_factory=dict)


def columns_of(document: AnyDocument, losses: Losses) -> Columns:
    """Return the columns of a document: its words if it was given any, else those that the model reads.

    Sentences end where `hf_corefel.processing.words.split_words` ends them, but never within a mention. What brackets
    at words cannot say is counted in ``losses``: mentions that cut a word, and those that cross another one of the same
    cluster, of which the one that begins first stays.
    """
    # Brings numpy and regex along, which other formats do not need.
    from ..processing.words import split_words

    table = split_words(document.text, given_words(document))
    words = list(zip(table.begin.tolist(), table.end.tolist(), strict=True))
    firsts = {begin: number for number, (begin, _) in enumerate(words)}
    lasts = {end: number for number, (_, end) in enumerate(words)}
    spans: list[tuple[int, int, int]] = []
    for c, cluster in enumerate(clusters_of(document)):
        own: list[tuple[int, int]] = []
        for mention in cluster.mentions:
            first, last = firsts.get(mention.begin), lasts.get(mention.end)
            if first is None or last is None:
                losses.count(CUT)
            else:
                own.append((first, last))
        retained = _without_crossing(own)
        losses.count(_CROSSING, len(own) - len(retained))
        spans += [(first, last, c) for first, last in retained]
    ends = table.ends_sentence.tolist()
    for first, last, _ in spans:
        ends[first:last] = [False] * (last - first)
    columns = Columns(words, _sentences(ends))
    for first, last, c in sorted(spans, key=lambda span: (span[0], -span[1], span[2])):
        if first == last:
            columns.single.setdefault(first, []).append(c)
        else:
            columns.opening.setdefault(first, []).append(c)
    for first, last, c in sorted(spans, key=lambda span: (span[1], -span[0], -span[2])):
        if first != last:
            columns.closing.setdefault(last, []).append(c)
    return columns


def one_field(value: str, blank: str, losses: Losses, kind: str) -> str:
    """Return what a column can hold: another sign in place of each white space, which is counted."""
    plain, number = _WHITE.subn(blank, value)
    losses.count(kind, bool(number))
    return plain


def _without_crossing(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, outer ones first, without those that share words with an earlier one and go beyond its end."""
    retained: list[tuple[int, int]] = []
    around: list[int] = []  # last words of those that are open
    for first, last in sorted(spans, key=lambda span: (span[0], -span[1])):
        while around and around[-1] < first:
            around.pop()
        if around and around[-1] < last:
            continue
        retained.append((first, last))
        around.append(last)
    return retained


def _sentences(ends: list[bool]) -> list[tuple[int, int]]:
    stops = [number + 1 for number, end in enumerate(ends) if end]
    if ends and (not stops or stops[-1] != len(ends)):
        stops.append(len(ends))
    return list(zip([0, *stops], stops, strict=False))


def changed_turns(turns: Iterable[tuple[int, int, str]], pieces: Iterable[tuple[int, int, str | None]]) -> int:
    """Return how many turns come back otherwise where each piece of the text has one speaker.

    Args:
        turns: Begin, end and speaker.
        pieces: The same for each piece in order; what one speaker says in a row is read as one turn.
    """
    runs: list[tuple[int, int, str | None]] = []
    for begin, end, speaker in pieces:
        if runs and runs[-1][2] == speaker:
            begin = runs.pop()[0]
        runs.append((begin, end, speaker))
    return sum(turn not in runs for turn in turns)
