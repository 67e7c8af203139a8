"""The text as a model reads it: white space, line ends, composition and invisible characters made plain.

People wrap, hyphenate, copy and decorate what they write. The model reads a plain form of it; every character of that
form knows where in the text it comes from, so that offsets stay those of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import regex

from ..utils.characters import HYPHENATION, INVISIBLE, LINE_BREAK

__all__ = ["Reading", "read"]

_PICTURE = r"\p{So}\p{Extended_Pictographic}\p{Regional_Indicator}"
_EDITS = regex.compile(
    rf"(?P<hyphen>{HYPHENATION})"
    # Signs of Markdown around words.
    r"|(?P<markup>(?<![\p{L}\p{N}*_])[*_]{1,3}(?=[\p{L}\p{N}\"“'‘(])|(?<=[\p{L}\p{N}.!?…,;:)\"”'’])[*_]{1,3}(?![\p{L}\p{N}*_])"
    r"|(?m:^[^\S\r\n]*\#{1,6}[^\S\r\n]+))"
    # Two blanks, or one that is no plain one.
    rf"|(?P<blank>\s(?:{INVISIBLE}*\s)+|[^\S ])"
    rf"|(?P<invisible>{INVISIBLE}+)"
    # Halves of characters that were cut apart, which tokenizers refuse.
    r"|(?P<surrogate>[\ud800-\udfff])"
    r"|(?P<marked>[\p{L}\p{N}]\p{M}+|[\u1100-\u11ff]{2,})"
    # Full-width letters, ligatures, letters of mathematics; not their like among signs, which other words stand for.
    r"|(?P<letters>[[\p{L}\p{Nd}\p{Nl}]&&[\u00aa\u00ba\u0132-\u0140\u0149\u017f\u01c4-\u01cc\u01f1-\u01f3\u02b0-\u02ff"
    r"\u1d2c-\u1dbf\u2100-\u218f\u3300-\u33ff\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufefc\uff10-\uffdc"
    r"\U0001d400-\U0001d7ff\U0002f800-\U0002fa1f]])"
    # Some tokenizers take a word and the picture beside it for one unknown word.
    rf"|(?P<seam>(?<=[\p{{L}}\p{{Nd}}])(?=[{_PICTURE}])"
    rf"|(?<=[{_PICTURE}\p{{Emoji_Modifier}}][\ufe0f\u20e3]?)(?=[\p{{L}}\p{{Nd}}]))",
    regex.V1,
)
# A fast way to see that there is nothing to do.
_PLAIN = regex.compile(r"[\x20-\x22\x24-\x29\x2b-\x5e\x60-\x7e]*")
_TWO_BREAKS = regex.compile(rf"{LINE_BREAK}\s*?{LINE_BREAK}")


@dataclass(frozen=True)
class Reading:
    """A text as it is read.

    Attributes:
        source: The text itself.
        text: Its plain form, C characters.
        begin: ``[C]`` where each of them begins in the source, never descending.
        end: ``[C]`` where it ends there, exclusive; equal to `begin` for a blank that was put in.

    Example:
        >>> from hf_corefel.processing import read
        >>> reading = read("Angela\\nMerkel")
        >>> reading.source
        'Angela\\nMerkel'
    """

    source: str
    text: str
    begin: np.ndarray
    end: np.ndarray

    def to_source(self, offsets: np.ndarray) -> np.ndarray:
        """Return offsets ``[R, 2]`` of non-empty stretches of the plain form as offsets of the source."""
        if len(offsets) == 0:
            return offsets
        return np.stack([self.begin[offsets[:, 0]], self.end[offsets[:, 1] - 1]], axis=1)

    def with_blanks(self, places: np.ndarray) -> Reading:
        """Return the same with blanks put in before some characters of the plain form."""
        at = self.begin[np.minimum(places, len(self.begin) - 1)]
        text = "".join(np.insert(np.array(list(self.text), dtype=object), places, " "))
        return Reading(self.source, text, np.insert(self.begin, places, at), np.insert(self.end, places, at))


def read(text: str) -> Reading:
    """Return the plain form of a text.

    White space is one blank, or a line feed where it holds a blank line. Words that a line's end cuts are whole.
    Invisible characters and the signs of Markdown around words are left out. Letters are composed and of the usual kind
    (NFC, NFKC). A word and a picture beside it are apart. Half a surrogate pair is U+FFFD.
    """
    parts: list[str] = []
    begins: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    at = 0
    for begin, end, plain in _edits(text):
        if begin > at:
            parts.append(text[at:begin])
            begins.append(np.arange(at, begin))
            ends.append(np.arange(at + 1, begin + 1))
        parts.append(plain)
        begins.append(np.full(len(plain), begin))
        ends.append(np.full(len(plain), end))
        at = end
    parts.append(text[at:])
    begins.append(np.arange(at, len(text)))
    ends.append(np.arange(at + 1, len(text) + 1))
    return Reading(text, "".join(parts), np.concatenate(begins), np.concatenate(ends))


def _edits(text: str) -> Iterator[tuple[int, int, str]]:
    """What is read otherwise than it stands: begin, end and the plain form, in order."""
    if _PLAIN.fullmatch(text) and "  " not in text:
        return
    for match in _EDITS.finditer(text):
        found, kind = match.group(), match.lastgroup
        if kind == "hyphen":
            plain = ""
            if found[0] != "\u00ad" and text[match.end()].isupper():
                # The hyphen is kept and the line's end is not, so that no word has a line feed in it.
                yield match.start(), match.start() + 1, "-"
                yield match.start() + 1, match.end(), ""
                continue
        elif kind == "blank":
            plain = "\n" if _TWO_BREAKS.search(found) else " "
        elif kind in ("invisible", "markup"):
            plain = ""
        elif kind == "surrogate":
            plain = "\ufffd"
        elif kind == "marked":
            plain = unicodedata.normalize("NFC", found)
        elif kind == "letters":
            plain = unicodedata.normalize("NFKC", found)
        else:
            plain = " "
        if plain != found:
            yield match.start(), match.end(), plain
