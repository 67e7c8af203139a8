"""Knowledge base: alias table, entity vectors and descriptions, memory-mapped. Imports no torch."""

from __future__ import annotations

from .errors import KnowledgeBaseError
from .fallback import Fallback, fold
from .knowledge_base import KnowledgeBase, Vectorizer
from .projection import Projection
from .readers import AliasRow, read_alias_jsonl, read_jsonl

__all__ = [
    "AliasRow",
    "Fallback",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "Projection",
    "Vectorizer",
    "fold",
    "read_alias_jsonl",
    "read_jsonl",
]
