"""Turn wikitext into plain text with its links, in time that grows as the text does.

`templates` says why this is no parser of others. Links are marked in the text while it is cleaned and read off at the
end, so that what a link shows always stands in the plain text as it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .languages import LANGUAGE_CODES, UNREAD_SECTIONS
from .site import Site, unescaped
from .templates import NOTHING, expand

__all__ = ["Line", "Link", "Wikitext", "read_wikitext"]

_FILE_NAMESPACES = (6, -2)
_CATEGORY = 14
_DEPTH = 40
# Marks of a link: its number between the first two, what it shows between the last two. XML cannot hold them.
_BEGIN, _SHOWN, _END = "\x01", "\x05", "\x02"
_MARKS = re.compile("[\x00-\x08\x0b-\x1f]")
_MARKED_LINK = re.compile(f"{_BEGIN}(\\d+){_SHOWN}([^{_END}]*){_END}")
_BRACKETS = re.compile(r"\[\[(?!\[)|\]\]")
_LEFT_BRACKETS = re.compile(r"\[\[|\]\]|\{\{|\}\}|\{\||\|\}")
_QUOTES = re.compile("'{2,}")
_BREAK = re.compile(r"<(?:br|hr|p|div|li|tr|td|/p|/div|/li|/tr|/td)\b[^<>\x01\x02\x05]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:[\s/][^<>\x01\x02\x05]*)?>")
_EXTERNAL = re.compile(
    r"\[(?:(?:https?|ftps?|irc|news|mailto|git|svn):|//)[^\s\[\]<>\x01\x02\x05]++[ \t]*+([^\[\]\n]*+)\]", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?<!\w)(?:https?|ftp)://[^\s\[\]<>|\x01-\x05]++")
_VARIANTS = re.compile(r"-\{(?:[\w;=-]{0,40}\|)?([^{}|]*+)\}-")
_SWITCH = re.compile(r"__[A-Z]{2,40}+__")
_SPACE_WITHIN = re.compile(f"({_BEGIN}\\d+{_SHOWN}) ")
_ATTRIBUTES = re.compile(r"[^\[\]{}|\x01]*\|(?!\|)")
# What parts cells; a whole link is found first, so that the bars within it part none.
_LINK = f"{_BEGIN}[^{_BEGIN}{_END}]*+{_END}"
_CELLS = re.compile(rf"{_LINK}|(\|\|)")
_HEADER_CELLS = re.compile(rf"{_LINK}|(\|\||!!)")
_FILE_OPTION = re.compile(
    r"[\d.x ]*+px|(?:alt|link|page|lang|class|upright|thumb|thumbtime|start|end|hochkant|mini|redresse|мини)\s*+=.*"
    r"|thumb|thumbnail|frame|framed|frameless|border|left|right|center|centre|none|upright|baseline|middle|sub|super|top"
    r"|text-top|bottom|text-bottom|mini|miniatur|gerahmt|rahmenlos|rand|links|rechts|zentriert|ohne|hochkant|vignette"
    r"|encadré|cadre|sans_cadre|gauche|droite|centré|néant|redresse|miniatura|miniaturadeimagen|marco|derecha|izquierda"
    r"|centro|no|miniatuur|miniatuurafbeelding|gecentreerd|geen|destra|sinistra|мини|миниатюра|справа|слева|центр|без"
    r"|граница|обрамить|безрамки|мініатюра|праворуч|ліворуч|mały|prawo|lewo|centruj|miniatyr|höger|vänster",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r"(?<!&)#.*", re.DOTALL)  # no number of a character, as in "&#233;"
_PIPE_TRICK = re.compile(r"^(?:[^:]*:)?(.*?)(?:\s*\([^()]*\))?(?:, .*)?$", re.DOTALL)


class Link(NamedTuple):
    """One link in a page's text."""

    surface: str
    target: str
    """Title of an article, normalised, without the section."""


class Line(NamedTuple):
    """One paragraph, list item, table cell or caption."""

    text: str
    links: list[Link]
    kind: str
    """``paragraph``, ``list``, ``cell`` or ``caption``."""
    in_lead: bool
    """Whether it stands before the first heading."""


class Wikitext(NamedTuple):
    """What a page's wikitext says."""

    lines: list[Line]
    templates: frozenset[str]
    """Names in lower case."""
    categories: list[str]
    """Titles without the prefix."""
    short_description: str
    switches: frozenset[str]
    """Such as ``DISAMBIG``."""


def read_wikitext(text: str, site: Site, title: str = "") -> Wikitext:
    """Return plain text, links, templates and categories of a page.

    Args:
        text: Wikitext; nothing in it is an error.
        site: Tells namespaces, letter case and the letters that links take in.
        title: The page's title.
    """
    expanded = expand(_MARKS.sub("", text), title)
    reader = _LinkReader(site)
    body = reader.read(expanded.text)
    switches = frozenset(found[0].strip("_") for found in _SWITCH.finditer(body))
    lines = _LineReader(reader.targets).read(_cleaned(body))
    for caption in reader.captions:
        shown, links = _finished(_cleaned(caption), reader.targets)
        if shown:
            lines.append(Line(shown, links, "caption", False))
    described = _LinkReader(site)
    description = _finished(_cleaned(described.read(expanded.short_description)), described.targets)[0]
    return Wikitext(lines, expanded.templates, reader.categories, description, switches)


class _LinkReader:
    """Puts marks in place of the links of a text."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.targets: list[str] = []
        self.captions: list[str] = []
        self.categories: list[str] = []

    def read(self, text: str) -> str:
        """Return the text with marked links, without files, categories and links to other languages."""
        stack: list[list[str]] = [[]]
        position = ignored = 0
        for found in _BRACKETS.finditer(text):
            if found.start() < position:
                continue
            stack[-1].append(text[position : found.start()])
            position = found.end()
            if found[0] == "[[":
                if len(stack) <= _DEPTH:
                    stack.append([])
                else:
                    ignored += 1
            elif ignored:
                ignored -= 1
            elif len(stack) > 1:
                trail = self.site.link_trail.match(text, position)
                shown, takes_trail = self.link("".join(stack.pop()), trail[0] if trail else "")
                if trail and takes_trail:
                    position = trail.end()
                stack[-1].append(shown)
        stack[-1].append(text[position:])
        return "[[".join("".join(pieces) for pieces in stack)

    def link(self, content: str, trail: str) -> tuple[str, bool]:
        """Return what a link shows, marked where it leads to an article, and whether it took its trail in."""
        written, bar, label = content.partition("|")
        target = self.site.target(written) if len(written) < 2000 and _BEGIN not in written else None
        if target is None:
            return f"[[{content}]]", False
        if not target.text_link and not target.interwiki:
            if target.namespace in _FILE_NAMESPACES:
                self.caption(label)
                return NOTHING, False
            if target.namespace == _CATEGORY:
                self.categories.append(target.title)
                return NOTHING, False
        if target.interwiki in LANGUAGE_CODES and not target.text_link:
            return NOTHING, False
        if not bar:
            shown = written.strip().lstrip(":")
            if target.title and target.namespace == 0 and not target.interwiki:
                shown = _SECTION.sub("", shown).replace("_", " ")
        elif label:
            shown = label
        else:
            trick = _PIPE_TRICK.match(_SECTION.sub("", written).strip())
            shown = trick[1] if trick else written
        shown = (shown + trail).replace("\n", " ")
        if target.namespace or target.interwiki or not target.title or _BEGIN in shown:
            return shown, True
        self.targets.append(target.title)
        return f"{_BEGIN}{len(self.targets) - 1}{_SHOWN}{shown}{_END}", True

    def caption(self, options: str) -> None:
        """Keep the caption among a file's options: the last one that is none."""
        for option in reversed(options.split("|")):
            option = option.strip()
            if option and not _FILE_OPTION.fullmatch(option):
                self.captions.append(option)
                return


def _quotes(found: re.Match[str]) -> str:
    """Return the apostrophes among those that make text bold and italic."""
    count = len(found[0])
    return "'" if count == 4 else "'" * max(0, count - 5)


def _variant(found: re.Match[str]) -> str:
    """Return the first of a text's forms in several scripts: ``-{zh-hans:国; zh-hant:國}-``."""
    first = found[1].partition(";")[0]
    code, colon, shown = first.partition(":")
    return shown if colon and code.strip().isascii() and _BEGIN not in code else first


def _cleaned(text: str) -> str:
    """Take quotes, HTML, external links, switches and forms in other scripts out of a text."""
    if "-{" in text:
        text = _VARIANTS.sub(_variant, text)
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub(" ", text))
    if "//" in text or "mailto:" in text:
        text = _ADDRESS.sub("", _EXTERNAL.sub(r"\1", text))
    if "__" in text:
        text = _SWITCH.sub("", text)
    return _QUOTES.sub(_quotes, text)


def _shown(character: str) -> str:
    return " " if character.isspace() else "" if _MARKS.match(character) else character


def _finished(text: str, targets: list[str]) -> tuple[str, list[Link]]:
    """Return a cleaned line as plain text, and its links."""
    text = text.replace(NOTHING, "")
    if "[" in text or "]" in text or "{" in text or "}" in text:
        text = _LEFT_BRACKETS.sub("", text)
    if "&" in text:
        text = unescaped(text, _shown)
    text = " ".join(text.split())
    if _BEGIN not in text:
        return text, []
    # Space within a link's ends goes outside.
    if f"{_SHOWN} " in text or f" {_END}" in text:
        text = " ".join(_SPACE_WITHIN.sub(r" \1", text).replace(f" {_END}", f"{_END} ").split())
    links: list[Link] = []
    pieces: list[str] = []
    position = 0
    for found in _MARKED_LINK.finditer(text):
        number, surface = found.groups()
        pieces += (text[position : found.start()], surface)
        position = found.end()
        if surface:
            links.append(Link(surface, targets[int(number)]))
    return "".join([*pieces, text[position:]]), links


def _parted(text: str, marks: re.Pattern[str]) -> Iterator[str]:
    """Yield what stands between the marks that a pattern finds as its group."""
    position = 0
    for found in marks.finditer(text):
        if found[1]:
            yield text[position : found.start()]
            position = found.end()
    yield text[position:]


class _LineReader:
    """Cuts a cleaned text into paragraphs, list items and cells, without headings and sections that are no text."""

    def __init__(self, targets: list[str]) -> None:
        self.targets = targets
        self.lines: list[Line] = []
        self.paragraph: list[str] = []
        self.in_lead = True
        self.unread = 0  # level of the heading of the section that is passed over
        self.tables = 0  # how deep

    def read(self, text: str) -> list[Line]:
        for line in text.split("\n"):
            stripped = line.strip(" \t" + NOTHING)
            if stripped:
                self.line(line, stripped)
            elif not line.strip(" \t"):  # a line of which nothing is left ends no paragraph
                self.end_paragraph()
        self.end_paragraph()
        return self.lines

    def line(self, line: str, stripped: str) -> None:
        first = stripped[0]
        if first == "=" and len(stripped) > 2 and stripped[-1] == "=":
            self.heading(stripped)
        elif stripped.lstrip(": ").startswith("{|"):
            self.end_paragraph()
            self.tables += 1
        elif self.tables and first in "|!":
            self.row(stripped)
        elif self.tables or first in "*#:;":
            self.add(stripped.lstrip("*#:; "), "cell" if self.tables else "list")
        elif stripped.startswith("----"):
            self.end_paragraph()
        else:
            self.paragraph.append(line)

    def heading(self, stripped: str) -> None:
        self.end_paragraph()
        level = min(len(stripped) - len(stripped.lstrip("=")), len(stripped) - len(stripped.rstrip("=")))
        name = _finished(stripped.strip("="), self.targets)[0].lower().rstrip(": ")
        self.in_lead = False
        self.tables = 0  # one that has no end ends here
        if not self.unread or level <= self.unread:
            self.unread = level if name in UNREAD_SECTIONS else 0

    def row(self, stripped: str) -> None:
        """Read a line of a table that begins a row, a caption or cells."""
        if stripped.startswith("|}"):
            self.tables -= 1
            self.add(stripped[2:], "cell" if self.tables else "paragraph")
        elif not stripped.startswith("|-"):
            cells = _HEADER_CELLS if stripped[0] == "!" else _CELLS
            for cell in _parted(stripped[2 if stripped[1:2] == "+" else 1 :], cells):
                attributes = _ATTRIBUTES.match(cell)
                self.add(cell[attributes.end() :] if attributes else cell, "cell")

    def end_paragraph(self) -> None:
        if self.paragraph:
            text = " ".join(self.paragraph)
            self.paragraph.clear()
            self.add(text, "paragraph")

    def add(self, text: str, kind: str) -> None:
        self.end_paragraph()
        if text and not self.unread:
            shown, links = _finished(text, self.targets)
            if shown:
                self.lines.append(Line(shown, links, kind, self.in_lead))
