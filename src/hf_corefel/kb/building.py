"""Tables from what a caller gives: aliases, vectors and texts by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .alias_table import build_alias_table
from .errors import KnowledgeBaseError
from .number_tables import LinkTable, TypeTable
from .redirect_table import RedirectTable
from .tables import TEXTS, Tables, check_metadata
from .text_table import TextTable, check_wikidata
from .vector_table import NamedVectors, VectorFormat, VectorTable, named_vectors

__all__ = ["build_tables"]


def build_tables(
    aliases: Iterable[tuple[str, Iterable[tuple[str, float]]]],
    *,
    vectors: NamedVectors | None,
    texts: Mapping[str, Mapping[str, str]],
    vector_format: VectorFormat,
    max_candidates: int | None,
    url_template: str | None,
    provenance: Mapping[str, Any],
    types: Mapping[str, str],
    links: Mapping[str, int],
    redirects: Mapping[str, str],
) -> Tables:
    """Tables as `KnowledgeBase.build` describes them.

    Args:
        aliases: Pairs of a surface and its (entity, prior) pairs.
        vectors: Entity vectors.
        texts: By name of the field, texts by entity name.
        vector_format: How vectors are stored.
        max_candidates: How many candidates a surface keeps.
        url_template: Where readers find an entity.
        provenance: Where the data come from.
        types: Coarse types by entity name.
        links: How many links lead to an entity, by its name.
        redirects: Entities by other titles, or titles that lead to them.

    Raises:
        KnowledgeBaseError: When any of it is invalid; the message says where.
    """
    if max_candidates is not None and max_candidates < 1:
        raise KnowledgeBaseError(f"max_candidates: expected at least 1 or None, got {max_candidates}")
    check_metadata(url_template, provenance)
    names, matrix = named_vectors(vectors)
    for entity, wikidata_id in texts["wikidata"].items():
        check_wikidata(wikidata_id, entity)
    known = [*names, *(entity for facts in (*texts.values(), types, links) for entity in facts)]
    entities, table, ends = build_alias_table(aliases, known, max_candidates=max_candidates, redirects=redirects)
    ids = np.fromiter((entities[name] for name in names), dtype=np.int64, count=len(names))
    stored = {name: TextTable.build(entities, named, TEXTS[name]) for name, named in texts.items() if named}
    return Tables(
        entities,
        table,
        VectorTable.build(len(entities), ids, matrix, vector_format),
        stored.get("descriptions"),
        stored.get("wikidata"),
        stored.get("urls"),
        url_template,
        dict(provenance),
        types=TypeTable.build(entities, types) if types else None,
        links=LinkTable.build(entities, links) if links else None,
        redirects=RedirectTable.of(len(entities), {a: entities[b] for a, b in ends.items()}) if ends else None,
    )
