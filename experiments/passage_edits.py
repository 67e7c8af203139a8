"""Passages of annotated articles, and changes of their text that move the annotation along."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hf_corefel import Cluster, Document, Mention

# A title alone is no mention, though a few articles have it as one.
TITLE = re.compile(r"(?:Mrs?|Ms|Miss|Dr|Prof|Rev|Fr|Sgt|Lt|Capt|Col|Gen|Sen|Rep|Gov)\.?")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)][.!?]) +(?=[A-Z“\"])")


@dataclass(frozen=True)
class Edit:
    """Characters that other characters take the place of."""

    begin: int
    end: int
    words: str


def edited(document: Document, edits: Sequence[Edit]) -> Document:
    """Return the document with the edits made, which do not overlap, and every mention at the same words.

    What is inserted where a mention begins stands before it, and what is inserted where it ends stands after it.
    """
    parts, position = [], 0
    edits = sorted(edits, key=lambda edit: (edit.begin, edit.end))
    for edit in edits:
        parts += [document.text[position : edit.begin], edit.words]
        position = edit.end
    text = "".join([*parts, document.text[position:]])

    def moved(place: int, *, is_begin: bool) -> int:
        return place + sum(
            len(edit.words) - (edit.end - edit.begin)
            for edit in edits
            if edit.end <= place and (is_begin or edit.begin < place)
        )

    clusters = []
    for cluster in document.clusters or []:
        places = [(moved(m.begin, is_begin=True), moved(m.end, is_begin=False)) for m in cluster.mentions]
        clusters.append(Cluster(tuple(Mention(b, e, text[b:e]) for b, e in places), cluster.entity))
    return Document(text, document.id, clusters=clusters, mention_scope=document.mention_scope)


def part_of(document: Document, begin: int, end: int, name: str) -> Document:
    """Return the characters from begin to end, without blanks around, with the mentions inside."""
    while begin < end and document.text[begin].isspace():
        begin += 1
    while begin < end and document.text[end - 1].isspace():
        end -= 1
    text = document.text[begin:end]
    clusters = []
    for cluster in document.clusters or []:
        inside = [m for m in cluster.mentions if begin <= m.begin and m.end <= end]
        kept = [m for m in inside if not TITLE.fullmatch(document.text[m.begin : m.end])]
        if kept:
            moved = tuple(Mention(m.begin - begin, m.end - begin, document.text[m.begin : m.end]) for m in kept)
            clusters.append(Cluster(moved, cluster.entity))
    return Document(text, name, clusters=clusters, mention_scope="named")


def changed_letters(
    document: Document, change: Callable[[str], str], begin: int = 0, end: int | None = None
) -> Document:
    """Return the document with letters changed one by one, those left alone that would become two."""
    stop = len(document.text) if end is None else end
    letters = [c if len(change(c)) != 1 else change(c) for c in document.text[begin:stop]]
    text = document.text[:begin] + "".join(letters) + document.text[stop:]
    clusters = [
        replace(cluster, mentions=tuple(Mention(m.begin, m.end, text[m.begin : m.end]) for m in cluster.mentions))
        for cluster in document.clusters or []
    ]
    return Document(text, document.id, clusters=clusters, mention_scope=document.mention_scope)


def lower_cased(document: Document, rng: random.Random) -> Document:
    """Return the text in lower case."""
    return changed_letters(document, str.lower)


def in_capitals(document: Document, rng: random.Random) -> Document:
    """Return the text in capitals."""
    return changed_letters(document, str.upper)


def with_headline(document: Document, rng: random.Random) -> Document:
    """Return the text with its first sentence in capitals and a blank line after it."""
    end = _SENTENCE_END.search(document.text) or re.search(r"\n", document.text)
    if end is None:
        return in_capitals(document, rng)
    headline = changed_letters(document, str.upper, 0, end.start())
    return edited(headline, [Edit(end.start(), end.end(), "\n\n")])


def wrapped(document: Document, rng: random.Random) -> Document:
    """Return the text in lines of thirty to eighty characters."""
    width, used, edits = rng.randint(30, 80), 0, []
    ending = rng.choice(("\n", "\n", "\n", "\r\n", " \n"))
    indent = rng.choice(("", "", "", "  ", "> "))
    last = None
    for token in re.finditer(r"\S+|\s", document.text):
        if token.group() == "\n":
            used, last = 0, None
        elif token.group().isspace():
            last, used = token, used + 1
        else:
            used += len(token.group())
            if used > width and last is not None:
                edits.append(Edit(last.start(), last.end(), ending + indent))
                used, last = len(indent) + len(token.group()), None
    return edited(document, edits)


def with_blanks(document: Document, rng: random.Random) -> Document:
    """Return the text with wide, double or non-breaking blanks, everywhere or here and there."""
    blank = rng.choice(("  ", "  ", "\u00a0", "\u00a0", "\u2009", " \u00a0", "   "))
    share = rng.choice((0.2, 0.5, 1.0))
    places = [found.start() for found in re.finditer(" ", document.text)]
    return edited(document, [Edit(place, place + 1, blank) for place in places if rng.random() < share])


def with_emphasis(document: Document, rng: random.Random) -> Document:
    """Return the text with Markdown around some of the names, outside those that nest."""
    mark = rng.choice(("*", "_", "**", "**", "__", "***", "**_", "`"))
    offsets = [m.offsets for cluster in document.clusters or [] for m in cluster.mentions]
    edits = []
    for begin, end in offsets:
        nests = any(b < end and begin < e for b, e in offsets if (b, e) != (begin, end))
        before, after = document.text[begin - 1 : begin], document.text[end : end + 1]
        if (
            not nests
            and offsets.count((begin, end)) == 1
            and not (before.isalnum() or after.isalnum())
            and rng.random() < 0.5
        ):
            edits += [Edit(begin, begin, mark), Edit(end, end, mark[::-1])]
    return edited(document, edits)


def as_list(document: Document, rng: random.Random) -> Document:
    """Return the text with each sentence as an item of a list, under a heading where it has a first line."""
    number = iter(range(2, 1000))
    style = rng.choice(("- ", "* ", "• ", "1. "))

    def item() -> str:
        return f"{next(number)}. " if style == "1. " else style

    offsets = [m.offsets for cluster in document.clusters or [] for m in cluster.mentions]
    edits = [Edit(0, 0, style)]
    for gap in re.finditer(r"\s*\n\s*|(?<=[a-z0-9)][.!?]) +(?=[A-Z“\"])", document.text):
        if not any(begin < gap.end() and gap.start() < end for begin, end in offsets):
            edits.append(Edit(gap.start(), gap.end(), "\n" + item()))
    return edited(document, edits)


FORMS: dict[str, tuple[Callable[[Document, random.Random], Document], int]] = {
    "lower": (lower_cased, 24),
    "capitals": (in_capitals, 20),
    "headline": (with_headline, 10),
    "wrapped": (wrapped, 20),
    "blanks": (with_blanks, 10),
    "emphasis": (with_emphasis, 8),
    "list": (as_list, 8),
}


def in_another_form(document: Document, rng: random.Random) -> Document:
    """Return the document in a form drawn from `FORMS`, and now and then in two."""
    name = rng.choices(list(FORMS), [weight for _, weight in FORMS.values()])[0]
    changed = FORMS[name][0](document, rng)
    if name in ("lower", "capitals") and rng.random() < 0.2:
        changed = wrapped(changed, rng)
    return replace(changed, id=f"{document.id}.{name}")


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each sentence of a text without headings."""
    begin = 0
    for gap in [*_SENTENCE_END.finditer(text), None]:
        end = len(text) if gap is None else gap.start()
        if end > begin:
            yield begin, end
        begin = end if gap is None else gap.end()
