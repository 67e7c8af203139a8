"""Whole documents to training batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..documents import AnnotatedLayers, Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..pipelines.handed_over import items_of
from ..processing_corefel import CorefELProcessor
from .cutting import Cut, cut_document

__all__ = ["GOLD_FIELDS", "PREDICTION_FIELDS", "DocumentCollator", "DocumentDataset", "as_dataset", "check_collator"]

# What the trainer needs to read predictions off a batch; the model does not take them.
PREDICTION_FIELDS = ("document_index", "span_offsets", "entity_ids")
GOLD_FIELDS = ("gold_clusters", "gold_entities")

# Of a document without gold: no mention is given, and nothing is known of any span.
_NOTHING = AnnotatedLayers(mentions="given")


class DocumentDataset(Dataset[tuple[int, Document]]):
    """Gold documents with their positions, which lead a prediction back to its document.

    Args:
        documents: `Document`s, or their dicts (as a `datasets` dataset gives them), with gold clusters. All are read
            into memory, those of a stream too, without columns that a document does not have.
        max_words: Documents of more words are cut, see `hf_corefel.training.cutting`; None cuts none.
        extra: Names such columns over several datasets; an `ExtraFieldWarning` names those of this one when None.
        where: What messages call the documents.
        needs_gold: Whether documents without gold clusters are refused. Else no gold is known of them, and a teacher
            alone says what they hold.

    Attributes:
        documents: The documents or parts of documents.
        names: What messages call them: by their ids, those without one by their place among the given documents.
        cuts: What was cut.
        given: How many documents were given.
        without_gold: How many of them have no gold clusters.

    Raises:
        DocumentError: When a document is invalid or lacks gold clusters.
        TypeError: When something else is given, such as a DataFrame; the message says what to give.

    Example:
        >>> from hf_corefel import Document
        >>> from hf_corefel.training import DocumentDataset
        >>> len(DocumentDataset([Document("Oslo is old.", clusters=[]), {"text": "Bergen is wet.", "clusters": []}]))
        2
    """

    def __init__(
        self,
        documents: Iterable[Document | Mapping[str, Any]],
        max_words: int | None = None,
        extra: ExtraFields | None = None,
        where: str = "documents",
        needs_gold: bool = True,
    ) -> None:
        extra = extra or ExtraFields()
        self.documents: list[Document] = []
        self.names: list[str] = []
        self.cuts: list[Cut] = []
        self.given = self.without_gold = 0
        for place, item in enumerate(items_of(documents, where, "Documents or their dicts", rows=True)):
            document = item if isinstance(item, Document) else Document.from_dict(item, extra=extra)
            if document is not item:
                document.extra = {}  # may be large, and nothing of training reads it
            name = document.name if document.id is not None else f"document {place} (counted from 0; it has no id)"
            if document.clusters is None:
                if needs_gold:
                    raise DocumentError(f"{name}.clusters: missing; training and evaluation need gold clusters")
                document = replace(document, clusters=[], annotated=_NOTHING)
                self.without_gold += 1
            parts, cut = cut_document(document, max_words, name)
            self.documents += parts
            if cut is not None:
                self.cuts.append(cut)
            for number, part in enumerate(parts, 1):
                unnamed = name if cut is None else f"{name} [{number}/{len(parts)}]"
                self.names.append(unnamed if part.id is None else part.name)
            self.given += 1
        extra.say()

    @property
    def has_gold(self) -> bool:
        """Whether any document has gold clusters, be it none at all."""
        return self.without_gold < self.given

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> tuple[int, Document]:
        return index, self.documents[index]


@dataclass
class DocumentCollator:
    """Encodes (position, document) pairs as one batch with gold.

    Attributes:
        processor: Turns documents into tensors.

    Example:
        >>> from hf_corefel import CorefELProcessor, Document, bundled_checkpoint
        >>> from hf_corefel.training import DocumentCollator
        >>> collate = DocumentCollator(CorefELProcessor.from_pretrained(bundled_checkpoint()))
        >>> batch = collate([(0, Document("Oslo is old.", clusters=[]))])
        >>> batch["input_ids"].shape[0]
        1
    """

    processor: CorefELProcessor

    def __call__(self, items: list[tuple[int, Document]]) -> dict[str, Tensor]:
        batch = self.processor([document for _, document in items], gold=True)
        tensors = dict(batch.inputs)
        tensors["document_index"] = torch.tensor([index for index, _ in items])
        tensors["span_offsets"] = _pad([d.spans.offsets for d in batch.documents])
        tensors["entity_ids"] = _pad([d.entity_ids for d in batch.documents])
        return tensors


def as_dataset(
    documents: Any, name: str, extra: ExtraFields, max_words: int | None = None, needs_gold: bool = True
) -> Any:
    """Return what a trainer was given under a name as a `DocumentDataset`, or a dict of these; None for None.

    Raises:
        DocumentError: When a document is invalid, or lacks gold that is needed.
    """
    if documents is None:
        return documents
    if isinstance(documents, DocumentDataset):
        if needs_gold and documents.without_gold:
            raise DocumentError(f"{name}: {documents.without_gold} documents have no gold clusters, and no teacher")
        cut = DocumentDataset(documents.documents, max_words)
        cut.given, cut.without_gold = documents.given, documents.without_gold
        return cut if cut.cuts else documents
    if isinstance(documents, Mapping):
        return {
            key: as_dataset(part, f"{name}[{key!r}]", extra, max_words, needs_gold) for key, part in documents.items()
        }
    return DocumentDataset(documents, max_words, extra=extra, where=name, needs_gold=needs_gold)


def check_collator(collator: Callable[[list[Any]], Any], datasets: Iterable[Any]) -> None:
    """Collate one document to see that a user's collator takes documents and gives what the trainer needs.

    Args:
        collator: The collator.
        datasets: `DocumentDataset`s, mappings of them, or None; the first document of the first that has one is taken.

    Raises:
        TypeError: When it cannot take a document, or its batch lacks a field; the message names it.
    """
    parts = [part for data in datasets for part in (data.values() if isinstance(data, Mapping) else [data]) if part]
    if not parts:
        return
    advice = "see hf_corefel.training.DocumentCollator, which it can call or extend"
    try:
        batch = collator([parts[0][0]])
    except Exception as error:
        raise TypeError(f"data_collator: it cannot take a list of (position, Document) ({error}); {advice}") from error
    missing = [name for name in ("input_ids", *GOLD_FIELDS, *PREDICTION_FIELDS) if name not in batch]
    if missing:
        raise TypeError(f"data_collator: its batches lack {', '.join(missing)}; {advice}")


def _pad(arrays: list[np.ndarray]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(a) for a in arrays], batch_first=True, padding_value=-1)
