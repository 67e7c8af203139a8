"""One form of a surface, whatever way people write it: the key of the alias table."""

from __future__ import annotations

import unicodedata

import regex

from ..utils.characters import HYPHENATION, INVISIBLE

__all__ = ["SURFACE_FORM", "folded_form", "normal_form"]

# Version of `normal_form`, stored with a table whose surfaces have that form; 0 = they are only stripped.
SURFACE_FORM = 1

_APOSTROPHES = "\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u02bd\u2032\u2035\u0060\u00b4\uff07"
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u2036\uff02"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\ufe58\ufe63\uff0d"
# Before NFKC, which takes an acute accent that stands by itself for a blank.
_UNIFIED = str.maketrans(dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_QUOTES, '"') | dict.fromkeys(_DASHES, "-"))
_CUT_WORD = regex.compile(HYPHENATION, regex.V1)
_INVISIBLE = regex.compile(INVISIBLE, regex.V1)
_PLAIN = regex.compile(r"(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?")


def normal_form(surface: str) -> str:
    """Return the form that a surface shares with all that differ from it in how they are written only.

    White space is one blank, none around it; words that a line's end cuts are whole; invisible characters are gone;
    apostrophes, quotation marks and dashes are of one kind; letters are composed and of the usual kind (NFC, NFKC of
    the Unicode Standard Annex 15). Letter case and accents stay. Applying it twice changes nothing more.
    """
    if _PLAIN.fullmatch(surface) and "`" not in surface:
        return surface
    text = _CUT_WORD.sub(lambda cut: "-" if cut[0][0] != "\u00ad" and surface[cut.end()].isupper() else "", surface)
    text = _INVISIBLE.sub("", text).translate(_UNIFIED)
    text = unicodedata.normalize("NFKC", text)
    # Compatibility forms may bring signs that are of one kind, and blanks.
    return " ".join(text.translate(_UNIFIED).split())


def folded_form(surface: str) -> str:
    """Return a normal form without letter case (full case folding: the Unicode Standard, 3.13)."""
    return unicodedata.normalize("NFKC", normal_form(surface).casefold())
