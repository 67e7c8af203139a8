"""Candidate spans of a document: all short word sequences, or the ones that were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from .subwords import Subwords
from .words import NO_LETTERS, WordTable

__all__ = ["SpanTable", "enumerate_spans", "given_spans", "merge_spans"]


@dataclass(frozen=True)
class SpanTable:
    """Spans in reading order.

    Attributes:
        offsets: ``[S, 2]`` code points, end exclusive.
        begin: ``[S]`` first subword.
        end: ``[S]`` one past the last subword.
        word: ``[S]`` first word.
        width: ``[S]`` words.
        case: ``[S, 2]`` letter-case classes of the first and the last word.
        named: ``[S, 2]`` code points of the name in a span, from which all but `offsets` is taken: the span itself, but
            for some given mentions, see `given.read_inner_names`.

    Example:
        >>> from hf_corefel import CorefELProcessor, bundled_checkpoint
        >>> spans = CorefELProcessor.from_pretrained(bundled_checkpoint()).encode("Oslo is old.").spans
        >>> spans.offsets.tolist()[:2]
        [[0, 4], [0, 7]]
    """

    offsets: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    word: np.ndarray
    width: np.ndarray
    case: np.ndarray
    named: np.ndarray

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, rows: np.ndarray) -> SpanTable:
        """Return some of the spans, by number or by a mask."""
        return SpanTable(*(getattr(self, field.name)[rows] for field in fields(self)))


def enumerate_spans(
    words: WordTable, subwords: Subwords, max_words: int, max_subwords: int, *, across_lines: bool = False
) -> SpanTable:
    """Return all spans of whole words that are short enough.

    They begin and end at words that have subwords, hold a letter or a digit, and lie in one line (`WordTable.line`).

    Args:
        words: The words of the text.
        subwords: Its subwords.
        max_words: Longest span in words.
        max_subwords: Longest span in subwords.
        across_lines: Also those that leave a line within a block, of which only known names are mentions.
    """
    first, last = [], []
    starts = np.flatnonzero(subwords.first >= 0)
    stretch = words.block if across_lines else words.line
    # Words with letters or digits before each word.
    spoken = np.concatenate([[0], np.cumsum(words.case != NO_LETTERS)])
    for width in range(1, max_words + 1):
        i = starts[starts + width <= len(words)]
        j = i + width - 1
        fits = (subwords.last[j] >= 0) & (subwords.last[j] - subwords.first[i] < max_subwords)
        fits &= (stretch[i] == stretch[j]) & (spoken[j + 1] > spoken[i])
        first.append(i[fits])
        last.append(j[fits])
    i, j = np.concatenate(first), np.concatenate(last)
    order = np.lexsort((j, i))
    i, j = i[order], j[order]
    offsets = np.stack([words.begin[i], words.end[j]], axis=1)
    case = np.stack([words.case[i], words.case[j]], axis=1)
    return SpanTable(offsets, subwords.first[i], subwords.last[j] + 1, i, j - i + 1, case, offsets)


def given_spans(
    offsets: Sequence[tuple[int, int]], words: WordTable, subwords: Subwords
) -> tuple[SpanTable, list[tuple[int, int]]]:
    """Spans at given offsets, which need not be whole words: they take every subword that they touch.

    Returns:
        The spans in reading order, and the offsets that touch no subword and had to be dropped.
    """
    rows, dropped = [], []
    for begin, end in sorted(offsets):
        first = int(np.searchsorted(subwords.end, begin, side="right"))
        stop = int(np.searchsorted(subwords.begin, end, side="left"))
        word = int(np.searchsorted(words.end, begin, side="right"))
        word_stop = int(np.searchsorted(words.begin, end, side="left"))
        if stop <= first or word_stop <= word:
            dropped.append((begin, end))
        else:
            case = words.case[word], words.case[word_stop - 1]
            rows.append((begin, end, first, stop, word, word_stop - word, *case))
    table = np.array(rows, dtype=np.int64).reshape(-1, 8)
    begin, end, word, width = table[:, 2:6].T
    return SpanTable(table[:, :2], begin, end, word, width, table[:, 6:], table[:, :2]), dropped


def merge_spans(left: SpanTable, right: SpanTable) -> SpanTable:
    """Two span tables as one in reading order."""
    names = [field.name for field in fields(SpanTable)]
    parts = [np.concatenate([getattr(left, name), getattr(right, name)]) for name in names]
    order = np.lexsort((parts[0][:, 1], parts[0][:, 0]))
    return SpanTable(*(part[order] for part in parts))
