"""The resolved text: every mention by the name of its cluster, so that each sentence can be read alone.

The rules are few, for English, and look at nothing but the annotation:

1. A cluster's name is the title of its entity (``Washington,_D.C.`` is read "Washington, D.C.", ``Paris_(band)``
   "Paris"). A NIL cluster, or one whose entity is an identifier such as ``Q64``, has the longest of its mentions that
   looks like a name, else its first mention that is no pronoun. A cluster of pronouns alone has no name and stays.
2. The first mention that is no pronoun stays as it is: it introduces the cluster. So does every mention that is the
   name already, with or without its determiner ("The Hague", "Hague"), and every relative pronoun ("who", "whose").
3. The others give way to the name. A possessive ("his", "Merkel's") becomes "Angela Merkel's"; at the beginning of a
   sentence the name begins as the mention did. Behind a determiner that is outside the mention ("the [paper]") the
   name goes without its own ("the Times").
4. Of nested mentions the outermost is replaced, and what is inside goes with it; inside a mention that stays, the
   inner ones are looked at in turn.
"""

from __future__ import annotations

import re

from .document_checks import join_surrogates
from .documents import AnnotatedDocument, Cluster, Mention
from .utils.word_lists import DETERMINERS, POSSESSIVE_DETERMINERS, word_set

__all__ = ["cluster_name", "is_pronoun", "readable_title", "resolve_text"]


_POSSESSIVE = word_set("my your his her its our their mine yours hers ours theirs")
_PERSONAL = word_set("""
    i me myself you yourself yourselves he him himself she herself it itself we us ourselves they them themselves
    themself one oneself this that these those
""")
_RELATIVE = word_set("who whom whose which where when that")
# "her" is an object before these, a possessive before any other word.
_AFTER_OBJECT = word_set("""
    a an the this that these those and or but nor so yet if when while as than then because since until before after
    to of in on at by for from with without about into onto over under against between through during
    is was were are be been has had have will would can could may might must shall should do does did
    not again away back down up out off too also there here now today yesterday tomorrow i he she it we they you
""")
# Words of a name that need no capital letter.
_SMALL = word_set("of the and for in on de da di del der den van von la le al el bin ibn y e &")
# What a name follows without a determiner of its own; "that" introduces clauses more often.
_BEFORE_NOUN = (DETERMINERS | POSSESSIVE_DETERMINERS) - {"that"}
_LONGEST_NAME = 6
_IDENTIFIER = re.compile(r"[A-Za-z]?\d+|[a-z]+:\S+", re.ASCII)
_QUALIFIER = re.compile(r"(?<=\S)\s+\([^()]*\)$")
_CLITIC = re.compile(r"['’]s?$")
_NEXT_WORD = re.compile(r"[ \t]+([^\W\d_]+)")
_LAST_WORD = re.compile(r"\b([^\W\d_]+)\s+\Z")
# Code points to look back for the word before a mention: that of a determiner and a line break with indentation.
_LOOK_BACK = 40


def readable_title(entity: str) -> str | None:
    """An entity's name as a reader writes it, or None when it is an identifier such as ``Q64`` or ``wikidata:Q64``."""
    title = " ".join(entity.replace("_", " ").split())
    if not title or _IDENTIFIER.fullmatch(entity):
        return None
    return _QUALIFIER.sub("", title)


def is_pronoun(surface: str) -> bool:
    """Whether a mention is a single pronoun; "US" and "IT" in capitals are none."""
    word = surface.lower()
    shouted = len(surface) > 1 and surface.isupper()
    return not shouted and (word in _POSSESSIVE or word in _PERSONAL or word in _RELATIVE)


def cluster_name(cluster: Cluster) -> str | None:
    """What a reader calls a cluster (rule 1); None when it has pronouns, or white space, alone."""
    title = None if cluster.entity is None else readable_title(cluster.entity)
    if title is not None:
        return title
    # A given mention may hold nothing but white space.
    surfaces = [_bare(mention) for mention in cluster.mentions if not is_pronoun(mention.text or "")]
    surfaces = [surface for surface in surfaces if surface]
    names = [surface for surface in surfaces if _looks_like_name(surface)]
    # The longest, and of these the first.
    return max(names, key=len, default=surfaces[0] if surfaces else None)


def resolve_text(document: AnnotatedDocument) -> str:
    """The text of an annotated document with names in place of mentions; the rules stand at the top of the module."""
    text, parts, done = document.text, [], 0
    for mention, name in sorted(_replacements(document), key=lambda item: (item[0].begin, -item[0].end)):
        if mention.begin >= done:
            parts += [text[done : mention.begin], _fitted(name, mention, text)]
            done = mention.end
    # A name may end, or begin, where a broken text has half a character.
    return join_surrogates("".join([*parts, text[done:]]))


def _replacements(document: AnnotatedDocument) -> list[tuple[Mention, str]]:
    """The mentions that give way, with the names of their clusters."""
    found = []
    for cluster in document.clusters:
        name = cluster_name(cluster)
        if name is None:
            continue
        introduced = False
        enough = {name.casefold(), _without_determiner(name).casefold()}
        for mention in sorted(cluster.mentions, key=lambda item: item.offsets):
            surface = mention.text or ""
            if not introduced and not is_pronoun(surface):
                introduced = True
            elif surface.lower() not in _RELATIVE and _bare(mention).casefold() not in enough:
                found.append((mention, name))
    return found


def _fitted(name: str, mention: Mention, text: str) -> str:
    """The name in the form of the mention that it replaces: possessive or not, with its first letter's case."""
    surface = mention.text or ""
    if _follows_determiner(mention, text):
        name = _without_determiner(name)
    clitic = _CLITIC.search(surface)
    if _is_possessive(mention, text) or (clitic is not None and len(surface) > len(clitic[0])):
        quote = "’" if "’" in surface else "'"
        name += quote if name.endswith("s") else f"{quote}s"
    first, _, rest = name.partition(" ")
    # "THE TIMES" and "A Clockwork Orange" are names as they stand, "A coach" is none.
    shouted = first.isupper() and (first != "A" or _looks_like_name(rest))
    if _has_determiner(name) and not shouted:
        name = name[0].lower() + name[1:]
    if surface[:1].isupper() and surface not in ("I", "I'm"):
        name = name[0].upper() + name[1:]
    return name


def _has_determiner(name: str) -> bool:
    """Whether a name begins with "the" or, as a description ("her party", not "His Dark Materials"), with "her"."""
    first = name.split(" ", 1)[0].lower()
    return first in DETERMINERS or (first in POSSESSIVE_DETERMINERS and not _looks_like_name(name))


def _without_determiner(name: str) -> str:
    """The name without the determiner that it begins with; one word alone stays."""
    return name.split(" ", 1)[-1] if _has_determiner(name) else name


def _follows_determiner(mention: Mention, text: str) -> bool:
    """Whether the word before a mention is its determiner, as in "the [paper]", not as in "gave her [the paper]"."""
    surface = mention.text or ""
    own = surface.split(maxsplit=1)[:1]
    if is_pronoun(surface) or (own and own[0].lower() in DETERMINERS | POSSESSIVE_DETERMINERS):
        return False
    before = _LAST_WORD.search(text, max(0, mention.begin - _LOOK_BACK), mention.begin)
    return before is not None and before[1].lower() in _BEFORE_NOUN


def _is_possessive(mention: Mention, text: str) -> bool:
    word = (mention.text or "").lower()
    if word != "her":
        return word in _POSSESSIVE
    following = _NEXT_WORD.match(text, mention.end)
    return following is not None and following[1].lower() not in _AFTER_OBJECT


def _bare(mention: Mention) -> str:
    """The surface on one line, without a possessive ending."""
    surface = " ".join((mention.text or "").split())
    bare = re.sub(r"['’]s$", "", surface)
    return bare or surface


def _looks_like_name(surface: str) -> bool:
    """A few words with capital letters or digits, such as "Bank of England", and no determiner in front."""
    words = surface.split()
    if not 0 < len(words) <= _LONGEST_NAME or words[0].lower() in DETERMINERS:
        return False
    marked = [word[0].isupper() or word[0].isdigit() for word in words]
    return any(word[0].isupper() for word in words) and all(
        mark or word.lower() in _SMALL for word, mark in zip(words, marked, strict=True)
    )
