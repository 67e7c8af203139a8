"""How many gold entities of development documents a knowledge base knows, and proposes for their mentions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from wide_sources import DOCRED_TRAIN

from hf_corefel.corpora import (
    development_split,
    read_aida,
    read_docred,
    read_dwie,
    read_gum,
)
from hf_corefel.documents import Document
from hf_corefel.kb import KnowledgeBase

LIMIT = 16


class GoldMention(NamedTuple):
    """A linked mention's text and its gold entity: a title, or a Wikidata id."""

    surface: str
    entity: str
    is_wikidata: bool


def development_mentions(dwie: Path, aida: Path, gum: Path, docred: Path) -> dict[str, list[GoldMention]]:
    """Return the linked mentions of the development documents of four corpora."""
    held_out = list(read_docred(docred, strict=False))
    of_train = set(range(len(held_out))[DOCRED_TRAIN])
    parts: dict[str, list[Document]] = {
        "DWIE dev": development_split(list(read_dwie(dwie, "train", strict=False)))[1],
        "AIDA testa": list(read_aida(aida, "testa", strict=False)),
        "GUM dev": list(read_gum(gum, "dev", strict=False)),
        "DocRED linked dev half": [document for i, document in enumerate(held_out) if i not in of_train],
    }
    return {name: _linked(documents, name.startswith("DocRED")) for name, documents in parts.items()}


def _linked(documents: list[Document], is_wikidata: bool) -> list[GoldMention]:
    return [
        GoldMention(document.text[mention.begin : mention.end], str(cluster.entity), is_wikidata)
        for document in documents
        for cluster in document.clusters or []
        if cluster.entity is not None
        for mention in cluster.mentions
    ]


def recall(kb: KnowledgeBase, mentions: list[GoldMention]) -> tuple[float, float]:
    """Return which shares of mentions have an entity that is known, and that is among the candidates of their text."""
    coded = {kb.wikidata(entity) for entity in kb.entities()} if any(m.is_wikidata for m in mentions) else set()
    ids, _ = kb.lookup([mention.surface for mention in mentions], LIMIT)
    known = proposed = 0
    for mention, row in zip(mentions, ids, strict=True):
        names = [kb.entity_name(int(i)) for i in row if i >= 0]
        if mention.is_wikidata:
            known += mention.entity in coded
            proposed += mention.entity in {kb.wikidata(name) for name in names}
        else:
            known += mention.entity in kb
            proposed += mention.entity in names
    return known / len(mentions), proposed / len(mentions)
