"""Tell persons, organizations, places, works ... by what an article's first sentence or a short description says.

A first sentence names a class by the noun after "is a" ("is a town in Texas"), a description by the last noun before a
preposition ("town in Texas"). The nouns stand in `type_words`; English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..utils.word_lists import DETERMINERS, POSSESSIVE_DETERMINERS
from .type_words import ABSTRACT, CARRIERS, INFOBOXES, NOUNS, PHRASES

__all__ = ["type_by_description", "type_by_hints", "type_by_lead", "type_with_title"]

_TYPE_OF = {noun: kind for kind, nouns in NOUNS.items() for noun in nouns}
# Where a noun phrase ends.
_PHRASE_END = re.compile(
    r"[,.;:()\[\]/]|(?<!\d)[–—]|(?<![\w-])(?:in|of|on|at|for|by|from|to|with|without|within|that|which|who|whose|whom|where|when|located"
    r"|situated|based|headquartered|founded|established|created|developed|produced|published|directed|written|released"
    r"|starring|known|born|serving|played|used|using|made|built|held|between|during|under|near|about|against|through"
    r"|featuring|set|owned|operated|consisting|comprising|composed|belonging|best|is|was|are|were|has|had|and|or|as|than"
    r"|fought|formed|named|called|since|until|after|before|along|across|into|over|hosted|designed|launched|having|being"
    r"|spanning|representing|including|publishing|covering|stretching|extending|bordering|specializing|specialising"
    r"|providing|offering|operating|engaged|widely|led|regarded|considered|spoken|distinguished|native)(?![\w-])"
)
_COPULA = re.compile(
    r"\b(?:is|was|are|were|is also|was also|is still|became|is currently)\s+"
    r"(?:(?:also|currently|formerly|historically|usually|generally|officially|originally)\s+)?"
    r"(a|an|the|one of the|one of|any of|any|two|three|several|another|(?-i:[A-Z])[\w.\- ]{1,30}['’]s)\s+(?=\S)",
    re.IGNORECASE,
)
_BORN = re.compile(r"\((?:[^()]{0,150}[;,]\s*)?(?:née [^()]{1,40};\s*)?(?:born|b\.)\s", re.IGNORECASE)
# Days of birth and death: "(31 March 1685 – 28 July 1750)". Years alone may be a war's or a band's.
_DATES = re.compile(
    r"\([^()]{0,200}?\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"[^()]{0,12}\d{3,4}[^()]{0,60}?[–—-][^()]{0,60}?\b\d{3,4}\b[^()]{0,60}\)"
)
_ARTICLES = re.compile(
    r"^(?:\([^()]*\)\s*)?(?:(?:the|an?|one of the|any of various|any of several)\s+)?", re.IGNORECASE
)
_BRACKETS = re.compile(r"\([^()]*\)")
_INITIALS = re.compile(r"\b(?:[A-Z]\.){2,}")  # "a U.S. state" does not end at its dots
_WORD = re.compile(r"[^\W_][\w'’.\-]*")
_DETERMINERS = DETERMINERS | POSSESSIVE_DETERMINERS
# Persons, or companies, by what they make: a producer of films is one, a producer of computers the other.
_MAKERS = frozenset({"producer", "developer", "publisher", "designer", "maker", "distributor", "provider"})
_ART = re.compile(
    r"(?:[\w-]+ ){0,2}(?:films?|movies?|television|plays?|musicals?|records?|songs?|music|shows?)\b", re.I
)
_ORGANIZATION_TITLE = re.compile(
    r"\S,? (?:Inc\.?|Incorporated|Corp\.?|Corporation|Co\.?|Company|Ltd\.?|Limited|LLC|LLP|plc|PLC|AG|S\.?A\.?"
    r"|GmbH|N\.?V\.?|B\.?V\.?|SpA|S\.p\.A\.|A/S|ASA|Oyj|KGaA|University|College|Institute|Airlines|Airways|Records|[AR]?\.?F\.?C\.?)"
    r"(?: \([^()]*\))?$"
)
_LONGEST = 400
_MOST_PHRASES = 4


def type_by_lead(lead: str) -> str | None:
    """Return the coarse type that an article's first paragraph says; None where it says none.

    "Denton is a city in Texas" is a place, "Tim Cook (born 1960) is ..." a person whatever follows.
    """
    start = lead[:_LONGEST]
    copula = _COPULA.search(start)
    before = start[: copula.start()] if copula else start
    if _BORN.search(before):
        return "person"
    found = _type_of_phrase(start[copula.end() :], article=copula[1].lower()) if copula else None
    return found or ("person" if _DATES.search(start) else None)


def type_by_description(description: str) -> str | None:
    """Return the coarse type that a short description says, such as "town in Texas"; None where it says none."""
    text = _ARTICLES.sub("", description.strip()[:_LONGEST])
    return _type_of_phrase(text, article="")


def type_by_hints(title: str, templates: Iterable[str], categories: Iterable[str]) -> str | None:
    """Return the coarse type that an article's infobox, categories or title tells; None where none does."""
    for category in categories:
        lowered = category.lower()
        if lowered == "living people" or _LIFE_CATEGORY.search(lowered):
            return "person"
    for template in templates:
        if template.startswith(("infobox ", "taxobox", "speciesbox", "automatic taxobox")):
            if not template.startswith("infobox"):
                return "species"
            found = _infobox_type(template.removeprefix("infobox "))
            if found:
                return found
    qualifier = re.search(r"\(([^()]+)\)$", title)
    if qualifier:
        return _type_of_phrase(qualifier[1].lower(), article="")
    return None


def type_with_title(title: str, found: str | None) -> str | None:
    """Return the type that was found, or organization where it is none or a person, and the title says otherwise.

    "Apple Inc." is no person, though it is a "producer of computers"; "Monsters, Inc." stays the work that it is.
    """
    return "organization" if found in (None, "person", "other") and _ORGANIZATION_TITLE.search(title) else found


_LIFE_CATEGORY = re.compile(
    r"^(?:\d{1,4}(?:s|th century)?(?: bc)? |year of )(?:births|deaths|birth (?:missing|unknown))"
)


def _infobox_type(name: str) -> str | None:
    return INFOBOXES[name] or None if name in INFOBOXES else _type_of_phrase(name, article="")


def _type_of_phrase(text: str, *, article: str) -> str | None:
    """Return the type of the noun phrase with which a text begins.

    Of several that are joined ("film, television and theatre director") the first one that tells, unless a later one
    says that it is a person.
    """
    found: str | None = None
    text = _INITIALS.sub(lambda initials: initials[0].replace(".", ""), _BRACKETS.sub(" ", text))
    partitive = article.startswith(("one of", "any of"))
    for _ in range(_MOST_PHRASES):
        words, after, text = _next_phrase(text)
        head = _singular(words[-1]) if words else ""
        if after == "of" and words and (partitive or head in CARRIERS):
            return found or _known(_next_phrase(_ARTICLES.sub("", text))[0])  # "a series of films": the films
        # "A state of mind" is no place, "a state of Germany" is one.
        common = after == "of" and text.removeprefix("the ")[:1].islower()
        kind = "other" if common and head in ABSTRACT else _known(words)
        if head in _MAKERS and " ".join(words[-2:]) not in PHRASES:
            of_things = after == "of" and not _ART.match(text)
            kind = None if of_things or found == "organization" else kind
        if kind == "person" or (kind and found in (None, "other")):
            found = kind
        if words and after not in ("and", "or", "/", ","):
            break
    return found


def _next_phrase(text: str) -> tuple[list[str], str, str]:
    """Return the words up to the end of a noun phrase, the word that ends it, and the text after that."""
    end = _PHRASE_END.search(text)
    phrase = text[: end.start()] if end else text
    words = [word.rstrip(".'’") for word in _WORD.findall(phrase.lower())]
    for number in range(1, len(words)):
        # "a country primarily", "a people inhabiting the region", but "a casino banking game"
        followed = words[number + 1 : number + 2]
        # "marine engineering and shipbuilding firm": what stands at the end of a phrase is its head.
        last = not followed and (words[number].endswith("ly") or end is None or end[0] not in ("and", "or", ",", "/"))
        ends = last or (bool(followed) and (followed[0] in _DETERMINERS or _known(words) is None))
        if words[number].endswith(("ly", "ing")) and words[number] not in _TYPE_OF and ends and _known(words[:number]):
            words = words[:number]
            break
    return words, end[0] if end else "", text[end.end() :].lstrip() if end else ""


def _known(words: list[str]) -> str | None:
    """Return the type of a noun phrase by its last words."""
    for length in (3, 2):
        if len(words) >= length:
            phrase = " ".join([*words[-length:-1], _singular(words[-1])])
            if phrase in PHRASES:
                return PHRASES[phrase]
    if not words:
        return None
    head = words[-1]
    for noun in (head, _singular(head), head.rpartition("-")[2]):
        if noun in _TYPE_OF:
            return _TYPE_OF[noun]
    if head.endswith(("ologist", "ician", "woman", "women", "sman", "smen", "ographer", "player")):
        return "person"
    return None


def _singular(noun: str) -> str:
    if noun.endswith("ies") and noun not in ("series", "species"):
        return noun[:-3] + "y"
    if noun.endswith(("ches", "shes", "xes", "sses")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is", "series", "species")) else noun
