"""Mentions, clusters of mentions, and candidates: the parts of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .checks import (
    DocumentError,
    Offsets,
    check_list,
    check_offsets,
    check_probability,
    check_string,
    check_wikidata,
    or_none,
    prune,
    reject_unknown,
    require,
)
from .plain_values import advice, is_missing, plain, plain_name, plain_whole
from .types import AlternativeResult, CandidateData, ClusterData, MentionData, ParentResult

__all__ = [
    "PARENT_KINDS",
    "Alternative",
    "Candidate",
    "Cluster",
    "Mention",
    "Parent",
    "check_candidate",
    "check_clusters",
    "check_pair",
    "clusters_from",
]

PARENT_KINDS = ("root", "mention", "entity")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a surface form may stand for.

    Attributes:
        entity: Identifier of the entity in the knowledge base (a Wikipedia title with underscores).
        prior: p(entity | surface), between 0 and 1.

    Example:
        >>> from hf_corefel import Candidate
        >>> Candidate("Oslo", 0.8).to_dict()
        {'entity': 'Oslo', 'prior': 0.8}
    """

    entity: str
    prior: float

    def to_dict(self) -> CandidateData:
        return {"entity": self.entity, "prior": self.prior}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "candidate") -> Candidate:
        reject_unknown(data, ("entity", "prior"), where)
        return check_candidate(cls(require(data, "entity", where), require(data, "prior", where)), where)


def check_candidate(candidate: Any, where: str) -> Candidate:
    """The candidate in plain form; raises unless the value is a `Candidate` with a name and a prior."""
    if not isinstance(candidate, Candidate):
        raise DocumentError(f"{where}: expected a Candidate, got {type(candidate).__name__}")
    entity = check_string(plain_name(candidate.entity), f"{where}.entity")
    return Candidate(entity, float(check_probability(candidate.prior, f"{where}.prior", or_none="")))


@dataclass(frozen=True, slots=True)
class Parent:
    """What a mention hangs from in the decoded tree.

    Attributes:
        kind: ``"root"`` (the mention begins a NIL cluster), ``"mention"`` (it follows another mention) or
            ``"entity"`` (it is linked by a candidate of its own).
        begin: First code point of the parent, if that is a mention; otherwise None.
        end: One past its last code point.
        text: Its surface.
        entity: Identifier of the parent, if that is an entity; otherwise None.

    Example:
        >>> from hf_corefel import Parent
        >>> Parent("entity", entity="Oslo").to_dict()
        {'kind': 'entity', 'entity': 'Oslo'}
    """

    kind: str
    begin: int | None = None
    end: int | None = None
    text: str | None = None
    entity: str | None = None

    @property
    def offsets(self) -> Offsets | None:
        """Offsets of the mention that is the parent; None when the parent is no mention."""
        return None if self.begin is None or self.end is None else (self.begin, self.end)

    def to_dict(self) -> ParentResult:
        return prune({name: getattr(self, name) for name in _PARENT_FIELDS}, _PARENT_FIELDS)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "parent") -> Parent:
        reject_unknown(data, _PARENT_FIELDS, where)
        require(data, "kind", where)
        # Parents that are no mentions have no offsets, so these are a column with gaps.
        return cls(**{name: plain_whole(or_none(data, name)) for name in data})


_PARENT_FIELDS = ("kind", "begin", "end", "text", "entity")


def _parent_in(parent: Any, mention: Mention, text: str, where: str) -> Parent:
    """The parent with its surface filled in; raises when it does not say what its kind must say."""
    if not isinstance(parent, Parent):
        raise DocumentError(f"{where}: expected a Parent, got {type(parent).__name__}")
    kind = plain(parent.kind)
    if not isinstance(kind, str) or kind not in PARENT_KINDS:
        kinds = ", ".join(map(repr, PARENT_KINDS))
        raise DocumentError(f"{where}.kind: expected one of {kinds}, got {kind!r}")
    if parent.kind != "mention":
        for name in ("begin", "end", "text"):
            if getattr(parent, name) is not None:
                raise DocumentError(f"{where}.{name}: leave it out, the parent is of kind {parent.kind!r}")
    if parent.kind == "entity":
        return Parent(kind, entity=check_string(plain_name(parent.entity), f"{where}.entity"))
    if parent.entity is not None:
        raise DocumentError(f"{where}.entity: leave it out, the parent is of kind {parent.kind!r}")
    if parent.kind != "mention":
        return Parent(kind)
    held = _with_text(Mention(parent.begin, parent.end, parent.text), text, where)  # type: ignore[arg-type]
    if held.offsets == mention.offsets:
        raise DocumentError(f"{where}: {held.begin}..{held.end} is the mention itself; a parent is another mention")
    return Parent(kind, held.begin, held.end, held.text)


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
        parent: What it hangs from in the decoded tree; None unless evidence was asked for.

    Example:
        >>> from hf_corefel import Mention
        >>> Mention(0, 4, "Oslo").offsets
        (0, 4)
    """

    begin: int
    end: int
    text: str | None = None
    probability: float | None = None
    edge_probability: float | None = None
    link_probability: float | None = None
    parent: Parent | None = None

    @property
    def offsets(self) -> Offsets:
        return self.begin, self.end

    def to_dict(self) -> MentionData:
        data = {name: getattr(self, name) for name in ("begin", "end", "text", *_MENTION_PROBABILITIES)}
        data["parent"] = None if self.parent is None else self.parent.to_dict()
        return prune(data, ("text", *_MENTION_PROBABILITIES, "parent"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "mention") -> Mention:
        reject_unknown(data, ("begin", "end", "text", *_MENTION_PROBABILITIES, "parent"), where)
        require(data, "begin", where), require(data, "end", where)
        parent = or_none(data, "parent")
        return cls(**{**data, "parent": None if parent is None else Parent.from_dict(parent, f"{where}.parent")})


@dataclass(frozen=True, slots=True)
class Alternative:
    """An entity, or NIL, that a cluster may have.

    Attributes:
        entity: Identifier of the entity, or None for NIL.
        probability: P(the cluster has it), the mean over the mentions of the cluster.
        wikidata: The Wikidata id of the entity, such as ``Q585``; None when unknown or NIL.

    Example:
        >>> from hf_corefel import Alternative
        >>> Alternative(None, 0.25).to_dict()
        {'entity': None, 'probability': 0.25}
    """

    entity: str | None
    probability: float
    wikidata: str | None = None

    def to_dict(self) -> AlternativeResult:
        data = {"entity": self.entity, "probability": self.probability, "wikidata": self.wikidata}
        return prune(data, ("wikidata",))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "alternative") -> Alternative:
        reject_unknown(data, ("entity", "probability", "wikidata"), where)
        return cls(require(data, "entity", where), require(data, "probability", where), or_none(data, "wikidata"))


def _check_alternative(alternative: Any, where: str) -> Alternative:
    if not isinstance(alternative, Alternative):
        raise DocumentError(f"{where}: expected an Alternative, got {type(alternative).__name__}")
    entity = check_string(plain_name(alternative.entity), f"{where}.entity", or_none=" or None for NIL")
    probability = check_probability(alternative.probability, f"{where}.probability", or_none="")
    return Alternative(entity, probability, check_wikidata(alternative.wikidata, f"{where}.wikidata"))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Mentions of one thing, with its entity.

    Attributes:
        mentions: At least one mention; in results by offsets, begin before end.
        entity: Identifier of the entity, or None for NIL (nothing in the knowledge base).
        probability: P(entity or NIL), the mean of the mentions' link probabilities; None in gold data.
        url: Where a reader finds the entity; None when unknown or NIL.
        alternatives: The most probable entities, NIL among them, by descending probability; None unless asked for.
        wikidata: The Wikidata id of the entity, such as ``Q585``; None when unknown or NIL.
        type: What the entity is, as the knowledge base says: ``"person"``, ``"place"`` … ; None when unknown or NIL.

    Example:
        >>> from hf_corefel import Cluster, Mention
        >>> cluster = Cluster((Mention(0, 4), Mention(15, 18)), "Oslo", wikidata="Q585", type="place")
        >>> [mention.offsets for mention in cluster.mentions], cluster.entity, cluster.wikidata, cluster.type
        ([(0, 4), (15, 18)], 'Oslo', 'Q585', 'place')
    """

    mentions: tuple[Mention, ...]
    entity: str | None = None
    probability: float | None = None
    url: str | None = None
    alternatives: tuple[Alternative, ...] | None = None
    wikidata: str | None = None
    type: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mentions", tuple(self.mentions))
        if self.alternatives is not None:
            object.__setattr__(self, "alternatives", tuple(self.alternatives))

    def to_dict(self) -> ClusterData:
        data: dict[str, Any] = {name: getattr(self, name) for name in ("entity", *_CLUSTER_FACTS)}
        data["mentions"] = [mention.to_dict() for mention in self.mentions]
        if self.alternatives is not None:
            data["alternatives"] = [alternative.to_dict() for alternative in self.alternatives]
        return prune(data, _CLUSTER_FACTS)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "cluster") -> Cluster:
        reject_unknown(data, ("entity", *_CLUSTER_FACTS, "mentions", "alternatives"), where)
        mentions = check_list(require(data, "mentions", where), f"{where}.mentions")
        return cls(
            tuple(_mention_from(item, f"{where}.mentions[{i}]") for i, item in enumerate(mentions)),
            data.get("entity"),
            data.get("probability"),
            or_none(data, "url"),
            None if or_none(data, "alternatives") is None else _alternatives_from(data["alternatives"], where),
            or_none(data, "wikidata"),
            or_none(data, "type"),
        )


# What may be said of a cluster beside its entity and its mentions.
_CLUSTER_FACTS = ("probability", "url", "wikidata", "type")


def _mention_from(item: Any, where: str) -> Mention:
    """A mention from its data or, as metrics take it, from ``[begin, end]``."""
    item = plain(item)
    return Mention(*check_pair(item, where)) if isinstance(item, list | tuple) else Mention.from_dict(item, where)


def _alternatives_from(value: Any, where: str) -> tuple[Alternative, ...]:
    listed = check_list(value, f"{where}.alternatives")
    return tuple(Alternative.from_dict(item, f"{where}.alternatives[{i}]") for i, item in enumerate(listed))


def _with_text(mention: Any, text: str, where: str) -> Mention:
    """The mention with its surface filled in; raises when a given surface differs from the text."""
    if not isinstance(mention, Mention):
        raise DocumentError(f"{where}: expected a Mention, got {type(mention).__name__}")
    begin, end = check_offsets(mention.begin, mention.end, where, len(text))
    surface, given = text[begin:end], plain(mention.text)
    if not is_missing(given) and given != surface:
        raise DocumentError(
            f"{where}.text: {given!r} differs from the document's text {surface!r} at "
            f"{begin}..{end}; offsets count Unicode code points, end exclusive"
        )
    values = {name: check_probability(getattr(mention, name), f"{where}.{name}") for name in _MENTION_PROBABILITIES}
    parent = None if mention.parent is None else _parent_in(mention.parent, mention, text, f"{where}.parent")
    return Mention(begin, end, surface, **values, parent=parent)


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
        values: dict[str, Any] = {
            "entity": check_string(plain_name(cluster.entity), f"{here}.entity", or_none=" or None for NIL"),
            "url": check_string(cluster.url, f"{here}.url", or_none=" or None"),
            "probability": check_probability(cluster.probability, f"{here}.probability"),
            "wikidata": check_wikidata(cluster.wikidata, f"{here}.wikidata"),
            "type": check_string(cluster.type, f"{here}.type", or_none=" or None"),
        }
        if cluster.alternatives is not None:
            listed = enumerate(cluster.alternatives)
            values["alternatives"] = tuple(_check_alternative(a, f"{here}.alternatives[{k}]") for k, a in listed)
        mentions = []
        for m, given in enumerate(cluster.mentions):
            spot = f"{here}.mentions[{m}]"
            mention = _with_text(given, text, spot)
            mentions.append(mention)
            if mention.offsets in owner:
                first = owner[mention.offsets]
                kind = "duplicate mention" if first.startswith(here + ".") else "mention in two clusters"
                raise DocumentError(f"{spot}: {kind}, {mention.begin}..{mention.end} is already at {first}")
            owner[mention.offsets] = spot
        checked.append(replace(cluster, mentions=tuple(mentions), **values))
    return checked


def clusters_from(value: Any, where: str) -> list[Cluster]:
    """Clusters from their data; raises on unknown, missing or invalid fields."""
    listed = check_list(value, f"{where}.clusters")
    return [Cluster.from_dict(item, f"{where}.clusters[{i}]") for i, item in enumerate(listed)]


def check_pair(value: Any, where: str) -> Offsets:
    """The offsets of a mention, of ``[begin, end]`` or of an object with them; raises when they are no offsets.

    An object has ``begin`` or, as those of token classification pipelines, ``start``; what else it has is not read.
    """
    if isinstance(value, Mention):
        value = value.offsets
    value = plain(value)
    if isinstance(value, Mapping):
        begin = next((name for name in ("begin", "start") if name in value), None)
        if begin is None or "end" not in value:
            raise DocumentError(f"{where}: expected [begin, end] or an object with begin and end, got {dict(value)!r}")
        value = [value[begin], value["end"]]
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) != 2:
        raise DocumentError(f"{where}: expected [begin, end], got {value!r}{advice(value)}")
    return check_offsets(value[0], value[1], where)
