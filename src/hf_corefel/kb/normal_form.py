"""One form of a surface, whatever way people write it: the key of the alias table."""

from __future__ import annotations

import unicodedata

import regex

from ..utils.characters import APOSTROPHES, DASHES, HYPHENATION, INVISIBLE

__all__ = ["SURFACE_FORM", "folded_form", "is_plain", "normal_form", "other_normal_forms"]

# Version of `normal_form`, stored with a table whose surfaces have that form; 0 = they are only stripped.
SURFACE_FORM = 1

_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u2036\uff02"
# Before NFKC, which takes an acute accent that stands by itself for a blank.
_UNIFIED = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(_QUOTES, '"') | dict.fromkeys(DASHES, "-"))
_CUT_WORD = regex.compile(HYPHENATION, regex.V1)
# A NUL is left to be refused: no table can hold one.
_INVISIBLE = regex.compile(rf"(?!\0){INVISIBLE}", regex.V1)


def is_plain(surface: str) -> bool:
    """Return whether a surface surely is in normal form once it is stripped: a quick look that most pass."""
    return surface.isascii() and surface.isprintable() and "  " not in surface and "`" not in surface


def normal_form(surface: str) -> str:
    """Return the form that a surface shares with all that differ from it in how they are written only.

    White space is one blank, none around it; words that a line's end cuts are whole; invisible characters are gone;
    apostrophes, quotation marks and dashes are of one kind; letters are composed and of the usual kind (NFC, NFKC of
    the Unicode Standard Annex 15). Letter case and accents stay. Applying it twice changes nothing more.
    """
    if is_plain(surface):
        return surface.strip()
    return _unify(_CUT_WORD.sub(_joint, surface) if _has_lines(surface) else surface)


def other_normal_forms(surface: str) -> list[str]:
    """Return what a surface may be beside its `normal_form` where a hyphen at a line's end is read the other way.

    ``Stratford-`` above ``upon-Avon`` is one word in normal form, and ``STUTT-`` above ``GART`` two: only a table of
    names can tell.
    """
    if not _has_lines(surface) or not _CUT_WORD.search(surface):
        return []
    forms = [
        _unify(_CUT_WORD.sub(lambda cut, sign=sign: "" if cut[0][0] == "\u00ad" else sign, surface))
        for sign in ("", "-")
    ]
    return [form for form in dict.fromkeys(forms) if form != normal_form(surface)]


def _has_lines(text: str) -> bool:
    return len(text.splitlines()) > 1


def _joint(cut: regex.Match[str]) -> str:
    """What joins the parts of a word that a line's end cuts."""
    return "-" if cut[0][0] != "\u00ad" and cut.string[cut.end()].isupper() else ""


def _unify(text: str) -> str:
    if not text.isprintable():
        text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize("NFKC", text.translate(_UNIFIED))
    # Compatibility forms may bring signs that are of one kind, and blanks.
    return " ".join(text.translate(_UNIFIED).split())


def folded_form(surface: str) -> str:
    """Return a normal form without letter case (full case folding: the Unicode Standard, 3.13)."""
    normal = normal_form(surface)
    return normal.lower() if normal.isascii() else unicodedata.normalize("NFKC", normal.casefold())
