"""Documents as arrays: what the processor makes of them, and the model's batch of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from transformers import BatchFeature

from ..documents import Document, DocumentError
from ..moved import name_of_now, renamed_attribute, renamed_field
from . import SpanTable, Windows
from .alignment import Alignment, align_clusters

__all__ = ["MOST_IN_CACHE", "CorefELBatch", "EncodedDocument", "readable_groups"]

# Pairs of spans that the model scores at once in a batch of several documents: those of one document of 3,000 spans,
# for which it takes about 1.3 GB.
_MOST_PAIRS = 3000**2
# Subwords, padding included, that a processor reads at once in a batch: what is computed of more leaves its cache, and
# texts of 600 words take a tenth longer in a batch of 16 than one by one.
MOST_IN_CACHE = 1024
# Tensors of a batch that had another name in version 0.1.0.
_RENAMED = {"candidates": "candidate_rows"}


@renamed_field("candidates", "candidate_rows")
@dataclass(frozen=True)
class EncodedDocument:
    """One document as arrays.

    Attributes:
        document: The document itself.
        subword_ids: ``[T]`` subwords without special tokens.
        windows: How they are read.
        word_forms: ``[M]`` numbers of the words' forms.
        spans: The S candidate spans.
        definitions: ``[S, 6]`` what brackets and initials say of them, see `label_definitions`.
        speakers: ``[S, 2]`` who says them and whom they mean, see `label_speakers`.
        cores: ``[S, 2]`` code points of their cores, see `span_cores`.
        limit: Most spans that the pruner may keep.
        scope: Number of its mention scope.
        keep_all: Whether the spans are given mentions, none of which is dropped.
        candidate_rows: ``[S, K]`` rows of `entities`, -1 on padding.
        log_priors: ``[S, K]`` float32.
        entities: Names of the E entities that are a candidate of any span.
        entity_ids: ``[E]`` their ids in the knowledge base, -1 for entities that it does not know.
        entity_vectors: ``[E, D]`` float32.
        warnings: What was dropped, in words.
        names_only: Whether its mention scope wants names only.
        max_partners: Of a long document, how many others each span is scored with; 0 where each is scored with each.
    """

    document: Document
    subword_ids: np.ndarray
    windows: Windows
    word_forms: np.ndarray
    spans: SpanTable
    definitions: np.ndarray
    speakers: np.ndarray
    cores: np.ndarray
    limit: int
    scope: int
    keep_all: bool
    candidate_rows: np.ndarray
    log_priors: np.ndarray
    entities: list[str]
    entity_ids: np.ndarray
    entity_vectors: np.ndarray
    warnings: list[str]
    names_only: bool = False
    max_partners: int = 0

    @property
    def is_long(self) -> bool:
        """Whether it has too many spans to be scored each with each; see `hf_corefel.long_documents`."""
        return self.max_partners > 0

    def align(self) -> Alignment:
        """The document's gold clusters over its candidate spans.

        Raises:
            DocumentError: If it has none, be it an empty list: that nobody looked is not that there is no mention.
        """
        gold = self.document.clusters
        if gold is None:
            raise DocumentError(
                f"{self.document.name}.clusters: missing, but its gold is asked for; give clusters=[] where there is "
                'no mention, with annotated={"mentions": "given"} where nothing is known of any'
            )
        spans = self.spans.offsets, self.candidate_rows, self.entities, self.cores
        return align_clusters(gold, *spans, layers=self.document.layers, names_only=self.names_only)


class CorefELBatch(BatchFeature):
    """Encoded documents and the tensors that `CorefELModel` takes: ``model(**batch)``.

    What is in it by name (``batch["input_ids"]``) are the tensors; see `BatchFeature` for ``to`` and the rest.

    Attributes:
        documents: The encoded documents, in order.
    """

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        documents: Sequence[EncodedDocument] = (),
        tensor_type: str | None = None,
    ) -> None:
        super().__init__(dict(data or {}), tensor_type=tensor_type)
        self.documents = list(documents)

    candidates = renamed_attribute("candidates", "candidate_rows")

    def __getitem__(self, item: Any) -> Any:
        # A batch that was saved by that version has the name of old.
        if "candidates" not in self.data:
            item = name_of_now(item, _RENAMED, type(self).__name__)
        return super().__getitem__(item)

    @property
    def inputs(self) -> dict[str, Any]:
        """The tensors alone, as a dict."""
        return self.data

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "documents": self.documents}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.data, self.documents = state["data"], state["documents"]


def readable_groups(
    documents: Iterable[EncodedDocument], most_subwords: int | None = None
) -> Iterator[list[EncodedDocument]]:
    """The documents that have something to read, in parts that the model can take at once.

    The tensors of a batch are as large as its longest document needs them: a long one among many short ones would
    take many times the memory that it takes by itself. One that is read a stretch at a time (`EncodedDocument.is_long`)
    is by itself.

    Args:
        documents: The documents.
        most_subwords: Subwords of a part of several documents, with the padding of the shorter ones; None is no bound.
    """
    group: list[EncodedDocument] = []
    most = longest = 0
    for document in documents:
        spans = len(document.spans)
        if not spans:
            continue
        if document.is_long:
            if group:
                yield group
            yield [document]
            group, most, longest = [], 0, 0
            continue
        retained = spans if document.keep_all else min(spans, document.limit)
        subwords, count = len(document.subword_ids), len(group) + 1
        is_many = most_subwords is not None and count * max(longest, subwords) > most_subwords
        if group and (is_many or count * max(most, retained) ** 2 > _MOST_PAIRS):
            yield group
            group, most, longest = [], 0, 0
        group.append(document)
        most, longest = max(most, retained), max(longest, subwords)
    if group:
        yield group
