"""NIF in Turtle, as GERBIL reads and writes it: a context a document, a phrase a mention, links by ``taIdentRef``.

Offsets are code points. Mentions of one cluster have one identifier, so that clusters come back: its URL, or one made
of the entity's identifier; where there is no entity, one of GERBIL's space for what no knowledge base has
(``http://aksw.org/notInWiki/``), made of the document and the cluster. Where the item of Wikidata is known, it is a
second identifier (``http://www.wikidata.org/entity/Q585``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from .writer import AnyDocument, Losses, Writer, clusters_of, count_losses, name_in, without_surrogates

__all__ = ["DOCUMENTS", "ENTITIES", "NOT_IN_WIKI", "WIKIDATA", "Nif"]

DOCUMENTS = "http://example.org/documents/"
ENTITIES = "http://example.org/entities/"
NOT_IN_WIKI = "http://aksw.org/notInWiki/"
WIKIDATA = "http://www.wikidata.org/entity/"
_PREFIXES = """\
@prefix nif: <http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#> .
@prefix itsrdf: <http://www.w3.org/2005/11/its/rdf#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

"""
# What Turtle does not take between < and >; the others are escaped so that a file is the same to every reader.
_NOT_IN_IRI = re.compile(r"""[\x00-\x20<>"{}|^`\\]""")
_NOT_IN_STRING = re.compile(r'[\x00-\x1f\x7f-\x9f"\\\u2028\u2029]')
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r", '"': r"\"", "\\": r"\\"}


class Nif(Writer):
    """NIF in Turtle: texts, mentions and links, with clusters by their identifiers."""

    title = "NIF (Turtle), as for GERBIL"
    suffixes = (".ttl", ".nif")
    streams = True

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        taken: set[str] = set()
        for number, given in enumerate(documents, start=1):
            document = without_surrogates(given, losses)
            count_losses(document, losses, {"entity", "url", "wikidata", "link_probability"})
            base = _base(document, number)
            while base in taken:
                base = f"{base}-{number}"
            taken.add(base)
            yield ("" if number > 1 else _PREFIXES) + _block(document, base, losses)

    def escape(self, character: str) -> str:
        return _escaped(character)


def _base(document: AnyDocument, number: int) -> str:
    name = name_in(document, number)
    if re.match(r"https?://[^/]", name):
        return _NOT_IN_IRI.sub(lambda match: quote(match[0]), name).replace("#", "%23")
    return DOCUMENTS + quote(name, safe="")


def _block(document: AnyDocument, base: str, losses: Losses) -> str:
    context = f"<{base}#char=0,{len(document.text)}>"
    blocks = [
        f"{context}\n    a nif:Context , nif:String , nif:RFC5147String ;\n"
        f"    nif:isString {_string(document.text)} ;\n{_offsets(0, len(document.text))} .\n"
    ]
    owners: dict[str, int] = {}
    # All of an id that is an address: those of two documents may end alike.
    name = base.removeprefix(DOCUMENTS) if base.startswith(DOCUMENTS) else quote(base, safe="")
    for c, cluster in enumerate(clusters_of(document), start=1):
        identifier = _identifier(cluster.entity, cluster.url, f"{name}_{c}")
        losses.count("clusters of an entity that another one has too", owners.setdefault(identifier, c) != c)
        others = "" if cluster.wikidata is None else f" , <{WIKIDATA}{cluster.wikidata}>"
        for mention in cluster.mentions:
            surface = document.text[mention.begin : mention.end]
            confidence = (
                f' ;\n    itsrdf:taConfidence "{mention.link_probability!r}"^^xsd:double'
                if mention.link_probability is not None
                else ""
            )
            blocks.append(
                f"<{base}#char={mention.begin},{mention.end}>\n"
                f"    a nif:Phrase , nif:String , nif:RFC5147String ;\n    nif:referenceContext {context} ;\n"
                f"    nif:anchorOf {_string(surface)} ;\n{_offsets(*mention.offsets)} ;\n"
                f"    itsrdf:taIdentRef <{identifier}>{others}{confidence} .\n"
            )
    return "\n".join([*blocks, ""])


def _identifier(entity: str | None, url: str | None, name: str) -> str:
    if entity is None:
        return NOT_IN_WIKI + name
    if url is not None and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url):
        return _NOT_IN_IRI.sub(lambda match: quote(match[0]), url)
    return ENTITIES + quote(entity, safe="")


def _offsets(begin: int, end: int) -> str:
    number = '"{}"^^xsd:nonNegativeInteger'
    return f"    nif:beginIndex {number.format(begin)} ;\n    nif:endIndex {number.format(end)}"


def _string(text: str) -> str:
    return '"' + _NOT_IN_STRING.sub(lambda match: _escaped(match[0]), text) + '"^^xsd:string'


def _escaped(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}")
