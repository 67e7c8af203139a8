"""Wikipedia's sentences about things whose names have several meanings; their mentions are given, others not taught."""

from __future__ import annotations

import bz2
import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from passage_edits import sentences

from hf_corefel import Cluster, Document, KnowledgeBase, Mention
from hf_corefel.kb import read_jsonl

# Of names whose likeliest entity is the right one anyway, only that share is kept.
EASY_SHARE = 0.3
# Other names in a passage that are given too, as the context that a text has: those with hardly any other meaning.
CLEAR_PRIOR = 0.85
# What titles end with that is left out where people speak of the thing: "the Amazon", "a student of Yale".
KINDS = {
    "river", "university", "mountains", "sea", "ocean", "desert", "islands", "rainforest", "basin", "peninsula", "f.c.",
    "c.f.", "inc.", "records",
}  # fmt: skip
# Stands after a short name that took the place of the whole title, until the mentions are found.
_MARK = "\u0001"
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]|]+))?\]\]")
_INSIDE_A_NAME = re.compile(r"\b(?!(?:The|In|At|On|By|Of|As|For|From|And|But)\b)[A-Z][\w.'’-]* $")
_NAME = re.compile(r"\b[A-Z][\w’'.-]*\w(?: (?:of |the |and |de )?[A-Z][\w’'.-]*\w)*")


def short_names(entity: str, text: str) -> list[tuple[str, bool]]:
    """Return how an article's subject may be called, and whether that holds only where the whole title stands.

    ``Amazon_(company)`` is called Amazon and ``Athens,_Georgia`` Athens wherever the article says so. In the article
    on ``Abraham_Lincoln`` every Lincoln is he, but in that on ``Amazon_River`` the Amazon may be the forest.
    """
    title = base_title(entity)
    words = title.split()
    names = [(title, False)]
    if len(words) == 2 and words[1].lower() in KINDS:
        names.append((words[0], True))
    elif len(words) == 3 and words[:2] == ["University", "of"]:
        names.append((words[2], True))
    elif 2 <= len(words) <= 4 and all(word[0].isupper() for word in words) and re.search(r"\b([Hh]e|[Ss]he)\b", text):
        # The first word of a person's name says too little.
        names.append((words[-1], False))
    return [(name, whole) for name, whole in names if len(name) > 2]


def base_title(entity: str) -> str:
    """Return an entity's name without what tells it from others of that name."""
    return re.sub(r" \(.*\)$|, .*$", "", entity.replace("_", " "))


def contexts_of_descriptions(path: Path, kb: KnowledgeBase, seed: int) -> Iterator[Document]:
    """Yield sentences of lead paragraphs in which the article's subject stands by a name of several meanings.

    Args:
        path: ``{"entity", "key", "text"}`` lines.
        kb: A name is used where the entity is among its candidates.
        seed: Draws the sentences, and which of the easy names are kept.
    """
    for _, row in read_jsonl(path):
        entity, text = row["entity"], row["text"]
        rng = random.Random(f"{seed} context {entity}")
        for name, only_titles in short_names(entity, text):
            candidates = kb.candidates(name)
            if len(candidates) < 2 or entity not in {candidate.entity for candidate in candidates}:
                continue
            easy = max(candidates, key=lambda candidate: candidate.prior).entity == entity
            if easy and rng.random() >= EASY_SHARE:
                continue
            marked = re.sub(rf"\b{re.escape(base_title(entity))}\b", name + _MARK, text)
            place = rf"{re.escape(name)}{_MARK}" + ("" if only_titles else "?")
            yield from contexts(
                marked, name, re.compile(rf"(?<![\w-]){place}(?![\w{_MARK}-])(?! [A-Z])"), entity, kb, rng
            )


def contexts(
    text: str, name: str, place: re.Pattern[str], entity: str, kb: KnowledgeBase, rng: random.Random
) -> Iterator[Document]:
    """Yield portions of one to three sentences, the first of which has the name; it and clear names are given.

    Nothing comes of common words, such as colours and metals, which the text has in lower case too.
    """
    if re.search(rf"\b{re.escape(name.lower())}\b", text):
        return
    spans, number = list(sentences(text)), 0
    while number < len(spans):
        begin, end = spans[number]
        last = min(len(spans), number + rng.randint(1, 3)) - 1
        part = " ".join(text[begin : spans[last][1]].split()[:150])
        own = [found.span() for found in place.finditer(part) if not _INSIDE_A_NAME.search(part[: found.start()])]
        if not own or own[0][0] >= end - begin:
            number += 1
            continue
        marks = [found.start() for found in re.finditer(_MARK, part)]
        part = part.replace(_MARK, "")
        own = [(b - sum(mark < b for mark in marks), e - sum(mark < e for mark in marks)) for b, e in own]
        clusters = {entity: own}
        for found in _NAME.finditer(part):
            other = clear_name(found.group(), kb)
            if other is not None and other != entity and not any(b < found.end() and found.start() < e for b, e in own):
                clusters.setdefault(other, []).append(found.span())
        yield given(part, clusters, f"context.{entity}.{name}.{number}")
        number = last + 1


def clear_name(surface: str, kb: KnowledgeBase) -> str | None:
    """Return the entity of a surface that is its title and hardly ever means anything else."""
    best = max(kb.candidates(surface), key=lambda candidate: candidate.prior, default=None)
    if best is None or best.prior < CLEAR_PRIOR or best.entity.replace("_", " ") != surface:
        return None
    return best.entity


def given(text: str, clusters: dict[str, list[tuple[int, int]]], name: str) -> Document:
    """Return a document whose mentions are all given, as gold."""
    gold = [Cluster(tuple(Mention(b, e, text[b:e]) for b, e in places), entity) for entity, places in clusters.items()]
    offsets = sorted(mention.offsets for cluster in gold for mention in cluster.mentions)
    return Document(text, name, mentions=offsets, clusters=gold, mention_scope="named")


def contexts_of_dump(path: Path, kb: KnowledgeBase, most_words: int) -> Iterator[Document]:
    """Yield the passages of a dump's articles that have links, with the links given.

    Links whose entity is not among the candidates of their words are left out, and passages in which every link is to
    the likeliest entity.
    """
    with bz2.open(path, "rb") as file:
        for _, page in ElementTree.iterparse(file):
            if not page.tag.endswith("}page"):
                continue
            namespace = page.tag.removesuffix("page")
            title, wanted = page.findtext(f"{namespace}title") or "", page.findtext(f"{namespace}ns") == "0"
            text = page.findtext(f"{namespace}revision/{namespace}text") or ""
            if wanted and not text.lower().startswith("#redirect"):
                for number, paragraph in enumerate(paragraphs(text)):
                    for part, words in enumerate(portions(paragraph, most_words)):
                        document = linked_passage(words, kb, f"dump.{title.replace(' ', '_')}.{number}.{part}")
                        if document is not None:
                            yield document
            page.clear()


def paragraphs(markup: str) -> Iterator[str]:
    """Yield the paragraphs of running text of an article, with its links as they are written there."""
    text = re.sub(
        r"<!--.*?-->|<ref[^>/]*/>|<ref.*?</ref>|<(math|gallery|timeline|code|pre)\b.*?</\1>", "", markup, flags=re.S
    )
    for _ in range(6):
        text = re.sub(r"\{\{[^{}]*\}\}", "", text)
    text = re.sub(r"\{\|.*?\|\}", "", text, flags=re.S)
    text = re.sub(r"<[^>]*>|'{2,}|&nbsp;", lambda found: " " if found.group() == "&nbsp;" else "", text)
    for line in text.splitlines():
        line = re.sub(r"\s*\(\s*[,;]?\s*\)", "", re.sub(r"\s+", " ", line)).strip()
        # Headings, lists, tables, pictures and what the rules above did not take out.
        if (
            len(line.split()) >= 15
            and line[0] not in "=*#:;|!{["
            and not re.search(r"\{\{|\}\}|\[\[\w+:|https?:|\|\|", line)
        ):
            yield line


def portions(paragraph: str, most_words: int) -> Iterator[str]:
    """Yield consecutive sentences with at most that many words."""
    kept: list[str] = []
    for begin, end in sentences(paragraph):
        sentence = paragraph[begin:end]
        if kept and len(" ".join([*kept, sentence]).split()) > most_words:
            yield " ".join(kept)
            kept = []
        if len(sentence.split()) <= most_words:
            kept.append(sentence)
    if kept:
        yield " ".join(kept)


def linked_passage(markup: str, kb: KnowledgeBase, name: str) -> Document | None:
    """Return running text with the links that the knowledge base knows; None where all are to the likeliest entity."""
    parts, length, position, hard = [], 0, 0, False
    clusters: dict[str, list[tuple[int, int]]] = {}
    for link in _LINK.finditer(markup):
        target, words = link.group(1), link.group(2) or link.group(1)
        target = target.split("#")[0].strip().replace(" ", "_")
        entity = target[:1].upper() + target[1:]
        before = markup[position : link.start()]
        parts += [before, words]
        begin = length + len(before)
        length, position = begin + len(words), link.end()
        candidates = kb.candidates(words)
        if words[:1].isupper() and entity in {candidate.entity for candidate in candidates}:
            clusters.setdefault(entity, []).append((begin, length))
            hard |= max(candidates, key=lambda candidate: candidate.prior).entity != entity
    text = "".join([*parts, markup[position:]])
    return given(text, clusters, name) if hard and "[[" not in text else None
