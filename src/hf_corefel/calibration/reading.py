"""Annotated documents with what a model makes of their texts, kept so that each is encoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ..documents import AnnotatedLayers, Document
from ..metrics import EntityMap
from ..metrics.entity_map import entity_map_from
from ..modeling_corefel import CorefELOutput
from ..pipeline_corefel import CorefELPipeline
from ..processing_corefel import CorefELProcessor, EncodedDocument

__all__ = ["ReadDocument", "check_gold", "read_documents"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ReadDocument:
    """A document with gold clusters, and the scores that a model gives to its text alone, not calibrated.

    Attributes:
        gold: The document; entities by the names of the entity map. Where the model does not know the scope of its
            mentions, only the annotated ones count (`AnnotatedLayers.mentions` is ``"given"``).
        encoded: The text as it was read, without the vectors of entities.
        output: What the model gave, on the CPU.
        entities: The names of ``encoded.entities`` by the entity map.

    Example:
        >>> from hf_corefel import Cluster, Document, Mention, load_pipeline
        >>> from hf_corefel.calibration import read_documents
        >>> gold = Document("Angela Merkel spoke.", clusters=[Cluster((Mention(0, 13),), "Angela_Merkel")])
        >>> (document,) = read_documents(load_pipeline(), [gold])
        >>> "Angela_Merkel" in document.entities
        True
    """

    gold: Document
    encoded: EncodedDocument
    output: CorefELOutput
    entities: tuple[str, ...]


def check_gold(documents: Iterable[Document], where: str = "documents") -> None:
    """Raise `ValueError` unless all documents have gold clusters.

    Args:
        documents: The documents.
        where: What the message calls them: a file, or the name of a corpus.
    """
    for number, document in enumerate(documents, 1):
        if document.clusters is None:
            raise ValueError(
                f"{where}: number {number}, {document.name}.clusters: missing; calibration is fitted and judged by "
                "gold clusters"
            )


def read_documents(
    pipeline: CorefELPipeline,
    documents: Sequence[Document],
    *,
    entity_map: EntityMap | Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> list[ReadDocument]:
    """Run a model on the texts of annotated documents, one by one. Documents without a word are left out.

    A long document is read with the best of its spans, where the pipeline may read it whole: what is fitted compares
    all spans with each other. ``encoded.warnings`` says how many are left out.

    Args:
        pipeline: The model with its processor.
        documents: The documents; their words, candidates and speakers are read, their clusters are not.
        entity_map: Which names of entities mean one thing; None compares them as they are.
        progress: Called with the documents done and their number.

    Raises:
        ValueError: When a document has no gold clusters.
    """
    check_gold(documents)
    same = entity_map_from(entity_map) or EntityMap()
    read = []
    for number, document in enumerate(documents, 1):
        gold = same.document(_with_own_scope(document, pipeline.processor))
        text = replace(document, clusters=None, mentions=None, annotated=None, mention_scope=gold.mention_scope)
        found = pipeline.forward(pipeline.preprocess([text]))
        for output in found["outputs"]:
            encoded = replace(found["encoded"][0], entity_vectors=np.zeros((0, 0), dtype=np.float32))
            names = tuple(map(same, encoded.entities))
            read.append(ReadDocument(gold, encoded, _on_cpu(output), names))
        if progress is not None:
            progress(number, len(documents))
    return read


def _with_own_scope(document: Document, processor: CorefELProcessor) -> Document:
    """The document with the mention scope under which the model reads it.

    A scope that the model does not know says nothing of what is no mention.
    """
    settings = processor.settings
    if document.mention_scope is None:
        return replace(document, mention_scope=settings.default_scope)
    if document.mention_scope in settings.scope_names:
        return document
    layers = document.layers
    return replace(
        document, mention_scope=None, annotated=AnnotatedLayers("given", clusters=layers.clusters, links=layers.links)
    )


def _on_cpu(output: Any) -> CorefELOutput:
    """The output without its scores of all enumerated spans."""
    kept: dict[str, Any] = {}
    for name, value in output.items():
        if isinstance(value, torch.Tensor):
            kept[name] = value.detach().cpu()
        elif isinstance(value, dict):
            kept[name] = {key: tensor.detach().cpu() for key, tensor in value.items()}
    kept.pop("span_scores", None)
    return CorefELOutput(**kept)
