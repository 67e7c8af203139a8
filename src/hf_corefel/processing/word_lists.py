"""Short lists of English words (and of small words in names of other languages) that the rules of this room share."""

from __future__ import annotations

__all__ = ["DETERMINERS", "SMALL_WORDS", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


# What may stand before a name without changing what it names.
DETERMINERS = word_set("the a an this that these those our")
# Words within names that need no capital letter, and that abbreviations may leave out.
SMALL_WORDS = word_set("""
    of the and for in on at to by de la le les du des der die das den und für von van di da do dos y e et &
""")
