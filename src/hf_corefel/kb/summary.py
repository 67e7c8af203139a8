"""What a knowledge base holds, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .knowledge_base import KnowledgeBase
from .number_tables import COARSE_TYPES

__all__ = ["summary"]

# What `provenance["sources"]` says of a source; the numbers are how much of it there is here.
SOURCE_FIELDS = ("name", "licence", "url", "entities", "surfaces")


def summary(kb: KnowledgeBase) -> dict[str, Any]:
    """Return counts of types, links, redirects and vectors, of sources, and the licences of these, as JSON takes them.

    What nothing is known of is left out. Sources are the objects of ``provenance["sources"]``: ``name``, ``licence``,
    ``url``, and how many ``entities`` and ``surfaces`` come from each.
    """
    tables, found = kb.merged()._tables, dict[str, Any]()
    if tables.types is not None:
        counts = np.bincount(tables.types.codes, minlength=len(COARSE_TYPES) + 1)
        types = {name: int(count) for name, count in zip(COARSE_TYPES, counts[1:], strict=True) if count}
        found["types"] = {**types, "not known": int(counts[0])}
    if tables.links is not None:
        found["entities_with_links"] = int(np.count_nonzero(tables.links.counts >= 0))
    if tables.redirects is not None:
        found["redirects"] = len(tables.redirects.titles)
    found["vectors"] = int(np.count_nonzero(tables.vectors.rows >= 0))
    if kb.lazy_vectors:
        found["lazy_vectors"] = "made when a document needs them, and kept beside it"
    sources = kb.provenance.get("sources")
    if isinstance(sources, list):
        listed = [source for source in sources if isinstance(source, dict)]
        found["sources"] = [{name: source[name] for name in SOURCE_FIELDS if name in source} for source in listed]
        licences = [source["licence"] for source in listed if isinstance(source.get("licence"), str)]
        found["licences"] = list(dict.fromkeys(licences))
    return found
