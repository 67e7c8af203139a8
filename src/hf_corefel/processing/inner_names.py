"""The name inside a mention that another recogniser has given: "the United States", "Merkel's", "Chancellor Merkel"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..utils.characters import APOSTROPHES
from ..utils.word_lists import DETERMINERS, POSSESSIVE_DETERMINERS

__all__ = ["inner_names"]

_DETERMINER = re.compile(rf"(?:{'|'.join(sorted(DETERMINERS | POSSESSIVE_DETERMINERS))})\s+(?=\S)", re.IGNORECASE)
_APOSTROPHE = f"[{''.join(sorted(APOSTROPHES))}]"
_POSSESSIVE = re.compile(rf"(?<=\w)(?:{_APOSTROPHE}s|(?<=[sxz]){_APOSTROPHE})\Z", re.IGNORECASE)
_AROUND = "\"'“”‘’«»„()[]{}<>*_,;:.!?"
# What people are called before their names, with what may stand before that: "former German Chancellor", "Prof. Dr.".
_ROLE = (
    r"mr|mrs|ms|miss|mx|dr|prof|professor|sir|dame|lord|lady|king|queen|prince|princess|emperor|empress|sultan|sheikh|"
    r"emir|duke|duchess|count|countess|pope|cardinal|archbishop|bishop|father|sister|brother|rev|reverend|rabbi|imam|"
    r"ayatollah|saint|president|chancellor|premier|"
    r"(?:prime |foreign |defen[cs]e |finance |interior |justice )?minister|"
    r"secretary(?:[- ]general)?|chairman|chairwoman|chair|chief|director(?:[- ]general)?|commissioner|ambassador|"
    r"governor|gov|mayor|senator|sen|congressman|congresswoman|representative|rep|speaker|judge|justice|attorney|"
    r"general|gen|colonel|col|major|maj|captain|capt|lieutenant|lt|sergeant|sgt|admiral|adm|commander|officer|"
    r"inspector|detective|coach|trainer|striker|goalkeeper|midfielder|defender|author|writer|actor|actress|singer|"
    r"director|filmmaker|journalist|activist|lawyer|economist|analyst|spokesman|spokeswoman|spokesperson|ceo|founder|"
    r"leader|opposition leader|candidate|herr|frau|monsieur|madame|m|mme|señor|señora|don|doña"
)
_ROLES = re.compile(
    r"(?:(?:the|former|ex|late|then|vice|deputy|acting|interim|newly|elected|old|young|new|first|president-elect|u\.?s\.?|"
    r"us|uk|eu|nato|un|\w+(?:ish|ese|ian|can|[^l]ch|eek|wiss|zech|hai|aqi|aeli|rman|iban|rean|ssian|man))[ -]+)*"
    rf"(?:(?:{_ROLE})\b\.?(?:[ -](?=\w)|\s+))+(?=\w)",
    re.IGNORECASE,
)


def inner_names(surface: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a mention that may be the name a table has, the nearest to the whole first.

    Without quotation marks and punctuation around it, without a possessive, without a determiner, without the role
    before a name. The whole surface is not among them.
    """
    seen = {(0, len(surface))}
    begin, end = 0, len(surface)
    for shorten in (_without_signs, _without_possessive, _without_signs, _without_determiner, _without_role):
        begin, end = shorten(surface, begin, end)
        if begin < end and (begin, end) not in seen:
            seen.add((begin, end))
            yield begin, end


def _without_signs(surface: str, begin: int, end: int) -> tuple[int, int]:
    """A full stop at the end stays where another one stands before it: "U.S."."""
    while begin < end and (surface[begin] in _AROUND or surface[begin].isspace()):
        begin += 1
    while end > begin and (surface[end - 1] in _AROUND or surface[end - 1].isspace()):
        if surface[end - 1] == "." and "." in surface[begin : end - 1]:
            break
        end -= 1
    return begin, end


def _without_possessive(surface: str, begin: int, end: int) -> tuple[int, int]:
    found = _POSSESSIVE.search(surface[begin:end])
    return begin, begin + found.start() if found else end


def _without_determiner(surface: str, begin: int, end: int) -> tuple[int, int]:
    found = _DETERMINER.match(surface, begin, end)
    return found.end() if found else begin, end


def _without_role(surface: str, begin: int, end: int) -> tuple[int, int]:
    found = _ROLES.match(surface, begin, end)
    is_name = found is not None and surface[found.end()].isupper()
    return (found.end(), end) if found is not None and is_name else (begin, end)
