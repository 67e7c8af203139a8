"""The one error of knowledge bases."""

from __future__ import annotations

__all__ = ["KnowledgeBaseError"]


class KnowledgeBaseError(ValueError):
    """A knowledge base, or what it is built from, is invalid. The message names the place and the fix.

    Example:
        >>> from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
        >>> try:
        ...     KnowledgeBase.from_pretrained("no/such/folder/at/all")
        ... except (KnowledgeBaseError, OSError) as error:
        ...     print("there is none")
        there is none
    """
