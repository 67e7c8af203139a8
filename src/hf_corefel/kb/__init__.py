"""Knowledge base: alias table, entity vectors and descriptions, memory-mapped. Imports no torch."""

from __future__ import annotations

from .errors import KnowledgeBaseError
from .fallback import Fallback, fold
from .hub import KNOWLEDGE_BASE_FOLDER
from .importers import End2EndFiles, read_counts, read_p_e_m, read_wikipedia2vec_text
from .knowledge_base import KnowledgeBase, Vectorizer
from .number_tables import COARSE_TYPES
from .projection import Projection
from .readers import AliasRow, read_alias_jsonl, read_jsonl

__all__ = [
    "COARSE_TYPES",
    "KNOWLEDGE_BASE_FOLDER",
    "AliasRow",
    "End2EndFiles",
    "Fallback",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "Projection",
    "Vectorizer",
    "fold",
    "read_alias_jsonl",
    "read_counts",
    "read_jsonl",
    "read_p_e_m",
    "read_wikipedia2vec_text",
]
