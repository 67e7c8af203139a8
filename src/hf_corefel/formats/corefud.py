"""CorefUD: CoNLL-U with coreference in ``Entity=`` of the last column, and links as GUM has them.

``# global.Entity = eid-etype-head-identity`` says what stands in a bracket: ``Entity=(d1e3--1-Durham%2C_England``
opens a mention of the first document's cluster 3, whose entity is Durham,_England; ``Entity=d1e3)`` closes it. The
entity type is left empty and the head is the first word, for nobody has parsed the text; so are the columns of syntax
(``_``). White space between words is ``SpaceAfter=No`` or, where it is no single blank, UDPipe's ``SpacesAfter=``, so
that the text comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from ..documents import AnnotatedLayers, Document
from .columns import CHANGED_TURNS, Columns, changed_turns, columns_of, one_field
from .writer import AnyDocument, Losses, Writer, clusters_of, count_layers, count_losses, name_in, without_surrogates

__all__ = ["HEADER", "CorefUD"]

HEADER = "# global.Entity = eid-etype-head-identity"
_HEADER_WITHOUT_LINKS = HEADER.removesuffix("-identity")
_ESCAPES = {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
# Programs differ in whether these end a line of a file.
_OTHER_BREAK = re.compile(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LINE_BREAK = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class CorefUD(Writer):
    """CorefUD's CoNLL-U: words, clusters and links."""

    title = "CoNLL-U with coreference (CorefUD)"
    suffixes = (".conllu",)
    streams = True

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        for number, given in enumerate(documents, start=1):
            document = without_surrogates(given, losses)
            count_losses(document, losses, {"words", "entity", "speakers", "annotated"})
            count_layers(document, losses, AnnotatedLayers(links="some" if _has_links(document) else False))
            yield _block(document, number, losses)

    def read(self, path: Path) -> Iterator[AnyDocument]:
        from ..corpora.corefud import read_corefud

        return read_corefud(path)


def _block(document: AnyDocument, number: int, losses: Losses) -> str:
    columns = columns_of(document, losses)
    losses.count("texts without a word", not columns.words)
    blank = sum(cluster.entity is not None and " " in cluster.entity for cluster in clusters_of(document))
    losses.count("identifiers with blanks, which become underscores", blank)
    speakers = _speakers(document, columns, losses)
    text, words = document.text, columns.words
    entities = [None if cluster.entity is None else escaped(cluster.entity) for cluster in clusters_of(document)]
    name = " ".join(name_in(document, number).split()) or f"document-{number}"
    lines = []
    # A cluster's name is no other's in the whole file.
    prefix = f"d{number}e"
    header = HEADER if _has_links(document) else _HEADER_WITHOUT_LINKS
    for sentence, (begin, end) in enumerate(columns.sentences, start=1):
        if not begin:
            lines += [f"# newdoc id = {name}", header]
        before = text[words[begin - 1][1] if begin else 0 : words[begin][0]]
        if begin and _LINE_BREAK.search(before):
            lines.append("# newpar")
        lines.append(f"# sent_id = {name}-{sentence}")
        rows, plain = _rows(document, columns, (begin, end), entities, prefix, losses)
        speaker = speakers[sentence - 1]
        lines += [f"# text = {plain}", *([] if speaker is None else [f"# speaker = {speaker}"]), *rows, ""]
    return "".join(f"{line}\n" for line in lines)


def _has_links(document: AnyDocument) -> bool:
    """Whether links are annotated; a reader knows by the header that they are not."""
    linked = any(cluster.entity is not None for cluster in clusters_of(document))
    return linked or not isinstance(document, Document) or document.layers.links is not False


def _rows(
    document: AnyDocument,
    columns: Columns,
    sentence: tuple[int, int],
    entities: list[str | None],
    prefix: str,
    losses: Losses,
) -> tuple[list[str], str]:
    """The lines of a sentence, and its text as its forms and spaces give it."""
    begin, end = sentence
    text, words, rows, plain = document.text, columns.words, [], ""
    for position in range(begin, end):
        first, last = words[position]
        form = one_field(text[first:last], " ", losses, "words with line breaks or other white space than blanks")
        if not form.strip():
            form = "_"
        after = text[last : words[position + 1][0] if position + 1 < len(words) else len(text)]
        misc = []
        if brackets := _brackets(columns, position, entities, prefix):
            misc.append(f"Entity={brackets}")
        if not after:
            misc.append("SpaceAfter=No")
        elif after != " " or position + 1 == len(words):
            misc.append(f"SpacesAfter={_spaces(after, losses)}")
        if not position and first:
            misc.append(f"SpacesBefore={_spaces(text[:first], losses)}")
        rows.append("\t".join([str(position - begin + 1), form, *"_" * 7, "|".join(misc) or "_"]))
        plain += form + (" " if after else "")
    return rows, plain.strip()


def _brackets(columns: Columns, position: int, entities: list[str | None], prefix: str) -> str:
    def open_(c: int) -> str:
        entity = entities[c]
        return f"({prefix}{c + 1}--1" + ("" if entity is None else f"-{entity}")

    opening = [open_(c) for c in columns.opening.get(position, ())]
    single = [f"{open_(c)})" for c in columns.single.get(position, ())]
    closing = [f"{prefix}{c + 1})" for c in columns.closing.get(position, ())]
    # What closes stands first: behind what opens it would be read as a part of that.
    return "".join([*closing, *opening, *single])


def escaped(entity: str) -> str:
    """Return an identifier without what the brackets, or the column, would take for their own signs."""
    return quote(entity, safe="").replace("-", "%2D")


def _spaces(white: str, losses: Losses) -> str:
    plain, number = _OTHER_BREAK.subn("\n", white)
    losses.count("line separators that are no line feeds", number)
    return "".join(_ESCAPES.get(character, character) for character in plain)


def _speakers(document: AnyDocument, columns: Columns, losses: Losses) -> list[str | None]:
    """Who says each sentence, by the innermost turn where it begins."""
    turns = [
        (turn.begin, turn.end, " ".join(turn.speaker.split()))
        for turn in (document.speakers or [] if isinstance(document, Document) else [])
    ]
    places = [(columns.words[begin][0], columns.words[end - 1][1]) for begin, end in columns.sentences]
    names: list[str | None] = []
    for begin, _ in places:
        heard = [name for first, last, name in turns if first <= begin < last]
        names.append(heard[-1] if heard else None)
    pieces = [(*place, name) for place, name in zip(places, names, strict=True)]
    losses.count(CHANGED_TURNS, changed_turns(turns, pieces))
    return names
