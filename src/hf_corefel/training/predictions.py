"""Predictions of the trainer, rows of numbers that can be gathered over processes, as documents."""

from __future__ import annotations

import numpy as np

from ..documents import AnnotatedDocument, Cluster, Document, Mention
from ..processing_corefel import CorefELProcessor

__all__ = ["PADDING", "documents_from_rows"]

PADDING = -100


def documents_from_rows(gold: list[Document], rows: np.ndarray, processor: CorefELProcessor) -> list[AnnotatedDocument]:
    """Predictions of `CorefELTrainer.prediction_step` as documents.

    Args:
        gold: The documents, whose gold clusters are not read.
        rows: ``[documents, R, 4]`` (begin, end, cluster, entity), padded with -100.
        processor: Knows the entities' names.
    """
    results = []
    for document, table in zip(gold, rows, strict=True):
        members: dict[int, list[Mention]] = {}
        links: dict[int, str | None] = {}
        for begin, end, cluster, entity in table[table[:, 0] != PADDING].tolist():
            members.setdefault(cluster, []).append(Mention(begin, end))
            if entity >= 0:
                links[cluster] = processor.knowledge_base.entity_name(entity)
            else:
                names = [] if entity == -1 else processor.encode(document, later_vectors=True).entities
                links[cluster] = None if entity == -1 else names[-2 - entity]
        clusters = [Cluster(tuple(mentions), links[c]) for c, mentions in members.items()]
        results.append(AnnotatedDocument(document.text, clusters, document.id))
    return results
