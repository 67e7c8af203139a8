"""What a reader calls a cluster, and how its mentions relate to that name."""

from __future__ import annotations

import re

from ..documents import Cluster
from ..processing.brackets import find_long_form
from ..utils.word_lists import DETERMINERS, POSSESSIVE_DETERMINERS, word_set

__all__ = [
    "POSSESSIVE",
    "REFLEXIVE",
    "RELATIVE",
    "cluster_name",
    "has_determiner",
    "is_form_of",
    "is_pronoun",
    "is_same_name",
    "looks_like_name",
    "readable_title",
    "without_determiner",
    "without_possessive",
]

POSSESSIVE = word_set("my your his her its our their mine yours hers ours theirs")
REFLEXIVE = word_set("myself yourself yourselves himself herself itself ourselves themselves themself oneself")
RELATIVE = word_set("who whom whose which where when that")
_PERSONAL = word_set("i me you he him she her it we us they them one this that these those")
# In capitals these are names as well.
_NAMES_IN_CAPITALS = word_set("it us who one")
# Words of a name that need no capital letter.
_SMALL = word_set("of the and for in on de da di del der den van von la le al el bin ibn y e &")
_LONGEST_NAME = 6
_IDENTIFIER = re.compile(r"[A-Za-z]?\d+|[a-z]+:\S+", re.ASCII)
_QUALIFIER = re.compile(r"(?<=\S)\s+\([^()]*\)$")


def readable_title(entity: str) -> str | None:
    """Return an entity's name as a reader writes it, or None for an identifier such as ``Q64`` or ``wikidata:Q64``."""
    title = " ".join(entity.replace("_", " ").split())
    if not title or _IDENTIFIER.fullmatch(entity):
        return None
    return _QUALIFIER.sub("", title)


def is_pronoun(surface: str) -> bool:
    """Return whether a mention is a single pronoun; "US", "IT" and "WHO" in capitals are none, "HE" is."""
    word = surface.lower()
    if len(surface) > 1 and surface.isupper() and word in _NAMES_IN_CAPITALS:
        return False
    return word in POSSESSIVE or word in _PERSONAL or word in RELATIVE or word in REFLEXIVE


def cluster_name(cluster: Cluster) -> str | None:
    """Return what a reader calls a cluster; None when it has pronouns, or white space, alone.

    It is the title of its entity, else the longest mention that looks like a name, else the first that is no pronoun.
    """
    title = None if cluster.entity is None else readable_title(cluster.entity)
    # A given mention may hold nothing but white space.
    surfaces = [without_possessive(mention.text or "") for mention in cluster.mentions]
    surfaces = [surface for surface in surfaces if surface and not is_pronoun(surface)]
    if title is not None:
        # Titles begin with a capital letter whatever the name does: "IPhone".
        small = (surface for surface in surfaces if surface[0].islower() and surface[1:] == title[1:])
        return next((surface for surface in small if not surface.islower()), title)
    names = [surface for surface in surfaces if looks_like_name(surface)]
    # The longest, and of these the first.
    return max(names, key=len, default=surfaces[0] if surfaces else None)


def looks_like_name(surface: str) -> bool:
    """Return whether a surface is a few words with capital letters or digits, without a determiner in front."""
    words = surface.split()
    if not 0 < len(words) <= _LONGEST_NAME or words[0].lower() in DETERMINERS:
        return False
    marked = [word[0].isupper() or word[0].isdigit() for word in words]
    return any(word[0].isupper() for word in words) and all(
        mark or word.lower() in _SMALL for word, mark in zip(words, marked, strict=True)
    )


def has_determiner(name: str) -> bool:
    """Return whether a name begins with "the" or, as a description ("her party", not "His Dark Materials"), "her"."""
    first = name.split(" ", 1)[0].lower()
    return first in DETERMINERS or (first in POSSESSIVE_DETERMINERS and not looks_like_name(name))


def without_determiner(name: str) -> str:
    """Return the name without the determiner that it begins with; one word alone stays."""
    return name.split(" ", 1)[-1] if has_determiner(name) else name


def without_possessive(surface: str) -> str:
    """Return a surface on one line, without "'s" at its end."""
    line = " ".join(surface.split())
    return re.sub(r"['’][sS]$", "", line) or line


def is_same_name(surface: str, name: str) -> bool:
    """Return whether a surface is the name, with or without a determiner, in any letter case."""
    bare = without_possessive(surface).casefold()
    return bare in {name.casefold(), without_determiner(name).casefold()}


def is_form_of(surface: str, name: str) -> bool:
    """Return whether a surface without determiner is the name, its abbreviation, or some of its words ("the Union")."""
    words = without_determiner(without_possessive(surface)).split()
    of_name = without_determiner(name).split()
    short = "".join(words)
    if short.isupper() and len(words) == 1 and find_long_form(" ".join(of_name), short) == 0:
        return True
    return bool(words) and words[0][:1].isupper() and set(words) <= set(of_name)
