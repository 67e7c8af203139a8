"""Files of documents: what is read back is what was written."""

from __future__ import annotations

from .jsonl import read_jsonl, write_jsonl

__all__ = ["read_jsonl", "write_jsonl"]
