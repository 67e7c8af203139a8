"""Candidates that need to know what the encoder makes of a span: encode and prune, propose, then score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from torch import Tensor

from ..candidates import KnowledgeBackend, Proposals, QuerySpans
from ..candidates.document_candidates import ask, gather_entities, log_scores
from ..layers.enumerated import SpanTensors
from ..modeling_corefel import CorefELModel, CorefELOutput
from ..processing_corefel import CorefELProcessor, EncodedDocument

__all__ = ["read_with_span_vectors", "wants_span_vectors", "with_late_candidates"]

_CANDIDATE_TENSORS = ("candidate_rows", "log_priors", "entity_vectors")


def wants_span_vectors(processor: CorefELProcessor) -> bool:
    """Whether the knowledge base has a source that proposes by span vectors."""
    return bool(getattr(processor.knowledge_base, "needs_span_vectors", False))


def read_with_span_vectors(
    model: CorefELModel, processor: CorefELProcessor, tensors: Mapping[str, Tensor], documents: list[EncodedDocument]
) -> tuple[CorefELOutput, list[EncodedDocument]]:
    """Return the model's output with candidates that were proposed between its two halves, and documents with them.

    Args:
        model: The model.
        processor: Whose knowledge base is asked.
        tensors: What the processor collated of the documents, where the model is.
        documents: The documents as they were encoded.
    """
    fields = ("span_begin", "span_end", "span_width", "span_cases", "span_mask", "mention_scope")
    windows = tensors["input_ids"], tensors["attention_mask"], tensors["subword_positions"]
    table = SpanTensors(*(tensors[name] for name in fields))
    pruned = model.prune(windows, table, tensors["span_limits"], tensors["keep_all"])
    retained, vectors = pruned.retained.cpu().numpy(), pruned.vectors.float().cpu().numpy()
    limit = processor.settings.max_candidates
    found = []
    for b, document in enumerate(documents):
        real = retained[b] >= 0
        found.append(
            with_late_candidates(processor.knowledge_base, document, retained[b][real], vectors[b][real], limit)
        )
    collated = processor.collate(found)
    late = {name: collated[name].to(tensors["span_mask"].device) for name in _CANDIDATE_TENSORS}
    late = {name: value.to(tensors[name].dtype) for name, value in late.items()}
    return model(**{**tensors, **late}, pruned=pruned), found


def with_late_candidates(
    knowledge: KnowledgeBackend, encoded: EncodedDocument, rows: np.ndarray, vectors: np.ndarray, limit: int
) -> EncodedDocument:
    """Return a document with what its knowledge base proposes for some spans by their vectors.

    Candidates that the document lists itself stay.

    Args:
        knowledge: The knowledge base.
        encoded: The document.
        rows: Numbers of N spans.
        vectors: What the encoder makes of them, float32 ``[N, G]``.
        limit: How many candidates a span may have.
    """
    listed = encoded.document.candidates or {}
    open_to_more = np.array([tuple(o) not in listed for o in encoded.spans.offsets[rows].tolist()], dtype=bool)
    rows, vectors = rows[open_to_more], vectors[open_to_more]
    spans = QuerySpans(encoded.spans.offsets[rows], encoded.spans.named[rows], vectors)
    proposed = ask(knowledge, encoded.document, spans, limit)
    # All in ids of the knowledge base again; entities that have a name only get numbers below -1 for the moment.
    numbers: dict[str, int] = {}
    own = [
        entity_id if entity_id >= 0 else -2 - numbers.setdefault(name, len(numbers))
        for entity_id, name in zip(encoded.entity_ids.tolist(), encoded.entities, strict=True)
    ]
    new = [-2 - numbers.setdefault(name, len(numbers)) for name in proposed.names]
    all_rows = Proposals.none(len(encoded.spans), max(limit, encoded.candidate_rows.shape[1]))
    width = encoded.candidate_rows.shape[1]
    logs = all_rows.scores
    all_rows.entity_ids[:, :width] = np.array([*own, -1])[encoded.candidate_rows]
    logs[:, :width] = encoded.log_priors
    width = min(limit, proposed.entity_ids.shape[1])
    ids = proposed.entity_ids[:, :width]
    ids = np.where(ids < -1, np.array([*new, -1])[(-2 - ids).clip(-1)], ids)
    all_rows.entity_ids[rows], logs[rows] = -1, 0.0
    all_rows.entity_ids[rows[:, None], np.arange(width)] = ids
    logs[rows[:, None], np.arange(width)] = log_scores(ids, proposed.scores[:, :width])
    entities = gather_entities(knowledge, all_rows.entity_ids, list(numbers))
    return replace(
        encoded,
        candidate_rows=entities.rows,
        log_priors=logs,
        entities=entities.names,
        entity_ids=entities.ids,
        entity_vectors=entities.vectors,
    )
