"""An annotated document as HTML: what the page and the notebook have in common.

Whatever comes from a document is escaped, and nothing of it becomes markup: not from the text, the names of files and
entities, the warnings, or the addresses (only ``http`` and ``https`` become links).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from ..documents import AnnotatedDocument, Cluster, Mention
from .style import MOST_COLOURS
from .wording import (
    alternatives_line,
    chain_line,
    counts_line,
    entity_label,
    facts_line,
    first_warnings,
    more_warnings_line,
    one_line,
    probabilities_line,
)

__all__ = ["Article", "is_alone", "name_html", "straight", "text_html"]

_ALONE = "nil alone"
# Warnings that are seen without opening anything; and of a part of a document, that are there at all.
_MOST_WARNINGS = 5
_MOST_WARNINGS_IN_PART = 50
_WEB_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\ud800-\udfff\"<>]+", re.IGNORECASE)
_LINE_END = re.compile("\r?\n")
_UNSEEN = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
}
# Embeddings, overrides and isolates: a stray end of one would open the isolate that a name stands in, and an override
# behind it turn around the numbers that follow.
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


class Article:
    """One document: its text with marked mentions, and beside it what is said of each cluster.

    Args:
        document: The document.
        place: Begins every id of the article.
        name: Its heading; None when the page's own says it.
        end: Shows the text up to this offset only, and the mentions in it; None shows all.
        note: What else is to be read above the text, in plain words.
    """

    def __init__(
        self, document: AnnotatedDocument, place: str, name: str | None, *, end: int | None = None, note: str = ""
    ) -> None:
        self._document, self._place, self._name, self._end, self._note = document, place, name, end, note
        self._chains = document.chains()
        self._classes: dict[int, str] = {}
        self._numbered: list[tuple[int, Cluster]] = []
        colours = itertools.count()
        for number, cluster in enumerate(document.clusters, start=1):
            if is_alone(cluster):
                self._classes[number] = _ALONE
            else:
                colour = f"c{next(colours) % MOST_COLOURS}"
                self._classes[number] = colour if cluster.entity is not None else f"{colour} nil"
            shown = tuple(mention for mention in cluster.mentions if end is None or mention.end <= end)
            if shown:
                self._numbered.append((number, replace(cluster, mentions=shown)))

    def parts(self) -> Iterator[str]:
        """The article, piece by piece."""
        document, place = self._document, self._place
        if self._name is None:
            yield f'<article class="document" id="{place}">\n'
        else:
            yield f'<article class="document" id="{place}" aria-labelledby="{place}-name">\n'
            yield f'<header><h2 id="{place}-name">{name_html(self._name)}</h2>\n'
            yield f'<p class="counts">{counts_line(document.clusters)}</p></header>\n'
        yield from self._warnings()
        if self._note:
            yield f'<p class="note">{text_html(self._note)}</p>\n'
        yield '<div class="columns">\n<div class="reading">\n'
        yield f'<div class="text" dir="{_direction(document.text)}">'
        yield from self._marked_text()
        yield "</div>\n"
        if document.resolved_text is not None:
            direction, resolved = _direction(document.resolved_text), text_html(document.resolved_text[: self._end])
            resolved += "" if self._end is None or len(document.resolved_text) <= self._end else " …"
            resolved = f'<div class="plain" dir="{direction}">{resolved}</div>'
            yield f'<details class="resolved"><summary>Resolved text</summary>{resolved}</details>\n'
        yield '</div>\n<aside aria-label="Clusters">\n'
        cards = [(self._classes[c] == _ALONE, self._card(c, cluster)) for c, cluster in self._numbered]
        if others := [card for is_by_itself, card in cards if not is_by_itself]:
            yield f'<ol class="clusters">\n{"".join(others)}</ol>\n'
        if alone := [card for is_by_itself, card in cards if is_by_itself]:
            yield '<h2 class="once">Mentioned once, no entity</h2>\n'
            yield f'<ol class="clusters once">\n{"".join(alone)}</ol>\n'
        yield "</aside>\n</div>\n</article>\n"

    def _warnings(self) -> Iterator[str]:
        """All of them, the first ones at once."""
        first, more = first_warnings(self._document.warnings, _MOST_WARNINGS)
        if not first:
            return
        most = None if self._end is None else _MOST_WARNINGS_IN_PART
        items, others = (_items(part) for part in (first, self._document.warnings[len(first) : most]))
        yield f'<section class="warnings" aria-label="Warnings"><ul>\n{items}</ul>'
        if more:
            yield f"<details><summary>{more_warnings_line(more)}</summary><ul>\n{others}</ul></details>"
        yield "</section>\n"

    def _card(self, number: int, cluster: Cluster) -> str:
        """What stands beside the text about a cluster."""
        label = name_html(entity_label(cluster.entity))
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
            f'<a href="#{self._at(found[0])}">{name_html(surface)}</a>'
            + (f'<span class="times">×{len(found)}</span>' if len(found) > 1 else "")
            for surface, found in places.items()
        )
        parts.append("</div>")
        if facts := facts_line(cluster):
            parts.append(f'<p class="facts">{_with_link(name_html(facts), cluster.wikidata)}</p>')
        parts.append(f'<p class="surfaces">{" ".join(surfaces)}</p>')
        if others := alternatives_line(cluster):
            parts.append(f'<p class="alternatives">or {name_html(others)}</p>')
        if any(mention.parent is not None for mention in cluster.mentions):
            lines = "".join(map(self._evidence, cluster.mentions))
            parts.append(f'<details class="evidence"><summary>Evidence</summary><ul>{lines}</ul></details>')
        return "".join([*parts, "</li>\n"])

    def _evidence(self, mention: Mention) -> str:
        chain = name_html(chain_line(mention, self._chains[mention.offsets]))
        value = f'<span class="value">{probabilities_line(mention)}</span>'
        return f'<li><a href="#{self._at(mention)}">{chain}</a> {value}</li>'

    def _marked_text(self) -> Iterator[str]:
        """The text with an element around each mention; one that crosses the end of another has several pieces.

        A link cannot stand in a link, so it is not the mention that is one but each stretch of text, and it leads
        where the innermost mention around it does. Each line is a block, which browsers lay out by itself: to show the
        card of a mention they would lay out all of the text otherwise. No element holds the line's end behind it, which
        would show as an empty line.
        """
        text = self._document.text[: self._end]
        owners = {m.offsets: (c, cluster) for c, cluster in self._numbered for m in cluster.mentions}
        mentions = sorted(
            (m for _, cluster in self._numbered for m in cluster.mentions), key=lambda m: (m.begin, -m.end)
        )
        breaks = [match.span() for match in _LINE_END.finditer(text)]
        lines = {end for _, end in breaks} - {len(text)}
        cuts = sorted(
            {0, len(text), *itertools.chain(*breaks), *(offset for mention in mentions for offset in mention.offsets)}
        )
        opened: list[Mention] = []
        inside: list[Mention] = []
        seen: set[tuple[int, int]] = set()
        coming = iter([*mentions, None])
        upcoming = next(coming)
        yield "<div>"
        for begin, end in itertools.pairwise(cuts):
            # The mentions around this stretch, the outermost first; those before the first difference stay open.
            inside = [mention for mention in inside if mention.end > begin]
            if begin in lines:
                yield "</mark>" * len(opened) + "</div><div>"
                opened = []
            while upcoming is not None and upcoming.begin == begin:
                inside.append(upcoming)
                upcoming = next(coming)
            at_end = not text[begin:end].strip("\r\n")
            around = [mention for mention in inside if mention.begin == begin or not at_end]
            pairs = enumerate(zip(opened, around, strict=False))
            shared = next((i for i, (old, new) in pairs if old is not new), min(len(opened), len(around)))
            yield "</mark>" * (len(opened) - shared)
            for mention in around[shared:]:
                yield self._mark(mention, *owners[mention.offsets], again=mention.offsets in seen)
                seen.add(mention.offsets)
            opened = around
            stretch = text_html(text[begin:end])
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
            f'<mark class="m {self._classes[number]}"{identity} data-cluster="{number}" data-tip="{text_html(tip)}" '
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


def is_alone(cluster: Cluster) -> bool:
    """Whether there is nothing to connect: such mentions stay without a colour."""
    return cluster.entity is None and len(cluster.mentions) == 1


def _items(texts: Sequence[str]) -> str:
    return "".join(f"<li>{name_html(text)}</li>\n" for text in texts)


def _href(cluster: Cluster) -> str | None:
    """The attributes of the link to a cluster's entity; None for what is no web address."""
    if cluster.entity is None or cluster.url is None or not _WEB_ADDRESS.fullmatch(cluster.url):
        return None
    return _leading_to(cluster.url)


def _leading_to(address: str) -> str:
    return f'href="{text_html(address)}" target="_blank" rel="noopener noreferrer"'


def _with_link(markup: str, wikidata: str | None) -> str:
    """The markup with Wikidata's page behind the id that it ends with, if it does."""
    if wikidata is None or f"{wikidata}</bdi>" not in markup:
        return markup
    link = f"<a {_leading_to(f'https://www.wikidata.org/wiki/{wikidata}')}>{wikidata}</a>"
    return markup.replace(f"{wikidata}</bdi>", f"{link}</bdi>")


def _direction(text: str) -> str:
    """The direction of the first letter that has one, as ``dir="auto"`` finds it.

    Browsers look for that letter again with each element of a text that they read.
    """
    kinds = (unicodedata.bidirectional(char) for char in text.translate(_UNSEEN))
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def straight(text: str) -> str:
    """Text without the characters that turn what follows; U+FFFD stands in their place."""
    return text.translate(_TURNING)


def _isolated(text: str) -> str:
    """Text that cannot turn around what stands beside it, whatever its own direction."""
    return f"\N{FIRST STRONG ISOLATE}{straight(text)}\N{POP DIRECTIONAL ISOLATE}"


def name_html(text: str) -> str:
    """The same for text between tags."""
    return f"<bdi>{text_html(straight(text))}</bdi>"


def text_html(text: str) -> str:
    """Text for HTML, between tags and in attributes."""
    # A parser would take a carriage return for a line feed.
    return escape(text.translate(_UNSEEN), quote=True).replace("\r", "&#13;")
