"""Constraints of a call: which document has which, and what the model has to read for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..candidates import QuerySpans
from ..candidates.document_candidates import ask
from ..candidates.entity_facts import canonical_name, entity_of
from ..decoding.whole_clusterings import ConstraintPlan
from ..documents import Candidate, Constraints, Document, DocumentError, Offsets
from ..documents.plain_values import plain
from ..processing_corefel import CorefELProcessor, EncodedDocument
from .handed_over import located

__all__ = ["ConstrainedDocument", "constrained", "encode_constrained", "keep_required"]


_WIKIDATA = re.compile(r"[QPL][0-9]+")


@dataclass(frozen=True, slots=True)
class ConstrainedDocument:
    """A document with constraints that were given in the call."""

    document: Document
    constraints: Constraints


def constrained(
    processor: CorefELProcessor, documents: Sequence[Document], given: Any
) -> list[Document | ConstrainedDocument]:
    """Return documents with their constraints, where they have some.

    An old title stands for the entity that it leads to, and a Wikidata id for the one that has it.

    Args:
        processor: Its knowledge base says which names are those of one entity.
        documents: The documents.
        given: A list with what `Constraints.of` takes, or None, for each.

    Raises:
        DocumentError: When something is no constraints, or constraints contradict one another or do not fit the text.
        TypeError: When there is no list.
        ValueError: When it has another length.
    """
    listed = plain(given)
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        raise TypeError(
            f"constraints: expected a list, with the constraints of each of the {len(documents)} documents or None; "
            f"got {type(given).__name__}"
        )
    if len(listed) != len(documents):
        raise ValueError(
            f"constraints: expected one item for each of the {len(documents)} documents, got {len(listed)}"
        )
    pairs: list[Document | ConstrainedDocument] = []
    for number, (document, value) in enumerate(zip(documents, listed, strict=True)):
        try:
            read = None if value is None else _read(processor, document, value)
        except DocumentError as error:
            raise (located(error, number) if len(documents) > 1 else error) from error.__cause__
        pairs.append(document if read is None or not read.mentions else ConstrainedDocument(document, read))
    return pairs


def _read(processor: CorefELProcessor, document: Document, value: Any) -> Constraints:
    try:
        # Whether two names contradict one another shows when they are those of the knowledge base.
        constraints = _with_own_names(processor, document, Constraints.of(value))
        constraints.groups(document.text)
    except DocumentError as error:
        raise DocumentError(f"{document.name}: {error}") from error
    return constraints


def encode_constrained(
    processor: CorefELProcessor, given: ConstrainedDocument, **options: Any
) -> tuple[EncodedDocument, ConstraintPlan]:
    """Encode a document so that all mentions of its constraints are among its spans, with the entities they have.

    A mention whose entity is fixed has it for its only candidate, with a prior of 1, or none where it is NIL.

    Args:
        processor: The processor.
        given: The document and its constraints.
        **options: Of `CorefELProcessor.encode`.

    Raises:
        DocumentError: When a mention is none of the given ones, or holds no word, or an entity is unknown.
    """
    document, constraints = given.document, given.constraints
    plan = ConstraintPlan(constraints, *constraints.groups(document.text))
    for name in ("mentions", "spans"):
        listed = getattr(document, name)
        for mention in constraints.mentions if listed is not None else ():
            if mention not in listed:
                raise DocumentError(
                    f"{document.name}: constraints name {_name(document, mention)}, which is none of the document's "
                    f"{name}; add it to them"
                )
    candidates = dict(document.candidates)
    for mention, entity in constraints.entities.items():
        _check_entity(processor, document, mention, entity)
        candidates[mention] = [] if entity is None else [Candidate(entity, 1.0)]
    encoded = processor.encode(replace(document, candidates=candidates), **options)
    missing = _missing(encoded, constraints)
    if missing and document.mentions is None and document.spans is None:
        # Spans with candidates of their own are read, however long they are.
        candidates |= {mention: _known(processor, document, mention) for mention in missing}
        encoded = processor.encode(replace(document, candidates=candidates), **options)
        missing = _missing(encoded, constraints)
    if missing:
        raise DocumentError(
            f"{document.name}: constraints name {_name(document, missing[0])}, which holds no word that the model reads"
        )
    return replace(encoded, document=document), plan


def _with_own_names(processor: CorefELProcessor, document: Document, constraints: Constraints) -> Constraints:
    """The constraints with the knowledge base's names of entities, where it knows them by others."""
    store = processor.knowledge_base
    listed = {item.entity for items in document.candidates.values() for item in items}

    def own(entity: str | None) -> str | None:
        if entity is None or entity in store or entity in listed:
            return entity
        identifier = entity.removeprefix("wikidata:")
        known = entity_of(store, "wikidata", identifier) if _WIKIDATA.fullmatch(identifier) else None
        return known or canonical_name(store, entity)

    named = {mention: own(entity) for mention, entity in constraints.entities.items()}
    return constraints if named == constraints.entities else replace(constraints, entities=named)


def _check_entity(processor: CorefELProcessor, document: Document, mention: Offsets, entity: str | None) -> None:
    if entity is None or entity in processor.knowledge_base:
        return
    if not any(item.entity == entity for listed in document.candidates.values() for item in listed):
        raise DocumentError(
            f"{document.name}: constraints give {_name(document, mention)} the entity {entity!r}, which is not in the "
            "knowledge base; add it, or give it as a candidate of the document"
        )


def _missing(encoded: EncodedDocument, constraints: Constraints) -> list[Offsets]:
    there = set(map(tuple, encoded.spans.offsets.tolist()))
    return [mention for mention in constraints.mentions if mention not in there]


def _known(processor: CorefELProcessor, document: Document, mention: Offsets) -> list[Candidate]:
    """The candidates that the knowledge base has for a mention."""
    limit, place = processor.settings.max_candidates, np.array([mention], dtype=np.int64)
    found = ask(processor.knowledge_base, document, QuerySpans(place, place), limit)
    rows = zip(found.entity_ids[0, :limit].tolist(), found.scores[0, :limit].tolist(), strict=True)
    names = [
        (found.names[-2 - number] if number < 0 else processor.knowledge_base.entity_name(number), score)
        for number, score in rows
        if number != -1
    ]
    return [Candidate(name, min(score, 1.0)) for name, score in names]


def keep_required(
    tensors: dict[str, Tensor], encoded: Sequence[EncodedDocument], plans: Sequence[ConstraintPlan | None]
) -> dict[str, Tensor]:
    """Return the tensors of a batch with the mentions of constraints marked as spans that are retained in any case."""
    if not any(plans):
        return tensors
    keep = tensors["keep_all"].unsqueeze(1).repeat(1, tensors["span_mask"].shape[1])
    for b, (document, plan) in enumerate(zip(encoded, plans, strict=True)):
        required = set() if plan is None else set(plan.constraints.mentions)
        rows = [row for row, offsets in enumerate(document.spans.offsets.tolist()) if tuple(offsets) in required]
        keep[b, torch.tensor(rows, dtype=torch.int64)] = True
    return {**tensors, "keep_all": keep}


def _name(document: Document, mention: Offsets) -> str:
    begin, end = mention
    return f"{document.text[begin:end]!r} {begin}..{end}"
