"""Saves what was merged as the folder of a knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..kb.columns import Columns, write_columns
from ..kb.knowledge_base import KnowledgeBase
from .merging import Candidates, Merger
from .problems import WikipediaError

__all__ = ["Described", "save_merged"]


@dataclass(frozen=True)
class Described:
    """What is said of a knowledge base as a whole: where readers find an entity, and where the facts come from."""

    url_template: str | None
    provenance: Mapping[str, Any]


def save_merged(
    out: Path, merger: Merger, candidates: Candidates, described: Described, vectors_of: KnowledgeBase | None
) -> None:
    """Write the folder of a knowledge base, in bounded memory unless vectors are taken of another.

    Entities without a vector get one when a document needs it first.

    Raises:
        WikipediaError: When the other knowledge base has no vector of any entity.
        OSError: When the folder cannot be written.
    """
    if vectors_of is not None:
        _save_with_vectors(out, merger, candidates, described, vectors_of)
        return
    columns = Columns(
        entities=merger.names("entities"),
        surfaces=merger.names("surfaces"),
        offsets=candidates.offsets,
        candidate_numbers=candidates.entities,
        priors=candidates.priors,
        descriptions=merger.texts("descriptions"),
        wikidata=merger.texts("wikidata"),
        types=merger.texts("types"),
        redirects=merger.texts("redirects"),
        links=iter(merger.links().tolist()),
        provenance=described.provenance,
        url_template=described.url_template,
        lazy_vectors=True,
    )
    write_columns(out, columns)


def _save_with_vectors(
    out: Path, merger: Merger, candidates: Candidates, described: Described, known: KnowledgeBase
) -> None:
    """As above, as objects in memory: some kilobytes an entity."""
    names = list(merger.names("entities"))

    def rows() -> Iterator[tuple[str, list[tuple[str, float]]]]:
        offsets = candidates.offsets.tolist()
        for number, surface in enumerate(merger.names("surfaces")):
            span = slice(offsets[number], offsets[number + 1])
            entities, priors = candidates.entities[span].tolist(), candidates.priors[span].tolist()
            yield surface, [(names[entity], prior) for entity, prior in zip(entities, priors, strict=True)]

    texts: dict[str, Any] = {
        name: {names[number]: text for number, text in merger.texts(name)}
        for name in ("descriptions", "wikidata", "types")
    }
    ids = {name: known.entity_id(name) for name in names}
    with_vector = [name for name, number in ids.items() if number is not None and known.has_vector([number])[0]]
    if not with_vector:
        raise WikipediaError("the knowledge base of --vectors-of has a vector of none of the entities")
    kb = KnowledgeBase.build(
        rows(),
        vectors=(with_vector, np.stack([known.vector_for(name) for name in with_vector])),
        projection=known.projection,
        lazy_vectors=True,
        **texts,
        links=dict(zip(names, merger.links().tolist(), strict=True)),
        redirects={title: names[number] for number, title in merger.texts("redirects")},
        url_template=described.url_template,
        provenance=described.provenance,
    )
    kb.save_pretrained(out)
