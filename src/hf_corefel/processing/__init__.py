"""From text to the arrays of one document: words, pieces, windows, spans."""

from __future__ import annotations

from .given import choose_spans, describe_given, describe_overlaps
from .pieces import Pieces, PieceTokenizer
from .spans import SpanTable, enumerate_spans, given_spans
from .windows import Windows, lay_out_windows
from .words import WordTable, split_words

__all__ = [
    "PieceTokenizer",
    "Pieces",
    "SpanTable",
    "Windows",
    "WordTable",
    "choose_spans",
    "describe_given",
    "describe_overlaps",
    "enumerate_spans",
    "given_spans",
    "lay_out_windows",
    "split_words",
]
