"""Clusters while their mentions are read one by one, whatever the format names a cluster by."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field

from ..documents import Cluster, Mention, Offsets
from .errors import CorpusError, raise_or_warn

__all__ = ["Groups"]


@dataclass(slots=True)
class Groups:
    """The mentions and entities of a document by what the format names their cluster by.

    A place is a mention once: where a file says it twice of one cluster it counts once, and where it says it of two
    clusters, which published corpora do here and there, the first keeps it and a warning names the other.

    Attributes:
        strict: Whether two entities of one cluster are an error; otherwise the first counts, with a warning.
    """

    strict: bool = True
    _mentions: dict[Hashable, set[Offsets]] = field(default_factory=dict)
    _entities: dict[Hashable, str] = field(default_factory=dict)
    _wikidata: dict[Hashable, str] = field(default_factory=dict)
    _owners: dict[Offsets, Hashable] = field(default_factory=dict)

    def add(self, group: Hashable, begin: int, end: int, where: str) -> None:
        """Add a mention.

        Args:
            group: What its cluster is named by.
            begin: Its first code point.
            end: One past the last.
            where: File and line, for a warning.
        """
        owner = self._owners.setdefault((begin, end), group)
        if owner == group:
            self._mentions.setdefault(group, set()).add((begin, end))
        else:
            place = f"a mention at the place of one of cluster {owner}, which keeps it"
            warnings.warn(f"dropped: {where}: cluster {group} has {place}", stacklevel=3)

    def link(self, group: Hashable, entity: str, where: str) -> None:
        """Say what a cluster's entity is.

        Raises:
            CorpusError: When it is another one already, and that is an error.
        """
        known = self._entities.setdefault(group, entity)
        if known != entity:
            problem = f"{where}: cluster {group} is {entity!r} here and {known!r} before; give it one entity"
            raise_or_warn(CorpusError(problem), self.strict, "ignored")

    def identify(self, group: Hashable, wikidata: str) -> None:
        """Say which item of Wikidata a cluster's entity is; the first that is said counts."""
        self._wikidata.setdefault(group, wikidata)

    def clusters(self) -> list[Cluster]:
        """Return the clusters and their mentions in the order of the text."""
        clusters = [
            Cluster(
                tuple(Mention(*offsets) for offsets in sorted(places)),
                self._entities.get(group),
                wikidata=self._wikidata.get(group),
            )
            for group, places in self._mentions.items()
        ]
        return sorted(clusters, key=lambda cluster: cluster.mentions[0].offsets)
