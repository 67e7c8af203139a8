"""The one error of the knowledge base."""

from __future__ import annotations

from ..candidates.errors import KnowledgeBaseError

__all__ = ["KnowledgeBaseError"]
