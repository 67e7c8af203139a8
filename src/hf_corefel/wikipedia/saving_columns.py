"""Saves what was merged as the folder of a knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..kb.knowledge_base import KnowledgeBase
from .problems import WikipediaError
from .merging import Candidates, Merger

__all__ = ["Described", "save_merged"]


@dataclass(frozen=True)
class Described:
    """What is said of a knowledge base as a whole: where readers find an entity, and where the facts come from."""

    url_template: str | None
    provenance: Mapping[str, Any]


def save_merged(
    out: Path, merger: Merger, candidates: Candidates, described: Described, vectors_of: KnowledgeBase | None
) -> None:
    """Write the folder of a knowledge base.

    Raises:
        WikipediaError: When there is no entity, or no surface.
        OSError: When the folder cannot be written.
    """
    names = list(merger.names("entities"))
    if not names or not len(candidates.entities):
        raise WikipediaError("nothing was found that could be linked to; nothing was saved")

    def rows() -> Iterator[tuple[str, list[tuple[str, float]]]]:
        offsets = candidates.offsets.tolist()
        for number, surface in enumerate(merger.names("surfaces")):
            span = slice(offsets[number], offsets[number + 1])
            entities, priors = candidates.entities[span].tolist(), candidates.priors[span].tolist()
            yield surface, [(names[entity], prior) for entity, prior in zip(entities, priors, strict=True)]

    descriptions = {names[i]: text for i, text in merger.texts("descriptions")}
    options: dict[str, Any] = {}
    if vectors_of is not None:
        # Drawn where it has none, as it draws them: the new table's draws would be like the few vectors that it has.
        options["vectors"] = names, np.stack([vectors_of.vector_for(name) for name in names])
        options["projection"] = vectors_of.projection
    kb = KnowledgeBase.build(
        rows(),
        **options,
        descriptions=descriptions,
        wikidata={names[i]: text for i, text in merger.texts("wikidata")},
        types={names[i]: text for i, text in merger.texts("types")},
        links=dict(zip(names, merger.links().tolist(), strict=True)),
        redirects={title: names[i] for i, title in merger.texts("redirects")},
        url_template=described.url_template,
        provenance=described.provenance,
    )
    kb.save_pretrained(out)
