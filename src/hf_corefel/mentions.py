"""Mentions, clusters of mentions, and candidates: the parts of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .document_checks import (
    DocumentError,
    Offsets,
    check_list,
    check_offsets,
    check_probability,
    check_string,
    prune,
    reject_unknown,
    require,
)

__all__ = ["Candidate", "Cluster", "Mention", "check_candidate", "check_clusters", "check_pair", "clusters_from"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a surface form may stand for.

    Attributes:
        entity: Identifier of the entity in the knowledge base (a Wikipedia title with underscores).
        prior: p(entity | surface), between 0 and 1.
    """

    entity: str
    prior: float

    def to_dict(self) -> dict[str, Any]:
        return {"entity": self.entity, "prior": self.prior}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "candidate") -> Candidate:
        reject_unknown(data, ("entity", "prior"), where)
        candidate = cls(require(data, "entity", where), require(data, "prior", where))
        check_candidate(candidate, where)
        return cls(candidate.entity, float(candidate.prior))


def check_candidate(candidate: Any, where: str) -> None:
    """Raises unless the value is a `Candidate` with a name and a prior."""
    if not isinstance(candidate, Candidate):
        raise DocumentError(f"{where}: expected a Candidate, got {type(candidate).__name__}")
    check_string(candidate.entity, f"{where}.entity")
    check_probability(candidate.prior, f"{where}.prior")
    if candidate.prior is None:
        raise DocumentError(f"{where}.prior: expected a probability between 0 and 1, got None")


_MENTION_PROBABILITIES = ("probability", "edge_probability", "link_probability")


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of text that names something.

    Attributes:
        begin: First code point.
        end: One past the last code point.
        text: The surface, ``document.text[begin:end]``; filled in by the document when None.
        probability: P(the span is a mention), from the pruner; None in gold data.
        edge_probability: P(the span hangs from the parent that it has in the decoded tree).
        link_probability: P(the cluster of this mention has the entity, or NIL, that was decoded).
    """

    begin: int
    end: int
    text: str | None = None
    probability: float | None = None
    edge_probability: float | None = None
    link_probability: float | None = None

    @property
    def offsets(self) -> Offsets:
        return self.begin, self.end

    def to_dict(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in ("begin", "end", "text", *_MENTION_PROBABILITIES)}
        return prune(data, ("text", *_MENTION_PROBABILITIES))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "mention") -> Mention:
        reject_unknown(data, ("begin", "end", "text", *_MENTION_PROBABILITIES), where)
        require(data, "begin", where), require(data, "end", where)
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Mentions of one thing, with its entity.

    Attributes:
        mentions: At least one mention, in reading order.
        entity: Identifier of the entity, or None for NIL (nothing in the knowledge base).
        probability: P(entity or NIL), the mean of the mentions' link probabilities; None in gold data.
        url: Where a reader finds the entity; None when unknown or NIL.
    """

    mentions: tuple[Mention, ...]
    entity: str | None = None
    probability: float | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mentions", tuple(self.mentions))

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"entity": self.entity, "probability": self.probability, "url": self.url}
        data["mentions"] = [mention.to_dict() for mention in self.mentions]
        return prune(data, ("probability", "url"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "cluster") -> Cluster:
        reject_unknown(data, ("entity", "probability", "url", "mentions"), where)
        mentions = check_list(require(data, "mentions", where), f"{where}.mentions")
        return cls(
            tuple(Mention.from_dict(item, f"{where}.mentions[{i}]") for i, item in enumerate(mentions)),
            data.get("entity"),
            data.get("probability"),
            data.get("url"),
        )


def _with_text(mention: Any, text: str, where: str) -> Mention:
    """The mention with its surface filled in; raises when a given surface differs from the text."""
    if not isinstance(mention, Mention):
        raise DocumentError(f"{where}: expected a Mention, got {type(mention).__name__}")
    check_offsets(mention.begin, mention.end, where, len(text))
    surface = text[mention.begin : mention.end]
    if mention.text is not None and mention.text != surface:
        raise DocumentError(
            f"{where}.text: {mention.text!r} differs from the document's text {surface!r} at "
            f"{mention.begin}..{mention.end}; offsets count Unicode code points, end exclusive"
        )
    for name in _MENTION_PROBABILITIES:
        check_probability(getattr(mention, name), f"{where}.{name}")
    values = {name: getattr(mention, name) for name in _MENTION_PROBABILITIES}
    return Mention(mention.begin, mention.end, surface, **values)


def check_clusters(clusters: Any, text: str, where: str) -> list[Cluster]:
    """Clusters of a text with the surfaces of their mentions filled in; raises when they break the schema."""
    owner: dict[Offsets, str] = {}
    checked = []
    for c, cluster in enumerate(check_list(clusters, where)):
        here = f"{where}[{c}]"
        if not isinstance(cluster, Cluster):
            raise DocumentError(f"{here}: expected a Cluster, got {type(cluster).__name__}")
        if not cluster.mentions:
            raise DocumentError(f"{here}.mentions: a cluster needs at least one mention")
        check_string(cluster.entity, f"{here}.entity", or_none=" or None for NIL")
        check_string(cluster.url, f"{here}.url", or_none=" or None")
        check_probability(cluster.probability, f"{here}.probability")
        mentions = []
        for m, mention in enumerate(cluster.mentions):
            spot = f"{here}.mentions[{m}]"
            mentions.append(_with_text(mention, text, spot))
            if mention.offsets in owner:
                first = owner[mention.offsets]
                kind = "duplicate mention" if first.startswith(here + ".") else "mention in two clusters"
                raise DocumentError(f"{spot}: {kind}, {mention.begin}..{mention.end} is already at {first}")
            owner[mention.offsets] = spot
        checked.append(Cluster(tuple(mentions), cluster.entity, cluster.probability, cluster.url))
    return checked


def clusters_from(value: Any, where: str) -> list[Cluster]:
    """Clusters from their data; raises on unknown, missing or invalid fields."""
    listed = check_list(value, f"{where}.clusters")
    return [Cluster.from_dict(item, f"{where}.clusters[{i}]") for i, item in enumerate(listed)]


def check_pair(value: Any, where: str) -> Offsets:
    """The offsets of a mention or of ``[begin, end]``; raises when they are no offsets."""
    if isinstance(value, Mention):
        value = value.offsets
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) != 2:
        raise DocumentError(f"{where}: expected [begin, end], got {value!r}")
    check_offsets(value[0], value[1], where)
    return value[0], value[1]
