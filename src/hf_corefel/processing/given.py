"""The spans of a document that brings some, and what its reader should know of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from .inner_names import inner_names
from .spans import SpanTable, enumerate_spans, given_spans, merge_spans
from .subwords import Subwords
from .words import WordTable

__all__ = ["choose_spans", "describe_given", "describe_overlaps", "read_inner_names"]


def choose_spans(
    text: str,
    words: WordTable,
    subwords: Subwords,
    max_words: int,
    max_subwords: int,
    *,
    mentions: Sequence[tuple[int, int]] | None = None,
    spans: Sequence[tuple[int, int]] | None = None,
    candidates: Collection[tuple[int, int]] = (),
    known: Callable[[list[str]], np.ndarray] | None = None,
) -> tuple[SpanTable, list[str]]:
    """The candidate spans of a document: the given ones, else all short ones and those with candidates of their own.

    Args:
        text: The text.
        words: Its words.
        subwords: Its subwords.
        max_words: Longest span that is not given, in words.
        max_subwords: The same in subwords.
        mentions: Given mentions.
        spans: Given candidate spans, where there are no given mentions.
        candidates: Spans that candidates are given for.
        known: Tells of surfaces whether each is a known name; such a one may go from one line to the next where that is
            not sure to be the end of something. None: no name is known.

    Returns:
        The spans in reading order, and what to say of those that were given: which were dropped, cut a word or a
        subword, look alike, cross, nest, or bring candidates for nothing.
    """
    if mentions is None and spans is None:
        table = enumerate_spans(words, subwords, max_words, max_subwords)
        if known is not None and words.has_loose_borders:
            table = _with_names_across_lines(text, words, subwords, max_words, max_subwords, known)
        there = set(map(tuple, table.offsets.tolist())) if candidates else set()
        added, messages = _place(text, [span for span in candidates if span not in there], words, subwords)
        return (merge_spans(table, added) if len(added) else table), messages
    given = mentions if mentions is not None else spans or ()
    table, messages = _place(text, given, words, subwords)
    if mentions is not None:
        messages += describe_overlaps(text, table.offsets)
    kind = "spans" if mentions is None else "mentions"
    unused = [_name(text, *span) for span in sorted(set(candidates) - set(given))]
    return table, messages + [f"{name}: its candidates are unused, it is none of the given {kind}" for name in unused]


def _with_names_across_lines(
    text: str,
    words: WordTable,
    subwords: Subwords,
    max_words: int,
    max_subwords: int,
    known: Callable[[list[str]], np.ndarray],
) -> SpanTable:
    table = enumerate_spans(words, subwords, max_words, max_subwords, across_lines=True)
    kept = words.line[table.word] == words.line[table.word + table.width - 1]
    across = np.flatnonzero(~kept)
    kept[across] = known([text[begin:end] for begin, end in table.offsets[across].tolist()])
    return table.take(kept)


def read_inner_names(
    text: str, spans: SpanTable, words: WordTable, subwords: Subwords, known: Callable[[list[str]], np.ndarray]
) -> SpanTable:
    """Let given mentions that no table has be read as the known name inside them.

    Recognisers differ in what they take for part of a name: "the United States", "Merkel's", "Chancellor Merkel".
    Such a mention stays where it is given and gets the vector and the candidates of the name.

    Args:
        text: The text.
        spans: The given mentions.
        words: The words of the text.
        subwords: Its subwords.
        known: Tells of surfaces whether each is a known name.
    """
    begins, ends = spans.offsets[:, 0], spans.offsets[:, 1]
    whole = known([text[b:e] for b, e in spans.offsets.tolist()]) if len(spans) else np.zeros(0, dtype=bool)
    inner: dict[int, tuple[int, int]] = {}
    for row in np.flatnonzero(~whole).tolist():
        begin, end = int(begins[row]), int(ends[row])
        stretches = [(begin + b, begin + e) for b, e in inner_names(text[begin:end])]
        found = np.flatnonzero(known([text[b:e] for b, e in stretches])).tolist() if stretches else []
        if found:
            inner[row] = stretches[found[0]]
    # Where words are given, they need not cover the name.
    _, wordless = given_spans(list(inner.values()), words, subwords)
    inner = {row: place for row, place in inner.items() if place not in set(wordless)}
    if not inner:
        return spans
    places = [inner.get(row, (begin, end)) for row, (begin, end) in enumerate(spans.offsets.tolist())]
    read, _ = given_spans(places, words, subwords)
    # In the order of the names inside; back to that of the mentions.
    order = np.lexsort((np.array(places)[:, 1], np.array(places)[:, 0]))
    return replace(read.take(np.argsort(order, kind="stable")), offsets=spans.offsets)


def _place(
    text: str, given: Sequence[tuple[int, int]], words: WordTable, subwords: Subwords
) -> tuple[SpanTable, list[str]]:
    table, dropped = given_spans(given, words, subwords)
    messages = [f"{_name(text, *span)} holds no word and was dropped" for span in dropped]
    return table, messages + describe_given(text, table, words, subwords)


def describe_given(text: str, spans: SpanTable, words: WordTable, subwords: Subwords) -> list[str]:
    """Says which given spans cut a word or a subword, and which have the same subwords.

    A span that begins or ends inside a word stays as it is given; the model reads every subword that it touches, so
    that its vector may tell of more than its text. Spans with the same subwords differ to the model by their letter
    case and number of words at most.

    Args:
        text: The text.
        spans: The given spans, from `given_spans`.
        words: The words of the text.
        subwords: Its subwords.

    Returns:
        Messages that name offsets and surfaces, in reading order.
    """
    messages = []
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    rows = zip(spans.offsets.tolist(), spans.begin.tolist(), spans.end.tolist(), strict=True)
    for (begin, end), first, stop in rows:
        cut = _cut_words(text, begin, end, words)
        around = text[subwords.begin[first] : begin].strip() or text[end : subwords.end[stop - 1]].strip()
        if cut:
            what = "the word " + " and the word ".join(map(repr, cut))
            messages.append(f"{_name(text, begin, end)} cuts {what}; the model reads every subword that it touches")
        elif around:
            subword = text[subwords.begin[first] : subwords.end[stop - 1]].strip()
            messages.append(
                f"{_name(text, begin, end)} cuts a subword of the tokenizer; the model reads all of {subword!r}"
            )
        other = seen.setdefault((first, stop), (begin, end))
        if other != (begin, end):
            pair = f"{_name(text, *other)} and {_name(text, begin, end)}"
            messages.append(f"{pair} have the same subwords; the model can hardly tell them apart")
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
