"""Knowledge base: alias table, entity vectors and descriptions, memory-mapped."""

from __future__ import annotations

from .errors import KnowledgeBaseError
from .knowledge_base import KnowledgeBase
from .readers import AliasRow, read_alias_jsonl, read_jsonl

__all__ = ["AliasRow", "KnowledgeBase", "KnowledgeBaseError", "read_alias_jsonl", "read_jsonl"]
