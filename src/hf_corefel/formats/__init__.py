"""Formats of results: files that are read back as they were written, those of other projects, and pages for people.

Each format is a `Writer`, by its name in `FORMATS`; `write_documents` and ``hf-corefel`` write any of them.
"""

from __future__ import annotations

from .files import read_documents, write_documents
from .html import render_html, write_html
from .jsonl import read_jsonl, write_jsonl
from .registry import FORMATS, find_writer, format_of
from .writer import FormatLossWarning, Losses, Writer

__all__ = [
    "FORMATS",
    "FormatLossWarning",
    "Losses",
    "Writer",
    "find_writer",
    "format_of",
    "read_documents",
    "read_jsonl",
    "render_html",
    "write_documents",
    "write_html",
    "write_jsonl",
]
