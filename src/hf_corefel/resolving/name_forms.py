"""A name in the form of the mention that it replaces: possessive, determiner, capitals and full stop, for English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..processing.words import WordTable, split_words
from ..utils.word_lists import DETERMINERS, POSSESSIVE_DETERMINERS, word_set
from .cluster_names import POSSESSIVE, has_determiner, is_form_of, is_pronoun, looks_like_name, without_determiner

__all__ = ["FormFinder"]

Offsets = tuple[int, int]

# "her" is an object before these, a possessive before any other word; "the EU" is no part of "the EU summit" there.
_AFTER_OBJECT = word_set("""
    a an the this that these those and or but nor so yet if when while as than then because since until before after
    to of in on at by for from with without about into onto over under against between through during
    is was were are be been has had have will would can could may might must shall should do does did
    not again away back down up out off too also there here now today yesterday tomorrow i he she it we they you
""")
_NO_NOUNS = (_AFTER_OBJECT - {"and", "or"}) | {"said", "says"}
# Words that begin a sentence behind an abbreviation, as capitals of other words may be those of names.
_STARTERS = DETERMINERS | POSSESSIVE_DETERMINERS | _AFTER_OBJECT
# What a name follows without a determiner of its own; "that" introduces clauses more often.
_BEFORE_NOUN = (DETERMINERS | POSSESSIVE_DETERMINERS) - {"that"}
_NEXT_WORD = re.compile(r"[ \t]+([^\W\d_]+)")
_LAST_WORD = re.compile(r"\b([^\W\d_]+)\s+\Z")
_OWNER = re.compile(r"\w(?:['’]s|(?<=s)['’])\s+\Z")
# "a" or "an" before a name, and how names begin behind "an": as they sound, "an hour" but "a European".
_ARTICLE = re.compile(r"\b[aA](n?)\s+\Z")
_VOWEL = re.compile(
    r"[aio](?!ne\b|nce\b)|e(?!u)|u(?!n[io]|s[aeiu]|[kt][aeiur])|h(?:our|onou?r|onest|eir)", re.IGNORECASE
)
_ENDING = re.compile(r"['’]([sS])(?!\w)")
_PLURAL_ENDING = re.compile(r"['’](?=\s+\w)")
_OPEN_QUOTE = re.compile(r"(?<!\w)['‘](?=\w)")
_CONTRACTED_BE = re.compile(r"\s+am\b")
_NO_ATTRIBUTE = re.compile(r"['’]s\b|\s*[.,;:!?)\]]|\s*\Z|\s+(?P<word>[^\W\d_]+)")
_DIRECT_SPEECH = re.compile(r"[,:]\s+[\"“„«‘']+\Z")
_AFTER_STOP = re.compile(r"[\"”’»)\]*_]*(?:\s*\Z|\s*\n\s*\n|\s+[\"“„«‘(\[*_]*(?P<word>[A-Z][a-z]*)\b)")
# Code points to look back for the word before a mention: that of a determiner and a line break with indentation.
_LOOK_BACK = 40
_LINE = 200
# Words to look at on either side for small letters, and back for the beginning of a sentence.
_SENTENCE = 50


class FormFinder:
    """The forms that names have in the places of one text.

    Args:
        text: The text.
        mentions: The offsets of all its mentions.
    """

    def __init__(self, text: str, mentions: Sequence[Offsets]) -> None:
        self._text = text
        self._mentions = mentions
        self._has_typographic = re.search(r"\w’\w", text) is not None and re.search(r"\w'\w", text) is None

    def fit(self, name: str, begin: int, end: int, mention_end: int, takes_the: bool) -> tuple[int, int, str] | None:
        """Return what is replaced, and by what; None where the name cannot stand.

        Args:
            name: The name of the cluster.
            begin: Begin of the mention.
            end: Its end, without a possessive ending or another contraction.
            mention_end: Its end with them.
            takes_the: Whether the name is one with "the" in this text.
        """
        text, surface = self._text, self._text[begin:end]
        pronoun = is_pronoun(surface)
        if surface == "I" and _CONTRACTED_BE.match(text, end):
            return None
        ending = _ENDING.match(text, end)
        plural = self._is_plural_possessive(begin, end, mention_end)
        # An ending that is outside the mention cannot be changed to fit: "McDonald's's", "America' policy".
        if ending is not None and ending.end() > mention_end and re.search(r"['’]s$", name):
            return None
        if plural and end == mention_end and name[-1:] not in "sS":
            return None
        # "Germany's [chancellor]" is one phrase, "Germany's [Merkel]" a name.
        if _OWNER.search(text, max(0, begin - _LOOK_BACK), begin) and not (pronoun or is_form_of(surface, name)):
            return None
        article = _ARTICLE.search(text, max(0, begin - _LOOK_BACK), begin)
        words = self._with_determiner(name, begin, end, takes_the)
        if article is not None and (article[1] != "") != (_VOWEL.match(words) is not None):
            return None
        stop = end
        if self._is_possessive(begin, end):
            words += self._possessive_ending(words, "’" if self._has_typographic else "'")
        elif ending is not None and ending.end() <= mention_end and not pronoun:
            words += self._possessive_ending(words, text[end])
            stop = ending.end()
        elif plural and end < mention_end:
            words += self._possessive_ending(words, text[end])
            stop = end + 1
        words = self._with_case(words, begin, end)
        if surface.endswith(".") and not words.endswith(".") and self._ends_sentence(end):
            words += "."
        elif words.endswith(".") and text[end : end + 1] == ".":
            words = words[:-1]
        return begin, stop, words

    def takes_the(self, name: str, places: Sequence[Offsets]) -> bool:
        """Return whether the text has the name, or its abbreviation, behind "the", not before a noun."""
        if has_determiner(name):
            return False
        for begin, end in places:
            surface = self._text[begin:end]
            inside = re.match(r"the\s", surface, re.IGNORECASE) is not None
            before = _LAST_WORD.search(self._text, max(0, begin - _LOOK_BACK), begin)
            if not inside and (before is None or before[1].lower() != "the"):
                continue
            bare = without_determiner(surface)
            if not (bare.casefold() == name.casefold() or (bare.isupper() and is_form_of(bare, name))):
                continue
            if inside:
                return True
            following = _NO_ATTRIBUTE.match(self._text, end)
            word = None if following is None else following["word"]
            if following is not None and (word is None or word in _NO_NOUNS or word.endswith("ed")):
                return True
        return False

    def is_spelled_out(self, name: str, begin: int, end: int) -> bool:
        """Return whether the whole name stands there, as around the "Washington" of "Washington, D.C."."""
        words = name.split()
        around = slice(max(0, begin - 2 * len(name)), end + 2 * len(name))
        pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
        places = [match.span() for match in pattern.finditer(self._text[around])]
        return any(b + around.start <= begin and end <= e + around.start for b, e in places)

    def _with_determiner(self, name: str, begin: int, end: int, takes_the: bool) -> str:
        """The name with "the" where the mention had it, and without a determiner behind one."""
        surface = self._text[begin:end]
        first = (surface.split(maxsplit=1) or [""])[0].lower()
        led = first in DETERMINERS | POSSESSIVE_DETERMINERS and not is_pronoun(surface)
        if not led and not is_pronoun(surface) and self._follows_determiner(begin):
            return without_determiner(name)
        if has_determiner(name):
            return name
        if led and first not in {"a", "an"} and is_form_of(surface, name):
            return f"{first} {name}"
        return f"the {name}" if takes_the and (led or is_pronoun(surface)) else name

    def _follows_determiner(self, begin: int) -> bool:
        """Whether the word before a mention is its determiner, as in "the [paper]"."""
        before = _LAST_WORD.search(self._text, max(0, begin - _LOOK_BACK), begin)
        return before is not None and before[1].lower() in _BEFORE_NOUN

    def _is_possessive(self, begin: int, end: int) -> bool:
        word = self._text[begin:end].lower()
        if word != "her":
            return word in POSSESSIVE
        following = _NEXT_WORD.match(self._text, end)
        return following is not None and following[1].lower() not in _AFTER_OBJECT

    def _is_plural_possessive(self, begin: int, end: int, mention_end: int) -> bool:
        """Whether an apostrophe that is no closing quote follows: "the States' policy"."""
        text = self._text
        if text[end - 1].lower() != "s" and end == mention_end:
            return False
        line = text[max(text.rfind("\n", 0, begin) + 1, begin - _LINE) : begin + 1]
        return _PLURAL_ENDING.match(text, end) is not None and _OPEN_QUOTE.search(line) is None

    @staticmethod
    def _possessive_ending(name: str, apostrophe: str) -> str:
        """What makes a name a possessive; nothing for "McDonald's"."""
        if re.search(r"['’]s$", name):
            return ""
        return apostrophe if name[-1:] in "sS" else f"{apostrophe}s"

    def _with_case(self, name: str, begin: int, end: int) -> str:
        """The name with its first letter in the case that it has in that place, or all in capitals."""
        surface = self._text[begin:end]
        if self._is_shouted(begin, end):
            return name.upper()
        first, _, rest = name.partition(" ")
        # "THE TIMES" and "A Clockwork Orange" are names as they stand, "A coach" is none.
        shouted = first.isupper() and (first != "A" or looks_like_name(rest))
        if has_determiner(name) and not shouted:
            name = name[0].lower() + name[1:]
        determiner = surface.split(maxsplit=1)[:1] and surface.split(maxsplit=1)[0].lower() in _BEFORE_NOUN
        if (is_pronoun(surface) and surface != "I") or determiner:
            begins = surface[:1].isupper()
        else:
            begins = self._begins_sentence(begin)
        # "iPhone" keeps its small letter.
        if begins and not any(character.isupper() for character in first[1:]):
            name = name[:1].title() + name[1:]
        return name

    @cached_property
    def _words(self) -> WordTable:
        return split_words(self._text)

    def _begins_sentence(self, begin: int) -> bool:
        """Whether no word of the same sentence, line or direct speech stands before a place."""
        if _DIRECT_SPEECH.search(self._text, max(0, begin - _LOOK_BACK), begin):
            return True
        words = self._words
        at = int(np.searchsorted(words.begin, begin, side="right")) - 1
        if at < 0:
            return True
        line = words.line[at]
        for i in range(at - 1, max(at - _SENTENCE, 0) - 1, -1):
            if words.line[i] != line:
                return True
            if any(character.isalnum() for character in self._text[words.begin[i] : words.end[i]]):
                # The number or letter of a list.
                return bool(re.match(r"[ \t>]*\(?(?:\d{1,3}|[A-Za-z])[.)]\s+[\W_]*\Z", self._line_before(begin)))
        return True

    def _line_before(self, begin: int) -> str:
        return self._text[max(self._text.rfind("\n", 0, begin) + 1, begin - _LINE) : begin]

    def _ends_sentence(self, end: int) -> bool:
        """Whether a full stop before this code point ends more than an abbreviation."""
        following = _AFTER_STOP.match(self._text, end)
        return following is not None and (following["word"] is None or following["word"].lower() in _STARTERS)

    def _is_shouted(self, begin: int, end: int) -> bool:
        """Whether the sentence has no small letters, and a word of three capitals that is in no mention."""
        if not self._text[begin:end].isupper():
            return False
        words = self._words
        at = int(np.searchsorted(words.begin, begin, side="right")) - 1
        if at < 0:
            return False
        first = max(int(np.searchsorted(words.line, words.line[at])), at - _SENTENCE)
        last = min(int(np.searchsorted(words.line, words.line[at], "right")), at + _SENTENCE)
        sentence = self._text[words.begin[first] : words.end[last - 1]]
        if any(character.islower() for character in sentence):
            return False
        outside = np.flatnonzero(~self._in_mention[first:last]) + first
        surfaces = (self._text[words.begin[i] : words.end[i]] for i in outside)
        return any(len(word) > 2 and word.isalpha() for word in surfaces)

    @cached_property
    def _in_mention(self) -> np.ndarray:
        """Which of the words are in a mention, [M]."""
        depth = np.zeros(len(self._text) + 1, dtype=np.int64)
        for begin, end in self._mentions:
            depth[begin] += 1
            depth[end] -= 1
        return np.cumsum(depth)[self._words.begin] > 0
