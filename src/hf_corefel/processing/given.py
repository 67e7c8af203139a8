"""What a reader should know of the spans that were given: where they cut, cross, nest, or cannot be told apart."""

from __future__ import annotations

import numpy as np

from .pieces import Pieces
from .spans import SpanTable
from .words import WordTable

__all__ = ["describe_given", "describe_overlaps"]


def describe_given(text: str, spans: SpanTable, words: WordTable, pieces: Pieces) -> list[str]:
    """Says which given spans cut a word or a piece, and which have the same pieces.

    A span that begins or ends inside a word stays as it is given; the model reads every piece that it touches, so that
    its vector may tell of more than its text. Spans with the same pieces differ to the model by their letter case and
    number of words at most.

    Args:
        text: The text.
        spans: The given spans, from `given_spans`.
        words: The words of the text.
        pieces: Its pieces.

    Returns:
        Messages that name offsets and surfaces, in reading order.
    """
    messages = []
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    rows = zip(spans.offsets.tolist(), spans.begin.tolist(), spans.end.tolist(), strict=True)
    for (begin, end), first, stop in rows:
        cut = _cut_words(text, begin, end, words)
        around = text[pieces.begin[first] : begin].strip() or text[end : pieces.end[stop - 1]].strip()
        if cut:
            what = "the word " + " and the word ".join(map(repr, cut))
            messages.append(f"{_name(text, begin, end)} cuts {what}; the model reads every piece that it touches")
        elif around:
            piece = text[pieces.begin[first] : pieces.end[stop - 1]].strip()
            messages.append(
                f"{_name(text, begin, end)} cuts a piece of the tokenizer; the model reads all of {piece!r}"
            )
        other = seen.setdefault((first, stop), (begin, end))
        if other != (begin, end):
            pair = f"{_name(text, *other)} and {_name(text, begin, end)}"
            messages.append(f"{pair} have the same pieces; the model can hardly tell them apart")
    return messages


def describe_overlaps(text: str, offsets: np.ndarray) -> list[str]:
    """Says how many given mentions cross or lie within others, with an example of each.

    Args:
        text: The text.
        offsets: ``[S, 2]`` code points of the mentions.
    """
    crossing, nested = [], []
    around: list[tuple[int, int]] = []
    for begin, end in sorted(map(tuple, offsets.tolist()), key=lambda span: (span[0], -span[1])):
        around = [span for span in around if span[1] > begin]
        crossing += [((begin, end), span) for span in around if span[1] < end][:1]
        nested += [((begin, end), span) for span in around if span[1] >= end][-1:]
        around.append((begin, end))
    messages = []
    for found, verb in ((crossing, "cross others"), (nested, "lie within others")):
        if found:
            inner, outer = (_name(text, *span) for span in found[0])
            messages.append(f"given mentions that {verb}: {len(found)}, first {inner} and {outer}; all were kept")
    return messages


def _cut_words(text: str, begin: int, end: int, words: WordTable) -> list[str]:
    """The words in which a span begins or ends."""
    rows = []
    for at in (begin, end):
        word = int(np.searchsorted(words.end, at, side="right"))
        if word < len(words) and words.begin[word] < at:
            rows.append(word)
    return [text[words.begin[word] : words.end[word]] for word in dict.fromkeys(rows)]


def _name(text: str, begin: int, end: int) -> str:
    return f"span {begin}..{end} ({text[begin:end]!r})"
