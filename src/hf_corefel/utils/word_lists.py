"""Short lists of English words, and of small words in names of other languages, that several rules share."""

from __future__ import annotations

__all__ = ["DETERMINERS", "NAME_DETERMINERS", "POSSESSIVE_DETERMINERS", "SMALL_WORDS", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


DETERMINERS = word_set("the a an this that these those")
POSSESSIVE_DETERMINERS = word_set("my your his her its our their")
# What may stand before a name without changing what it names.
NAME_DETERMINERS = DETERMINERS | {"our"}
# Words within names that need no capital letter, and that abbreviations may leave out.
SMALL_WORDS = word_set("""
    of the and for in on at to by de la le les du des der die das den und für von van di da do dos y e et &
""")
