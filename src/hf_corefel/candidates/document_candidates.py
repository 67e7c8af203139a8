"""The candidates of one document as the model takes them: rows of its own entities, log priors, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..documents import Document
from ..documents.checks import check_entity
from .proposals import Proposals, QuerySpans, unique_candidates
from .protocols import CandidateSource, EntityStore

__all__ = [
    "DocumentCandidates",
    "DocumentEntities",
    "ask",
    "complete_vectors",
    "entities_of_span",
    "gather_entities",
    "known_names",
    "log_scores",
    "missing_vectors",
    "read_candidates",
]

_SMALLEST_PRIOR = 1e-6


class DocumentEntities(NamedTuple):
    """The E entities that are a candidate of any span of a document.

    Attributes:
        rows: Candidates of every span as rows of the entities, int64 ``[S, K]``, -1 on padding.
        names: Their names.
        ids: Their ids in the store, int64 ``[E]``; -1 for those that have none.
        vectors: Their vectors, float32 ``[E, D]``.
    """

    rows: np.ndarray
    names: list[str]
    ids: np.ndarray
    vectors: np.ndarray


class DocumentCandidates(NamedTuple):
    """The candidates of a document.

    Attributes:
        entities: The entities, and which of them each span may stand for.
        log_priors: Log scores of the candidates, float32 ``[S, K]``, 0 on padding.
        warnings: What was left out, in words.
    """

    entities: DocumentEntities
    log_priors: np.ndarray
    warnings: list[str]


def known_names(source: CandidateSource, surfaces: Sequence[str]) -> np.ndarray:
    """Return whether a source has candidates for names, bool ``[M]``; none where it cannot say so of a name alone."""
    knows = getattr(source, "knows", None)
    return np.zeros(len(surfaces), dtype=bool) if knows is None else np.asarray(knows(surfaces), dtype=bool)


def read_candidates(
    knowledge: object, document: Document, spans: QuerySpans, limit: int, *, later_vectors: bool = False
) -> DocumentCandidates:
    """Return the candidates of a document: those that it lists for a span itself, else what the source proposes.

    Args:
        knowledge: A `CandidateSource` and `EntityStore`.
        document: The document.
        spans: Its S spans.
        limit: K.
        later_vectors: See `gather_entities`.

    Raises:
        DocumentError: When a listed entity has no valid name.
        ValueError: When the source's answer is none; the message names it.
    """
    store = _both(knowledge)[1]
    proposed = ask(knowledge, document, spans, limit)
    found, scores = proposed.entity_ids[:, :limit].copy(), proposed.scores[:, :limit].copy()
    numbers = {name: number for number, name in enumerate(proposed.names)}
    warnings = []
    for row, (begin, end) in enumerate(spans.offsets.tolist() if document.candidates else ()):
        listed = (document.candidates or {}).get((begin, end))
        if listed is None:
            continue
        # An entity that is listed twice would be two parallel edges: the highest prior stands.
        unique = unique_candidates(listed)
        if limit < len(unique):
            warnings.append(f"span {begin}..{end}: {len(unique) - limit} candidates beyond {limit} were dropped")
        if found.shape[1] < min(limit, len(unique)):
            wider = Proposals.none(len(spans), limit)
            wider.entity_ids[:, : found.shape[1]], wider.scores[:, : found.shape[1]] = found, scores
            found, scores = wider.entity_ids, wider.scores
        found[row], scores[row] = -1, 0.0
        for k, candidate in enumerate(unique[:limit]):
            check_entity(candidate.entity, f"{document.name}.candidates: entity of {begin}..{end}")
            known = store.entity_id(candidate.entity)
            found[row, k] = -2 - numbers.setdefault(candidate.entity, len(numbers)) if known is None else known
            scores[row, k] = candidate.prior
    entities = gather_entities(store, found, list(numbers), later_vectors=later_vectors)
    return DocumentCandidates(entities, log_scores(found, scores), warnings)


def ask(knowledge: object, document: Document, spans: QuerySpans, limit: int) -> Proposals:
    """Return what a source proposes, once it is checked, with ids in place of names wherever the store has one.

    Args:
        knowledge: A `CandidateSource` and `EntityStore`.
        document: The document.
        spans: S spans of it.
        limit: K.

    Raises:
        TypeError: When it is no source, or no store.
        ValueError: When the answer is none; the message names the source.
    """
    source, store = _both(knowledge)
    proposed: Any = source.propose(document, spans, limit)
    if not isinstance(proposed, Proposals):
        where = f"{type(source).__name__}.propose"
        raise TypeError(f"{where}: expected hf_corefel.candidates.Proposals, got {type(proposed).__name__}")
    proposed.check(source, len(spans))
    known = {-2 - n: known for n, name in enumerate(proposed.names) if (known := store.entity_id(name)) is not None}
    if not known:
        return proposed
    ids, scores = proposed.entity_ids.copy(), proposed.scores.copy()
    for row in np.flatnonzero(np.isin(ids, list(known)).any(axis=1)).tolist():
        for column, given in enumerate(ids[row].tolist()):
            if given in known:
                # It may be among the span's candidates by its id, too.
                twice = known[given] in ids[row].tolist()
                ids[row, column], scores[row, column] = (-1, 0.0) if twice else (known[given], scores[row, column])
    return Proposals(ids, scores, proposed.names)


def entities_of_span(knowledge: object, document: Document, offsets: tuple[int, int], limit: int) -> set[str]:
    """Return the names of the entities that a source proposes for one span of a document, before it is encoded."""
    span, store = np.array([offsets], dtype=np.int64), _both(knowledge)[1]
    proposed = ask(knowledge, document, QuerySpans(span, span), limit)
    ids = [entity_id for entity_id in proposed.entity_ids[0, :limit].tolist() if entity_id != -1]
    return {store.entity_name(i) if i >= 0 else proposed.names[-2 - i] for i in ids}


def gather_entities(
    store: EntityStore, found: np.ndarray, names: Sequence[str], *, later_vectors: bool = False
) -> DocumentEntities:
    """Return the entities of a document by rows of their own.

    Args:
        store: Knows names and vectors.
        found: Ids of the candidates ``[S, K]``; -1 is padding, -2 - n is ``names[n]``.
        names: Names of entities that have no id.
        later_vectors: Make no vectors that are made when they are needed: these are NaN until `complete_vectors`.
    """
    real = found != -1
    ids, inverse = np.unique(found[real], return_inverse=True)
    rows = np.full(found.shape, -1, dtype=np.int64)
    rows[real] = inverse
    all_names = [names[-2 - i] if i < 0 else store.entity_name(i) for i in ids.tolist()]
    ids = np.where(ids < 0, -1, ids)
    give = getattr(store, "vectors_so_far", store.vectors) if later_vectors else store.vectors
    vectors = np.array(give(ids), dtype=np.float32)
    if vectors.shape != (len(ids), store.vector_size):
        shape = f"({len(ids)}, {store.vector_size})"
        raise ValueError(f"{type(store).__name__}.vectors: expected an array of shape {shape}, got {vectors.shape}")
    for row in np.flatnonzero(ids < 0):
        vectors[row] = store.vector_for(all_names[row])
    wrong = ~np.isfinite(vectors).all(axis=1)
    if later_vectors:
        wrong &= ~np.isnan(vectors).all(axis=1)
    if wrong.any():
        name = all_names[int(np.flatnonzero(wrong)[0])]
        raise ValueError(f"{type(store).__name__}: the vector of {name!r} is not finite")
    return DocumentEntities(rows, all_names, ids, vectors)


def missing_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return whether vectors ``[E, D]`` are still to be made, bool ``[E]``."""
    return np.isnan(vectors[:, 0]) if vectors.shape[1] else np.zeros(len(vectors), dtype=bool)


def complete_vectors(store: EntityStore, ids: Sequence[np.ndarray], vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the vectors of the entities of several documents with those that were left for later, made all at once.

    Args:
        store: Makes them.
        ids: By document, the ids of its entities ``[E]``.
        vectors: By document, what is known of their vectors ``[E, D]``.
    """
    missing = [missing_vectors(known) for known in vectors]
    wanted = np.unique(np.concatenate([own[lacks] for own, lacks in zip(ids, missing, strict=True)]))
    made = np.asarray(store.vectors(wanted), dtype=np.float32)
    completed = []
    for own, known, lacks in zip(ids, vectors, missing, strict=True):
        whole = known.copy()
        whole[lacks] = made[np.searchsorted(wanted, own[lacks])]
        completed.append(whole)
    return completed


def log_scores(found: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the logarithms of scores, float32 ``[S, K]``; 0 where `found` is padding."""
    logs = np.log(np.maximum(scores.astype(np.float32), _SMALLEST_PRIOR))
    return np.where(found != -1, logs, 0.0).astype(np.float32)


def _both(knowledge: object) -> tuple[CandidateSource, EntityStore]:
    for protocol in (CandidateSource, EntityStore):
        if not isinstance(knowledge, protocol):
            raise TypeError(
                f"knowledge_base: {type(knowledge).__name__} is no {protocol.__name__}, see hf_corefel.candidates"
            )
    return knowledge, knowledge  # type: ignore[return-value]
