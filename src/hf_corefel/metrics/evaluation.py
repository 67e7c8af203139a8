"""All metrics over documents: counts of one document, their sum, and one flat dict of scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

from ..documents import AnnotatedDocument, Cluster, Document, DocumentError, Mention
from .clusters import ClusterAccuracy, cluster_accuracy
from .coreference import b_cubed, ceaf_e, ceaf_m, lea, mention_detection, muc
from .counts import PrecisionRecallF1
from .entity_map import EntityMap, entity_map_from
from .linking import HardCases, el_hard, el_mention, el_soft, hard_cases

__all__ = [
    "CandidateFunction",
    "Scores",
    "evaluate",
    "matched",
    "score_clusters",
    "score_document",
    "score_documents",
]

CandidateFunction = Callable[[Document, Mention], Collection[str]]

_COREFERENCE = {
    "mention": mention_detection,
    "muc": muc,
    "b_cubed": b_cubed,
    "ceaf_e": ceaf_e,
    "ceaf_m": ceaf_m,
    "lea": lea,
}
_LINKING = {"el_mention": el_mention, "el_hard": el_hard, "el_soft": el_soft}
_AVERAGED = ("muc", "b_cubed", "ceaf_e")


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts of every metric for one document or, added up, for many. ``Scores()`` is the empty sum.

    Attributes:
        counts: Numerators and denominators by name: mention, muc, b_cubed, ceaf_e, ceaf_m, lea, el_mention,
            el_hard, el_soft.
        hard_cases: Mentions that only coreference can link.
        clusters: Gold linked clusters found, by size and by number of surface forms.

    Example:
        >>> from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
        >>> from hf_corefel.metrics import Scores, score_documents
        >>> clusters = [Cluster((Mention(0, 4),), "Oslo")]
        >>> parts = score_documents(
        ...     [Document("Oslo is old.", clusters=clusters)], [AnnotatedDocument("Oslo is old.", clusters)]
        ... )
        >>> sum(parts, Scores()).to_dict()["el_mention_f1"]
        1.0
    """

    counts: Mapping[str, PrecisionRecallF1] = field(
        default_factory=lambda: {name: PrecisionRecallF1() for name in (*_COREFERENCE, *_LINKING)}
    )
    hard_cases: HardCases = field(default_factory=lambda: HardCases(0, 0))
    clusters: ClusterAccuracy = field(default_factory=ClusterAccuracy)

    def __add__(self, other: Scores) -> Scores:
        if not isinstance(other, Scores):
            return NotImplemented
        return Scores(
            {name: counts + other.counts[name] for name, counts in self.counts.items()},
            HardCases(
                self.hard_cases.correct + other.hard_cases.correct, self.hard_cases.total + other.hard_cases.total
            ),
            self.clusters + other.clusters,
        )

    def to_counts(self) -> list[float]:
        """The numbers that add up over documents: four a metric in `counts`, two hard cases, eight of `clusters`."""
        numbers = [value for counts in self.counts.values() for value in astuple(counts)]
        return [*numbers, *map(float, self.hard_cases), *self.clusters.to_counts()]

    def from_counts(self, counts: Sequence[float]) -> Scores:
        """The inverse of `to_counts`."""
        split = 4 * len(self.counts)
        named = {name: PrecisionRecallF1(*counts[4 * i : 4 * i + 4]) for i, name in enumerate(self.counts)}
        hard = HardCases(round(counts[split]), round(counts[split + 1]))
        return Scores(named, hard, self.clusters.from_counts(counts[split + 2 :]))

    @property
    def coref_f1(self) -> float:
        """Mean of the F1 of MUC, B³ and CEAF_e, between 0 and 1."""
        return sum(self.counts[name].f1 for name in _AVERAGED) / len(_AVERAGED)

    def to_dict(self) -> dict[str, float]:
        """Flat scores as fractions between 0 and 1.

        Returns:
            ``coref_f1``; for every name in `counts` ``<name>_precision``, ``<name>_recall`` and
            ``<name>_f1``; ``hard_case_accuracy`` and the number it stands on, ``hard_cases``; accuracy and
            number of the kinds of clusters (see `ClusterAccuracy.to_dict`).
        """
        scores = {"coref_f1": self.coref_f1}
        for name, counts in self.counts.items():
            scores[f"{name}_precision"] = counts.precision
            scores[f"{name}_recall"] = counts.recall
            scores[f"{name}_f1"] = counts.f1
        scores["hard_case_accuracy"] = self.hard_cases.accuracy
        scores["hard_cases"] = float(self.hard_cases.total)
        return scores | self.clusters.to_dict()


def score_clusters(
    gold: Sequence[tuple[Collection[Hashable], str | None]],
    predicted: Sequence[tuple[Collection[Hashable], str | None]],
    candidates: Callable[[Any], Collection[str] | None] | None = None,
    surfaces: Callable[[Any], str | None] | None = None,
) -> Scores:
    """Counts of every metric for the clusters of one document, given as plain data.

    Args:
        gold: Pairs of mentions and link (None for NIL). A mention is anything hashable.
        predicted: The same of the prediction.
        candidates: See `hard_cases`; None leaves hard cases out.
        surfaces: See `cluster_accuracy`; None leaves the accuracy by number of surface forms out.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    gold_mentions, predicted_mentions = [pair[0] for pair in gold], [pair[0] for pair in predicted]
    counts = {name: metric(gold_mentions, predicted_mentions) for name, metric in _COREFERENCE.items()}
    counts |= {name: metric(gold, predicted) for name, metric in _LINKING.items()}
    hard = HardCases(0, 0) if candidates is None else hard_cases(gold, predicted, candidates)
    return Scores(counts, hard, cluster_accuracy(gold, predicted, surfaces))


def score_document(
    gold: Document,
    predicted: AnnotatedDocument,
    *,
    candidates: CandidateFunction | None = None,
    entity_map: EntityMap | Mapping[str, str] | None = None,
) -> Scores:
    """Counts of every metric for one document.

    Args:
        gold: The document with its gold clusters.
        predicted: The annotation of the same text.
        candidates: Gives the entities that a gold mention's surface may stand for. None takes
            ``gold.candidates``, and mentions that are not listed there are no hard cases.
        entity_map: Which names of entities mean one thing: gold links, predicted ones and candidates are compared by
            the names that it gives them. None compares them as they are.

    Raises:
        DocumentError: When the gold clusters are missing, or the ids (if both are given) or the texts differ.
    """
    clusters = _gold_of(gold, predicted)
    same = entity_map_from(entity_map)
    mentions = {mention.offsets: mention for cluster in clusters for mention in cluster.mentions}

    def entities(offsets: tuple[int, int]) -> Collection[str] | None:
        mention = mentions[offsets]
        found: Collection[str] | None
        if candidates is not None:
            found = candidates(gold, mention)
        else:
            listed = gold.candidates.get(mention.offsets)
            found = None if listed is None else {candidate.entity for candidate in listed}
        return found if same is None or found is None else set(map(same, found))

    def surface(offsets: tuple[int, int]) -> str:
        return gold.text[slice(*offsets)]

    return score_clusters(_plain(clusters, same), _plain(predicted.clusters, same), entities, surface)


def _plain(clusters: Sequence[Cluster], same: EntityMap | None) -> list[tuple[list[tuple[int, int]], str | None]]:
    def link(entity: str | None) -> str | None:
        return entity if same is None or entity is None else same(entity)

    return [([mention.offsets for mention in cluster.mentions], link(cluster.entity)) for cluster in clusters]


def _gold_of(gold: Document, predicted: AnnotatedDocument) -> Sequence[Cluster]:
    """The gold clusters of a document; raises `DocumentError` where there are none, or a prediction is of another."""
    if gold.clusters is None:
        raise DocumentError(f"{gold.name}.clusters: missing; evaluation compares with gold clusters")
    if gold.id is not None and predicted.id is not None and gold.id != predicted.id:
        raise DocumentError(
            f"{gold.name}: the prediction at its place is of document {predicted.id!r}; "
            "give the predictions in the order of the gold documents"
        )
    if gold.text != predicted.text:
        raise DocumentError(f"{gold.name}.text: the prediction is of a different text ({_difference(gold, predicted)})")
    return gold.clusters


def _difference(gold: Document, predicted: AnnotatedDocument) -> str:
    pairs = zip(gold.text, predicted.text, strict=False)
    shortest = min(len(gold.text), len(predicted.text))
    first = next((i for i, (left, right) in enumerate(pairs) if left != right), shortest)
    return f"first difference at code point {first}, lengths {len(gold.text)} and {len(predicted.text)}"


def matched(
    gold: Iterable[Document], predicted: Iterable[AnnotatedDocument]
) -> list[tuple[Document, AnnotatedDocument]]:
    """Return documents with their predictions, matched by position.

    Raises:
        DocumentError: When the numbers of documents differ, gold clusters are missing, or the ids (if both are given)
            or the texts of two at one place differ.
    """
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise DocumentError(
            f"{len(gold)} gold documents but {len(predicted)} predictions; they are matched by position"
        )
    pairs = list(zip(gold, predicted, strict=True))
    for pair in pairs:
        _gold_of(*pair)
    return pairs


def score_documents(
    gold: Iterable[Document],
    predicted: Iterable[AnnotatedDocument],
    *,
    candidates: CandidateFunction | None = None,
    entity_map: EntityMap | Mapping[str, str] | None = None,
) -> list[Scores]:
    """`score_document` for documents matched by position; see there for the arguments and errors.

    Raises:
        DocumentError: When the numbers of documents differ, and as `score_document`.
    """
    pairs, same = matched(gold, predicted), entity_map_from(entity_map)
    return [score_document(g, p, candidates=candidates, entity_map=same) for g, p in pairs]


def evaluate(
    gold: Iterable[Document],
    predicted: Iterable[AnnotatedDocument],
    *,
    candidates: CandidateFunction | None = None,
    entity_map: EntityMap | Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Scores of predictions against gold documents, micro-accumulated: counts are added, then divided.

    With no documents, or nothing to find, or nothing predicted, the scores concerned are 0.

    Args:
        gold: Documents with gold clusters, in a list or one by one.
        predicted: Their annotations, in the same order; likewise, such as the pipeline's generator.
        candidates: Gives the entities that a gold mention's surface may stand for, for the accuracy on hard
            cases. None takes each document's own ``candidates``.
        entity_map: Which names of entities mean one thing, such as ``{"Oslo,_Norway": "Oslo"}`` or what
            `hf_corefel.evaluation.open_entity_map` makes of a file or a knowledge base; None compares names.

    Returns:
        The flat scores of `Scores.to_dict`: ``coref_f1`` (mean F1 of MUC, B³ and CEAF_e),
        ``el_mention_f1`` (EL_m), ``el_hard_f1`` (EL_h), ``hard_case_accuracy`` and the rest.

    Raises:
        DocumentError: When a document lacks gold clusters, or is not the one at the same place of the
            predictions: the numbers of documents, the ids (if both are given) or the texts differ.
    """
    return sum(score_documents(gold, predicted, candidates=candidates, entity_map=entity_map), Scores()).to_dict()
