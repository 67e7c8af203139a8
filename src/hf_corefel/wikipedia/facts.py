"""What one page says that a knowledge base needs: links, lead, short description, coarse type."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .dumps import Page
from .site import Site

__all__ = ["Kind", "Link", "PageFacts", "page_facts"]

Kind = Literal["article", "redirect", "disambiguation", "other_namespace", "skipped"]


class Link(NamedTuple):
    """One link in a page's text."""

    surface: str
    target: str
    """Title of an article, normalised, without the section."""


class PageFacts(NamedTuple):
    """What one page says. Titles are normalised and have spaces; an entity's name has underscores in their place."""

    title: str
    kind: Kind
    redirect: str | None = None
    """The title that a redirect leads to, without the section."""
    links: list[Link] = []
    """Links to articles in the text, in its order; on a disambiguation page the first one of each line."""
    lead: str = ""
    """The first paragraph as plain text."""
    short_description: str = ""
    initialisms: list[str] = []
    """Initialisms of the title that the lead gives in brackets."""
    type: str | None = None
    """Coarse type, such as ``person``, where title, lead, templates or categories tell."""
    plain_text: str = ""
    """The text without markup, a paragraph a line; each link's surface occurs in it."""


_SIMPLE_LINK = re.compile(r"\[\[([^\[\]|]{1,300})(?:\|([^\[\]|]{1,300}))?\]\]")


def page_facts(page: Page, site: Site) -> PageFacts:
    """Return what a page says.

    Raises:
        Nothing, whatever the text is.
    """
    if page.namespace != 0:
        return PageFacts(page.title, "other_namespace")
    title = site.normalise(page.title)
    if page.redirect is not None:
        target = site.target(page.redirect)
        return PageFacts(title, "redirect", redirect=target.title if target else None)
    links = []
    for found in _SIMPLE_LINK.finditer(page.text):
        target = site.target(found[1])
        if target and target.namespace == 0 and not target.interwiki and target.title:
            links.append(Link(found[2] or found[1], target.title))
    plain = _SIMPLE_LINK.sub(lambda found: found[2] or found[1], page.text)
    return PageFacts(title, "article", links=links, lead=plain.partition("\n\n")[0], plain_text=plain)
