"""Annotated documents as one HTML page that asks nothing else of anyone: no script, no font, no picture.

Whatever comes from a document is escaped, and nothing of it becomes markup: not from the text, the names of files and
entities, the warnings, or the addresses (only ``http`` and ``https`` become links). A content security policy in the
page says the same to the browser.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from ..documents import AnnotatedDocument, Cluster, Mention
from ..utils.files import whole_file
from .wording import alternatives_line, chain_line, counts_line, entity_label, one_line, probabilities_line

__all__ = ["render_html", "write_html"]

# Each colour is a rule of the style sheet; clusters beyond begin again.
_MOST_COLOURS = 400
# Another rule a colour lights up all mentions of the cluster that is pointed at. What it costs the browser grows with
# rules times mentions: with so many, Chromium opens a page half a second later.
_MOST_LIT = 200_000
# Steps of the golden angle keep neighbours far apart, however many there are.
_GOLDEN_ANGLE = 137.508
_WEB_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\ud800-\udfff\"<>]+", re.IGNORECASE)
_LINE_END = re.compile("\n")
_UNSEEN = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
}
# Embeddings, overrides and isolates: a stray end of one would open the isolate that a name stands in, and an override
# behind it turn around the numbers that follow.
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


def render_html(documents: Iterable[AnnotatedDocument], *, title: str | None = None) -> str:
    """The page of one or many documents.

    Args:
        documents: The documents; with ``evidence`` and ``top_k`` of the pipeline the page shows these too.
        title: Heading of the page; the id of a document that is alone when None.

    Returns:
        The page. Control characters of a text stand there as the pictures that Unicode has for them, and what UTF-8
        cannot hold as U+FFFD, one character for one, so that offsets hold on the page too. In names and other single
        lines so do the characters that turn the direction of what follows them.
    """
    documents = list(documents)
    names = [
        f"Document {d}" if document.id is None else str(document.id) for d, document in enumerate(documents, start=1)
    ]
    heading = title if title is not None else names[0] if len(names) == 1 else f"{len(names)} documents"
    clusters = [cluster for document in documents for cluster in document.clusters]
    coloured = [sum(not _is_alone(cluster) for cluster in document.clusters) for document in documents]
    colours = min(max([3, *coloured]), _MOST_COLOURS)  # three are in the key
    lit = colours * sum(len(cluster.mentions) for cluster in clusters) <= _MOST_LIT
    style = _style(colours, lit=lit)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    several = len(documents) > 1
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(_straight(heading))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header class="page"><h1>{_name(heading)}</h1>\n<p class="counts">{counts_line(clusters)}</p>\n'
        f"{_key(lit=lit)}</header>\n"
    ]
    if several:
        items = (f'<li><a href="#d{d}">{_name(name)}</a></li>\n' for d, name in enumerate(names, start=1))
        parts.append(f'<nav aria-label="Documents"><ol>\n{"".join(items)}</ol></nav>\n')
    parts.append("<main>\n")
    for d, (document, name) in enumerate(zip(documents, names, strict=True), start=1):
        # A document that is alone has its name in the page's heading already.
        parts += _Article(document, f"d{d}", name if several or title is not None else None).parts()
    parts.append("</main>\n</body>\n</html>\n")
    return "".join(parts)


def write_html(path: str | Path, documents: Iterable[AnnotatedDocument], *, title: str | None = None) -> int:
    """Writes `render_html` to a file, UTF-8, replaced when the whole page is there.

    Returns:
        How many documents were written.

    Raises:
        FileBusyError: When another process is writing the same file.
        OSError: When the file cannot be written.
    """
    with whole_file(path) as place:
        documents = list(documents)
        place.write_bytes(render_html(documents, title=title).encode("utf-8"))
    return len(documents)


def _key(*, lit: bool) -> str:
    unlit = "" if lit else " On a page of this size the other mentions of its cluster do not light up."
    return f"""<ul class="key">
<li><mark class="m c0">entity</mark> a link, click it</li>
<li><mark class="m c2 nil">NIL</mark> one thing that the knowledge base lacks</li>
<li><mark class="m nil alone">NIL</mark> the same, mentioned once</li>
<li>Point at a mention, or go there with the tab key, for its evidence.{unlit}</li>
</ul>
"""


class _Article:
    """One document on the page.

    Args:
        document: The document.
        place: Begins every id of the article.
        name: Its heading; None when the page's own says it.
    """

    def __init__(self, document: AnnotatedDocument, place: str, name: str | None) -> None:
        self._document, self._place, self._name = document, place, name
        self._chains = document.chains()
        self._classes: dict[int, str] = {}
        colours = itertools.count()
        for number, cluster in enumerate(document.clusters, start=1):
            if _is_alone(cluster):
                self._classes[number] = "nil alone"
            else:
                colour = f"c{next(colours) % _MOST_COLOURS}"
                self._classes[number] = colour if cluster.entity is not None else f"{colour} nil"

    def parts(self) -> Iterator[str]:
        """The article, piece by piece."""
        document, place = self._document, self._place
        if self._name is None:
            yield f'<article class="document" id="{place}">\n'
        else:
            yield f'<article class="document" id="{place}" aria-labelledby="{place}-name">\n'
            yield f'<header><h2 id="{place}-name">{_name(self._name)}</h2>\n'
            yield f'<p class="counts">{counts_line(document.clusters)}</p></header>\n'
        if document.warnings:
            items = "".join(f"<li>{_name(warning)}</li>\n" for warning in document.warnings)
            yield f'<section class="warnings" aria-label="Warnings"><ul>\n{items}</ul></section>\n'
        yield '<div class="columns">\n<div class="reading">\n'
        yield f'<div class="text" dir="{_direction(document.text)}">'
        yield from self._marked_text()
        yield "</div>\n"
        if document.resolved_text is not None:
            direction, resolved = _direction(document.resolved_text), _text(document.resolved_text)
            resolved = f'<div class="plain" dir="{direction}">{resolved}</div>'
            yield f'<details class="resolved"><summary>Resolved text</summary>{resolved}</details>\n'
        yield '</div>\n<aside aria-label="Clusters">\n'
        numbered = list(enumerate(document.clusters, start=1))
        if others := [self._card(c, cluster) for c, cluster in numbered if not _is_alone(cluster)]:
            yield f'<ol class="clusters">\n{"".join(others)}</ol>\n'
        if alone := [self._card(c, cluster) for c, cluster in numbered if _is_alone(cluster)]:
            yield '<h2 class="once">Mentioned once, no entity</h2>\n'
            yield f'<ol class="clusters once">\n{"".join(alone)}</ol>\n'
        yield "</aside>\n</div>\n</article>\n"

    def _card(self, number: int, cluster: Cluster) -> str:
        """What stands beside the text about a cluster."""
        label = _name(entity_label(cluster.entity))
        if href := _href(cluster):
            label = f"<a {href}>{label}</a>"
        parts = [
            f'<li class="cluster {self._classes[number]}" id="{self._place}-c{number}">'
            f'<div class="head"><span class="number">{number}</span> <span class="entity">{label}</span>'
        ]
        if cluster.probability is not None:
            value = f"{cluster.probability:.2f}"
            parts.append(f' <meter min="0" max="1" value="{value}" aria-label="probability"></meter>')
            parts.append(f' <span class="value">{value}</span>')
        places: dict[str, list[Mention]] = {}
        for mention in cluster.mentions:
            places.setdefault(one_line(mention.text or ""), []).append(mention)
        surfaces = (
            f'<a href="#{self._at(found[0])}">{_name(surface)}</a>'
            + (f'<span class="times">×{len(found)}</span>' if len(found) > 1 else "")
            for surface, found in places.items()
        )
        parts.append(f'</div><p class="surfaces">{" ".join(surfaces)}</p>')
        if others := alternatives_line(cluster):
            parts.append(f'<p class="alternatives">or {_name(others)}</p>')
        if any(mention.parent is not None for mention in cluster.mentions):
            lines = "".join(map(self._evidence, cluster.mentions))
            parts.append(f'<details class="evidence"><summary>Evidence</summary><ul>{lines}</ul></details>')
        return "".join([*parts, "</li>\n"])

    def _evidence(self, mention: Mention) -> str:
        chain = _name(chain_line(mention, self._chains[mention.offsets]))
        value = f'<span class="value">{probabilities_line(mention)}</span>'
        return f'<li><a href="#{self._at(mention)}">{chain}</a> {value}</li>'

    def _marked_text(self) -> Iterator[str]:
        """The text with an element around each mention; one that crosses the end of another has several pieces.

        A link cannot stand in a link, so it is not the mention that is one but each stretch of text, and it leads
        where the innermost mention around it does. Each line is a block, which browsers lay out by itself: to show the
        card of a mention they would lay out all of the text otherwise.
        """
        clusters, text = self._document.clusters, self._document.text
        owners = {m.offsets: (c, cluster) for c, cluster in enumerate(clusters, start=1) for m in cluster.mentions}
        mentions = sorted((m for cluster in clusters for m in cluster.mentions), key=lambda m: (m.begin, -m.end))
        lines = {match.end() for match in _LINE_END.finditer(text)} - {len(text)}
        cuts = sorted({0, len(text), *lines, *(offset for mention in mentions for offset in mention.offsets)})
        opened: list[Mention] = []
        seen: set[tuple[int, int]] = set()
        coming = iter([*mentions, None])
        upcoming = next(coming)
        yield "<div>"
        for begin, end in itertools.pairwise(cuts):
            # The mentions around this stretch, the outermost first; those before the first difference stay open.
            around = [mention for mention in opened if mention.end > begin]
            if begin in lines:
                yield "</mark>" * len(opened) + "</div><div>"
                opened = []
            while upcoming is not None and upcoming.begin == begin:
                around.append(upcoming)
                upcoming = next(coming)
            pairs = enumerate(zip(opened, around, strict=False))
            shared = next((i for i, (old, new) in pairs if old is not new), min(len(opened), len(around)))
            yield "</mark>" * (len(opened) - shared)
            for mention in around[shared:]:
                yield self._mark(mention, *owners[mention.offsets], again=mention.offsets in seen)
                seen.add(mention.offsets)
            opened = around
            stretch = _text(text[begin:end])
            href = _href(owners[around[-1].offsets][1]) if around else None
            yield f"<a {href}>{stretch}</a>" if href else stretch
        yield "</mark>" * len(opened) + "</div>"

    def _mark(self, mention: Mention, number: int, cluster: Cluster, *, again: bool) -> str:
        """The opening tag of (a further piece of) a mention."""
        tip = "\n".join(filter(None, self._tip_lines(mention, cluster)))
        identity = ' data-again="1"' if again else f' id="{self._at(mention)}"'
        # What holds no link of its own can still be reached with the keyboard.
        focus = "" if _href(cluster) else ' tabindex="0"'
        return (
            f'<mark class="m {self._classes[number]}"{identity} data-cluster="{number}" data-tip="{_text(tip)}" '
            f'aria-describedby="{self._place}-c{number}"{focus}>'
        )

    def _tip_lines(self, mention: Mention, cluster: Cluster) -> Iterator[str]:
        label = _isolated(entity_label(cluster.entity))
        yield label if cluster.probability is None else f"{label} {cluster.probability:.2f}"
        if chain := self._chains[mention.offsets]:
            yield _isolated(chain_line(mention, chain))
        yield probabilities_line(mention)
        if others := alternatives_line(cluster):
            yield f"or {_isolated(others)}"

    def _at(self, mention: Mention) -> str:
        return f"{self._place}-m{mention.begin}-{mention.end}"


def _is_alone(cluster: Cluster) -> bool:
    """Whether there is nothing to connect: such mentions stay without a colour."""
    return cluster.entity is None and len(cluster.mentions) == 1


def _style(colours: int, *, lit: bool) -> str:
    """The style sheet, with so many colours and, if ``lit``, the rules that show all mentions of a cluster at once."""
    hues = [f".c{c}{{--h:{c * _GOLDEN_ANGLE % 360:.1f}}}" for c in range(colours)]
    lights = [
        f".document:has(.c{c}:hover,.c{c}:focus-within) .m.c{c}{{box-shadow:var(--ring)}}"
        for c in range(colours if lit else 0)
    ]
    return "\n".join([_sheet(), *hues, *lights, ""])


@cache
def _sheet() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")


def _href(cluster: Cluster) -> str | None:
    """The attributes of the link to a cluster's entity; None for what is no web address."""
    if cluster.entity is None or cluster.url is None or not _WEB_ADDRESS.fullmatch(cluster.url):
        return None
    return f'href="{_text(cluster.url)}" target="_blank" rel="noopener noreferrer"'


def _direction(text: str) -> str:
    """The direction of the first letter that has one, as ``dir="auto"`` finds it.

    Browsers look for that letter again with each element of a text that they read.
    """
    kinds = (unicodedata.bidirectional(char) for char in text.translate(_UNSEEN))
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def _straight(text: str) -> str:
    """Text without the characters that turn what follows; U+FFFD stands in their place."""
    return text.translate(_TURNING)


def _isolated(text: str) -> str:
    """Text that cannot turn around what stands beside it, whatever its own direction."""
    return f"\N{FIRST STRONG ISOLATE}{_straight(text)}\N{POP DIRECTIONAL ISOLATE}"


def _name(text: str) -> str:
    """The same for text between tags."""
    return f"<bdi>{_text(_straight(text))}</bdi>"


def _text(text: str) -> str:
    # A parser would take a carriage return for a line feed.
    return escape(text.translate(_UNSEEN), quote=True).replace("\r", "&#13;")
