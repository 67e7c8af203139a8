"""Characters that texts hold beside what a reader sees: invisible ones, kinds of blanks, hyphens at a line's end."""

from __future__ import annotations

import unicodedata

import regex

__all__ = ["HYPHENATION", "INVISIBLE", "LINE_BREAK", "is_invisible"]

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

_INVISIBLE = regex.compile(INVISIBLE, regex.V1)


def is_invisible(text: str) -> bool:
    """Return whether a text holds nothing that a reader could see: white space and `INVISIBLE` characters only."""
    return all(character.isspace() or unicodedata.category(character) in ("Cf", "Cc") for character in text)
