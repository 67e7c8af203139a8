"""Who says a span, and which of the speakers it means, as numbers that two spans have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..documents.speaker_turns import Turn
from ..utils.word_lists import NAME_DETERMINERS, word_set
from .span_index import SpanIndex, words_within
from .spans import SpanTable
from .words import WordTable

__all__ = ["NUM_SPEAKER_LABELS", "label_speakers"]

SPEAKER, PERSON = range(2)
NUM_SPEAKER_LABELS = 2

_SPEAKER_WORDS = word_set("i me my mine myself")
_LISTENER_WORDS = word_set("you your yours yourself")
# A mention that ends with a speaker's name may have so many words before it ("Federal Chancellor Angela Merkel").
_MOST_BEFORE = 4


def label_speakers(text: str, words: WordTable, spans: SpanTable, turns: Sequence[Turn]) -> np.ndarray:
    """Returns numbers ``[S, 2]`` of the speaker of each span, and of the speaker that it means; -1 for nobody.

    A span is said in the innermost turn around it. "I", "me", "my" mean who says them; "you" and "your" mean the other
    one of two speakers, else who spoke before this turn, at the first turn who speaks after it. A span that ends with
    words of one speaker's name, and of no other's, means that one ("Anna", "Berg" and "Mayor Anna Berg" of a speaker
    "Anna Berg"). Speakers of whom one has all words of the other's name, as no third has, are one.

    Args:
        text: The text.
        words: Its words.
        spans: The S candidate spans.
        turns: Who says what, in reading order, as `Document.speakers` has it.
    """
    labels = np.full((len(spans), NUM_SPEAKER_LABELS), -1, dtype=np.int64)
    if not turns or not len(spans) or not len(words):
        return labels
    names = [tuple(turn.speaker.casefold().split()) for turn in turns]
    numbers = _number(names)
    speakers = [numbers[name] for name in names]
    begin, end = spans.offsets[:, 0], spans.offsets[:, 1]
    # Turns stand in reading order, inner ones after those around them.
    for turn, speaker in zip(turns, speakers, strict=True):
        labels[(begin >= turn.begin) & (end <= turn.end), SPEAKER] = speaker
    index = SpanIndex(text, words, spans)
    surfaces = [text[b:e] for b, e in zip(words.begin.tolist(), words.end.tolist(), strict=True)]
    _label_names(labels, surfaces, numbers, index)
    for t, turn in enumerate(turns):
        listener = _listener(turns, speakers, t)
        first, width = words_within(words, turn.begin, turn.end)
        for i in range(first, first + width):
            word = surfaces[i].casefold()
            # "I." in a list and "US" are no pronouns; a capital "I" is the only one that English has.
            if word in _SPEAKER_WORDS and (word != "i" or surfaces[i] == "I"):
                labels[index.rows(i, 1), PERSON] = speakers[t]
            elif word in _LISTENER_WORDS:
                labels[index.rows(i, 1), PERSON] = listener
    return labels


def _number(names: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """Numbers of names, given as their words; a name whose words one other name has, and no third, is that one's."""
    distinct = sorted(set(names), key=lambda name: (-len(name), names.index(name)))
    numbers: dict[tuple[str, ...], int] = {}
    for name in distinct:
        holders = {numbers[other] for other in numbers if set(name) < set(other)}
        numbers[name] = holders.pop() if len(holders) == 1 else len(numbers)
    return numbers


def _listener(turns: Sequence[Turn], speakers: Sequence[int], t: int) -> int:
    others = set(speakers) - {speakers[t]}
    if len(others) == 1:
        return others.pop()
    if not others:
        return -1
    # Not across what a quotation within this turn says.
    before = [speakers[k] for k in range(t) if turns[k].end <= turns[t].begin]
    if before:
        return before[-1] if before[-1] != speakers[t] else -1
    after = [speakers[k] for k in range(t + 1, len(turns)) if turns[k].begin >= turns[t].end]
    return after[0] if after and after[0] != speakers[t] else -1


def _label_names(
    labels: np.ndarray, surfaces: list[str], numbers: dict[tuple[str, ...], int], index: SpanIndex
) -> None:
    """Marks the spans that end with words of a speaker's name."""
    owners: dict[str, set[int]] = {}
    for name, number in numbers.items():
        for word in name:
            owners.setdefault(word.strip(".,'’"), set()).add(number)

    def owners_of(i: int) -> set[int]:
        # A name begins with a capital letter; "MERKEL:" and "Merkel" are one.
        return owners.get(surfaces[i].casefold(), set()) if not surfaces[i][:1].islower() else set()

    i = 0
    while i < len(surfaces):
        if not owners_of(i):
            i += 1
            continue
        stop = i + 1
        shared = owners_of(i)
        while stop < len(surfaces) and shared & owners_of(stop):
            shared &= owners_of(stop)
            stop += 1
        if len(shared) == 1:
            number = next(iter(shared))
            for first in range(max(0, i - _MOST_BEFORE), stop):
                if first < i and not _may_precede(surfaces[first:i]):
                    continue
                labels[index.rows_around(first, stop - first), PERSON] = number
        i = stop


def _may_precede(before: list[str]) -> bool:
    """Whether words before a name may be a title of it: with capital letters, or a determiner, but no other signs."""
    return before[0] != "." and all(
        word[0].isupper() or word == "." or word.casefold() in NAME_DETERMINERS for word in before
    )
