"""What one page says that a knowledge base needs: kind, links, lead, short description, coarse type."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ..kb.short_forms import lead_initialisms
from .coarse_types import type_by_description, type_by_hints, type_by_lead, type_with_title
from .dumps import Page
from .languages import DISAMBIGUATION_NAMES, REDIRECT_WORDS
from .site import Site
from .wikitext import Line, Link, Wikitext, read_wikitext

__all__ = ["Kind", "Link", "PageFacts", "page_facts"]

Kind = Literal["article", "redirect", "disambiguation", "other_namespace", "skipped"]
# Texts of other models (JSON, CSS, Lua) are no wikitext.
_WIKITEXT = ("wikitext", "")
_REDIRECT = re.compile(r"\s*#\s*([^\s:#\[\]{}]{2,40})\s*:?\s*\[\[([^\[\]|\n]{1,600})(?:\|[^\[\]\n]{0,600})?\]\]")
_QUALIFIER = re.compile(r"\(([^()]*)\)$")
_EMPTY_BRACKETS = re.compile(r" ?\((?:[\s,;:/·–-]|\bor\b|\band\b)*\)")
_BRACKET_START = re.compile(r"\((?:\s*[,;:·])+\s*")
_BRACKET_END = re.compile(r"(?:\s*[,;:·])+\s*\)")
_SPACE_BEFORE_SIGN = re.compile(r" +([,.;:)])")
_FEWEST_WORDS = 3
_NEAR_START = 3  # characters that may stand before the link that a line of a disambiguation page is about


class PageFacts(NamedTuple):
    """What one page says. Titles are normalised and have spaces; an entity's name has underscores in their place."""

    title: str
    kind: Kind
    redirect: str | None = None
    """The title that a redirect leads to, without the section; None where it leads to no article."""
    links: list[Link] = []
    """Links to articles in the text, in its order; on a disambiguation page only those that its list is of."""
    lead: str = ""
    """The first paragraph as plain text, without the brackets that templates leave empty."""
    short_description: str = ""
    initialisms: list[str] = []
    """Initialisms of the title that the lead gives in brackets."""
    type: str | None = None
    """Coarse type, such as ``person``, where lead, description, infobox, categories or title tell."""
    plain_text: str = ""
    """The text without markup, a paragraph, list item, cell or caption a line; each link's surface stands in it."""


def page_facts(page: Page, site: Site) -> PageFacts:
    """Return what a page says. Nothing that a text can hold is an error.

    Args:
        page: One page of a dump.
        site: The wiki that it is of (`dumps.read_site`).
    """
    title = site.normalise(page.title)
    if page.namespace != 0:
        return PageFacts(title, "other_namespace")
    leads_to = page.redirect or _written_redirect(page.text)
    if leads_to is not None:
        target = site.target(leads_to)
        usable = target is not None and target.namespace == 0 and not target.interwiki and target.title
        return PageFacts(title, "redirect", redirect=target.title if target and usable else None)
    if page.model not in _WIKITEXT:
        return PageFacts(title, "skipped")
    content = read_wikitext(page.text, site, title)
    plain = "\n".join(line.text for line in content.lines)
    if _is_disambiguation(title, content):
        links = [link for line in content.lines if (link := _meaning(title, line)) is not None]
        return PageFacts(title, "disambiguation", links=links, plain_text=plain)
    lead = _lead(content.lines)
    return PageFacts(
        title,
        "article",
        links=[link for line in content.lines for link in line.links],
        lead=lead,
        short_description=content.short_description,
        initialisms=[form.surface for form in lead_initialisms(title, lead)],
        type=_coarse_type(title, lead, content) if site.language in ("en", "simple") else None,
        plain_text=plain,
    )


def _written_redirect(text: str) -> str | None:
    """Return where a text leads that begins as a redirect does; old dumps have no other mark."""
    found = _REDIRECT.match(text) if text.lstrip()[:1] == "#" else None
    return found[2] if found and found[1].lower() in REDIRECT_WORDS else None


def _is_disambiguation(title: str, content: Wikitext) -> bool:
    if "DISAMBIG" in content.switches:
        return True
    qualifier = _QUALIFIER.search(title)
    if qualifier and qualifier[1].lower() in DISAMBIGUATION_NAMES:
        return True
    return any(
        name in DISAMBIGUATION_NAMES or (name.endswith(" disambiguation") and not name.startswith("for "))
        for name in content.templates
    )


def _meaning(title: str, line: Line) -> Link | None:
    """Return the link that a line of a disambiguation page is about: at its start, or of that name."""
    if line.kind != "list" or not line.links:
        return None
    first = line.links[0]
    name = _QUALIFIER.sub("", title).strip().lower()
    if line.text.find(first.surface) <= _NEAR_START or name in first.target.lower():
        return first
    return None


def _lead(lines: list[Line]) -> str:
    """Return the first paragraph before the first heading that is a sentence."""
    for line in lines:
        if line.in_lead and line.kind == "paragraph" and len(line.text.split()) >= _FEWEST_WORDS:
            text = _BRACKET_END.sub(")", _BRACKET_START.sub("(", _EMPTY_BRACKETS.sub("", line.text)))
            return _SPACE_BEFORE_SIGN.sub(r"\1", text)
    return ""


def _coarse_type(title: str, lead: str, content: Wikitext) -> str | None:
    """Return what an English article is about, by the surest sign that says it."""
    sure = type_by_hints("", sorted(content.templates), content.categories)
    said = type_by_lead(lead) or type_by_description(content.short_description) or type_by_hints(title, (), ())
    return sure or type_with_title(title, said)
