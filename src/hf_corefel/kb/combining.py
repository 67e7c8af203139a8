"""Several knowledge bases as one, by a stated rule where they do not say the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import KnowledgeBaseError

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

__all__ = ["CONFLICT_RULE", "build_arguments", "same_entities"]

CONFLICT_RULE = (
    "Where they differ, the one that is named first is right: its description, Wikidata id, URL, type and number of "
    "links of an entity stand, and so do its redirects, URL template and fallback; the others fill in what it does not "
    "say. Of two priors of the same surface and entity the higher stands. Entities are the same when they have one "
    "name, when one's name redirects to the other, or else when they have the same Wikidata id; the first one's name "
    "stands and the other leads to it. Vectors and projection are those of the first that has any; another one's "
    "vectors are taken only where they are as wide and both have the same projection."
)


def same_entities(bases: Sequence[KnowledgeBase]) -> list[dict[str, str]]:
    """Return for each knowledge base the name that each of its entities has in all of them together."""
    names: list[dict[str, str]] = []
    for place, kb in enumerate(bases):
        titles: dict[str, list[str]] = {}
        for title, target in kb.redirects():
            titles.setdefault(target, []).append(title)
        found = {}
        for entity in kb.entities():
            known = (_same(bases[n], kb, entity, titles.get(entity, ())) for n in range(place))
            found[entity] = next((names[n][same] for n, same in enumerate(known) if same is not None), entity)
        names.append(found)
    return names


def _same(first: KnowledgeBase, other: KnowledgeBase, entity: str, titles: Sequence[str]) -> str | None:
    """The entity of the first that is the same as one of another, to which titles lead there; None without one."""
    if entity in first:
        return entity
    known = first.redirect(entity)
    if known is None:
        known = next((title for title in titles if title in first), None)
    if known is None:
        identifier = other.wikidata(entity)
        known = None if identifier is None else first.entity_of("wikidata", identifier)
    return known


def build_arguments(bases: Sequence[KnowledgeBase]) -> dict[str, Any]:
    """Return what `KnowledgeBase.build` makes one of several knowledge bases from, by `CONFLICT_RULE`.

    Raises:
        KnowledgeBaseError: When there is none.
    """
    if not bases:
        raise KnowledgeBaseError("merge: expected at least one knowledge base")
    names = same_entities(bases)
    texts: dict[str, dict[str, Any]] = {name: {} for name in ("descriptions", "wikidata", "urls", "types", "links")}
    redirects: dict[str, str] = {}
    entities = {name for found in names for name in found.values()}
    # Those that have the address that an earlier base's template makes, which no later one changes.
    addressed: set[str] = set()
    for kb, found in zip(bases, names, strict=True):
        for entity, name in found.items():
            for field, value in _facts(kb, entity, bases[0]).items():
                if value is not None and not (field == "urls" and name in addressed):
                    texts[field].setdefault(name, value)
            if entity != name and entity not in entities:
                redirects.setdefault(entity, name)
        for title, target in kb.redirects():
            if title not in entities:
                redirects.setdefault(title, found[target])
        if kb._tables.url_template is not None:
            addressed.update(found.values())
    for name in entities:
        # An entity of which nothing is known is kept by an empty text.
        texts["descriptions"].setdefault(name, "")
    return {
        "aliases": _rows(bases, names),
        **texts,
        **_vectors(bases, names),
        "redirects": redirects,
        "url_template": bases[0]._tables.url_template,
        "fallback": bases[0].fallback,
        "lazy_vectors": any(kb.lazy_vectors for kb in bases),
        "provenance": _provenance(bases),
    }


def _facts(kb: KnowledgeBase, entity: str, first: KnowledgeBase) -> dict[str, Any]:
    url = kb._fact(entity, "urls")
    if url is None and kb._tables.url_template not in (None, first._tables.url_template):
        url = kb.url(entity)
    return {
        "descriptions": kb.description(entity),
        "wikidata": kb._fact(entity, "wikidata"),
        "urls": url,
        "types": kb.type(entity),
        "links": kb.links(entity),
    }


def _rows(
    bases: Sequence[KnowledgeBase], names: Sequence[Mapping[str, str]]
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    for kb, found in zip(bases, names, strict=True):
        for surface, row in kb.rows():
            yield surface, [(found[entity], prior) for entity, prior in row]


def _vectors(bases: Sequence[KnowledgeBase], names: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Vectors, their format and their projection."""
    first = next((kb for kb in bases if kb.vector_size), None)
    if first is None:
        return {}
    found: dict[str, np.ndarray] = {}
    for kb, own in zip(bases, names, strict=True):
        if kb.vector_size == 0:
            continue
        if kb.vector_size != first.vector_size or not _same_projection(kb, first):
            warnings.warn(
                f"merge: vectors of {kb!r} are left out: they are of another kind than those of {first!r}", stacklevel=4
            )
            continue
        ids = kb.ids_with_vectors()
        for entity_id, vector in zip(ids.tolist(), kb.vectors(ids), strict=True):
            found.setdefault(own[kb.entity_name(entity_id)], vector)
    options: dict[str, Any] = {"projection": first.projection, "vector_format": first._tables.vectors.format}
    return {**options, "vectors": found} if found else options


def _same_projection(left: KnowledgeBase, right: KnowledgeBase) -> bool:
    ours, theirs = left.projection, right.projection
    if ours is None or theirs is None:
        return ours is theirs
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(ours.items(), theirs.items(), strict=True))


def _provenance(bases: Sequence[KnowledgeBase]) -> dict[str, Any]:
    """What the first says, the sources of all, each once, and what the others say."""
    sources: list[Any] = []
    for kb in bases:
        listed = kb.provenance.get("sources")
        for source in listed if isinstance(listed, list) else []:
            if source not in sources:
                sources.append(source)
    told = [{key: value for key, value in kb.provenance.items() if key != "sources"} for kb in bases]
    merged = {"merged": [one for one in told[1:] if one]} if any(told[1:]) else {}
    return {**told[0], **({"sources": sources} if sources else {}), **merged}
