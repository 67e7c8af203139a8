"""Whether probabilities mean what they say: reliability tables, calibration error, and risk against coverage.

A decision is what a result says, with the probability that it gives, and gold says whether it is right:

- **links**: a mention in a cluster with an entity, with `Cluster.probability`, the P of a result, which
  ``min_probability`` is compared with. Right when gold has the mention with the same entity. Mentions that gold lacks
  are left out, for the probability is of the entity of what is a mention; where gold has all, `links_found` has them
  too, as wrong. Where gold names the entities of some clusters only (links ``"some"``), a mention that has one is known
  not to be NIL: its probability is that among entities, P / (1 - P(NIL)), for which results need
  `Cluster.alternatives` (``top_k``) with NIL among them.
- **mentions**: a mention with its `Mention.probability`. Right when gold has a mention with the same offsets.
- **antecedents**: a mention and the one before it in its cluster, with the share of the drawn clusterings
  (`AnnotatedDocument.samples`) in which they are in one cluster. Right when they are in one gold cluster. Only where
  gold has both.

What is not annotated (`Document.annotated`) says nothing, and gives no decision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..documents import AnnotatedDocument, AnnotatedLayers, Cluster, Document, Offsets
from ..documents.annotated_layers import NAME_SCOPES
from .entity_map import EntityMap, entity_map_from, plain_entity
from .evaluation import matched

__all__ = [
    "Decisions",
    "DocumentDecisions",
    "ReliabilityBin",
    "RiskAtCoverage",
    "document_decisions",
]

_THRESHOLDS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_WIKIDATA_ID = re.compile(r"[QPL][0-9]+")


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Decisions whose probabilities are within bounds.

    Attributes:
        least: The lower bound, within.
        most: The upper bound; within for the last bin alone.
        count: How many decisions there are.
        confidence: Their mean probability, NaN where there is none.
        accuracy: The share that is right, NaN likewise.

    Example:
        >>> from hf_corefel.metrics import Decisions
        >>> Decisions([0.95, 0.97], [True, False]).bins()[-1]
        ReliabilityBin(least=0.9, most=1.0, count=2, confidence=0.96, accuracy=0.5)
    """

    least: float
    most: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class RiskAtCoverage:
    """What is left when less probable decisions are taken out.

    Attributes:
        threshold: The least probability that is kept, as ``min_probability``.
        coverage: The share of decisions that are kept.
        risk: The share of these that is wrong, NaN where none is kept.

    Example:
        >>> from hf_corefel.metrics import Decisions
        >>> Decisions([0.9, 0.6], [True, False]).risk_coverage([0.8])
        [RiskAtCoverage(threshold=0.8, coverage=0.5, risk=0.0)]
    """

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions with their probabilities. They add up.

    Args:
        probabilities: ``[D]``, from 0 to 1.
        right: ``[D]`` whether each is right.

    Raises:
        ValueError: When shapes differ or a probability is out of range.

    Example:
        >>> from hf_corefel.metrics import Decisions
        >>> decisions = Decisions([0.9, 0.9, 0.6, 0.6], [True, True, True, False])
        >>> round(decisions.calibration_error(), 3), decisions.accuracy
        (0.1, 0.75)
    """

    probabilities: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    right: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, dtype=np.float64))
        object.__setattr__(self, "right", np.asarray(self.right, dtype=bool))
        if self.probabilities.ndim != 1 or self.probabilities.shape != self.right.shape:
            raise ValueError(
                f"right: expected one value for each of the probabilities {list(self.probabilities.shape)}, got "
                f"{list(self.right.shape)}"
            )
        if not ((self.probabilities >= 0.0) & (self.probabilities <= 1.0)).all():
            raise ValueError("probabilities: expected numbers from 0 to 1")

    def __len__(self) -> int:
        return len(self.probabilities)

    def __add__(self, other: Decisions) -> Decisions:
        return Decisions(
            np.concatenate((self.probabilities, other.probabilities)), np.concatenate((self.right, other.right))
        )

    @property
    def confidence(self) -> float:
        """The mean probability, NaN where there is no decision."""
        return float(self.probabilities.mean()) if len(self) else float("nan")

    @property
    def accuracy(self) -> float:
        """The share that is right, NaN where there is no decision."""
        return float(self.right.mean()) if len(self) else float("nan")

    def bins(self, count: int = 10) -> list[ReliabilityBin]:
        """Return the reliability table: bins of equal width from 0 to 1, empty ones too."""
        if count < 1:
            raise ValueError(f"count: expected at least one bin, got {count}")
        places = np.minimum((self.probabilities * count).astype(int), count - 1)
        table = []
        for number in range(count):
            part = Decisions(self.probabilities[places == number], self.right[places == number])
            bounds = number / count, (number + 1) / count
            table.append(ReliabilityBin(*bounds, len(part), part.confidence, part.accuracy))
        return table

    def calibration_error(self, bins: int = 10) -> float:
        """Return the expected calibration error (Naeini et al. 2015), NaN where there is no decision.

        It is the mean over decisions of |accuracy - confidence| of their bins of equal width.
        """
        if not len(self):
            return float("nan")
        filled = [each for each in self.bins(bins) if each.count]
        return sum(each.count * abs(each.accuracy - each.confidence) for each in filled) / len(self)

    def calibration_error_by_chance(self, bins: int = 10, draws: int = 100) -> float:
        """Return the error that these probabilities have on average when they are true, for want of decisions.

        Args:
            bins: As in `calibration_error`.
            draws: How often outcomes are drawn by the probabilities, always the same ones.
        """
        random = np.random.default_rng(0)
        drawn = (random.random(len(self)) < self.probabilities for _ in range(draws))
        return float(np.mean([Decisions(self.probabilities, right).calibration_error(bins) for right in drawn]))

    def risk_coverage(self, thresholds: Iterable[float] = _THRESHOLDS) -> list[RiskAtCoverage]:
        """Return what share of the decisions a threshold keeps, and how many of these are wrong."""
        table = []
        for threshold in thresholds:
            kept = self.right[self.probabilities >= threshold]
            risk = float(1.0 - kept.mean()) if len(kept) else float("nan")
            table.append(RiskAtCoverage(threshold, len(kept) / len(self) if len(self) else float("nan"), risk))
        return table

    def area_under_risk_coverage(self) -> float:
        """Return the mean risk over all coverages, most probable decisions first; NaN where there is none.

        Lower is better; it depends on the order of the probabilities alone. Equal ones share their mean.
        """
        if not len(self):
            return float("nan")
        values, place, counts = np.unique(-self.probabilities, return_inverse=True, return_counts=True)
        wrong = np.bincount(place, weights=~self.right, minlength=len(values)) / counts
        risks = np.cumsum(wrong[place[np.argsort(place, kind="stable")]]) / np.arange(1, len(self) + 1)
        return float(risks.mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types: the figures, the reliability table and that of risk and coverage; None for NaN."""
        tables: dict[str, list[Any]] = {"bins": self.bins(), "risk_coverage": self.risk_coverage()}
        return {
            "decisions": len(self),
            "confidence": _plain(self.confidence),
            "accuracy": _plain(self.accuracy),
            "expected_calibration_error": _plain(self.calibration_error()),
            "calibration_error_by_chance": _plain(self.calibration_error_by_chance()),
            "area_under_risk_coverage": _plain(self.area_under_risk_coverage()),
            **{
                name: [{f.name: _plain(getattr(row, f.name)) for f in fields(row)} for row in rows]
                for name, rows in tables.items()
            },
        }


def _plain(value: float) -> float | None:
    """A number, None where it is NaN, which JSON lacks."""
    return None if value != value else value


@dataclass(frozen=True)
class DocumentDecisions:
    """The decisions of documents, see the module. They add up.

    Attributes:
        links: Links of mentions that gold has.
        links_found: All links where gold has all; those of mentions that gold lacks are wrong.
        mentions: Mentions.
        antecedents: Mentions and the one before them in their cluster.

    Example:
        >>> from hf_corefel.metrics import Decisions, DocumentDecisions
        >>> one, other = Decisions([0.9], [True]), Decisions([0.8], [False])
        >>> found = DocumentDecisions(links=one) + DocumentDecisions(links=other)
        >>> len(found.links), found.links.accuracy, len(found.mentions)
        (2, 0.5, 0)
    """

    links: Decisions = field(default_factory=Decisions)
    links_found: Decisions = field(default_factory=Decisions)
    mentions: Decisions = field(default_factory=Decisions)
    antecedents: Decisions = field(default_factory=Decisions)

    def __add__(self, other: DocumentDecisions) -> DocumentDecisions:
        return DocumentDecisions(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types, see `Decisions.to_dict`."""
        return {f.name: getattr(self, f.name).to_dict() for f in fields(self)}


def document_decisions(
    gold: Sequence[Document],
    predicted: Sequence[AnnotatedDocument],
    *,
    entity_map: EntityMap | Mapping[str, str] | None = None,
    wikidata: Callable[[str], str | None] | None = None,
) -> DocumentDecisions:
    """Collect the decisions of results, with what gold says of them.

    Args:
        gold: Documents with gold clusters, and what of them is annotated.
        predicted: Their results, in the same order; with `AnnotatedDocument.samples` for antecedents.
        entity_map: Which names of entities mean one thing; None compares them as they are.
        wikidata: The Wikidata id of a predicted entity, None where it is not known. Where gold has such an id, an
            entity without one cannot be compared, and gives no decision. When None all names can be compared.

    Raises:
        ValueError: When a document has no gold, or is not the one at the same place of the results: the numbers of
            documents, the ids (if both are given) or the texts differ. When links are annotated in part (``"some"``)
            and results have no alternatives.
    """
    same = entity_map_from(entity_map) or EntityMap()
    parts = (_of_document(document, result, same, wikidata) for document, result in matched(gold, predicted))
    return sum(parts, DocumentDecisions())


def _of_document(
    gold: Document,
    result: AnnotatedDocument,
    same: EntityMap,
    wikidata: Callable[[str], str | None] | None,
) -> DocumentDecisions:
    layers, clusters = gold.layers, gold.clusters or []
    number = {m.offsets: c for c, cluster in enumerate(clusters) for m in cluster.mentions}
    entities = [None if cluster.entity is None else same(cluster.entity) for cluster in clusters]
    links: list[tuple[float, bool]] = []
    found: list[tuple[float, bool]] = []
    mentions: list[tuple[float, bool]] = []
    antecedents: list[tuple[float, bool]] = []
    complete = _knows_all_mentions(gold, layers)
    all_links = complete and layers.links is True
    # Of each drawn clustering the cluster of each mention.
    drawn = [
        {m.offsets: c for c, cluster in enumerate(sample.clusters) for m in cluster.mentions}
        for sample in result.samples or ()
    ]
    for cluster in result.clusters:
        entity = None if cluster.entity is None else same(cluster.entity)
        comparable = entity is None or wikidata is None or has_wikidata_id(cluster.entity, entity, wikidata)
        probability = _link_probability(cluster, layers)
        for mention in cluster.mentions:
            c = number.get(mention.offsets)
            if mention.probability is not None and complete:
                mentions.append((mention.probability, c is not None))
            if entity is None or probability is None or layers.links is False:
                continue
            decision = probability, c is not None and entity == entities[c]
            is_known = c is not None and _is_known(entities[c], entity, layers, comparable)
            if is_known:
                if layers.links == "some" and cluster.alternatives is None:
                    raise ValueError(
                        f"{gold.name}: links are annotated in part, for which results need alternatives; annotate with "
                        "a high top_k, so that NIL is among them"
                    )
                links.append(decision)
            if all_links and (is_known or c is None):
                found.append(decision)
        if drawn and layers.clusters:
            for before, mention in zip(cluster.mentions, cluster.mentions[1:], strict=False):
                pair = before.offsets, mention.offsets
                if all(offsets in number for offsets in pair):
                    antecedents.append((_share_together(drawn, *pair), number[pair[0]] == number[pair[1]]))
    return DocumentDecisions(*map(_decisions, (links, found, mentions, antecedents)))


def _link_probability(cluster: Cluster, layers: AnnotatedLayers) -> float | None:
    """P of a cluster's entity; among entities alone where gold does not say which clusters have none."""
    if layers.links != "some" or cluster.probability is None or not cluster.alternatives:
        return cluster.probability
    entities = 1.0 - sum(each.probability for each in cluster.alternatives if each.entity is None)
    return min(1.0, cluster.probability / entities) if entities > 0.0 else 1.0


def _decisions(pairs: list[tuple[float, bool]]) -> Decisions:
    return Decisions(np.array([p for p, _ in pairs], dtype=np.float64), np.array([r for _, r in pairs], dtype=bool))


def _knows_all_mentions(document: Document, layers: AnnotatedLayers) -> bool:
    """Whether what gold lacks is no mention."""
    return layers.mentions == "all" or (layers.mentions == "named" and document.mention_scope in NAME_SCOPES)


def _is_known(gold: str | None, predicted: str, layers: AnnotatedLayers, comparable: bool) -> bool:
    """Whether gold says if a predicted entity is right; by the names of the map.

    Args:
        gold: The entity of gold.
        predicted: That of the result.
        layers: What is annotated.
        comparable: Whether the predicted one can be compared with Wikidata ids.
    """
    if gold is None:
        return layers.links is True
    return comparable or gold == predicted or not is_wikidata_id(gold)


def has_wikidata_id(entity: str | None, name: str, wikidata: Callable[[str], str | None]) -> bool:
    """Return whether an entity of a model can be compared with Wikidata ids.

    Args:
        entity: Its name, as the model has it.
        name: Its name by the entity map, which may be an id, or that of an entity that has one.
        wikidata: The Wikidata id of an entity, None where it is not known.
    """
    return is_wikidata_id(name) or any(each is not None and wikidata(each) is not None for each in (entity, name))


def is_wikidata_id(name: str) -> bool:
    """Whether the name of an entity is its Wikidata id."""
    return _WIKIDATA_ID.fullmatch(plain_entity(name)) is not None


def _share_together(drawn: Sequence[Mapping[Offsets, int]], one: Offsets, other: Offsets) -> float:
    """The share of the drawn clusterings in which two mentions are in one cluster."""
    return sum(one in clusters and clusters[one] == clusters.get(other) for clusters in drawn) / len(drawn)
