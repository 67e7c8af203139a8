"""The resolved text: every mention by the name of its cluster, so that each sentence can be read alone.

The rules are few, for English, and look at nothing but the text and its annotation:

1. A cluster's **name** is the title of its entity (``Washington,_D.C.`` is read "Washington, D.C.", ``Paris_(band)``
   "Paris"). A NIL cluster, or one whose entity is an identifier such as ``Q64``, has the longest of its mentions that
   looks like a name, else its first mention that is no pronoun. A cluster of pronouns alone has no name and stays.
2. **Whole mentions** alone are replaced, without the signs around them (``"Merkel"``, ``(Merkel)``). What lies in an
   address, in code or in the signs of markup stays (`hf_corefel.processing.verbatim`), and what is a part of a longer
   word ("us_gov", "pro-Merkel", "US-based", "CDU/CSU", "they've"; `hf_corefel.processing.joined`). So do mentions
   that hold one sign of a pair (``Merkel (CDU``). None of these introduces a cluster.
3. The **first mention** that is no pronoun stays as it is: it introduces the cluster. So does every mention that is the
   name already, with or without its determiner ("The Hague", "Hague") or with words around it that are the rest of the
   name ("[Washington], D.C."), and every relative or reflexive pronoun ("who", "whose", "himself").
4. **Definitions** stay: what stands in a bracket that defines (`hf_corefel.processing.brackets`), a mention right
   behind another one of the same cluster with a bracket, a dash, a comma or words such as "hereinafter" between
   ("EU (European Union)", "Merkel, the chancellor,"), and both sides of "EU stands for European Union".
5. The others give way to the name, **in the form of the mention**. Possessives ("his", "Merkel's") become
   "Angela Merkel's", "Carl Moss'" or, of "McDonald's", "McDonald's". "the EU" becomes "the European Union", and "it"
   does where the text says "the EU". Behind a determiner that is outside the mention ("the [paper]") the name goes
   without its own ("the Times"); where "a" or "an" would be wrong ("an [EU] law"), and behind a possessive ("Germany's
   [chancellor]"), the mention stays. A contraction goes on behind the name ("he's tired", "Obama's tired").
6. **Capitals**: a name that begins with a determiner or in small letters has a capital at the beginning of a sentence,
   a line of its own or direct speech, unless it is written as "iPhone" is. Pronouns and descriptions begin as the
   mention did. In a sentence all in capitals the name is, too. A full stop that ends both mention and sentence stays,
   and no name ends with a second one.
7. Of **nested** mentions the outermost is replaced, and what is inside goes with it; inside a mention that stays, the
   inner ones are looked at in turn.

Nothing is changed but the mentions: what is not replaced stands in the resolved text as it did.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..documents import AnnotatedDocument, Cluster, Mention
from ..documents.checks import join_surrogates
from ..processing.brackets import LEADS, find_brackets
from ..processing.joined import JoinedWords
from ..processing.verbatim import find_verbatim
from .cluster_names import REFLEXIVE, RELATIVE, cluster_name, is_form_of, is_pronoun, is_same_name, readable_title
from .name_forms import FormFinder

__all__ = ["cluster_name", "find_replacements", "is_pronoun", "readable_title", "resolve_text"]

_TWINS = dict(zip('"*_`', '"*_`', strict=True))
_PAIRS = dict(zip("([{（［<«“„‘", ")]}）］>»”“’", strict=True)) | _TWINS
_CLOSERS = {closing: opening for opening, closing in _PAIRS.items()}
# Behind one of these signs the same thing is named once more; list marks at the beginning of a line are no dashes.
_OPENING = re.compile(r"\s*(?:[(\[{（［【<,:=–—―]|-{1,2}\s|-{2})(?!\s*\n\s*[-*+•])")
_SIGNS = re.compile(r"[\s,;:()\[\]{}（）［］【】<>=–—―\"“”„«»'‘’*_`-]*")
_NAMING = re.compile(
    r"\b(?:known|(?<!so-)called|names?|named|renamed|nicknamed|dubbed|rebranded|abbreviat(?:ed|ion)|acronym|stands? for"
    r"|stood for|short for|short form|alias|a\.?k\.?a|here(?:in)?after|henceforth|formerly|née|nee|pseudonym)\b"
    r"|\bborn\s+\Z",
    re.IGNORECASE,
)
_LONGEST_GAP = 80
# Not that of "a.k.a.".
_SENTENCE_END = re.compile(r"(?<!\.\w)[.!?]\s|\n\s*\n")
# A full stop at the end of an abbreviation or an initial; any other ends a sentence.
_ABBREVIATION = re.compile(r"(?:\.\s?\w+|\b(?:Inc|Corp|Co|Ltd|Jr|Sr|Bros|Dr|Prof|St|Mr|Mrs|Ms|No|vs|\w))\.\Z")
_CLITIC = re.compile(r"['’](?:s|m|re|ve|ll|d)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Place:
    """A mention without the signs and the contraction at its ends: its code points, and the end of the mention."""

    begin: int
    end: int
    surface: str
    mention_end: int

    @property
    def as_mention(self) -> Mention:
        return Mention(self.begin, self.end, self.surface)


def resolve_text(document: AnnotatedDocument) -> str:
    """Return the text with names in place of mentions; the rules stand at the top of the module."""
    text, parts, done = document.text, [], 0
    for begin, end, words in find_replacements(document):
        parts += [text[done:begin], words]
        done = end
    # A name may end, or begin, where a broken text has half a character.
    return join_surrogates("".join([*parts, text[done:]]))


def find_replacements(document: AnnotatedDocument) -> list[tuple[int, int, str]]:
    """Return what `resolve_text` replaces: begin, end and the words in their place, in order and apart."""
    found: list[tuple[int, int, str]] = []
    for begin, end, words in sorted(_edits(document), key=lambda edit: (edit[0], -edit[1])):
        if not found or begin >= found[-1][1]:
            found.append((begin, end, words))
    return found


def _edits(document: AnnotatedDocument) -> Iterator[tuple[int, int, str]]:
    """What gives way, with the words that take its place."""
    text = document.text
    if not document.clusters:
        return
    verbatim, joined = _Stretches(find_verbatim(text)), JoinedWords(text)
    defined = _Stretches(_definitions(text))
    mentions = [mention.offsets for cluster in document.clusters for mention in cluster.mentions]
    forms = FormFinder(text, mentions)
    for cluster in document.clusters:
        places = [_trimmed(text, mention) for mention in sorted(cluster.mentions, key=lambda item: item.offsets)]
        whole = [
            place
            for place in places
            if not verbatim.meet(place.begin, place.end)
            and not joined.is_part(place.begin, place.end)
            and _is_balanced(place.surface)
        ]
        name = cluster_name(Cluster(tuple(place.as_mention for place in whole or places), cluster.entity))
        if name is None:
            continue
        named = [place for place in whole if not is_pronoun(place.surface)]
        staying = {place.begin for place in named[:1]} | set(_named_again(text, named, name))
        takes_the = forms.takes_the(name, [(place.begin, place.end) for place in named])
        for place in whole:
            stays = (
                (place.begin in staying and not is_pronoun(place.surface))
                or (is_pronoun(place.surface) and place.surface.lower() in RELATIVE | REFLEXIVE)
                or is_same_name(place.surface, name)
                or defined.meet(place.begin, place.end)
                or forms.is_spelled_out(name, place.begin, place.end)
            )
            words = None if stays else forms.fit(name, place.begin, place.end, place.mention_end, takes_the)
            if words is not None:
                yield words


class _Stretches:
    """Stretches of a text, in order and apart, that others may meet."""

    def __init__(self, stretches: Sequence[tuple[int, int]]) -> None:
        self._stretches = sorted(stretches)
        self._ends = [end for _, end in self._stretches]

    def meet(self, begin: int, end: int) -> bool:
        """Whether any of them has a code point of those from ``begin`` to ``end``."""
        first = bisect.bisect_right(self._ends, begin)
        return first < len(self._stretches) and self._stretches[first][0] < end


def _trimmed(text: str, mention: Mention) -> _Place:
    """The mention without what is no part of a name: blanks, signs whose partner is outside or around, contractions."""
    begin, end = mention.offsets
    while begin < end:
        first, last = text[begin], text[end - 1]
        if first.isspace() or _lacks_partner(first, text[begin + 1 : end], _PAIRS):
            begin += 1
        elif last.isspace() or last in ",;:!?…" or (last == "." and not _ABBREVIATION.search(text, begin, end)):
            end -= 1
        elif end - begin > 2 and _PAIRS.get(first) == last:
            begin, end = begin + 1, end - 1
        elif last != "’" and _lacks_partner(last, text[begin : end - 1], _CLOSERS):
            end -= 1
        else:
            break
    if begin == end:
        return _Place(*mention.offsets, text[slice(*mention.offsets)], mention.end)
    clitic = _CLITIC.search(text, begin + 1, end)
    core = end if clitic is None else clitic.start()
    return _Place(begin, core, text[begin:core], end)


def _lacks_partner(sign: str, others: str, partners: Mapping[str, str]) -> bool:
    """Whether a sign is one of a pair whose other one is not among the others."""
    return sign in partners and partners[sign] not in others


def _is_balanced(surface: str) -> bool:
    """Whether no sign of a pair stands in it without the other one."""
    pairs = all(surface.count(sign) == surface.count(_PAIRS[sign]) for sign in "([{（［«")
    return pairs and all(surface.count(sign) % 2 == 0 for sign in '"*`')


def _definitions(text: str) -> list[tuple[int, int]]:
    """What stands in brackets that define, and the abbreviations that these spell out."""
    found = []
    for bracket in find_brackets(text):
        if bracket.long_form is not None:
            found.append(bracket.content)
            begin, end = bracket.long_form
            if any(end - begin < last - first for first, last in bracket.terms):
                found.append((begin, end))
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _named_again(text: str, places: Sequence[_Place], name: str) -> Iterator[int]:
    """The begins of those places that stay because another one defines them or is defined by them (rule 4)."""
    for one, other in pairwise(places):
        gap = text[one.end : other.begin]
        if other.begin < one.end or len(gap) > _LONGEST_GAP or _SENTENCE_END.search(gap):
            continue
        if _NAMING.search(gap):
            yield from (one.begin, other.begin)
        elif one.surface.casefold() != other.surface.casefold() and _OPENING.match(gap) and _is_apposition(gap):
            yield other.begin
            if is_same_name(other.surface, name) or is_form_of(other.surface, name):
                yield one.begin


def _is_apposition(gap: str) -> bool:
    """Whether nothing but signs and words such as "the", "or", "hereinafter" parts two mentions; "and" adds another."""
    if re.search(r"\band\b", gap):
        return False
    signs = _SIGNS.match(gap)
    at = signs.end() if signs else 0
    lead = LEADS.match(gap, at)
    rest = _SIGNS.match(gap, lead.end() if lead else at)
    return rest is not None and rest.end() == len(gap)
