"""Characters that texts hold beside what a reader sees, and signs that are written for one another."""

from __future__ import annotations

__all__ = ["APOSTROPHES", "DASHES", "HYPHENATION", "INVISIBLE", "LINE_BREAK", "marked", "printable"]

# What ends a line: that of `str.splitlines`.
LINE_BREAK = r"(?>\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])"
# Format and control characters that show nothing. Not: joiners, which some scripts and all emoji families need, the
# signs of Arabic and Syriac that are format characters but visible, and tags, which make flags.
INVISIBLE = (
    r"(?:[[\p{Cf}\p{Cc}]--[\s\x1c-\x1f\x85\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd"
    r"\U000110cd\U000e0020-\U000e007f]]|(?<=[\p{Latin}\p{Greek}\p{Cyrillic}])[\u200c\u200d]"
    r"(?=[\p{Latin}\p{Greek}\p{Cyrillic}]))"
)
# A word that a line's end cuts in two. A soft hyphen, or any hyphen before a small letter, goes with the line break;
# before a capital letter it belongs to the name.
HYPHENATION = (
    rf"(?<=\p{{L}})(?:\u00ad[^\S\n\r]*{LINE_BREAK}[^\S\n\r]*(?=\p{{L}})"
    rf"|[-\u2010][^\S\n\r]*{LINE_BREAK}[^\S\n\r]*(?=\p{{L}}))"
)
# Signs that people and programs write for one another.
APOSTROPHES = frozenset("\u0027\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u02bd\u2032\u2035\u0060\u00b4\uff07")
DASHES = frozenset("\u002d\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\ufe58\ufe63\uff0d")
_UNSEEN = "\N{REPLACEMENT CHARACTER}"


def marked(text: str) -> str:
    """Return a text with a mark in place of each character that cannot be seen, such as controls of direction."""
    return "".join(character if character.isprintable() else _UNSEEN for character in text)


def printable(text: object) -> str:
    """Return what is shown of a text in one line, without characters that would command who shows it."""
    return marked(" ".join(str(text).split()))
