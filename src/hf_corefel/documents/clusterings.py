"""A whole clustering of a document as one of several that the model holds possible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .checks import DocumentError, check_list, reject_unknown, require
from .mentions import Cluster, check_clusters
from .plain_values import plain
from .types import ClusteringResult

__all__ = ["Clustering", "check_clusterings", "clusterings_from"]


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of a whole document.

    Attributes:
        clusters: As those of a result, their mentions without probabilities.
        log_probability: Logarithm of the probability that the model gives this clustering with these entities.

    Example:
        >>> from hf_corefel import Cluster, Mention
        >>> from hf_corefel.documents import Clustering
        >>> Clustering((Cluster((Mention(0, 4),), "Oslo"),), log_probability=0.0).probability
        1.0
    """

    clusters: tuple[Cluster, ...]
    log_probability: float

    @property
    def probability(self) -> float:
        """The probability that the model gives this clustering."""
        return math.exp(self.log_probability)

    def to_dict(self) -> ClusteringResult:
        clusters = [cluster.to_dict() for cluster in self.clusters]
        return {"clusters": clusters, "log_probability": self.log_probability}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "clustering") -> Clustering:
        reject_unknown(data, ("clusters", "log_probability"), where)
        listed = check_list(require(data, "clusters", where), f"{where}.clusters")
        clusters = tuple(Cluster.from_dict(item, f"{where}.clusters[{i}]") for i, item in enumerate(listed))
        return cls(clusters, require(data, "log_probability", where))


def check_clusterings(value: Any, text: str, where: str) -> list[Clustering] | None:
    """Clusterings of a text with the surfaces of their mentions filled in; raises when they break the schema."""
    if value is None:
        return None
    checked = []
    for i, item in enumerate(check_list(value, where)):
        here = f"{where}[{i}]"
        if not isinstance(item, Clustering):
            raise DocumentError(f"{here}: expected a Clustering, got {type(item).__name__}")
        number = plain(item.log_probability)
        if isinstance(number, bool) or not isinstance(number, int | float) or not -math.inf < number <= 0.0:
            raise DocumentError(f"{here}.log_probability: expected a number that is not above 0, got {number!r}")
        clusters = check_clusters(list(item.clusters), text, f"{here}.clusters")
        checked.append(Clustering(tuple(clusters), float(number)))
    return checked


def clusterings_from(value: Any, where: str) -> list[Clustering] | None:
    """Clusterings from their data, None from None; raises on unknown, missing or invalid fields."""
    if value is None:
        return None
    return [Clustering.from_dict(item, f"{where}[{i}]") for i, item in enumerate(check_list(value, where))]
