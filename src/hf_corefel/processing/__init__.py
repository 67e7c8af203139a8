"""From text to the arrays of one document: words, subwords, windows, spans."""

from __future__ import annotations

from .cores import span_cores
from .definitions import NUM_DEFINITION_LABELS, label_definitions
from .given import choose_spans, describe_given, describe_overlaps, read_inner_names
from .reading import Reading, read
from .spans import SpanTable, enumerate_spans, given_spans
from .speakers import NUM_SPEAKER_LABELS, label_speakers
from .subwords import Subwords, SubwordTokenizer
from .turns import read_speakers
from .windows import Windows, lay_out_windows
from .words import WordTable, check_length, has_more_words, split_words

__all__ = [
    "NUM_DEFINITION_LABELS",
    "NUM_SPEAKER_LABELS",
    "SubwordTokenizer",
    "Subwords",
    "Reading",
    "SpanTable",
    "Windows",
    "WordTable",
    "check_length",
    "choose_spans",
    "describe_given",
    "describe_overlaps",
    "enumerate_spans",
    "given_spans",
    "has_more_words",
    "lay_out_windows",
    "read",
    "read_inner_names",
    "label_definitions",
    "label_speakers",
    "read_speakers",
    "span_cores",
    "split_words",
]
