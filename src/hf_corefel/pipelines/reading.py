"""The model's step: what it makes of each group of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..long_documents.scoring import LongOutput, read_long_document
from ..modeling_corefel import CorefELModel, CorefELOutput
from ..processing_corefel import CorefELProcessor, EncodedDocument
from .retrieval import read_with_span_vectors, wants_span_vectors

__all__ = ["read_groups", "retained_spans"]


def retained_spans(output: CorefELOutput | LongOutput) -> list[int]:
    """Return the numbers of the spans that were retained of the only document of an output."""
    retained: Any = output.retained if isinstance(output, LongOutput) else output["retained"][0]
    spans: list[int] = retained.tolist()
    return spans


def read_groups(
    model: CorefELModel,
    processor: CorefELProcessor,
    batches: Sequence[Mapping[str, Tensor]],
    groups: Sequence[list[EncodedDocument]],
    documents: Sequence[EncodedDocument],
) -> tuple[list[CorefELOutput | LongOutput], list[EncodedDocument]]:
    """Return the outputs of several groups, and all documents with the candidates that they were read with.

    Args:
        model: The model, in evaluation mode.
        processor: What encoded the documents.
        batches: The tensors of each group, none of a long document.
        groups: Its documents.
        documents: All of these in order, and those that have nothing to read.
    """
    outputs: list[CorefELOutput | LongOutput] = []
    read: list[EncodedDocument] = []
    by_vectors = wants_span_vectors(processor)
    for tensors, group in zip(batches, groups, strict=True):
        if group[0].is_long:
            output: CorefELOutput | LongOutput = read_long_document(model, processor, group[0])
            found = [output.document] if isinstance(output, LongOutput) else group
        elif by_vectors:
            output, found = read_with_span_vectors(model, processor, tensors, group)
        else:
            output, found = model(**tensors), group
        outputs.append(output)
        read += found
    later = iter(read)
    return outputs, [next(later) if len(item.spans) else item for item in documents]
