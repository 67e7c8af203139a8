"""Shorter forms that a title's entity is called by: "Denton" of "Denton, Texas", "Merkel" of "Angela Merkel"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..utils.word_lists import SMALL_WORDS, word_set

__all__ = ["ShortForm", "lead_initialisms", "short_forms"]

# What an entity's uses under its title count for under a shorter form of it. These are judgements, not measurements:
# they only have to put the forms that texts use every day before those that they hardly ever use.
_QUALIFIER = 1.0
_PLACE = 0.5
_LEGAL_FORM = 0.8
_GENERIC = 0.3
_CLUB = 0.5
_CLUB_NAME_FIRST = 0.3
_ARTICLE = 0.3
_GENERATION = 0.5
_MIDDLE_NAME = 0.5
_LAST_NAME = 0.1
_TURNED_UNIVERSITY = 0.2
_BARE_UNIVERSITY = 0.1
_UNIVERSITY_PLACE = 0.02
_OFFICIAL_NAME = 0.3
_INITIALISM = 0.5

_PARENTHESIS = re.compile(r"\s*\([^()]*\)$")
# Not at the beginning of what remains: "Inc." alone names nothing.
_LEGAL_FORMS = re.compile(
    r"(?<=\S),? (?:Inc\.?|Incorporated|Corp\.?|Co\.?|Ltd\.?|Limited|LLC|L\.L\.C\.|LLP|plc|PLC|AG|SE|SA|S\.A\.|GmbH"
    r"|NV|N\.V\.|BV|B\.V\.|SpA|S\.p\.A\.|AB|A/S|ASA|Oyj|KGaA|& Co\.?|Pty\.? Ltd\.?)$"
)
_GENERIC_ENDINGS = re.compile(
    r"(?<=\S) (?:Corporation|Company|Group|Holdings?|Industries|Technologies|Airlines|Airways|Motors?|Records"
    r"|Entertainment|Pictures|Studios|Party|Foundation|Organi[sz]ation)$"
)
_CLUB_NAMES = (
    r"(?:[AS]?F\.?C\.?|A\.?F\.?C\.?|[CS]\.?F\.?|[AS]\.?[CS]\.?|C\.?D\.?|S\.?V\.?|V\.?f\.?[BL]\.?|B\.?C\.?"
    r"|[SFN]\.?K\.?|R\.?F\.?C\.?)"
)
_CLUB_ENDING = re.compile(rf"(?<=\S) {_CLUB_NAMES}$")
_CLUB_BEGINNING = re.compile(rf"^(?:\d\. )?{_CLUB_NAMES} (?=[^\W\d_])")
_UNIVERSITY_OF = re.compile(r"^(?:The )?University of (?:the )?(.+)$")
_UNIVERSITY = re.compile(r"^(.+) University$")
_OFFICIAL = re.compile(
    r"^(?:People's |Democratic |Federal |Islamic |Socialist |Grand )*"
    r"(?:Republic|Kingdom|State|City|Province|Commonwealth|Union|Duchy|Principality|Government|County)"
    r" of (?:the )?(.+)$"
)
_GENERATIONS = re.compile(r",? (?:Jr\.?|Sr\.?|II|III|IV)$")
_TITLES = word_set(
    "Sir Dame Lord Lady Saint St. Dr. Prince Princess King Queen Pope Emperor Empress Count Baron Sheikh"
)
_PARTICLES = word_set("""
    von van de der den del della di da dos das du la le el al bin ben ibn ten ter zu zur af av st. mac o'
""")
_INITIAL = re.compile(r"^(?:[^\W\d_]\.)+$")
# "(MIT)", "(MIT; ...", "(abbreviated MIT, ..." near the beginning of a lead.
_IN_BRACKETS = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)")
_ABBREVIATION = re.compile(r"(?<![\w.])(?:[A-Z][A-Za-z]?(?:[A-Z&]|(?<=[A-Z])\.)){1,7}[A-Za-z]?(?![\w])")
_LEAD_LENGTH = 400
# A name has at most so many words.
_NAME_WORDS = 12


class ShortForm(NamedTuple):
    """A shorter form of a title.

    Attributes:
        surface: The form.
        discount: What part of the uses of the title it may count for, between 0 and 1.
        kind: By which rule: "qualifier", "place", "legal form", "generic", "club", "article", "generation",
            "initials", "middle name", "last name", "university", "official name" or "initialism".

    Example:
        >>> from hf_corefel.kb.short_forms import short_forms
        >>> [form.surface for form in short_forms("Denton,_Texas")]
        ['Denton']
    """

    surface: str
    discount: float
    kind: str


def short_forms(title: str, type: str | None = None) -> list[ShortForm]:
    """Return the shorter forms that English texts may use for an entity, the surest of each first.

    A form never equals the title, has at least two characters, and comes once. Rules that could only guess what a title
    names apply where the type is known: last names to persons alone, what stands before a comma to places or what has
    no type.

    Args:
        title: The title, with blanks or underscores.
        type: The coarse type of the entity, if it is known.
    """
    whole = " ".join(title.replace("_", " ").split())
    forms: dict[str, ShortForm] = {}
    for form in _all_forms(whole, type):
        surface = form.surface.strip(" ,")
        if len(surface) > 1 and surface != whole and surface not in forms and any(map(str.isalnum, surface)):
            forms[surface] = form._replace(surface=surface)
    return list(forms.values())


def _all_forms(title: str, type: str | None) -> Iterator[ShortForm]:
    bare = _PARENTHESIS.sub("", title)
    if bare != title:
        yield ShortForm(bare, _QUALIFIER, "qualifier")
    if type == "person":
        yield from _person_forms(bare)
        return
    yield from _place_forms(bare, type)
    for pattern, discount, kind in (
        (_LEGAL_FORMS, _LEGAL_FORM, "legal form"),
        (_CLUB_ENDING, _CLUB, "club"),
        (_CLUB_BEGINNING, _CLUB_NAME_FIRST, "club"),
        (_GENERIC_ENDINGS, _GENERIC, "generic"),
    ):
        short = pattern.sub("", bare)
        if short != bare and type not in ("work", "place", "species") and not short.islower():
            yield ShortForm(short, discount, kind)
    if bare.startswith("The ") and (" " in bare[4:] or type in ("organization", "work")):
        yield ShortForm(bare[4:], _ARTICLE, "article")
    yield from _university_forms(bare)
    official = _OFFICIAL.match(bare)
    if official and type in (None, "place", "organization") and official[1][0].isupper():
        yield ShortForm(official[1], _OFFICIAL_NAME, "official name")


def _place_forms(title: str, type: str | None) -> Iterator[ShortForm]:
    """The part before the first comma, where the rest looks like what the place is in."""
    before, _, after = title.partition(", ")
    if not after or type not in (None, "place") or _LEGAL_FORMS.search(title) or _GENERATIONS.search(title):
        return
    listed = re.search(r" (?:and|or|und|et) |&", title) is not None and "," in after
    if not listed and _is_name(before) and _is_name(after):
        yield ShortForm(before, _PLACE, "place")


def _is_name(words: str) -> bool:
    """Whether all words are capitalised, small words excepted."""
    parts = re.split(r"[\s,]+", words)
    return all(part in SMALL_WORDS or not part[:1].islower() for part in parts) and not parts[0].islower()


def _university_forms(title: str) -> Iterator[ShortForm]:
    of, plain = _UNIVERSITY_OF.match(title), _UNIVERSITY.match(title)
    if of and "," not in of[1] and _is_name(of[1]):
        yield ShortForm(f"{of[1]} University", _TURNED_UNIVERSITY, "university")
        yield ShortForm(of[1], _UNIVERSITY_PLACE, "university")
    elif plain and _is_name(plain[1]) and not plain[1].startswith("The "):
        yield ShortForm(plain[1], _BARE_UNIVERSITY, "university")


def _person_forms(name: str) -> Iterator[ShortForm]:
    """Names without generation and middle names, and the last name with its particles."""
    plain = _GENERATIONS.sub("", name)
    words = plain.split()
    if len(words) > 2 and words[0] in _TITLES:
        words = words[1:]
    # "Christian IX of Denmark", "Plato", "Philip II": the last word is no last name.
    if len(words) < 2 or "of" in words or "the" in words or "," in plain or any(map(str.isdigit, plain)):
        return
    if plain != name and not re.fullmatch(r"[IV]+", name.split()[-1]):
        yield ShortForm(plain, _GENERATION, "generation")
    elif plain != name:
        return  # "Philip II": a ruler more often than a grandson
    last = next((i for i, word in enumerate(words[1:], 1) if word.casefold() in _PARTICLES), len(words) - 1)
    if last > 1 and all(map(_INITIAL.match, words[:last])):
        yield ShortForm(" ".join(["".join(words[:last]), *words[last:]]), _QUALIFIER, "initials")
    elif last > 1 and all(map(_INITIAL.match, words[1:last])):
        yield ShortForm(" ".join([words[0], *words[last:]]), _MIDDLE_NAME, "middle name")
    if _INITIAL.match(words[-1]) is None and words[-1][:1].isupper():
        yield ShortForm(" ".join(words[last:]), _LAST_NAME, "last name")


def lead_initialisms(title: str, lead: str) -> list[ShortForm]:
    """Return the initialisms that a lead paragraph gives in brackets near its beginning, such as "(MIT)".

    One counts only when its letters are initials, in their order and the first one included, of words of the title or
    of the words before the brackets, so that years, units and names in other languages are none.

    Args:
        title: The title, with blanks or underscores.
        lead: The lead paragraph as plain text.
    """
    name = _PARENTHESIS.sub("", title.replace("_", " "))
    found: dict[str, ShortForm] = {}
    for brackets in _IN_BRACKETS.finditer(lead[:_LEAD_LENGTH]):
        names = [_initials(name), _initials(re.sub(r"^(?:The|A|An) ", "", lead[: brackets.start()]))]
        for match in _ABBREVIATION.finditer(brackets[1]):
            surface = match[0].rstrip(".") if match[0].count(".") == 1 else match[0]
            letters = [sign.upper() for sign in surface if sign.isupper()]
            if len(letters) > 1 and surface != name and any(_in_order(letters, initials) for initials in names):
                found.setdefault(surface, ShortForm(surface, _INITIALISM, "initialism"))
    return list(found.values())


def _initials(words: str) -> list[str]:
    found = re.findall(r"[^\W_]+", words)
    return [word[0].upper() for word in found] if len(found) <= _NAME_WORDS else []


def _in_order(letters: list[str], initials: list[str]) -> bool:
    """Whether letters are some of the initials, in their order, the first of them first."""
    rest = iter(initials)
    return letters[:1] == initials[:1] and all(letter in rest for letter in letters)
