"""How many gold linked clusters are found, by their size and by the number of their surface forms.

Zaporojets et al. 2022 give the accuracy of link prediction on clusters of one mention and of several
(their table 3), and remark on clusters whose mentions have different surface forms. Here a gold linked
cluster is found when a predicted cluster has exactly its mentions and its link, which is the recall of
EL_h taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

from .counts import Share
from .linking import LinkedClusters, linked_clusters

__all__ = ["ClusterAccuracy", "cluster_accuracy"]


@dataclass(frozen=True, slots=True)
class ClusterAccuracy:
    """Gold linked clusters that were found, in two partitions; ``ClusterAccuracy()`` is the empty sum.

    Singletons and multi-mention clusters together are all gold linked clusters. One and several surfaces
    together are those of them whose surfaces are all known; a singleton has one surface.

    Attributes:
        singleton: Clusters of one mention.
        multi_mention: Clusters of two or more mentions.
        one_surface: Clusters whose mentions all read the same.
        several_surfaces: Clusters with at least two different surfaces.

    Example:
        >>> from hf_corefel.metrics import ClusterAccuracy, Share
        >>> ClusterAccuracy(singleton=Share(3.0, 4.0)).to_dict()["singleton_cluster_accuracy"]
        0.75
    """

    singleton: Share = field(default_factory=Share)
    multi_mention: Share = field(default_factory=Share)
    one_surface: Share = field(default_factory=Share)
    several_surfaces: Share = field(default_factory=Share)

    def __add__(self, other: ClusterAccuracy) -> ClusterAccuracy:
        if not isinstance(other, ClusterAccuracy):
            return NotImplemented
        return ClusterAccuracy(
            self.singleton + other.singleton,
            self.multi_mention + other.multi_mention,
            self.one_surface + other.one_surface,
            self.several_surfaces + other.several_surfaces,
        )

    def to_counts(self) -> list[float]:
        """The 8 numbers that add up over documents."""
        return [float(number) for share in astuple(self) for number in share]

    def from_counts(self, counts: Sequence[float]) -> ClusterAccuracy:
        """The inverse of `to_counts`."""
        return ClusterAccuracy(*(Share(*counts[i : i + 2]) for i in range(0, 8, 2)))

    def to_dict(self) -> dict[str, float]:
        """Flat scores.

        Returns:
            For each of ``singleton``, ``multi_mention``, ``one_surface`` and ``several_surfaces`` the share
            found, ``<name>_cluster_accuracy`` (0 when there are none), and the number it stands on,
            ``<name>_clusters``.
        """
        scores: dict[str, float] = {}
        for name in ("singleton", "multi_mention", "one_surface", "several_surfaces"):
            share: Share = getattr(self, name)
            scores[f"{name}_cluster_accuracy"] = share.value
            scores[f"{name}_clusters"] = share.total
        return scores


def cluster_accuracy(
    gold: LinkedClusters,
    predicted: LinkedClusters,
    surfaces: Callable[[Any], str | None] | None = None,
) -> ClusterAccuracy:
    """Counts the gold linked clusters that the prediction has with exactly the same mentions and link.

    NIL clusters are not scored and empty clusters ignored. With nothing predicted every gold linked cluster
    counts as not found; with no gold linked cluster, or neither side, all counts are 0.

    Args:
        gold: Gold clusters with links, None for NIL.
        predicted: Predicted clusters with links.
        surfaces: Gives the surface of a gold mention. Surfaces are the same when they are equal once white
            space around them is stripped, as in the look-up of candidates; letter case counts. A cluster
            with a mention whose surface is None is left out of the partition by surfaces, and without the
            function all are.
    """
    found = set(linked_clusters(predicted))
    singleton = multi_mention = one_surface = several_surfaces = Share()
    for cluster in set(linked_clusters(gold)):
        mentions, _ = cluster
        share = Share(float(cluster in found), 1.0)
        if len(mentions) == 1:
            singleton += share
        else:
            multi_mention += share
        forms = set() if surfaces is None else {_stripped(surfaces(mention)) for mention in mentions}
        if surfaces is None or None in forms:
            continue
        if len(forms) == 1:
            one_surface += share
        else:
            several_surfaces += share
    return ClusterAccuracy(singleton, multi_mention, one_surface, several_surfaces)


def _stripped(surface: str | None) -> str | None:
    return None if surface is None else surface.strip()
