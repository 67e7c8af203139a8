"""What a wiki says about itself, and how it reads titles: namespaces, letter case, prefixes of other wikis."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html.entities import html5

from .languages import LANGUAGE_CODES, LINK_TRAILS, NAMESPACE_ALIASES, OTHER_PROJECTS, database_of

__all__ = ["ENGLISH_NAMESPACES", "LONGEST_TITLE", "Site", "Target", "unescaped"]

# Every wiki understands these beside its own names.
ENGLISH_NAMESPACES: Mapping[int, str] = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Wikipedia",
    5: "Wikipedia talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
    100: "Portal",
    101: "Portal talk",
    118: "Draft",
    119: "Draft talk",
    828: "Module",
    829: "Module talk",
}
_DEFAULT_ALIASES: Mapping[str, int] = {"image": 6, "image talk": 7, "project": 4, "project talk": 5}
# Marks of writing direction, which titles never have although links often do.
_DIRECTION_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# A character's name or number in HTML; without the semicolon MediaWiki takes it for text.
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_WIKIMEDIA = re.compile(r"([a-z_]+)(?:wiki[a-z]*|wiktionary)")
_SPACES = re.compile(r"[\s_\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads."""

    namespace: int
    title: str
    """Normalised, without prefix and section; empty where the link leads to a section of its own page."""
    interwiki: str = ""
    """The prefix of the other wiki; empty for a page of this one."""
    text_link: bool = False
    """The target begins with a colon: what it names is linked to, not shown or filed."""


@dataclass(frozen=True)
class Site:
    """A wiki, by what the head of its dump says; a dump without one is read by the English rules.

    Example:
        >>> from hf_corefel.wikipedia import Site
        >>> Site().normalise("new_York  city")
        'New York city'
    """

    name: str = ""
    """Such as ``Wikipedia``; empty where the dump does not say."""
    database: str = ""
    """Such as ``enwiki``."""
    language: str = "en"
    base: str = ""
    """Address of the main page."""
    version: str = ""
    """Schema of the dump, such as ``0.11``."""
    case: str = "first-letter"
    """``first-letter`` where titles begin with a capital whatever is written, otherwise ``case-sensitive``."""
    namespaces: Mapping[int, str] = field(default_factory=lambda: dict(ENGLISH_NAMESPACES))
    """Names by number, as the dump's head gives them."""
    described: bool = False
    """Whether the dump has a head (``siteinfo``)."""

    @cached_property
    def _namespace_numbers(self) -> dict[str, int]:
        numbers = {name.lower(): number for number, name in ENGLISH_NAMESPACES.items() if name and number < 100}
        numbers |= _DEFAULT_ALIASES
        numbers |= NAMESPACE_ALIASES.get(self.language, {})
        return numbers | {name.replace("_", " ").lower(): key for key, name in self.namespaces.items() if name}

    @property
    def sitelinks(self) -> str:
        """What Wikidata lists this wiki's articles by: its database, or that of the Wikipedia in its language."""
        known = _WIKIMEDIA.fullmatch(self.database)
        return self.database if known and known[1].replace("_", "-") in LANGUAGE_CODES else database_of(self.language)

    @cached_property
    def _interwiki(self) -> frozenset[str]:
        return LANGUAGE_CODES | OTHER_PROJECTS

    @cached_property
    def link_trail(self) -> re.Pattern[str]:
        """Letters right after a link that belong to its text: ``[[bus]]es``."""
        return re.compile(LINK_TRAILS.get(self.language, "[a-z]+"))

    def namespace_of(self, prefix: str) -> int | None:
        """Return the number of a namespace by any of its names here; None where there is none of that name."""
        return self._namespace_numbers.get(prefix.strip().lower())

    def normalise(self, title: str) -> str:
        """Return a title as the wiki stores it, with spaces: ``" new_york "`` becomes ``New york``.

        Entities are resolved, white space and underscores become single spaces, marks of direction go, the form is NFC
        and the first letter a capital, unless titles are case-sensitive here.
        """
        title = unescaped(title)
        title = _SPACES.sub(" ", _DIRECTION_MARKS.sub("", title)).strip()
        if not title.isascii():
            title = unicodedata.normalize("NFC", title)
        return title if self.case == "case-sensitive" else _capital(title, self.language)

    def split_title(self, title: str) -> tuple[int, str]:
        """Return the namespace of a page's whole title, and the title without its prefix, normalised."""
        prefix, colon, rest = title.partition(":")
        number = self.namespace_of(_SPACES.sub(" ", prefix)) if colon else None
        return (0, self.normalise(title)) if number is None else (number, self.normalise(rest))

    def target(self, written: str) -> Target | None:
        """Return where a link's target leads; None for what is no title (empty, with ``<``, ``[``, ``{`` ...)."""
        if "%" in written:
            written = _unquoted(written)
        written = unescaped(written)
        title, _, section = written.partition("#")
        title = _SPACES.sub(" ", _DIRECTION_MARKS.sub("", title)).strip()
        if _NO_TITLE.search(title):
            return None
        text_link = title.startswith(":")
        title = title.lstrip(": ")
        if not title:
            return Target(0, "") if section and not text_link else None
        prefix, colon, rest = title.partition(":")
        if colon:
            prefix = prefix.strip().lower()
            number = self._namespace_numbers.get(prefix)
            if number is not None:
                return Target(number, self.normalise(rest), text_link=text_link) if rest.strip() else None
            if prefix in self._interwiki:
                return Target(0, rest.strip(), interwiki=prefix, text_link=text_link)
        title = self.normalise(title)
        return Target(0, title, text_link=text_link) if len(title.encode()) <= LONGEST_TITLE else None


_NO_TITLE = re.compile(r"[\x00-\x1f\x7f-\x9f<>\[\]{}|\ufffd]|~~~")
LONGEST_TITLE = 255  # bytes of UTF-8, MediaWiki's own limit
_DOTTED_CAPITAL = frozenset({"tr", "az", "kaa"})
_QUOTED = re.compile("(?:%[0-9a-fA-F]{2})+")


def _unquoted(text: str) -> str:
    return _QUOTED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text)


def unescaped(text: str, shown: Callable[[str], str] = str) -> str:
    """Return a text with characters in place of their names and numbers in HTML.

    Args:
        text: The text.
        shown: What to make of each character.
    """

    def character(found: re.Match[str]) -> str:
        name = found[0][1:]
        # Of a name that there is none of, `html.unescape` takes the beginning: "&notes;" would be "¬es;".
        return shown(html.unescape(found[0])) if name[0] == "#" or name in html5 else found[0]

    return _ENTITY.sub(character, text) if "&" in text else text


def _capital(title: str, language: str) -> str:
    """Return a title with a capital first letter, by MediaWiki's rules for the language."""
    if title.startswith("i") and language in _DOTTED_CAPITAL:
        return "İ" + title[1:]
    if title.startswith("ij") and language == "nl":
        return "IJ" + title[2:]
    first = title[:1]
    capital = first.upper()
    # "ß" has no single capital, and Georgian letters one that no title uses.
    return title if len(capital) != 1 or "\u10d0" <= first <= "\u10ff" else capital + title[1:]
