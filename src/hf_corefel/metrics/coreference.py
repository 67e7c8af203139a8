"""Coreference metrics on clusters of hashable mentions.

Every function takes the gold and the predicted clusters of one document, each a collection of
mentions that compare equal when they are the same span. Mentions are matched exactly; singletons
count as clusters; empty clusters are ignored. With either side empty the numerators are 0, so
precision, recall and F1 are 0; with both empty they are 0 as well, as in the reference scorer.

References: Pradhan et al. 2014, "Scoring coreference partitions of predicted mentions" (the reference
scorer, whose version 8.01 these agree with); Moosavi and Strube 2016 for LEA.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable

import numpy as np
from scipy.optimize import linear_sum_assignment

from .counts import PrecisionRecallF1

__all__ = ["b_cubed", "ceaf_e", "ceaf_m", "lea", "mention_detection", "muc"]

Clusters = Iterable[Collection[Hashable]]


class _Overlaps:
    """How gold and predicted clusters of a document share mentions.

    Attributes:
        gold: Size of each non-empty gold cluster.
        predicted: Size of each non-empty predicted cluster.
        shared: Number of common mentions by (gold index, predicted index); only pairs that share any.
    """

    def __init__(self, gold: Clusters, predicted: Clusters) -> None:
        gold_sets, predicted_sets = _partition(gold, "gold"), _partition(predicted, "predicted")
        owner = {mention: p for p, cluster in enumerate(predicted_sets) for mention in cluster}
        self.gold = [len(cluster) for cluster in gold_sets]
        self.predicted = [len(cluster) for cluster in predicted_sets]
        self.shared = Counter(
            (g, owner[mention]) for g, cluster in enumerate(gold_sets) for mention in cluster if mention in owner
        )


def _partition(clusters: Clusters, side: str) -> list[frozenset[Hashable]]:
    """The non-empty clusters as sets; raises when a mention is in two of them."""
    sets = [frozenset(cluster) for cluster in clusters if len(cluster)]
    counts = Counter(mention for cluster in sets for mention in cluster)
    twice = next((mention for mention, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{side} clusters: mention {twice!r} is in two clusters; a mention has one cluster")
    return sets


def mention_detection(gold: Clusters, predicted: Clusters) -> PrecisionRecallF1:
    """Mentions found, whatever their cluster.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    overlaps = _Overlaps(gold, predicted)
    correct = float(overlaps.shared.total())
    return PrecisionRecallF1(correct, float(sum(overlaps.predicted)), correct, float(sum(overlaps.gold)))


def muc(gold: Clusters, predicted: Clusters) -> PrecisionRecallF1:
    """MUC (Vilain et al. 1995): the links needed to hold a cluster together that the other side has.

    Clusters of one mention need no link, so a document with singletons only counts nothing.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    overlaps = _Overlaps(gold, predicted)
    # A cluster of n mentions that the other side cuts into p parts keeps n - p of its n - 1 links, and a
    # mention that the other side lacks is a part of its own: n - p = shared mentions - parts with a share.
    # That is the same sum from both sides.
    kept = float(overlaps.shared.total() - len(overlaps.shared))
    return PrecisionRecallF1(
        kept,
        float(sum(size - 1 for size in overlaps.predicted)),
        kept,
        float(sum(size - 1 for size in overlaps.gold)),
    )


def b_cubed(gold: Clusters, predicted: Clusters) -> PrecisionRecallF1:
    """B³ (Bagga and Baldwin 1998): for each mention, how much of its cluster the other side shares.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    overlaps = _Overlaps(gold, predicted)
    return PrecisionRecallF1(
        math.fsum(count * count / overlaps.predicted[p] for (_, p), count in overlaps.shared.items()),
        float(sum(overlaps.predicted)),
        math.fsum(count * count / overlaps.gold[g] for (g, _), count in overlaps.shared.items()),
        float(sum(overlaps.gold)),
    )


def ceaf_e(gold: Clusters, predicted: Clusters) -> PrecisionRecallF1:
    """Entity-based CEAF (Luo 2005, φ4): the best one-to-one alignment by Dice overlap of clusters.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    overlaps = _Overlaps(gold, predicted)
    similarity = np.zeros((len(overlaps.gold), len(overlaps.predicted)))
    for (g, p), count in overlaps.shared.items():
        similarity[g, p] = 2.0 * count / (overlaps.gold[g] + overlaps.predicted[p])
    best = _best_alignment(similarity)
    return PrecisionRecallF1(best, float(len(overlaps.predicted)), best, float(len(overlaps.gold)))


def ceaf_m(gold: Clusters, predicted: Clusters) -> PrecisionRecallF1:
    """Mention-based CEAF (Luo 2005, φ3): the best one-to-one alignment by number of common mentions.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    overlaps = _Overlaps(gold, predicted)
    similarity = np.zeros((len(overlaps.gold), len(overlaps.predicted)))
    for pair, count in overlaps.shared.items():
        similarity[pair] = count
    best = _best_alignment(similarity)
    return PrecisionRecallF1(best, float(sum(overlaps.predicted)), best, float(sum(overlaps.gold)))


def _best_alignment(similarity: np.ndarray) -> float:
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return math.fsum(similarity[rows, columns])


def lea(gold: Clusters, predicted: Clusters) -> PrecisionRecallF1:
    """LEA (Moosavi and Strube 2016): the share of each cluster's links found, weighted by its size.

    A cluster of n mentions has n(n-1)/2 links; a singleton has one link to itself, found when it is a
    singleton on the other side too.

    Raises:
        ValueError: When a mention is in two clusters of one side.
    """
    overlaps = _Overlaps(gold, predicted)
    precision: list[float] = []
    recall: list[float] = []
    for (g, p), count in overlaps.shared.items():
        found = float(overlaps.gold[g] == overlaps.predicted[p] == 1) + count * (count - 1) / 2
        precision.append(_weighted_share(found, overlaps.predicted[p]))
        recall.append(_weighted_share(found, overlaps.gold[g]))
    return PrecisionRecallF1(
        math.fsum(precision), float(sum(overlaps.predicted)), math.fsum(recall), float(sum(overlaps.gold))
    )


def _weighted_share(found: float, size: int) -> float:
    """Size of the cluster times the share of its links that were found."""
    return size * found / max(1.0, size * (size - 1) / 2)
