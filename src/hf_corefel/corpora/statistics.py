"""Counts of a corpus: clusters and mentions with and without an entity, and how often candidates have the entity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..documents import AnnotatedDocument, Candidate, Cluster, Document, Offsets
from ..processing.words import split_words
from .article_annotation import ArticleAnnotation

__all__ = ["CandidateRecall", "CorpusStatistics", "corpus_statistics"]


@dataclass(frozen=True, slots=True)
class CandidateRecall:
    """How many linked mentions have the gold entity among their own candidates.

    Attributes:
        mentions: Linked mentions, whether or not they have candidates.
        listed: Those whose own list has the entity.
        first: Those whose own list has no candidate with a higher prior; of equal ones the first counts.
        in_cluster: Those where the list of a mention of their cluster has the entity, their own or another's. The
            difference to ``listed`` are the paper's hard cases (Zaporojets et al., 2022, Table 4).

    Example:
        >>> from hf_corefel.corpora import CandidateRecall
        >>> recall = CandidateRecall(mentions=10, listed=9, first=7, in_cluster=10)
        >>> recall.listed / recall.mentions
        0.9
    """

    mentions: int
    listed: int
    first: int
    in_cluster: int

    def share(self, number: int) -> float:
        """``number`` as a fraction of the linked mentions; 0 when there are none."""
        return number / self.mentions if self.mentions else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Counts and, as fractions, recall."""
        return {
            "mentions": self.mentions,
            "listed": self.listed,
            "first": self.first,
            "in_cluster": self.in_cluster,
            "recall": self.share(self.listed),
            "recall_first": self.share(self.first),
            "recall_in_cluster": self.share(self.in_cluster),
        }


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """The numbers of Zaporojets et al. (2022), Table 1, and a few more.

    Attributes:
        documents: Their number.
        texts: How many of them have their text.
        words: Words of those texts: the given ones, else as `split_words` splits.
        text_mentions: Mentions in those texts.
        linked_clusters: Clusters with an entity, once a document.
        nil_clusters: Clusters without.
        linked_mentions: Mentions of linked clusters.
        nil_mentions: Mentions of NIL clusters.
        candidates: None when no document has candidates of its own.

    Example:
        >>> from hf_corefel import Cluster, Document, Mention
        >>> from hf_corefel.corpora import corpus_statistics
        >>> counts = corpus_statistics([Document("Oslo is old.", clusters=[Cluster((Mention(0, 4),), "Oslo")])])
        >>> counts.linked_mentions, counts.nil_mentions
        (1, 0)
    """

    documents: int
    texts: int
    words: int
    text_mentions: int
    linked_clusters: int
    nil_clusters: int
    linked_mentions: int
    nil_mentions: int
    candidates: CandidateRecall | None = None

    @property
    def mentions_per_word(self) -> float | None:
        """Mentions a word in the documents that have their text; None when there is no word."""
        return self.text_mentions / self.words if self.words else None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types, for JSON."""
        numbers: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        numbers["mentions_per_word"] = self.mentions_per_word
        numbers["candidates"] = None if self.candidates is None else self.candidates.to_dict()
        return numbers


def corpus_statistics(documents: Iterable[Document | AnnotatedDocument | ArticleAnnotation]) -> CorpusStatistics:
    """Counts what a corpus holds, in one pass; gold annotation and predictions alike.

    Args:
        documents: Documents with clusters (those without count as documents only), or annotations without text.
    """
    counts = dict.fromkeys(CorpusStatistics.__dataclass_fields__, 0)
    recall = dict.fromkeys(CandidateRecall.__dataclass_fields__, 0)
    any_candidates = False
    for document in documents:
        clusters = document.clusters or []
        candidates = {} if isinstance(document, AnnotatedDocument) else document.candidates
        any_candidates = any_candidates or bool(candidates)
        counts["documents"] += 1
        if document.text is not None:
            counts["texts"] += 1
            counts["words"] += _number_of_words(
                document.text, None if isinstance(document, AnnotatedDocument) else document.words
            )
            counts["text_mentions"] += sum(len(cluster.mentions) for cluster in clusters)
        for cluster in clusters:
            kind = "nil" if cluster.entity is None else "linked"
            counts[f"{kind}_clusters"] += 1
            counts[f"{kind}_mentions"] += len(cluster.mentions)
            if cluster.entity is not None:
                _count_candidates(cluster, cluster.entity, candidates, recall)
    del counts["candidates"]
    return CorpusStatistics(**counts, candidates=CandidateRecall(**recall) if any_candidates else None)


def _number_of_words(text: str, words: list[Offsets] | None) -> int:
    return len(split_words(text)) if words is None else len(words)


def _count_candidates(
    cluster: Cluster, entity: str, candidates: dict[Offsets, list[Candidate]], recall: dict[str, int]
) -> None:
    lists = [candidates.get(mention.offsets, []) for mention in cluster.mentions]
    listed = sum(any(candidate.entity == entity for candidate in each) for each in lists)
    tops = [max(each, key=lambda candidate: candidate.prior).entity for each in lists if each]
    recall["mentions"] += len(lists)
    recall["listed"] += listed
    recall["first"] += sum(top == entity for top in tops)
    recall["in_cluster"] += len(lists) if listed else 0
