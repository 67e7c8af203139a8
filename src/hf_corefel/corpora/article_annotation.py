"""The annotation of a document whose text need not be there, for counting."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..documents import Candidate, Cluster, Offsets

__all__ = ["ArticleAnnotation"]


@dataclass(frozen=True, slots=True)
class ArticleAnnotation:
    """The annotation of an article; its text need not be there.

    Attributes:
        id: The article's name.
        tags: The splits that it is in, ``all`` among them.
        clusters: As in `Document`; the surfaces are the annotation's own and are not compared with a text.
        candidates: The corpus' own candidate lists of the mentions, by offsets; empty where it has none.
        text: The content when the file holds it, else None.
        words: Offsets of its words where the corpus has tokens, else None.

    Example:
        >>> from hf_corefel.corpora import ArticleAnnotation
        >>> ArticleAnnotation("DW_1", ("train",), []).clusters
        []
    """

    id: str
    tags: tuple[str, ...]
    clusters: list[Cluster]
    candidates: dict[Offsets, list[Candidate]] = field(default_factory=dict)
    text: str | None = None
    words: list[Offsets] | None = None
