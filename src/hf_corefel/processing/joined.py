r"""Whether a stretch of a text is a whole word or several, or is joined to what stands beside it.

What no blank parts is one word for a reader, with these exceptions and no others:

1. A **letter, digit or underscore** beside it joins, and so do invisible signs between letters. Chinese and Japanese,
   which have no blanks, do not; nor do raised digits (marks of footnotes) behind it.
2. A **hyphen** with a word on its other side joins: "pro-Merkel", "Merkel-led", "US-based", "US-China talks",
   "Merkel- and Macron-led". Such a compound is one word. Dashes (``–``, ``—``, ``--``) part words: "US–China talks".
3. An **apostrophe** joins ("O'Hara", "I'm", "they've", "you're"), but not that of "'s", "'ll" and "'d", which English
   sets behind any noun.
4. ``.`` ``:`` ``&`` with a word on the other side join ("us.gov", "a::b", "AT&T"), ``/ \ @ # = + ~ %`` and signs of
   currencies do anyhow ("CDU/CSU", "US$").
5. Signs of emphasis are not there: ``_Merkel_`` and ``**Merkel**`` are whole, ``us_gov``, ``_US`` and ``US_`` are not,
   as their underscores have no partner.
"""

from __future__ import annotations

import regex

__all__ = ["JoinedWords"]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]"
_LETTER_BEHIND = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}\u00b9\u00b2\u00b3\u2070-\u2079]]"
_HIDDEN = r"[\u00ad\u200c\u200d\u2060\ufeff]*"
_HYPHEN = r"[-\u2010\u2011]"
_APOSTROPHE = r"['’ʼ＇]"
_SIGN = r"[/\\@＠#＃=+~%\p{Sc}]"
# Read towards the stretch from before, and away from it behind it.
_BEFORE = regex.compile(
    rf"(?:{_LETTER}{_HIDDEN}|{_SIGN}|{_LETTER}[*_]{{0,3}}{_HYPHEN}(?:[ \t]*\r?\n[ \t]*)?"
    rf"|{_LETTER}(?:[.&:]|{_APOSTROPHE})|::)\Z",
    regex.V1,
)
_AFTER = regex.compile(
    rf"{_HIDDEN}{_LETTER_BEHIND}|{_SIGN}|(?:\.|&(?!\#?\w+;)){_LETTER}|::?{_LETTER}"
    rf"|{_HYPHEN}(?:[ \t]*\r?\n[ \t]*)?{_LETTER}|{_HYPHEN}\s+(?:and|or|und|oder|to)\b"
    rf"|{_APOSTROPHE}(?!(?:s|ll|d)(?!{_LETTER})){_LETTER}",
    regex.V1 | regex.IGNORECASE,
)
_EMPHASIS = regex.compile(
    r"(?<![\p{L}\p{N}_])(?P<open>_{1,3})(?=[^\s_])(?:(?!\n\s*\n)[^_]|(?<=[\p{L}\p{N}])_(?=[\p{L}\p{N}])){1,2000}?"
    r"(?<=[^\s_])(?P<close>_{1,3})(?![\p{L}\p{N}_])"
)
# Code points to look at on either side.
_WINDOW = 40
# Signs of emphasis on one side: "**_Merkel_**".
_MOST_SIGNS = 4


class JoinedWords:
    """The words of one text, as far as something may be a part of them.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        # Where signs of emphasis end or begin, and where they began or end.
        self._opened: dict[int, int] = {}
        self._closed: dict[int, int] = {}
        for match in _EMPHASIS.finditer(text) if "_" in text else ():
            self._opened[match.end("open")] = match.start("open")
            self._closed[match.start("close")] = match.end("close")

    def is_part(self, begin: int, end: int) -> bool:
        """Return whether the stretch from ``begin`` to ``end`` is joined to more, by the rules of the module."""
        begin, end = self._without_emphasis(begin, end)
        text = self._text
        before, after = text[max(0, begin - _WINDOW) : begin], text[end : end + _WINDOW]
        return _BEFORE.search(before) is not None or _AFTER.match(after) is not None

    def _without_emphasis(self, begin: int, end: int) -> tuple[int, int]:
        """The stretch with the signs of emphasis around it."""
        text = self._text
        for _ in range(_MOST_SIGNS):
            if begin in self._opened or (begin and text[begin - 1] == "*"):
                begin = self._opened.get(begin, begin - 1)
            if end in self._closed or text[end : end + 1] == "*":
                end = self._closed.get(end, end + 1)
        return begin, end
