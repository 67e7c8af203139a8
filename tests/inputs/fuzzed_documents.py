"""Random documents of every kind, from a seed: texts of any code points, and whatever may be given with them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import regex

from hf_corefel import Candidate, Document

__all__ = ["fuzzed_document", "fuzzed_options", "fuzzed_text"]

Offsets = tuple[int, int]

# Between names of people and places that both models know.
_FILLERS = "the a of in and met said that left she he it they who minister city mayor don't U.S. 3.5 2018 №7 e-mail"
WORDS = [*_FILLERS.split(), "Oslo", "Bergen", "Berlin", "Paris", "NATO", "Merkel", "Anna", "Berg's", "Moss", "Norway"]
SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
CONTROLS = "\x00\x01\x07\x08\x1b\x7f\x80\x9b\x9f\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u2060\ufeff\ufff9\uffff"
DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PUNCTUATION = ".,;:!?…-–—_/\\|'\"’“”«»()[]{}<>&*+=~^`@#%$€©・。、，「」؟،।"
EMOJI = [
    "👩‍🚀",
    "👨‍👩‍👧",
    "🇳🇴",
    "🏴\U000e0067\U000e0062\U000e007f",
    "1️⃣",
    "👋🏽",
    "❤️",
    "😀",
    "\U0001f3fd",
    "\ufe0f",
    "🇩",
]
SCRIPTS = [
    "安娜在東京都見了他。習近平主席訪問柏林市",
    "東京都の知事はオスロに行った。ドイツのメルケル首相",
    "안나는서울에서베를린으로갔다",
    "อังเกลาแมร์เคิลไปกรุงเทพมหานคร",
    "أنغيلا ميركل في برلين مع ماكرون",
    "שָׁלוֹם אנה ברג בברלין",
    "अंगेला मर्केल बर्लिन में थीं",
    "Ангела Меркель приехала в Осло",
    "ﬁne ½ Ａｎｎａ İstanbul ſtraße ǅ ŉ",
    "E\u0301lodie A\u030aland a\u0300\u0301\u0302\u0303\u0489 Ｍｅｒｋｅｌ\u20dd",
]
MARKUP = [
    "<b>",
    "</mark>",
    "&amp;",
    "<!--",
    "]]>",
    "[CLS]",
    "[MASK]",
    "<s>",
    "</script>",
    "{{x}}",
    "**",
    "https://x.org/a?b=c",
]


def _any_character(rng: random.Random) -> str:
    """Any code point at all, lone surrogates too, each order of magnitude as often."""
    return chr(rng.randrange(rng.choice([0x80, 0x300, 0x3000, 0x10000, 0x110000])))


def _sentence(rng: random.Random, names: Sequence[str]) -> str:
    words = [rng.choice(names) if rng.random() < 0.4 else rng.choice(WORDS) for _ in range(rng.randint(1, 12))]
    return " ".join(words) + rng.choice([".", "?", "!", "…", ""])


def _from(characters: Sequence[str], most: int) -> Callable[[random.Random, Sequence[str]], str]:
    return lambda rng, names: "".join(rng.choice(characters) for _ in range(rng.randint(1, most)))


def _of_script(rng: random.Random, names: Sequence[str]) -> str:
    text = rng.choice(SCRIPTS)
    begin = rng.randrange(len(text))
    return text[begin : begin + rng.randint(1, 20)]


KINDS: list[Callable[[random.Random, Sequence[str]], str]] = [
    _sentence,
    _of_script,
    _from(SPACES, 4),
    _from(CONTROLS, 3),
    _from(DIRECTIONS, 3),
    _from(PUNCTUATION, 8),
    _from(EMOJI, 4),
    _from(MARKUP, 3),
    _from("\ud800\ud83d\udbff", 2),
    _from("\udc00\ude00\udfff", 2),
    _from("abcdefghijklmnopqrstuvwxyzABCXYZ0189ÄÖÜß'-", 12),
    lambda rng, names: "".join(_any_character(rng) for _ in range(rng.randint(1, 12))),
    lambda rng, names: rng.choice(names),
    lambda rng, names: rng.choice([rng.choice(WORDS), _any_character(rng)]) * rng.randint(2, 60),
]


def fuzzed_text(rng: random.Random, names: Sequence[str]) -> str:
    """A text of one kind or a mixture of several; one in fifty is empty.

    Two halves of a character never meet: JSON takes them for the whole one.

    Args:
        rng: Draws it.
        names: Names that a knowledge base has, so that there is something to link.
    """
    if rng.random() < 0.02:
        return ""
    if rng.random() < 0.3:
        text = " ".join(_sentence(rng, names) for _ in range(rng.randint(1, 3)))
    else:
        glue = rng.choice(["", " ", rng.choice(SPACES)])
        text = glue.join(rng.choice(KINDS)(rng, names) for _ in range(rng.randint(1, 8)))
    return re.sub("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])", " ", text)


def _spans(rng: random.Random, text: str) -> list[Offsets]:
    """Offsets that may nest, cross, cut words and characters, share subwords or hold nothing at all; in any order."""
    edges = sorted({0, len(text), *(edge for match in regex.finditer(r"\w+|\X", text) for edge in match.span())})
    spans: set[Offsets] = set()
    for _ in range(rng.randint(0, 10)):
        begin = rng.choice(edges[:-1]) if rng.random() < 0.7 else rng.randrange(len(text))
        after = [edge for edge in edges if begin < edge <= begin + 40]
        end = rng.choice(after) if after and rng.random() < 0.7 else rng.randint(begin + 1, min(len(text), begin + 30))
        spans.add((begin, end))
    return rng.sample(sorted(spans), len(spans))


def _words(rng: random.Random, text: str) -> list[Offsets]:
    """Words in order and without overlap, wherever they begin and end; some of the text may be no word."""
    cuts = sorted(rng.sample(range(len(text) + 1), min(len(text) + 1, rng.randint(2, 30))))
    return [(begin, end) for begin, end in pairwise(cuts) if rng.random() < 0.8]


def fuzzed_document(rng: random.Random, names: Sequence[str], scopes: Sequence[str | None] = (None,)) -> Document:
    """A text, in two of three cases with given words, mentions or spans, candidates or a scope, in any mixture."""
    text = fuzzed_text(rng, names)
    given: dict[str, Any] = {}
    if text and rng.random() < 0.65:
        if rng.random() < 0.3:
            given["words"] = _words(rng, text)
        if (kind := rng.choice(["mentions", "spans", None])) is not None:
            given[kind] = _spans(rng, text)
        if rng.random() < 0.4:
            spans = dict.fromkeys([*given.get(kind or "", [])[:3], *_spans(rng, text)[:3]])
            given["candidates"] = {span: _candidates(rng, names) for span in spans}
    identifier = rng.choice([None, None, "d", "<b>\u202e", "\x1b[31m"])
    return Document(text, identifier, mention_scope=rng.choice(scopes), **given)


def _candidates(rng: random.Random, names: Sequence[str]) -> list[Candidate]:
    listed = [
        rng.choice([rng.choice(names), rng.choice(WORDS), "Q64", "<i>", "a_(b)"]) for _ in range(rng.randint(0, 4))
    ]
    return [Candidate(entity, rng.choice([0.0, 0.25, 0.25, rng.random(), 1.0])) for entity in listed]


def fuzzed_options(rng: random.Random) -> dict[str, Any]:
    """What the pipeline may be asked for."""
    return {
        "evidence": rng.random() < 0.7,
        "top_k": rng.choice([0, 1, 3, 100]),
        "resolved_text": rng.random() < 0.5,
        "min_probability": rng.choice([0.0, 0.0, rng.random(), 0.5, 0.9, 1.0]),
    }
