"""What the knowledge base says of the entities of a result: Wikidata ids and types; names by id, and what is left out.

The clusters of entities that are to have one name are one already (`hf_corefel.decoding.annotate_batch`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ..candidates import EntityStore
from ..candidates.entity_facts import entity_type, wikidata_id
from ..decoding.annotating import AnnotationOptions
from ..documents import Alternative, AnnotatedDocument, Cluster, Clustering, Mention
from ..resolving import resolve_text

__all__ = ["EntityDescriber"]


class EntityDescriber:
    """Adds to results what a knowledge base knows of their entities, and calls these as the options say.

    Args:
        store: The knowledge base.
        options: Of them ``id`` and ``types`` are read.

    Attributes:
        url: Where a reader finds an entity by its name in the knowledge base.

    Raises:
        ValueError: When types are asked for, and the knowledge base is none that has types.
    """

    def __init__(self, store: EntityStore, options: AnnotationOptions) -> None:
        self._types, self._by_wikidata = options.types, options.id == "wikidata"
        if self._types is not None and not callable(getattr(store, "type", None)):
            raise ValueError(
                f"types: the knowledge base, {type(store).__name__}, does not say which type an entity has; leave "
                "types out, or take a knowledge base that has them"
            )
        self.url = store.url
        # The same few entities come again and again.
        self._wikidata = cache(lambda entity: wikidata_id(store, entity))
        self._type = cache(lambda entity: entity_type(store, entity))

    def name(self, entity: str) -> str:
        """Return what results call an entity: its Wikidata id where that is asked for and known, else its name."""
        return (self._wikidata(entity) or entity) if self._by_wikidata else entity

    def describe(self, document: AnnotatedDocument) -> AnnotatedDocument:
        """Return a result with what is known of its entities, in place; the resolved text keeps readable names."""
        if self._types is not None:
            self._select(document)
        names = {cluster.entity for cluster in document.clusters if cluster.entity is not None}
        document.clusters = [self._described(cluster) for cluster in document.clusters]
        for field in ("samples", "clusterings"):
            listed: list[Clustering] | None = getattr(document, field)
            if listed is not None:
                setattr(document, field, list(map(self._described_clustering, listed)))
        kept = sum(self._wikidata(name) is None for name in names) if self._by_wikidata else 0
        if kept:
            document.warnings.append(
                f"id: {kept} of {len(names)} entities have no Wikidata id in the knowledge base; they keep their names"
            )
        return document

    def _select(self, document: AnnotatedDocument) -> None:
        """Leave the clusters whose entity is of a type that is asked for."""
        unknown = sum(c.entity is not None and self._type(c.entity) is None for c in document.clusters)
        if unknown:
            document.warnings.append(
                f"types: {unknown} linked {'cluster was' if unknown == 1 else 'clusters were'} left out, of whose "
                "entity the knowledge base does not say which type it has"
            )
        wanted = [cluster for cluster in document.clusters if self._is_wanted(cluster)]
        if document.resolved_text is not None and len(wanted) < len(document.clusters):
            document.clusters = wanted
            document.resolved_text = resolve_text(document)
        document.clusters = wanted

    def _is_wanted(self, cluster: Cluster) -> bool:
        if self._types is None:
            return True
        return cluster.entity is not None and self._type(cluster.entity) in self._types

    def _described(self, cluster: Cluster) -> Cluster:
        alternatives = cluster.alternatives
        if alternatives is not None:
            alternatives = tuple(map(self._described_alternative, alternatives))
        # A link that was too improbable is NIL, and its evidence is still that of an entity.
        mentions = tuple(map(self._described_mention, cluster.mentions))
        if cluster.entity is None:
            return replace(cluster, mentions=mentions, alternatives=alternatives)
        return replace(
            cluster,
            entity=self.name(cluster.entity),
            mentions=mentions,
            alternatives=alternatives,
            wikidata=self._wikidata(cluster.entity),
            type=self._type(cluster.entity),
        )

    def _described_clustering(self, clustering: Clustering) -> Clustering:
        wanted = filter(self._is_wanted, clustering.clusters)
        return replace(clustering, clusters=tuple(map(self._described, wanted)))

    def _described_alternative(self, alternative: Alternative) -> Alternative:
        entity = alternative.entity
        if entity is None:
            return alternative
        return replace(alternative, entity=self.name(entity), wikidata=self._wikidata(entity))

    def _described_mention(self, mention: Mention) -> Mention:
        parent = mention.parent
        if not self._by_wikidata or parent is None or parent.entity is None:
            return mention
        return replace(mention, parent=replace(parent, entity=self.name(parent.entity)))
