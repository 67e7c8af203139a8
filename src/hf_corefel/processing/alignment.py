"""Gold clusters laid over candidate spans, counting what no prediction could reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ..documents import AnnotatedLayers, Cluster, Mention
from ..moved import renamed_argument
from ..utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN

__all__ = ["Alignment", "AlignmentReport", "align_clusters", "given_alone"]


@dataclass
class AlignmentReport:
    """What gold holds, and what of it is out of reach. Reports add up.

    Attributes:
        documents: Documents counted.
        mentions: Gold mentions.
        mentions_not_enumerated: Gold mentions that are no candidate span: too long, or not whole words.
        linked_mentions: Gold mentions whose cluster has an entity.
        linked_mentions_without_candidate: Those where the mention's own candidates lack the entity.
        linked_clusters: Gold clusters with an entity.
        linked_clusters_unreachable: Those where no enumerated mention has the entity; trained as NIL.
        mentions_cut_off: Gold mentions that lie within others of their cluster, or around them, and are so kept apart
            from it by `CorefELConfig.forbid_nested`; trained as clusters of their own.
    """

    documents: int = 0
    mentions: int = 0
    mentions_not_enumerated: int = 0
    linked_mentions: int = 0
    linked_mentions_without_candidate: int = 0
    linked_clusters: int = 0
    linked_clusters_unreachable: int = 0
    mentions_cut_off: int = 0

    def __add__(self, other: AlignmentReport) -> AlignmentReport:
        return AlignmentReport(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def problems(self, *, linking: bool = True) -> list[str]:
        """Return sentences for what makes training pointless or nearly so: no gold, or most of it out of reach.

        Args:
            linking: Whether links are trained on.
        """
        found = []
        if not self.mentions:
            return ["there is not one mention; a model that is trained on it learns to find none"]
        if 2 * self.mentions_not_enumerated > self.mentions:
            found.append(
                f"{self.mentions_not_enumerated} of {self.mentions} mentions are no candidate spans, and are not "
                "learnt: they are longer than max_span_words, or not whole words"
            )
        if linking and 2 * self.linked_clusters_unreachable > self.linked_clusters:
            found.append(
                f"{self.linked_clusters_unreachable} of {self.linked_clusters} linked clusters have an entity that the "
                "knowledge base gives to none of their mentions, and are trained as NIL; look at the names of entities "
                "and at the alias table"
            )
        return found

    def to_dict(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class Alignment:
    """Gold of one document over its S candidate spans.

    Attributes:
        clusters: ``[S]`` gold cluster of each span, -1 where it is no gold mention; where that is not annotated, a code
            of `hf_corefel.utils.gold_codes`.
        entities: ``[S]`` the document's entity row of that cluster's entity, -1 for NIL or out of reach, -2 where it is
            not annotated; so also where no cluster is, if no link of the document is annotated.
        report: What could not be reached.
    """

    clusters: np.ndarray
    entities: np.ndarray
    report: AlignmentReport


@renamed_argument("candidates", "candidate_rows")
def align_clusters(
    clusters: Sequence[Cluster],
    offsets: np.ndarray,
    candidate_rows: np.ndarray,
    entities: Sequence[str],
    cores: np.ndarray | None = None,
    layers: AnnotatedLayers | None = None,
    names_only: bool = False,
) -> Alignment:
    """Finds each gold mention among the spans and each gold entity among the candidates.

    Args:
        clusters: Gold clusters.
        offsets: ``[S, 2]`` code points of the spans.
        candidate_rows: ``[S, K]`` rows of `entities`, -1 on padding.
        entities: Names of the document's entities.
        cores: ``[S, 2]`` code points of the spans' cores, by which two spellings of a mention are known; the spans
            themselves when None.
        layers: What of the gold is annotated; all of it when None.
        names_only: Whether names are all the mentions that are wanted.
    """
    layers = layers or AnnotatedLayers()
    if not layers.clusters:
        clusters = _by_entity(clusters)
    span_of = {(int(begin), int(end)): s for s, (begin, end) in enumerate(offsets)}
    row_of = {name: row for row, name in enumerate(entities)}
    cluster_ids = np.full(len(offsets), _code_of_others(layers, names_only), dtype=np.int64)
    # Where no link is annotated, that is to be seen of every document, also of one without a mention.
    entity_rows = np.full(len(offsets), NOT_KNOWN if layers.links is False else -1, dtype=np.int64)
    cluster_of_row: dict[int, int] = {}
    report = AlignmentReport(documents=1)
    for c, cluster in enumerate(clusters):
        spans = [span_of[m.offsets] for m in cluster.mentions if m.offsets in span_of]
        report.mentions += len(cluster.mentions)
        report.mentions_not_enumerated += len(cluster.mentions) - len(spans)
        cluster_ids[spans] = c
        unknown = layers.links is False or (layers.links == "some" and cluster.entity is None)
        if unknown:
            entity_rows[spans] = NOT_KNOWN
        if not layers.clusters and (unknown or cluster.entity is None):
            cluster_ids[spans] = NOT_KNOWN
            continue
        row = -1 if cluster.entity is None else row_of.get(cluster.entity, -1)
        has_entity = (candidate_rows[spans] == row).any(axis=1) & (row >= 0)
        report.mentions_cut_off += _cut_off(offsets[spans], (offsets if cores is None else cores)[spans], has_entity)
        if cluster.entity is None or unknown:
            continue
        having = int(has_entity.sum())
        report.linked_clusters += 1
        report.linked_mentions += len(cluster.mentions)
        report.linked_mentions_without_candidate += len(cluster.mentions) - having
        report.linked_clusters_unreachable += having == 0
        if having:
            entity_rows[spans] = row
            # Two gold clusters of one entity are one cluster to every head: spans that share their entity corefer.
            cluster_ids[spans] = cluster_of_row.setdefault(row, c)
    return Alignment(cluster_ids, entity_rows, report)


def given_alone(clusters: np.ndarray, layers: AnnotatedLayers) -> bool:
    """Return whether all spans are mentions of a document that lists some only, so that no code says it of others.

    Args:
        clusters: ``[S]`` gold cluster of each span, or a code.
        layers: What of the gold is annotated.
    """
    return layers.mentions == "given" and clusters.size > 0 and not (clusters == LEFT_OUT).any()


def _code_of_others(layers: AnnotatedLayers, names_only: bool) -> int:
    """What stands for spans that are in no gold cluster."""
    if layers.mentions == "given":
        return LEFT_OUT
    return FREE if layers.mentions == "named" and not names_only else -1


def _by_entity(clusters: Sequence[Cluster]) -> list[Cluster]:
    """The mentions of each entity as one cluster, for that is what they are; those without one as they are."""
    mentions: dict[str, list[Mention]] = {}
    for cluster in clusters:
        if cluster.entity is not None:
            mentions.setdefault(cluster.entity, []).extend(cluster.mentions)
    linked = [Cluster(tuple(listed), entity) for entity, listed in mentions.items()]
    return linked + [cluster for cluster in clusters if cluster.entity is None]


def _cut_off(offsets: np.ndarray, cores: np.ndarray, has_entity: np.ndarray) -> int:
    """How many spans of a gold cluster no tree can hold together with the others, as spans within others have no edge.

    What edges connect is a part; parts with the entity hang from it together, else the largest one is the cluster.
    """
    begin, end = offsets[:, 0], offsets[:, 1]
    contains = (begin[:, None] <= begin) & (end[:, None] >= end)
    edges = ~(contains | contains.T) | (cores[:, None] == cores).all(axis=2)
    if edges.all():
        return 0
    # Every span takes the least number of its neighbours, until all of a part have the same.
    part = np.arange(len(offsets))
    while (least := np.where(edges, part, len(part)).min(axis=1)).tolist() != part.tolist():
        part = least
    sizes, linked = Counter(part.tolist()), set(part[has_entity].tolist())
    kept = sum(sizes[number] for number in linked) if linked else max(sizes.values())
    return len(offsets) - kept
