"""The resolved text of a document, in which every mention stands by the name of its cluster."""

from __future__ import annotations

from .text import cluster_name, find_replacements, is_pronoun, readable_title, resolve_text

__all__ = ["cluster_name", "find_replacements", "is_pronoun", "readable_title", "resolve_text"]
