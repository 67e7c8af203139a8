"""Who says what, read off a text: turns of a dialogue and quotations with a name beside them.

**Turns.** A line that begins with a name and a colon, ``Anna: I left.``, is a turn of that name. It ends where the
next one begins, so that lines without a name go on with it. Before the name may stand a time or a sign of a list
(``[12:03]``, ``- ``, ``> ``), around it ``**``, behind it a remark in brackets (``Anna (laughing):``). A name has one
to four words, each with a capital letter; those of fields ("Date:", "Subject:", "Note:") are none. The lines are turns
only where there are two at least, and half of them hold a sentence (a sign that ends one, or "I", "you"). Prose has no
such lines.

**Quotations.** Words in double quotes (or ``“…”``, ``„…“``, ``«…»``) within a paragraph are said by the name in
``"…," said Anna Berg``, ``"…," Anna Berg said``, ``Anna Berg said: "…"``, with verbs such as *say, ask, tell, add,
reply*. Quotations that follow in the same paragraph, without a name of their own, go on with the speaker of the last:
``"…," said Anna. "…"``. A pronoun ("she said") is no name.
"""

from __future__ import annotations

import re

from ..documents.speaker_turns import Turn
from ..utils.word_lists import word_set

__all__ = ["read_quotations", "read_speakers", "read_turns"]

_NAME_WORD = r"(?:[^\W\d_a-z][\w'’.-]*)"
_NAME = rf"{_NAME_WORD}(?:[ \t]+{_NAME_WORD}){{0,3}}"
_TURN = re.compile(
    rf"^[ \t]*(?:[>•–—*-][ \t]+)?(?:[\[(]?\d{{1,2}}:\d\d(?::\d\d)?[\])]?[ \t]*)?(?:\*\*|__)?(?P<name>{_NAME})"
    r"(?:[ \t]*[(\[][^()\[\]\n]{0,40}[)\]])?(?:\*\*|__)?[ \t]*:(?:\*\*|__)?(?=\s)",
    re.MULTILINE,
)
_FIELDS = word_set("""
    from to cc bcc subject date time place location address phone fax email web website url re note notes warning
    example examples source sources author title summary abstract keywords name age born died capital language languages
    population price contact update correction photo image figure table chapter section article step result results
    conclusion question answer background objective methods introduction see also tip hint todo fixme important
    ingredients directions serves by editor published updated tags category categories topic agenda attendees status
""")
_SENTENCE = re.compile(r"[.!?…。！？](?:[\"'”’»)\]*_]*)(?:\s|$)|\b(?:I|[Yy]ou|[Mm]y|[Yy]our)\b")
_LONGEST_NAME = 40

_QUOTE = re.compile(r"\"(?P<a>[^\"\n]+)\"|“(?P<b>[^“”\n]+)”|„(?P<c>[^„“”\n]+)[“”]|«(?P<d>[^«»\n]+)»")
_SAY = (
    r"(?:said|says|asked|asks|told|tells|added|adds|replied|replies|answered|answers|explained|explains|wrote|writes"
    r"|argued|argues|insisted|noted|notes|stated|states|declared|announced|continued|recalled|warned|warns|shouted"
    r"|whispered|cried|exclaimed|remarked|commented|claimed|claims|admitted|admits|concluded|stressed|tweeted)"
)
_CAPITAL = r"[^\W\d_a-z][\w'’-]*\.?"
_PERSON = rf"{_CAPITAL}(?:[ \t]+(?:(?:de|da|del|di|van|von|der|den|bin|al|el|la|le)[ \t]+){{0,2}}{_CAPITAL}){{0,3}}"
# What may stand between a name and its verb: ", the mayor of Oslo,".
_APPOSITION = r"(?:,[^,\"“”\n]{1,60},)?"
_AFTER = re.compile(rf"\s*(?:{_SAY}[ \t]+(?P<a>{_PERSON})|(?P<b>{_PERSON}){_APPOSITION}[ \t]+{_SAY}\b)")
_BEFORE = re.compile(rf"(?P<a>{_PERSON}){_APPOSITION},?[ \t]+{_SAY}\b[^\"“”„«.!?\n]{{0,30}}[,:]\s*\Z")
_NO_NAMES = word_set("""
    i he she it we you they the a an this that these those his her its our their one who there then but and in on at
    as when while after before if so for what why how yes no not now later earlier mr mrs ms dr sir
""")


def read_speakers(text: str) -> list[Turn]:
    """Returns the turns of a text, or its quotations where it has no turns (see the top of the module)."""
    return read_turns(text) or read_quotations(text)


def read_turns(text: str) -> list[Turn]:
    """Returns the turns of a dialogue, none where the text is no dialogue (see the top of the module)."""
    heads = [match for match in _TURN.finditer(text) if _is_speaker(match["name"])]
    names = [" ".join(match["name"].split()) for match in heads]
    if len(heads) < 2:
        return []
    ends = [match.start() for match in heads[1:]] + [len(text)]
    turns = []
    for match, name, end in zip(heads, names, ends, strict=True):
        begin = match.end() + len(text[match.end() : end]) - len(text[match.end() : end].lstrip())
        end = match.end() + len(text[match.end() : end].rstrip())
        if begin < end:
            turns.append(Turn(begin, end, name))
    sentences = sum(_SENTENCE.search(text, turn.begin, turn.end) is not None for turn in turns)
    return turns if len(turns) >= 2 and 2 * sentences >= len(turns) else []


def _is_speaker(name: str) -> bool:
    words = name.split()
    return len(name) <= _LONGEST_NAME and not any(word.casefold() in _FIELDS for word in (words[0], words[-1]))


def read_quotations(text: str) -> list[Turn]:
    """Returns the quotations whose speaker is named beside them (see the top of the module)."""
    turns: list[Turn] = []
    last: tuple[int, str] | None = None  # where the last quotation ends, and who says it
    for match in _QUOTE.finditer(text):
        begin, end = match.span(match.lastgroup or 0)
        speaker = _speaker_beside(text, match)
        if speaker is None and last is not None and "\n" not in text[last[0] : match.start()]:
            speaker = last[1] if _goes_on(text[last[0] : match.start()]) else None
        if speaker is None:
            last = None
            continue
        turns.append(Turn(begin, end, speaker))
        last = match.end(), speaker
    return turns


def _speaker_beside(text: str, quote: re.Match[str]) -> str | None:
    """The name that a quotation is given to before or after it."""
    if quote[0][-2:-1] in ",?!" or text[quote.end() : quote.end() + 1] == ",":
        at = quote.end() + (text[quote.end() : quote.end() + 1] == ",")
        after = _AFTER.match(text, at)
        if after is not None and "\n\n" not in after[0]:
            return _name(after["a"] or after["b"])
    start = max(text.rfind("\n", 0, quote.start()) + 1, quote.start() - 160)
    before = _BEFORE.search(text[start : quote.start()])
    return None if before is None else _name(before["a"])


def _name(found: str) -> str | None:
    """The name as it is compared; None for a pronoun or the first word of a sentence that is none."""
    words = found.rstrip(".").split()
    while words and words[0].casefold().rstrip(".") in _NO_NAMES:
        words = words[1:] if len(words) > 1 else []
    return " ".join(words) or None


def _goes_on(between: str) -> bool:
    """Whether what stands between two quotations is no more than who said the first: ``," said Anna. "``."""
    ends = re.findall(r"[.!?](?:\s|$)", between)
    return len(between) <= 120 and len(ends) <= 1 and between.rstrip()[-1:] in tuple(".!?,:")
