"""Names that a text defines in brackets: ``Hardwood Inc. (the "Company")``, ``European Central Bank (ECB)``.

The rules look at nothing but signs:

1. A bracket is ``(…)`` or ``[…]`` right behind a word; what it stands behind may have another bracket between,
   ``Wood Inc. (formerly Timber) (the "Company")``. Brackets may nest, each is read by itself.
2. Its **terms** are the words in quotes of any kind (or ``**…**``, ``_…_``), where nothing stands before them but
   determiners and words such as "hereinafter", "referred to as", "or simply", "together with its subsidiaries, the".
   Without quotes, the whole content behind such words, if it has at most six words.
3. A bracket **defines** its terms where they have a capital letter or a digit and either stand in quotes, or behind one
   of those words ("or simply", "also known as", "formerly"), or where one of bracket and words before is the
   abbreviation of the other: its letters are found in them in their order, the first at the beginning
   (Schwartz and Hearst, 2003). ``(Reuters)``, ``(2011)`` and ``Angela Merkel (CDU)`` define nothing.
4. ``…, hereinafter (referred to as) "the Company"`` between commas is a bracket, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from ..utils.word_lists import SMALL_WORDS

__all__ = ["LEADS", "Bracket", "find_brackets", "find_long_form"]

Offsets = tuple[int, int]

_PAIRS = {"(": ")", "[": "]", "（": "）", "［": "］"}
# Content of more code points is a remark.
_LONGEST = 240
_LONGEST_TERM = 6
_OPEN_QUOTE = r"(?:\*\*|__|``|''|[\"“”„‟«»‹›「『_*]|(?<!\w)['‘’‚‛`])"
_CLOSE_QUOTE = r"(?:\*\*|__|''|[\"“”‟«»‹›」』_*]|['‘’`](?!\w))"
_QUOTED = re.compile(
    rf"{_OPEN_QUOTE}(?P<term>[^\W_](?:[^\"“”„‟«»‹›「」『』*()\[\]\n]{{0,60}}?[\w.,&!?])?){_CLOSE_QUOTE}"
)
_DETERMINER = r"(?:the|this|that|these|our|an?|its|their|such)"
_LEAD = (
    r"(?:here(?:in)?after|henceforth|hereby|herein|in short|for short|short|a\.?k\.?a\.?|alias|i\.e\.|abbreviated"
    r"|formerly|previously|now|simply|just|also|otherwise|better|commonly|collectively|jointly|together|individually"
    r"|each|both|or|and|to|as|known|called|named|referred|defined|styled|abbreviation)"
)
# What stands before the terms of a bracket.
LEADS = re.compile(rf"\s*(?:(?:{_LEAD}|{_DETERMINER})\b[.,:;]?\s*)*", re.IGNORECASE)
# What a term without quotes must stand behind to be defined.
_NAMING = re.compile(
    r"\b(?:here(?:in)?after|henceforth|or(?:\s+(?:simply|just))?|known\s+as|referred\s+to\s+as|called|in\s+short|for\s+short"
    r"|a\.?k\.?a|alias|abbreviated|formerly|previously|now)\b",
    re.IGNORECASE,
)
_WITH = re.compile(
    rf"\s*(?:together|collectively|jointly|and|including|hereinafter)\b.*\b{_DETERMINER}\s*", re.IGNORECASE
)
_COMMA_STYLE = re.compile(
    rf",\s+(?=(?:here(?:in)?after|henceforth)\b[^\"“”„«»()\n]{{0,60}}{_OPEN_QUOTE})", re.IGNORECASE
)
_PIECE = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_ABBREVIATION = re.compile(r"[^\W_](?:[\w.&/-]{0,11}[\w.])?")
_BREAK = re.compile(r"[.!?;:]\s|\n\s*\n|[()\[\]]")


@dataclass(frozen=True, slots=True)
class Bracket:
    """A bracket and the words that it stands behind.

    Attributes:
        content: Offsets of what stands in it.
        before: End of the words before it.
        long_form: Offsets of the words before it that it defines a term for, None where it defines none.
        terms: Offsets of its terms, without quotes and determiners.
        is_named: Whether the bracket itself says that its terms are names of something (rules 2 and 3).
    """

    content: Offsets
    before: int
    long_form: Offsets | None
    terms: tuple[Offsets, ...]
    is_named: bool = False

    @property
    def defines(self) -> bool:
        """Whether the terms are other names of the words before the bracket."""
        return self.long_form is not None


def find_brackets(text: str) -> list[Bracket]:
    """Returns the brackets of a text that hold a term, in the order of their ends."""
    pairs = list(_pairs(text))
    befores = _befores(text, [(begin, end) for begin, end, _ in pairs])
    found = []
    for begin, end, outer in pairs:
        before = befores[begin]
        if before is None:
            continue
        bracket = _read(text, (begin + 1, end - 1), before)
        if bracket is not None and bracket.is_named and not bracket.defines:
            # "Wood Inc. (a Delaware corporation (the "Company"))": no name stands before it but that of the outer one.
            before = None if outer is None else befores.get(outer)
            bracket = bracket if before is None else _read(text, (begin + 1, end - 1), before)
        if bracket is not None:
            found.append(bracket)
    for match in _COMMA_STYLE.finditer(text):
        term = _QUOTED.search(text, match.end(), match.end() + _LONGEST)
        if term is not None:
            bracket = _read(text, (match.end(), term.end()), match.start())
            if bracket is not None:
                found.append(bracket)
    return found


def _pairs(text: str) -> Iterator[tuple[int, int, int | None]]:
    """Offsets of the brackets with their signs, inner ones first, and where what stands open around each begins.

    What stands open may be no bracket, as nothing closes it or it is too long; no other one around it is one, then.
    """
    opened: list[int] = []
    for match in re.finditer(r"[()\[\]（）［］]", text):
        sign = match[0]
        if sign in _PAIRS:
            opened.append(match.start())
        elif opened and _PAIRS[text[opened[-1]]] == sign:
            begin = opened.pop()
            if match.end() - begin <= _LONGEST:
                yield begin, match.end(), opened[-1] if opened else None
        else:
            opened.clear()


def _befores(text: str, pairs: list[Offsets]) -> dict[int, int | None]:
    """Ends of the words that brackets stand behind, past other brackets, by their begins; None where there are none."""
    begins: dict[int, int] = {}
    befores: dict[int, int | None] = {}
    for begin, end in pairs:
        at = _rstrip(text, begin)
        if at in begins:
            # In the order of their ends, so what the neighbour stands behind is known: no run is walked twice.
            since, before = begins[at], befores[begins[at]]
        else:
            since, before = at, at if at and text[at - 1] not in "([（［,;:!?" else None
        # In the same paragraph.
        befores[begin] = before if text.find("\n\n", since, begin) < 0 else None
        begins[end] = begin
    return befores


def _rstrip(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _read(text: str, content: Offsets, before: int) -> Bracket | None:
    begin, end = content
    # Brackets within it are read by themselves.
    own = re.sub(r"[(\[][^()\[\]]*[)\]]", lambda match: " " * len(match[0]), text[begin:end])
    lead = LEADS.match(own)
    lead_end = lead.end() if lead is not None else 0
    quoted = list(_QUOTED.finditer(own))
    if quoted and (quoted[0].start() <= lead_end or _WITH.fullmatch(own, 0, quoted[0].start())):
        terms = [_trim(own, *match.span("term")) for match in quoted]
        terms = [term for term in terms if _is_term(own[term[0] : term[1]])]
        defines = True
    else:
        term = _trim(own, lead_end, len(own))
        terms = [term] if _is_term(own[term[0] : term[1]]) and not re.search(r"[,;:\n]", own[term[0] : term[1]]) else []
        defines = _NAMING.search(own, 0, lead_end) is not None
    if not terms:
        return None
    first = own[terms[0][0] : terms[0][1]]
    long_form = _abbreviated(text, before, first)
    if long_form is None and defines:
        long_form = _name_before(text, before)
    return Bracket(content, before, long_form, tuple((begin + b, begin + e) for b, e in terms), defines)


def _trim(text: str, begin: int, end: int) -> Offsets:
    """The offsets without blanks, a final full stop of no abbreviation, and determiners in front."""
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and (text[end - 1].isspace() or text[end - 1] in ",;:"):
        end -= 1
    match = re.compile(rf"{_DETERMINER}\s+", re.IGNORECASE).match(text, begin, end)
    return (match.end() if match else begin), end


def _is_term(term: str) -> bool:
    words = term.split()
    has_capital = any(character.isupper() or character.istitle() for character in term)
    return 0 < len(words) <= _LONGEST_TERM and has_capital and not re.search(_OPEN_QUOTE, term)


def _name_before(text: str, end: int) -> Offsets | None:
    """Returns the run of words with capital letters (and small words between) that ends at ``end``."""
    start = _last_break(text, end)
    words = [match.span() for match in re.finditer(r"\S+", text[start:end])][-12:]
    begin, small = None, 0
    for b, e in reversed(words):
        word = text[start + b : start + e].strip("\"'“”„«»‘’*_,.")
        if word[:1].isupper() or word[:1].isdigit() or (begin is None and not word):
            begin, small = start + b, 0
        elif word.lower() in SMALL_WORDS and begin is not None and small < 2:
            small += 1
        else:
            break
        if text[start + b : start + e].endswith(",") and start + e < end:
            break
    if begin is None:
        return None
    determiner = re.compile(rf"{_DETERMINER}\s+(?=\S)", re.IGNORECASE).match(text, begin, end)
    return (determiner.end() if determiner else begin), end


def _last_break(text: str, end: int) -> int:
    """Where the clause begins that ends at ``end``; a full stop within a name ends it, too, when a blank follows."""
    start = max(0, end - 120)
    breaks = [match.end() for match in _BREAK.finditer(text, start, max(start, end - 1))]
    # "St. Louis", "J. Smith", "Inc. (…": short words with a full stop are abbreviations.
    for at in reversed(breaks):
        word = re.search(r"(\S+)\s$", text[max(0, at - 12) : at])
        if word is None or not re.fullmatch(r"[A-Z][A-Za-z]{0,3}\.|(?:[A-Z]\.)+", word[1]):
            return at
    return start


def find_long_form(words: str, short: str) -> int | None:
    """Returns where in the words the shortest part begins that ends with them and that a short form abbreviates.

    Every letter of the short form is found in the part, in their order, and the first begins a word of it (Schwartz
    and Hearst, 2003); a part has no more words than twice the letters of the short form, and than five more.
    """
    letters = [character for character in short.casefold() if character.isalnum()]
    at = len(words)
    folded = words.casefold()
    if len(letters) < 2 or len(folded) != len(words):
        return None
    for number in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and not (folded[at] == letters[number] and (number or at == 0 or not folded[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
    if len(_PIECE.findall(words[at:])) > min(2 * len(letters), len(letters) + 5):
        return None
    return at


def _abbreviated(text: str, before: int, term: str) -> Offsets | None:
    """The words before a bracket that its term abbreviates, or is spelled out from."""
    start = _last_break(text, before)
    words = text[start:before]
    if _is_abbreviation(term):
        at = find_long_form(words, term)
        # The same letters again, "ECB (ECB)", say nothing.
        if at is not None and _letters(words[at:]) != _letters(term):
            return start + at, before
    last = re.search(r"\S+$", words)
    if last is None or _letters(last[0]) == _letters(term):
        return None
    if _is_abbreviation(last[0]) and find_long_form(term, last[0]) == 0:
        return start + last.start(), before
    return None


def _is_abbreviation(word: str) -> bool:
    capitals = sum(character.isupper() for character in word)
    return _ABBREVIATION.fullmatch(word) is not None and 2 * capitals >= len(_letters(word)) >= 2 and capitals >= 2


def _letters(word: str) -> str:
    return "".join(character for character in word.casefold() if character.isalnum())
