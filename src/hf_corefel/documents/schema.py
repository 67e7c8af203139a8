"""The one schema of the package: what goes in (`Document`) and what comes out (`AnnotatedDocument`).

Offsets are Unicode code points into ``text``, end exclusive, so ``text[begin:end]`` is always the
surface of a mention. Everything here is plain Python; `to_dict` gives what ``json.dumps`` takes and
`from_dict` gives the same object back. Numbers, strings, arrays and missing values of other libraries (numpy, torch,
pandas, Arrow) are taken and become plain (`plain_values`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from .annotated_layers import AnnotatedLayers, check_layers
from .checks import (
    DocumentError,
    Offsets,
    check_head,
    check_list,
    check_object,
    check_offsets,
    check_spans,
    check_string,
    check_text,
    name_of,
    or_empty,
    or_none,
    prune,
    reject_unknown,
    require,
)
from .clusterings import Clustering, check_clusterings, clusterings_from
from .constraints import Constraints
from .evidence import Chain, chains_of, check_no_circle, parents_of, walk
from .extra_fields import ExtraFields
from .mentions import (
    Alternative,
    Candidate,
    Cluster,
    Mention,
    Parent,
    check_candidate,
    check_clusters,
    check_pair,
    clusters_from,
)
from .plain_values import plain, plain_whole
from .speaker_turns import Turn, check_turns
from .types import AnnotatedData, DocumentData, DocumentResult
from .views import ResultViews, as_result
from .word_map import WordMap, join_words

__all__ = [
    "MENTION_SCOPES",
    "Alternative",
    "AnnotatedDocument",
    "AnnotatedLayers",
    "Candidate",
    "Chain",
    "Cluster",
    "Clustering",
    "Constraints",
    "Document",
    "DocumentError",
    "Mention",
    "Offsets",
    "Parent",
    "Turn",
    "check_mention_scope",
]

# A scope that is added stands at the end: models number those that they have in this order.
MENTION_SCOPES = ("named", "all", "entities")


def check_mention_scope(value: Any, where: str) -> str | None:
    """The value in plain form; raises unless it is one of `MENTION_SCOPES` or None."""
    value = plain(value)
    if value is not None and (not isinstance(value, str) or value not in MENTION_SCOPES):
        choices = " or ".join(map(repr, MENTION_SCOPES))
        raise DocumentError(f"{where}: expected {choices}, or None for the model's default; got {value!r}")
    return value


_OFFSETS = ("words", "mentions", "spans")
_FIELDS = ("id", "text", *_OFFSETS, "candidates", "clusters", "mention_scope", "speakers", "annotated")
_RESULT_FIELDS = ("id", "text", "clusters", "warnings", "resolved_text", "word_offsets", "samples", "clusterings")
RESULT_FIELDS = frozenset(_RESULT_FIELDS)
"""What results have themselves: a row's other fields of these names cannot stand beside them."""
_CLUSTERINGS = ("samples", "clusterings")


@dataclass(slots=True)
class Document:
    """A text and whatever is already known about it. Validated on construction.

    Attributes:
        text: The raw text.
        id: A name for messages and results, a string or an integer; results have the same.
        words: Offsets of pre-split words, in order and without overlap; None lets the processor split.
        mentions: Given mentions: exactly these are clustered and linked, none is pruned; None finds them.
        spans: Given candidate spans: the only ones considered, still pruned by the model.
        candidates: Given candidates of a span, by its offsets; they replace the knowledge base's there.
        clusters: The gold annotation, read by training and evaluation only; None when there is none.
        mention_scope: Which mentions are wanted, and annotated in ``clusters``: ``"named"`` for names, with demonyms,
            dates and roles, as in DWIE and AIDA, ``"all"`` for every mention with pronouns and descriptions, as in GUM,
            or ``"entities"`` for names of people, places, organisations, works, products and events, without demonyms,
            dates or roles; None takes the model's default.
        speakers: Who says what, as `Turn`s or their dicts, for models with `CorefELConfig.use_speakers`; None reads
            turns and quotations off the text (`hf_corefel.processing.turns`), an empty list says that nobody speaks.
        annotated: Which layers of the gold annotation are there, as `AnnotatedLayers` or their dict; None for all of
            them. Training sums over what is not.
        extra: Other fields of the row that the document was made from. The model does not read them; they go back into
            `to_dict`, and `CorefELPipeline.annotate` and ``hf-corefel annotate`` carry them over to the result.

    Raises:
        DocumentError: When offsets are out of range, empty or duplicated, a mention is in two clusters,
            words overlap, turns cross, a given surface differs from the text, or there is no such mention scope or
            layer.

    Example:
        >>> from hf_corefel import Document
        >>> Document("Anna Berg met Moss.", mentions=[(0, 9)]).to_dict()
        {'text': 'Anna Berg met Moss.', 'mentions': [[0, 9]]}
    """

    text: str
    id: str | int | None = None
    words: list[Offsets] | None = None
    mentions: list[Offsets] | None = None
    spans: list[Offsets] | None = None
    candidates: dict[Offsets, list[Candidate]] = field(default_factory=dict)
    clusters: list[Cluster] | None = None
    mention_scope: str | None = None
    speakers: list[Turn] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    annotated: AnnotatedLayers | AnnotatedData | None = None

    def __post_init__(self) -> None:
        where = self.name
        check_head(self, where)
        self.mention_scope = check_mention_scope(self.mention_scope, f"{where}.mention_scope")
        length = len(self.text)
        for name, label in (("words", "word"), ("mentions", "mention"), ("spans", "span")):
            setattr(self, name, _pairs(getattr(self, name), length, f"{where}.{name}", label))
        if self.mentions is not None and self.spans is not None:
            raise DocumentError(f"{where}.spans: give either mentions (kept as they are) or spans (pruned), not both")
        _check_order(self.words, f"{where}.words")
        if not isinstance(self.candidates, Mapping):
            raise DocumentError(f"{where}.candidates: expected a dict by offsets, got {type(self.candidates).__name__}")
        candidates: dict[Offsets, list[Candidate]] = {}
        for i, (span, listed) in enumerate(self.candidates.items()):
            here = f"{where}.candidates[{i}]"
            offsets = check_pair(span, here)
            check_offsets(*offsets, here, length)
            # A mention and its offsets are two keys of the given dict.
            if offsets in candidates:
                raise DocumentError(f"{here}: duplicate span {offsets[0]}..{offsets[1]}")
            numbered = enumerate(check_list(listed, f"{here}.candidates"))
            candidates[offsets] = [check_candidate(item, f"{here}.candidates[{k}]") for k, item in numbered]
        self.candidates = candidates
        if self.clusters is not None:
            self.clusters = check_clusters(self.clusters, self.text, f"{where}.clusters")
        if self.speakers is not None:
            self.speakers = check_turns(self.speakers, length, f"{where}.speakers")
        self.annotated = check_layers(self.annotated, f"{where}.annotated")
        self.extra = _others(self.extra, _FIELDS)

    @property
    def name(self) -> str:
        """How messages call this document."""
        return name_of(self)

    @property
    def layers(self) -> AnnotatedLayers:
        """Which layers of the gold annotation are there."""
        return check_layers(self.annotated, f"{self.name}.annotated") or AnnotatedLayers()

    @classmethod
    def from_words(cls, words: Sequence[str], spaces: Sequence[bool] | None = None, **fields: Any) -> Document:
        """Return the document of a text that is split into words, as in corpora of tokens.

        Args:
            words: The words. Joined they are the text; offsets of mentions are those of this text.
            spaces: Whether a blank stands behind each word; when None, one stands between any two.
            **fields: The other fields of the document.

        Raises:
            DocumentError: When a word is no string or empty, there is not one space for each word, or a field is
                invalid.
        """
        text, offsets = join_words(words, spaces)
        return cls(text, words=offsets, **fields)

    def word_map(self) -> WordMap:
        """Return the words by their numbers: those given, or else those that the processor splits the text into."""
        return WordMap.of_text(self.text, self.words)

    def to_dict(self) -> DocumentData:
        """Plain Python types, as `from_dict` takes them."""
        candidates = [
            {"begin": begin, "end": end, "candidates": [item.to_dict() for item in items]}
            for (begin, end), items in self.candidates.items()
        ]
        data: dict[str, Any] = {"id": self.id, "text": self.text}
        for name in _OFFSETS:
            offsets = getattr(self, name)
            data[name] = None if offsets is None else [list(item) for item in offsets]
        data["candidates"] = candidates or None
        data["clusters"] = None if self.clusters is None else [cluster.to_dict() for cluster in self.clusters]
        data["mention_scope"] = self.mention_scope
        data["speakers"] = None if self.speakers is None else [turn.to_dict() for turn in self.speakers]
        data["annotated"] = None if self.annotated is None else self.layers.to_dict()
        return cast(DocumentData, {**prune(data, set(data) - {"text"}), **self.extra})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, extra: ExtraFields | None = None) -> Document:
        """Reads what `to_dict` writes, or a row of a dataset.

        Args:
            data: The fields. What a document does not have goes into its `extra`.
            extra: Collects the names of such fields over many rows; an `ExtraFieldWarning` names them when None.

        Raises:
            DocumentError: When a field is missing or invalid; the message says which and where.
        """
        where = name_of(data)
        check_object(data, where)
        text = require(data, "text", where)
        candidates: dict[Offsets, list[Candidate]] = {}
        for i, item in enumerate(check_list(or_empty(data, "candidates"), f"{where}.candidates")):
            here = f"{where}.candidates[{i}]"
            reject_unknown(item, ("begin", "end", "candidates"), here)
            offsets = check_pair((require(item, "begin", here), require(item, "end", here)), here)
            if offsets in candidates:
                raise DocumentError(f"{here}: duplicate span {offsets[0]}..{offsets[1]}")
            listed = check_list(require(item, "candidates", here), f"{here}.candidates")
            candidates[offsets] = [Candidate.from_dict(c, f"{here}.candidates[{k}]") for k, c in enumerate(listed)]
        clusters = or_none(data, "clusters")
        return cls(
            text=text,
            candidates=candidates,
            clusters=None if clusters is None else clusters_from(clusters, where),
            extra=_extra(data, _FIELDS, extra),
            id=plain_whole(or_none(data, "id")),
            **{name: or_none(data, name) for name in (*_OFFSETS, "mention_scope", "speakers", "annotated")},
        )


@dataclass(slots=True)
class AnnotatedDocument(ResultViews):
    """The result: every mention in exactly one cluster, every cluster with one entity or NIL.

    Attributes:
        text: The text that was annotated.
        clusters: As the pipeline gives them, by the offsets (begin, then end) of their first mention; the mentions of
            each likewise.
        id: The id of the document that was annotated.
        warnings: Whatever was dropped or changed on the way, in words.
        resolved_text: The text with the name of its cluster in place of every mention; None unless asked for.
        extra: Other fields of the row that was annotated; see `Document`.
        word_offsets: The words that the text was given as; None unless it was given so (``is_split_into_words``).
        samples: Clusterings drawn from the model; None unless asked for.
        clusterings: The most probable clusterings that were found, the best first; None unless asked for.

    Raises:
        DocumentError: As `Document`, and when parents run in a circle.

    Example:
        >>> from hf_corefel import AnnotatedDocument, Cluster, Mention
        >>> result = AnnotatedDocument("Oslo is old.", [Cluster((Mention(0, 4),), "Oslo")])
        >>> result.get_clusters(as_strings=True)
        [['Oslo']]
        >>> AnnotatedDocument.from_dict(result.to_dict()) == result
        True
    """

    text: str
    clusters: list[Cluster]
    id: str | int | None = None
    warnings: list[str] = field(default_factory=list)
    resolved_text: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    word_offsets: list[Offsets] | None = None
    samples: list[Clustering] | None = None
    clusterings: list[Clustering] | None = None

    def __post_init__(self) -> None:
        where = name_of(self)
        check_head(self, where)
        listed = enumerate(check_list(self.warnings, f"{where}.warnings"))
        self.warnings = [check_string(warning, f"{where}.warnings[{i}]") for i, warning in listed]
        self.resolved_text = check_text(self.resolved_text, f"{where}.resolved_text", or_none=" or None")
        self.word_offsets = _pairs(self.word_offsets, len(self.text), f"{where}.word_offsets", "word")
        _check_order(self.word_offsets, f"{where}.word_offsets")
        self.extra = _others(self.extra, _RESULT_FIELDS)
        self.clusters = check_clusters(self.clusters, self.text, f"{where}.clusters")
        check_no_circle(self.clusters, f"{where}.clusters")
        for name in _CLUSTERINGS:
            setattr(self, name, check_clusterings(getattr(self, name), self.text, f"{where}.{name}"))

    def chain(self, mention: Mention) -> list[Parent]:
        """The evidence of a mention: what it hangs from, what that hangs from, and so on to an entity or the root.

        For a mention "Alliance" that hangs from "NATO", which hangs from the entity: the mention "NATO", then the
        entity "NATO". Empty without evidence. The chain ends early at a mention that is not in the document (any
        more), such as one that ``min_probability`` has dropped. For many mentions `chains` is faster.
        """
        return walk(parents_of(self.clusters), mention.offsets)

    def chains(self) -> dict[Offsets, Chain]:
        """The `chain` of every mention, by its offsets; in time and memory that grow with the mentions alone."""
        return chains_of(parents_of(self.clusters))

    def to_dict(self) -> DocumentResult:
        """Plain Python types, as `from_dict` takes them; an `AnnotationDict`, which notebooks show.

        Its type is that of the pipeline's results; a document that was made by hand lacks the probabilities that it
        was not given.
        """
        clusters = [cluster.to_dict() for cluster in self.clusters]
        data = {"id": self.id, "text": self.text, "clusters": clusters, "warnings": list(self.warnings)}
        words = None if self.word_offsets is None else [list(word) for word in self.word_offsets]
        asked: dict[str, Any] = {"resolved_text": self.resolved_text, "word_offsets": words}
        for name in _CLUSTERINGS:
            listed = getattr(self, name)
            asked[name] = None if listed is None else [clustering.to_dict() for clustering in listed]
        fields = prune({**data, **asked}, ("id", *asked))
        return cast(DocumentResult, AnnotationDict({**fields, **self.extra}))

    def _document(self) -> AnnotatedDocument:
        return self

    def _repr_html_(self) -> str:
        """How a notebook shows the document."""
        from ..formats.notebook import notebook_html

        return notebook_html(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, extra: ExtraFields | None = None) -> AnnotatedDocument:
        """Reads what `to_dict` writes, as `Document.from_dict` does; raises `DocumentError` on what is invalid."""
        where = name_of(data)
        check_object(data, where)
        return cls(
            text=require(data, "text", where),
            clusters=clusters_from(require(data, "clusters", where), where),
            id=plain_whole(or_none(data, "id")),
            warnings=list(check_list(or_empty(data, "warnings"), f"{where}.warnings")),
            resolved_text=or_none(data, "resolved_text"),
            word_offsets=or_none(data, "word_offsets"),
            extra=_extra(data, _RESULT_FIELDS, extra),
            **{name: clusterings_from(or_none(data, name), f"{where}.{name}") for name in _CLUSTERINGS},
        )


class AnnotationDict(dict[str, Any], ResultViews):
    """What `AnnotatedDocument.to_dict` gives: a dict like any other, with the views of a result (`ResultViews`).

    Notebooks show it as the page does.
    """

    __slots__ = ()

    def _document(self) -> AnnotatedDocument:
        return as_result(self)

    def _repr_html_(self) -> str | None:
        from ..formats.notebook import result_html

        return result_html(self)


def _pairs(value: Any, length: int, where: str, label: str) -> list[Offsets] | None:
    """Distinct offsets within a text of that length, in plain form; None stays None."""
    if value is None:
        return None
    pairs = [check_pair(item, f"{where}[{i}]") for i, item in enumerate(check_list(value, where))]
    check_spans(pairs, length, where, label)
    return pairs


def _check_order(words: list[Offsets] | None, where: str) -> None:
    """Raises when a word begins before the one before it ends."""
    for i, (left, right) in enumerate(pairwise(words or [])):
        if right[0] < left[1]:
            raise DocumentError(f"{where}[{i + 1}]: begins at {right[0]} before the word before it ends")


def _extra(data: Mapping[str, Any], fields: tuple[str, ...], seen: ExtraFields | None) -> dict[str, Any]:
    """The other fields of a row; those who read many rows say what they are themselves."""
    collected = seen or ExtraFields()
    taken = collected.take(data, fields)
    if seen is None:
        collected.say()
    return taken


def _others(extra: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """What can stand beside the fields: a result's own warnings are not those of the row that it was made from."""
    return {name: value for name, value in extra.items() if name not in fields}
