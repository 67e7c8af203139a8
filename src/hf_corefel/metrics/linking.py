"""Entity-linking metrics on clusters of hashable mentions with one link each.

Every function takes the linked clusters of one document: pairs of a collection of mentions and a link,
None for NIL. NIL is not scored, on either side; empty clusters are ignored. With either side without
links the scores are 0, with both as well.

EL_m and EL_h are the mention-level and the "hard" cluster-level F1 of Zaporojets et al. 2022 (section
on evaluation metrics); EL_s is the soft cluster-level score of the DWIE evaluation (Zaporojets et al. 2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, NamedTuple

from .counts import PrecisionRecallF1, ratio

__all__ = ["HardCases", "LinkedClusters", "el_hard", "el_mention", "el_soft", "hard_cases", "linked_clusters"]

LinkedClusters = Iterable[tuple[Collection[Hashable], str | None]]


def linked_clusters(clusters: LinkedClusters) -> list[tuple[frozenset[Hashable], str]]:
    """The clusters that are scored: not NIL, not empty."""
    return [(frozenset(mentions), link) for mentions, link in clusters if link is not None and len(mentions)]


def _mention_links(clusters: Iterable[tuple[frozenset[Hashable], str]]) -> set[tuple[Hashable, str]]:
    return {(mention, link) for mentions, link in clusters for mention in mentions}


def _overlap(gold: set[tuple[Hashable, str]], predicted: set[tuple[Hashable, str]]) -> PrecisionRecallF1:
    correct = float(len(gold & predicted))
    return PrecisionRecallF1(correct, float(len(predicted)), correct, float(len(gold)))


def el_mention(gold: LinkedClusters, predicted: LinkedClusters) -> PrecisionRecallF1:
    """EL_m: pairs of a mention and its link that both sides have."""
    return _overlap(_mention_links(linked_clusters(gold)), _mention_links(linked_clusters(predicted)))


def el_hard(gold: LinkedClusters, predicted: LinkedClusters) -> PrecisionRecallF1:
    """EL_h: linked clusters that both sides have with exactly the same mentions and the same link."""
    return _overlap(set(linked_clusters(gold)), set(linked_clusters(predicted)))


def el_soft(gold: LinkedClusters, predicted: LinkedClusters) -> PrecisionRecallF1:
    """EL_s: for each linked cluster the share of its mentions that the other side links to the same entity."""
    gold_clusters, predicted_clusters = linked_clusters(gold), linked_clusters(predicted)
    return PrecisionRecallF1(
        _shares(predicted_clusters, _mention_links(gold_clusters)),
        float(len(predicted_clusters)),
        _shares(gold_clusters, _mention_links(predicted_clusters)),
        float(len(gold_clusters)),
    )


def _shares(clusters: list[tuple[frozenset[Hashable], str]], known: set[tuple[Hashable, str]]) -> float:
    return math.fsum(sum((m, link) in known for m in mentions) / len(mentions) for mentions, link in clusters)


class HardCases(NamedTuple):
    """Mentions that only coreference can link.

    Attributes:
        correct: Those whose exact span was predicted with exactly the gold link.
        total: All of them.

    Example:
        >>> from hf_corefel.metrics import HardCases
        >>> cases = HardCases(correct=3, total=4)
        >>> cases.correct / cases.total
        0.75
    """

    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """Share that is correct, between 0 and 1; 0 when there are none."""
        return ratio(self.correct, self.total)


def hard_cases(
    gold: LinkedClusters,
    predicted: LinkedClusters,
    candidates: Callable[[Any], Collection[str] | None],
) -> HardCases:
    """Counts the corner cases of Zaporojets et al. 2022: the own candidates of a mention lack its entity.

    A linked gold mention is one when the gold entity is not among its candidates but is among those of
    another mention of its gold cluster.

    Args:
        gold: Gold clusters with links.
        predicted: Predicted clusters with links.
        candidates: Gives the candidate entities of a gold mention; None when they are not known, and then
            the mention is no hard case.
    """
    found = _mention_links(linked_clusters(predicted))
    correct = total = 0
    for mentions, link in linked_clusters(gold):
        known = {mention: entities for mention in mentions if (entities := candidates(mention)) is not None}
        lacking = [mention for mention, entities in known.items() if link not in entities]
        if len(lacking) < len(known):
            total += len(lacking)
            correct += sum((mention, link) in found for mention in lacking)
    return HardCases(correct, total)
