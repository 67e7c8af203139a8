"""brat standoff: a folder with the text (``.txt``) and the annotation (``.ann``) of every document.

``T1`` is a mention with its offsets in code points, ``*  Equiv T1 T4`` says which are one thing,
``N1  Reference T1 Wikipedia:Oslo`` which entity it is, and ``N2  Reference T1 Wikidata:Q585`` what Wikidata calls that.
As brat has it, a mention that a line break runs through is written as its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..documents import AnnotatedLayers, Cluster
from .columns import one_field
from .writer import AnyDocument, Losses, Writer, clusters_of, count_facts_of_nil, count_layers, count_losses

__all__ = ["Brat"]

# What ends a line for brat, and for whoever reads a line of the annotation.
_LINE = re.compile(r"[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


class Brat(Writer):
    """brat standoff: texts with mentions, clusters and links beside them."""

    title = "brat standoff, a folder"
    suffixes = (".ann",)
    folder = True

    def files(self, document: AnyDocument, losses: Losses) -> Mapping[str, str | bytes]:
        count_losses(document, losses, {"entity", "wikidata", "annotated"})
        count_facts_of_nil(document, losses, ("wikidata",))
        linked = any(cluster.entity is not None for cluster in clusters_of(document))
        count_layers(document, losses, AnnotatedLayers(links="some" if linked else False))
        return {".txt": document.text, ".ann": _annotation(document, losses)}

    def read(self, path: Path) -> Iterator[AnyDocument]:
        from ..corpora.brat import read_brat

        return read_brat(path)


def _annotation(document: AnyDocument, losses: Losses) -> str:
    marks, groups, links = [], [], []
    items: list[str] = []
    number = 0
    # Whoever reads brat takes two mentions at one place for one, so those that are written as they are go first.
    parts_of = {
        mention.offsets: _parts(document.text, *mention.offsets)
        for cluster in clusters_of(document)
        for mention in cluster.mentions
    }
    taken = {offsets for offsets, parts in parts_of.items() if parts and (parts[0][0], parts[-1][1]) == offsets}
    for cluster in clusters_of(document):
        names = []
        for mention in cluster.mentions:
            parts = parts_of[mention.offsets]
            if not parts:
                losses.count("mentions of line breaks alone")
                continue
            inner = parts[0][0], parts[-1][1]
            if inner != mention.offsets:
                if inner in taken:
                    losses.count("mentions that only line breaks tell from another one")
                    continue
                taken.add(inner)
                losses.count("line breaks at the ends of mentions")
            number += 1
            names.append(f"T{number}")
            places = ";".join(f"{begin} {end}" for begin, end in parts)
            surface = " ".join(document.text[begin:end] for begin, end in parts).replace("\t", " ")
            marks.append(f"T{number}\tMention {places}\t{surface}")
            if cluster.entity is not None:
                entity = one_field(cluster.entity, "_", losses, "identifiers with white space")
                title = " ".join(cluster.entity.replace("_", " ").split())
                links.append(f"N{number}\tReference T{number} {_resource(cluster)}:{entity}\t{title or entity}")
                items += [f"\tReference T{number} {name}\t{title or entity}" for name in _wikidata(cluster)]
        if len(names) > 1:
            groups.append(f"*\tEquiv {' '.join(names)}")
    links += [f"N{n}{item}" for n, item in enumerate(items, start=number + 1)]
    return "".join(f"{line}\n" for line in [*marks, *groups, *links])


def _parts(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    return [match.span() for match in _LINE.finditer(text, begin, end)]


def _resource(cluster: Cluster) -> str:
    """The database that has the entity's name."""
    of_wikidata = cluster.url is not None and "wikidata.org" in cluster.url
    # An entity with a title of its own may have no other page than Wikidata's.
    return "Wikidata" if of_wikidata and not _wikidata(cluster) else "Wikipedia"


def _wikidata(cluster: Cluster) -> list[str]:
    """What else the entity is called, where that is not its name already."""
    identifier = cluster.wikidata
    known = identifier is None or cluster.entity in (identifier, f"wikidata:{identifier}")
    return [] if known else [f"Wikidata:{identifier}"]
