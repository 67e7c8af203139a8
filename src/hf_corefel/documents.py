"""The one schema of the package: what goes in (`Document`) and what comes out (`AnnotatedDocument`).

Offsets are Unicode code points into ``text``, end exclusive, so ``text[begin:end]`` is always the
surface of a mention. Everything here is plain Python; `to_dict` gives what ``json.dumps`` takes and
`from_dict` gives the same object back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "AnnotatedDocument",
    "Candidate",
    "Cluster",
    "Document",
    "DocumentError",
    "Mention",
]

Offsets = tuple[int, int]


class DocumentError(ValueError):
    """A document breaks the schema. The message names the document, the field and the fix."""


def _reject_unknown(data: Any, allowed: Iterable[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise DocumentError(f"{where}: expected an object with fields, got {type(data).__name__}")
    unknown = sorted(set(data) - set(allowed), key=str)
    if unknown:
        raise DocumentError(f"{where}: unknown field {unknown[0]!r}; the known fields are {', '.join(sorted(allowed))}")


def _require(data: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in data:
        raise DocumentError(f"{where}: missing field {name!r}")
    return data[name]


def _check_offsets(begin: Any, end: Any, where: str, length: int | None = None) -> None:
    for name, value in (("begin", begin), ("end", end)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise DocumentError(f"{where}.{name}: expected an integer code-point offset, got {value!r}")
    if begin < 0 or (length is not None and end > length):
        limit = "" if length is None else f" of {length} code points"
        raise DocumentError(f"{where}: offsets {begin}..{end} lie outside the text{limit}")
    if end <= begin:
        raise DocumentError(f"{where}: offsets {begin}..{end} are empty; end is exclusive and must exceed begin")


def _check_probability(value: Any, where: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and 0.0 <= value <= 1.0):
        raise DocumentError(f"{where}: expected a probability between 0 and 1 or None, got {value!r}")


def _check_string(value: Any, where: str, *, or_none: str = "") -> None:
    if not (value is None and or_none) and (not isinstance(value, str) or not value):
        raise DocumentError(f"{where}: expected a non-empty string{or_none}, got {value!r}")


def _prune(data: dict[str, Any], optional: Iterable[str]) -> dict[str, Any]:
    """Leave out optional fields that are None, so that files stay readable."""
    return {key: value for key, value in data.items() if key not in optional or value is not None}


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
        _reject_unknown(data, ("entity", "prior"), where)
        candidate = cls(_require(data, "entity", where), _require(data, "prior", where))
        _check_candidate(candidate, where)
        return cls(candidate.entity, float(candidate.prior))


def _check_candidate(candidate: Any, where: str) -> None:
    if not isinstance(candidate, Candidate):
        raise DocumentError(f"{where}: expected a Candidate, got {type(candidate).__name__}")
    _check_string(candidate.entity, f"{where}.entity")
    _check_probability(candidate.prior, f"{where}.prior")
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
        return _prune(data, ("text", *_MENTION_PROBABILITIES))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "mention") -> Mention:
        _reject_unknown(data, ("begin", "end", "text", *_MENTION_PROBABILITIES), where)
        _require(data, "begin", where), _require(data, "end", where)
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
        return _prune(data, ("probability", "url"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "cluster") -> Cluster:
        _reject_unknown(data, ("entity", "probability", "url", "mentions"), where)
        mentions = _list(_require(data, "mentions", where), f"{where}.mentions")
        return cls(
            tuple(Mention.from_dict(item, f"{where}.mentions[{i}]") for i, item in enumerate(mentions)),
            data.get("entity"),
            data.get("probability"),
            data.get("url"),
        )


def _or_empty(data: Mapping[str, Any], name: str) -> Any:
    return [] if data.get(name) is None else data[name]


def _list(value: Any, where: str) -> Sequence[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise DocumentError(f"{where}: expected a list, got {type(value).__name__}")
    return value


def _check_spans(spans: Iterable[Offsets], length: int, where: str, label: str) -> None:
    seen: dict[Offsets, int] = {}
    for i, (begin, end) in enumerate(spans):
        _check_offsets(begin, end, f"{where}[{i}]", length)
        first = seen.setdefault((begin, end), i)
        if first != i:
            raise DocumentError(f"{where}[{i}]: duplicate {label} {begin}..{end}, already at {where}[{first}]")


def _with_text(mention: Any, text: str, where: str) -> Mention:
    """The mention with its surface filled in; raises when a given surface differs from the text."""
    if not isinstance(mention, Mention):
        raise DocumentError(f"{where}: expected a Mention, got {type(mention).__name__}")
    _check_offsets(mention.begin, mention.end, where, len(text))
    surface = text[mention.begin : mention.end]
    if mention.text is not None and mention.text != surface:
        raise DocumentError(
            f"{where}.text: {mention.text!r} differs from the document's text {surface!r} at "
            f"{mention.begin}..{mention.end}; offsets count Unicode code points, end exclusive"
        )
    for name in _MENTION_PROBABILITIES:
        _check_probability(getattr(mention, name), f"{where}.{name}")
    values = {name: getattr(mention, name) for name in _MENTION_PROBABILITIES}
    return Mention(mention.begin, mention.end, surface, **values)


def _check_clusters(clusters: Any, text: str, where: str) -> list[Cluster]:
    owner: dict[Offsets, str] = {}
    checked = []
    for c, cluster in enumerate(_list(clusters, where)):
        here = f"{where}[{c}]"
        if not isinstance(cluster, Cluster):
            raise DocumentError(f"{here}: expected a Cluster, got {type(cluster).__name__}")
        if not cluster.mentions:
            raise DocumentError(f"{here}.mentions: a cluster needs at least one mention")
        _check_string(cluster.entity, f"{here}.entity", or_none=" or None for NIL")
        _check_string(cluster.url, f"{here}.url", or_none=" or None")
        _check_probability(cluster.probability, f"{here}.probability")
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


@dataclass(slots=True)
class Document:
    """A text and whatever is already known about it. Validated on construction.

    Attributes:
        text: The raw text.
        id: A name for messages and results.
        words: Offsets of pre-split words, in order and without overlap; None lets the processor split.
        mentions: Given mentions: exactly these are clustered and linked, none is pruned; None finds them.
        spans: Given candidate spans: the only ones considered, still pruned by the model.
        candidates: Given candidates of a span, by its offsets; they replace the knowledge base's there.
        clusters: The gold annotation, read by training and evaluation only; None when there is none.

    Raises:
        DocumentError: When offsets are out of range, empty or duplicated, a mention is in two clusters,
            words overlap, or a given surface differs from the text.
    """

    text: str
    id: str | None = None
    words: list[Offsets] | None = None
    mentions: list[Offsets] | None = None
    spans: list[Offsets] | None = None
    candidates: dict[Offsets, list[Candidate]] = field(default_factory=dict)
    clusters: list[Cluster] | None = None

    def __post_init__(self) -> None:
        where = self.name
        _check_head(self, where)
        length = len(self.text)
        for name, label in (("words", "word"), ("mentions", "mention"), ("spans", "span")):
            value = getattr(self, name)
            if value is not None:
                here = f"{where}.{name}"
                offsets = [_pair(item, f"{here}[{i}]") for i, item in enumerate(_list(value, here))]
                _check_spans(offsets, length, here, label)
                setattr(self, name, offsets)
        if self.mentions is not None and self.spans is not None:
            raise DocumentError(f"{where}.spans: give either mentions (kept as they are) or spans (pruned), not both")
        for i, (left, right) in enumerate(zip(self.words or [], (self.words or [])[1:], strict=False)):
            if right[0] < left[1]:
                raise DocumentError(f"{where}.words[{i + 1}]: begins at {right[0]} before the word before it ends")
        if not isinstance(self.candidates, Mapping):
            raise DocumentError(f"{where}.candidates: expected a dict by offsets, got {type(self.candidates).__name__}")
        for i, (span, listed) in enumerate(self.candidates.items()):
            here = f"{where}.candidates[{i}]"
            _check_offsets(*_pair(span, here), here, length)
            for k, candidate in enumerate(_list(listed, f"{here}.candidates")):
                _check_candidate(candidate, f"{here}.candidates[{k}]")
        if self.clusters is not None:
            self.clusters = _check_clusters(self.clusters, self.text, f"{where}.clusters")

    @property
    def name(self) -> str:
        """How messages call this document."""
        return _name_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types, as `from_dict` takes them."""
        candidates = [
            {"begin": begin, "end": end, "candidates": [item.to_dict() for item in items]}
            for (begin, end), items in self.candidates.items()
        ]
        data: dict[str, Any] = {"id": self.id, "text": self.text}
        for name in ("words", "mentions", "spans"):
            offsets = getattr(self, name)
            data[name] = None if offsets is None else [list(item) for item in offsets]
        data["candidates"] = candidates or None
        data["clusters"] = None if self.clusters is None else [cluster.to_dict() for cluster in self.clusters]
        return _prune(data, set(data) - {"text"})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Document:
        """Reads what `to_dict` writes.

        Raises:
            DocumentError: When a field is unknown, missing or invalid; the message says which and where.
        """
        where = _name_of(data)
        _reject_unknown(data, ("id", "text", "words", "mentions", "spans", "candidates", "clusters"), where)
        candidates: dict[Offsets, list[Candidate]] = {}
        for i, item in enumerate(_list(_or_empty(data, "candidates"), f"{where}.candidates")):
            here = f"{where}.candidates[{i}]"
            _reject_unknown(item, ("begin", "end", "candidates"), here)
            offsets = _pair((_require(item, "begin", here), _require(item, "end", here)), here)
            if offsets in candidates:
                raise DocumentError(f"{here}: duplicate span {offsets[0]}..{offsets[1]}")
            listed = _list(_require(item, "candidates", here), f"{here}.candidates")
            candidates[offsets] = [Candidate.from_dict(c, f"{here}.candidates[{k}]") for k, c in enumerate(listed)]
        return cls(
            text=_require(data, "text", where),
            candidates=candidates,
            clusters=None if data.get("clusters") is None else _clusters_of(data["clusters"], where),
            **{name: data.get(name) for name in ("id", "words", "mentions", "spans")},
        )


@dataclass(slots=True)
class AnnotatedDocument:
    """The result: every mention in exactly one cluster, every cluster with one entity or NIL.

    Attributes:
        text: The text that was annotated.
        clusters: In order of their first mention.
        id: The id of the document that was annotated.
        warnings: Whatever was dropped or changed on the way, in words.
    """

    text: str
    clusters: list[Cluster]
    id: str | None = None
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        where = _name_of(self)
        _check_head(self, where)
        for i, warning in enumerate(_list(self.warnings, f"{where}.warnings")):
            _check_string(warning, f"{where}.warnings[{i}]")
        self.clusters = _check_clusters(self.clusters, self.text, f"{where}.clusters")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types, as `from_dict` takes them."""
        clusters = [cluster.to_dict() for cluster in self.clusters]
        data = {"id": self.id, "text": self.text, "clusters": clusters, "warnings": list(self.warnings)}
        return _prune(data, ("id",))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AnnotatedDocument:
        """Reads what `to_dict` writes; raises `DocumentError` on unknown, missing or invalid fields."""
        where = _name_of(data)
        _reject_unknown(data, ("id", "text", "clusters", "warnings"), where)
        warnings = _list(_or_empty(data, "warnings"), f"{where}.warnings")
        clusters = _clusters_of(_require(data, "clusters", where), where)
        return cls(_require(data, "text", where), clusters, data.get("id"), list(warnings))


def _pair(value: Any, where: str) -> Offsets:
    if isinstance(value, Mention):
        value = value.offsets
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) != 2:
        raise DocumentError(f"{where}: expected [begin, end], got {value!r}")
    _check_offsets(value[0], value[1], where)
    return value[0], value[1]


def _name_of(document: Any) -> str:
    identifier = document.get("id") if isinstance(document, Mapping) else getattr(document, "id", None)
    return "document" if identifier is None else f"document {identifier!r}"


def _check_head(document: Document | AnnotatedDocument, where: str) -> None:
    if not isinstance(document.text, str):
        raise DocumentError(f"{where}.text: expected a string, got {type(document.text).__name__}")
    if document.id is not None and not isinstance(document.id, str):
        raise DocumentError(f"{where}.id: expected a string or None, got {document.id!r}")


def _clusters_of(value: Any, where: str) -> list[Cluster]:
    listed = _list(value, f"{where}.clusters")
    return [Cluster.from_dict(item, f"{where}.clusters[{i}]") for i, item in enumerate(listed)]
