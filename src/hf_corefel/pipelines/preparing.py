"""A batch of documents as what the model reads, and its documents in the groups that it reads at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch

from ..decoding.whole_clusterings import ConstraintPlan
from ..documents import Document
from ..processing import check_length
from ..processing.encoded_document import EncodedDocument, readable_groups
from ..processing.padding import pad_vectors
from ..processing_corefel import CorefELProcessor
from .constraining import ConstrainedDocument, encode_constrained, keep_required

__all__ = ["complete_batch", "prepare_batch", "readable_batches"]

Plans = Sequence[ConstraintPlan | None]


def prepare_batch(
    processor: CorefELProcessor,
    items: Sequence[Document | ConstrainedDocument],
    mention_scope: str | None = None,
    max_document_words: int | None = None,
    max_kept_spans: int | None = None,
    whole: bool = False,
    most_subwords: int | None = None,
) -> dict[str, Any]:
    """Return the tensors of each group of documents, all encoded documents, and their constraints or None.

    Args:
        processor: Encodes the documents.
        items: The documents.
        mention_scope: See `AnnotationParameters`.
        max_document_words: Likewise.
        max_kept_spans: Likewise.
        whole: Whether long documents are read whole, see `CorefELProcessor.encode`; those with constraints are not.
        most_subwords: See `readable_groups`; it is in what is returned.

    Raises:
        DocumentError: When a document is too long, or constraints do not fit it.
    """
    documents = [item.document if isinstance(item, ConstrainedDocument) else item for item in items]
    if max_document_words is not None:
        for document in documents:
            check_length(document, max_document_words)
    if mention_scope is not None:
        documents = [
            replace(document, mention_scope=mention_scope) if document.mention_scope is None else document
            for document in documents
        ]
    # Workers have no model that makes vectors; it makes those of a batch at once.
    bound: dict[str, Any] = {"later_vectors": True}
    if max_kept_spans is not None:
        bound["max_kept_spans"] = max_kept_spans
    encoded: list[EncodedDocument] = []
    plans: list[ConstraintPlan | None] = []
    for item, document in zip(items, documents, strict=True):
        plan = None
        if isinstance(item, ConstrainedDocument):
            one, plan = encode_constrained(processor, replace(item, document=document), **bound)
        else:
            one = processor.encode(document, whole=whole, **bound)
        encoded.append(one)
        plans.append(plan)
    # A long document is read a stretch at a time, and has no tensors of its own.
    tensors = [
        {} if group[0].is_long else keep_required(processor.collate(group), group, of_group)
        for group, of_group in readable_batches(encoded, plans, most_subwords)
    ]
    return {"tensors": tensors, "encoded": encoded, "plans": plans, "most_subwords": most_subwords}


def complete_batch(processor: CorefELProcessor, prepared: dict[str, Any]) -> dict[str, Any]:
    """Return what `prepare_batch` gives with the vectors of entities that are made when they are needed first.

    Raises:
        KnowledgeBaseError: When the knowledge base has nothing to make them with.
    """
    encoded = processor.complete(prepared["encoded"])
    if all(new is old for new, old in zip(encoded, prepared["encoded"], strict=True)):
        return prepared
    tensors = []
    groups = readable_batches(encoded, prepared["plans"], prepared["most_subwords"])
    for before, (group, _) in zip(prepared["tensors"], groups, strict=True):
        if group[0].is_long:
            tensors.append(before)
            continue
        vectors = torch.from_numpy(pad_vectors(group)).to(before["entity_vectors"])
        tensors.append({**before, "entity_vectors": vectors})
    return {**prepared, "tensors": tensors, "encoded": encoded}


def readable_batches(
    encoded: Sequence[EncodedDocument], plans: Plans, most_subwords: int | None
) -> Iterator[tuple[list[EncodedDocument], list[ConstraintPlan | None]]]:
    """Yield the documents that the model reads at once, see `readable_groups`, with their constraints."""
    left = iter([plan for document, plan in zip(encoded, plans, strict=True) if len(document.spans)])
    for group in readable_groups(encoded, most_subwords):
        yield group, list(islice(left, len(group)))
