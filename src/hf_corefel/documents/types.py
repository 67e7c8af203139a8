"""The dicts of the package as type checkers see them: rows of documents, and results.

A result of the pipeline is a plain dict; these classes say which keys it has, for mypy, pyright and editors::

    from hf_corefel import load_pipeline
    from hf_corefel.documents.types import ClusterResult, DocumentResult

    def linked(result: DocumentResult) -> list[ClusterResult]:
        return [cluster for cluster in result["clusters"] if cluster["entity"] is not None]

A key that is not required is left out where there is nothing to say. `docs/data/jsonl.md` says what each means.
"""

# Without `from __future__ import annotations`: as strings, annotations would hide from the running program which keys
# are not required (`DocumentResult.__required_keys__`).

from typing import Literal, NotRequired, TypedDict

__all__ = [
    "AlternativeResult",
    "AnnotatedData",
    "CandidateData",
    "ClusterData",
    "ClusterResult",
    "ClusteringResult",
    "DocumentData",
    "DocumentResult",
    "MentionData",
    "MentionResult",
    "ParentResult",
    "SpanCandidatesData",
    "TurnData",
]


# What comes out ---------------------------------------------------------------------------------------


class ParentResult(TypedDict):
    """What a mention hangs from, as `Parent.to_dict` gives it; offsets and text of a mention, or an entity's name."""

    kind: Literal["root", "mention", "entity"]
    begin: NotRequired[int]
    end: NotRequired[int]
    text: NotRequired[str]
    entity: NotRequired[str]


class AlternativeResult(TypedDict):
    """An entity, or NIL (None), that a cluster may have, as `Alternative.to_dict` gives it."""

    entity: str | None
    probability: float
    wikidata: NotRequired[str]


class MentionResult(TypedDict):
    """A mention that the pipeline found; ``parent`` with ``evidence=True`` only."""

    begin: int
    end: int
    text: str
    probability: float
    edge_probability: float
    link_probability: float
    parent: NotRequired[ParentResult]


class ClusterResult(TypedDict):
    """A cluster that the pipeline found; ``entity`` is None for NIL, ``alternatives`` come with ``top_k`` only.

    ``url``, ``wikidata`` and ``type`` are there where the knowledge base knows them.
    """

    entity: str | None
    mentions: list[MentionResult]
    probability: float
    url: NotRequired[str]
    wikidata: NotRequired[str]
    type: NotRequired[str]
    alternatives: NotRequired[list[AlternativeResult]]


class ClusteringResult(TypedDict):
    """A whole clustering, as `Clustering.to_dict` gives it; its mentions have no probabilities."""

    clusters: "list[ClusterData]"
    log_probability: float


class DocumentResult(TypedDict):
    """What calling the pipeline gives: ``resolved_text`` when asked for, ``id`` when the document has one.

    ``word_offsets`` are there with ``is_split_into_words=True``, ``samples`` and ``clusterings`` where they were asked
    for.
    """

    text: str
    clusters: list[ClusterResult]
    warnings: list[str]
    id: NotRequired[str | int]
    resolved_text: NotRequired[str]
    word_offsets: NotRequired[list[list[int]]]
    samples: NotRequired[list[ClusteringResult]]
    clusterings: NotRequired[list[ClusteringResult]]


# What goes in -----------------------------------------------------------------------------------------


class CandidateData(TypedDict):
    """A candidate, as `Candidate.to_dict` gives it."""

    entity: str
    prior: float


class SpanCandidatesData(TypedDict):
    """The candidates of a span of a document."""

    begin: int
    end: int
    candidates: list[CandidateData]


class TurnData(TypedDict):
    """Who says what, as `Turn.to_dict` gives it."""

    begin: int
    end: int
    speaker: str


class MentionData(TypedDict):
    """A mention, as `Mention.to_dict` gives it; gold ones have no probability."""

    begin: int
    end: int
    text: NotRequired[str]
    probability: NotRequired[float]
    edge_probability: NotRequired[float]
    link_probability: NotRequired[float]
    parent: NotRequired[ParentResult]


class ClusterData(TypedDict):
    """A cluster, as `Cluster.to_dict` gives it; gold ones have no probability."""

    entity: str | None
    mentions: list[MentionData]
    probability: NotRequired[float]
    url: NotRequired[str]
    wikidata: NotRequired[str]
    type: NotRequired[str]
    alternatives: NotRequired[list[AlternativeResult]]


class AnnotatedData(TypedDict):
    """Which layers of a document are annotated, as `AnnotatedLayers.to_dict` gives it."""

    mentions: NotRequired[Literal["all", "named", "given"]]
    clusters: NotRequired[bool]
    links: NotRequired[bool | Literal["some"]]


class DocumentData(TypedDict):
    """A document, as `Document.to_dict` gives it; offsets are ``[begin, end]``."""

    text: str
    id: NotRequired[str | int]
    words: NotRequired[list[list[int]]]
    mentions: NotRequired[list[list[int]]]
    spans: NotRequired[list[list[int]]]
    candidates: NotRequired[list[SpanCandidatesData]]
    clusters: NotRequired[list[ClusterData]]
    mention_scope: NotRequired[Literal["named", "all", "entities"]]
    speakers: NotRequired[list[TurnData]]
    annotated: NotRequired[AnnotatedData]
