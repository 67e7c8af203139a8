"""Whole documents to training batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..documents import Document, DocumentError
from ..processing_corefel import CorefELProcessor

__all__ = ["PREDICTION_FIELDS", "DocumentCollator", "DocumentDataset"]

# What the trainer needs to read predictions off a batch; the model does not take them.
PREDICTION_FIELDS = ("document_index", "span_offsets", "entity_ids")


class DocumentDataset(Dataset[tuple[int, Document]]):
    """Gold documents with their positions, which lead a prediction back to its document.

    Args:
        documents: `Document`s, or their dicts (as a `datasets` dataset gives them), with gold clusters.

    Raises:
        DocumentError: When a document is invalid or has no gold clusters.
    """

    def __init__(self, documents: Iterable[Document | Mapping[str, Any]]) -> None:
        self.documents = [d if isinstance(d, Document) else Document.from_dict(d) for d in documents]
        for document in self.documents:
            if document.clusters is None:
                raise DocumentError(f"{document.name}.clusters: missing; training and evaluation need gold clusters")

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> tuple[int, Document]:
        return index, self.documents[index]


@dataclass
class DocumentCollator:
    """Encodes (position, document) pairs as one batch with gold.

    Attributes:
        processor: Turns documents into tensors.
    """

    processor: CorefELProcessor

    def __call__(self, items: list[tuple[int, Document]]) -> dict[str, Tensor]:
        batch = self.processor([document for _, document in items], gold=True)
        tensors = dict(batch.inputs)
        tensors["document_index"] = torch.tensor([index for index, _ in items])
        tensors["span_offsets"] = _pad([d.spans.offsets for d in batch.documents])
        tensors["entity_ids"] = _pad([d.entity_ids for d in batch.documents])
        return tensors


def _pad(arrays: list[np.ndarray]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(a) for a in arrays], batch_first=True, padding_value=-1)
