"""The result of one document: its clusters, their mentions, and what is said of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from ..documents import Alternative, AnnotatedDocument, Cluster, Document, Mention, Parent
from ..documents.schema import RESULT_FIELDS
from ..heads import HeadMarginals
from ..processing.encoded_document import EncodedDocument
from ..resolving import resolve_text
from .annotation_options import AnnotationOptions
from .clusters import DecodedCluster, clusters_by_name, same_rows
from .whole_clusterings import WholeClusterings

__all__ = ["BatchLinks", "DecodedDocument", "LinkProbability", "ListedLinks", "ResultMaker", "hidden_fields"]


def hidden_fields(document: Document) -> list[str]:
    """Return a warning about fields of a row that its result cannot have, for results have such fields themselves."""
    # Every result has warnings: those of one that is annotated again are of no use any more.
    names = sorted((set(document.extra) & RESULT_FIELDS) - {"warnings"})
    return [f"fields that are called as those of results were left out: {', '.join(names)}"] if names else []


def _below(probability: float, least: float) -> str:
    """The probability with four digits, or as many as show that it is below the least one."""
    digits = next((n for n in range(4, 17) if float(f"{probability:.{n}f}") < least), 17)
    return f"{probability:.{digits}f}"


class LinkProbability(ABC):
    """What a head says of the links of a document."""

    @abstractmethod
    def __call__(self, span: int, entity: int | None) -> float:
        """P(the cluster of a span links to an entity row, or to none)."""

    @abstractmethod
    def rows(self, spans: Sequence[int]) -> list[int]:
        """The rows of all entities that some spans may link to, and maybe others, one for each name."""

    def mean(self, spans: Sequence[int], entity: int | None) -> float:
        """The mean over the spans of a cluster."""
        return sum(self(span, entity) for span in spans) / len(spans)


class BatchLinks(LinkProbability):
    """What a head says of the links of document b of a batch.

    Args:
        marginals: The head's.
        b: The document.
        names: What each entity is called.
    """

    def __init__(self, marginals: HeadMarginals, b: int, names: Sequence[str]) -> None:
        entities = marginals.entities
        self._column = {row: e for e, row in enumerate(entities.entity_rows[b].tolist()) if row >= 0}
        self._same = same_rows(self._column, names)
        self._linked = entities.probability[b].clamp(0.0, 1.0).tolist()
        self._nil = entities.nil[b].clamp(0.0, 1.0).tolist()

    def __call__(self, span: int, entity: int | None) -> float:
        """P(the cluster of a span links to an entity row, or to none)."""
        if entity is None:
            return self._nil[span]
        # At most one of the entities of one name is the cluster's.
        return min(1.0, sum(self._linked[span][self._column[row]] for row in self._same[entity]))

    def rows(self, spans: Sequence[int]) -> list[int]:
        """The rows of the entities that are a candidate of any retained span, one for each name."""
        return [row for row, same in self._same.items() if row == same[0]]


class ListedLinks(LinkProbability):
    """The same of a long document, whose spans have few entities in reach each.

    Args:
        linked: For each span the probabilities of entity rows.
        nil: ``[N]`` that of none.
        names: What each entity is called.
    """

    def __init__(self, linked: Sequence[dict[int, float]], nil: np.ndarray, names: Sequence[str]) -> None:
        self._linked, self._nil = linked, nil.clip(0.0, 1.0).tolist()
        self._same = same_rows(sorted({row for of_span in linked for row in of_span}), names)

    def __call__(self, span: int, entity: int | None) -> float:
        """P(the cluster of a span links to an entity row, or to none)."""
        if entity is None:
            return self._nil[span]
        of_span = self._linked[span]
        return min(1.0, sum(of_span.get(row, 0.0) for row in self._same.get(entity, ())))

    def rows(self, spans: Sequence[int]) -> list[int]:
        """The rows of all entities that some spans may link to, one for each name."""
        found = {row for span in spans for row in self._linked[span]}
        return [row for row in sorted({self._same[row][0] for row in found})]


@dataclass(frozen=True)
class DecodedDocument:
    """What was decoded of the N retained spans of a document.

    Attributes:
        offsets: Code points of each, empty for padding.
        found: Its probability of being a mention.
        edge: The probability of its decoded parent.
        link: The probabilities of its links.
        parents: Its decoded parent, in the numbering of `hf_corefel.heads.base`.
        candidates: The entity rows of its candidates, -1 on padding.
        warnings: What is to be said of the result beside the document's own warnings.
    """

    offsets: list[Any]
    found: list[float]
    edge: list[float]
    link: LinkProbability
    parents: list[int]
    candidates: list[list[int]]
    warnings: list[str] = field(default_factory=list)


class ResultMaker:
    """Makes the result of one document.

    Args:
        document: The document as it was encoded.
        names: What each of its entities is called; those of one name are one.
        decoded: What was decoded of it.
        url: Where a reader finds an entity.
        options: What else the result holds.
        whole: Its whole clusterings, where something asks for them.
    """

    def __init__(
        self,
        document: EncodedDocument,
        names: Sequence[str],
        decoded: DecodedDocument,
        url: Callable[[str], str | None],
        options: AnnotationOptions,
        whole: WholeClusterings | None = None,
    ) -> None:
        self._document, self._text = document, document.document.text
        self._url, self._options = url, options
        self._whole = whole
        self._required = frozenset() if whole is None else whole.required
        self._required_links = frozenset() if whole is None else whole.required_links
        self._separate = frozenset() if whole is None else whole.separate
        self._names = names
        self._offsets, self._found, self._edge = decoded.offsets, decoded.found, decoded.edge
        self._link = decoded.link
        self._parents, self._candidates = decoded.parents, decoded.candidates
        self._warnings = [*document.warnings, *decoded.warnings]

    def make(self, decoded: list[DecodedCluster]) -> AnnotatedDocument:
        """The result, with its clusters, their mentions and what is said of them in reading order."""
        # Retained spans follow their pieces, which several spans may share, as two characters of Chinese do.
        ordered = [
            replace(cluster, spans=tuple(sorted(cluster.spans, key=self._offsets.__getitem__)))
            for cluster in clusters_by_name(decoded, self._names, self._separate)
        ]
        ordered.sort(key=lambda cluster: self._offsets[cluster.spans[0]])
        clusters = [cluster for item in ordered if (cluster := self._cluster(item)) is not None]
        # A cluster may have lost its first mention.
        clusters.sort(key=lambda cluster: cluster.mentions[0].offsets)
        if self._whole is not None and self._whole.required and not self._whole.constrained[1]:
            self._warnings.append(
                "the constraints are fulfilled, but maybe not in the best way: not all structures were searched"
            )
        source = self._document.document
        self._warnings += hidden_fields(source)
        result = AnnotatedDocument(self._text, clusters, source.id, self._warnings, extra=source.extra)
        if self._options.resolved_text:
            result.resolved_text = resolve_text(result)
        if self._whole is not None:
            if count := self._options.samples:
                seed = self._options.seed
                generator = None if seed is None else torch.Generator().manual_seed(seed)
                result.samples = self._whole.samples(count, generator)
            if count := self._options.clusterings:
                result.clusterings = self._whole.clusterings(count)
                if not result.clusterings:
                    result.warnings.append("clusterings: the search found none that fulfils the constraints")
        return result

    def _cluster(self, decoded: DecodedCluster) -> Cluster | None:
        """The cluster; None when all of its mentions are too improbable."""
        row, probability = decoded.entity_row, self._link.mean(decoded.spans, decoded.entity_row)
        least = self._options.min_probability
        if row is not None and probability < least and not self._required_links & set(decoded.spans):
            first = self._mention(decoded.spans[0], row)
            self._warnings.append(
                f"the link of {first.text!r} {first.begin}..{first.end} and its cluster to "
                f"{self._document.entities[row]!r} has probability {_below(probability, least)}, below min_probability "
                f"{least}: "
                "it became NIL"
            )
            row, probability = None, self._link.mean(decoded.spans, None)
        mentions = [mention for n in decoded.spans if self._is_kept(n, mention := self._mention(n, row))]
        if not mentions:
            return None
        entity = None if row is None else self._document.entities[row]
        url = None if entity is None else self._url(entity)
        return Cluster(tuple(mentions), entity, probability, url, self._alternatives(decoded.spans))

    def _is_kept(self, n: int, mention: Mention) -> bool:
        assert mention.probability is not None
        least = self._options.min_probability
        if self._document.keep_all or n in self._required or mention.probability >= least:
            return True
        self._warnings.append(
            f"the mention {mention.text!r} {mention.begin}..{mention.end} has probability "
            f"{_below(mention.probability, least)}, below min_probability {least}: it was dropped"
        )
        return False

    def _mention(self, n: int, row: int | None) -> Mention:
        begin, end = self._offsets[n]
        probabilities = self._found[n], self._edge[n], self._link(n, row)
        parent = self._parent(n) if self._options.evidence else None
        return Mention(begin, end, self._text[begin:end], *probabilities, parent=parent)

    def _parent(self, n: int) -> Parent:
        """The decoded parent of retained span n (numbering of `heads.base`)."""
        parent, size = self._parents[n], len(self._parents)
        if 0 <= parent < size:
            begin, end = self._offsets[parent]
            return Parent("mention", begin, end, self._text[begin:end])
        if parent > size:
            return Parent("entity", entity=self._document.entities[self._candidates[n][parent - size - 1]])
        # A given mention that the linking head takes for none has no parent; like those of the root it is NIL.
        return Parent("root")

    def _alternatives(self, spans: Sequence[int]) -> tuple[Alternative, ...] | None:
        if not self._options.top_k:
            return None
        rows: list[int | None] = [None, *self._link.rows(spans)]
        listed = [
            Alternative(None if row is None else self._document.entities[row], self._link.mean(spans, row))
            for row in rows
        ]
        # An entity that no mention of the cluster can reach is no alternative.
        possible = [item for item in listed if item.probability > 0.0]
        possible.sort(key=lambda item: (-item.probability, item.entity or ""))
        return tuple(possible[: self._options.top_k])
