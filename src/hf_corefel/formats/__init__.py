"""Files of documents: JSON lines, which are read back as they were written, and pages for people."""

from __future__ import annotations

from .html import render_html, write_html
from .jsonl import read_jsonl, write_jsonl

__all__ = ["read_jsonl", "render_html", "write_html", "write_jsonl"]
