"""Print how well a model reads strangers, titles, names of several meanings, capitals and broken lines, with targets.

    python experiments/reading_targets.py --model path/to/checkpoint --split test --details

The sentences in ``reading/`` were written for this purpose; experiments/README.md says what each file asks.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_corefel import AnnotatedDocument, Cluster, KnowledgeBase
from hf_corefel.pipeline_corefel import bundled_checkpoint, load_pipeline

HERE = Path(__file__).parent
NEWS = HERE.parent / "examples" / "data" / "news.txt"
TITLE = re.compile(
    r"(mrs?|ms|miss|mx|dr|prof|sir|lord|lady|dame|rev|fr|frau|herr|sen|rep|gov|gen|col|capt|lt|sgt|pres)\.?",
    re.IGNORECASE,
)

Annotate = Callable[[Sequence[str]], list[AnnotatedDocument]]
# A link wherever a text has other blanks or accents: its letters and digits before and inside, and the entity.
Link = tuple[int, int, str]


@dataclass
class Figure:
    """One line of the table: how many of how many, the target in words and whether it is met, and each failure."""

    name: str
    count: int
    total: int
    target: str = ""
    met: bool | None = None
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        verdict = {True: "met", False: "missed", None: ""}[self.met]
        share = f"{100 * self.count / max(self.total, 1):.1f} %"
        return f"{self.name:<48}{self.count:>5} of {self.total:<5}{share:>9}   {self.target:<18}{verdict}".rstrip()


def read(name: str, split: str) -> list[dict[str, Any]]:
    """Return the rows of a file of ``reading/`` that belong to the split."""
    lines = (HERE / "reading" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["split"] == split]


def links(document: AnnotatedDocument) -> Iterator[tuple[int, int, str]]:
    """Yield begin, end and entity of every mention that has an entity."""
    for cluster in document.clusters:
        if cluster.entity is not None:
            yield from ((mention.begin, mention.end, cluster.entity) for mention in cluster.mentions)


def places(name: str, text: str) -> list[tuple[int, int]]:
    """Return where the name stands in the text as whole words."""
    return [found.span() for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


def described(document: AnnotatedDocument) -> str:
    """Return the text and its clusters in one line."""
    clusters = (f"{[m.text for m in c.mentions]}" + (f" = {c.entity}" if c.entity else "") for c in document.clusters)
    return f"[{' '.join(document.text.split())}]  {'; '.join(clusters)}"


def first_names(annotate: Annotate, split: str) -> list[Figure]:
    """Count the texts in which a stranger's bare name is linked to anything."""
    rows = read("first_names", split)
    wrong = []
    for row, document in zip(rows, annotate([row["text"] for row in rows]), strict=True):
        names = [place for name in row["names"] for place in places(name, row["text"])]
        if any(b < end and begin < e for b, e, _ in links(document) for begin, end in names):
            wrong.append(described(document))
    met = len(wrong) <= 0.05 * len(rows)
    return [Figure("texts whose stranger is linked", len(wrong), len(rows), "at most 5 %", met, wrong)]


def honorifics(annotate: Annotate, split: str) -> list[Figure]:
    """Count the texts whose full and titled names are one cluster, and those in which a title alone is a mention."""
    rows = read("honorifics", split)
    documents = annotate([row["text"] for row in rows])
    apart = [
        described(document)
        for row, document in zip(rows, documents, strict=True)
        if not any(has_all(cluster, row["forms"], row["text"]) for cluster in document.clusters)
    ]
    alone = [
        described(d) for d in documents if any(TITLE.fullmatch(m.text or "") for c in d.clusters for m in c.mentions)
    ]
    joined = len(rows) - len(apart)
    return [
        Figure(
            "full and titled name in one cluster", joined, len(rows), "at least 90 %", joined >= 0.9 * len(rows), apart
        ),
        Figure("texts in which a title alone is a mention", len(alone), len(rows), "none", not alone, alone),
    ]


def has_all(cluster: Cluster, forms: Sequence[str], text: str) -> bool:
    """Return whether a place of each form holds a mention of the cluster that ends where the form ends."""
    found = [mention.offsets for mention in cluster.mentions]
    return all(any(begin <= b and e == end for b, e in found for begin, end in places(form, text)) for form in forms)


def ambiguous(annotate: Annotate, split: str, kb: KnowledgeBase) -> list[Figure]:
    """Count the names that get the entity that their sentence means, also where the likeliest entity is another one.

    A name's entity is that of the shortest mention that takes in its first place. The list of right entities holds
    None where no link, or no mention, is right too.
    """
    rows = read("ambiguous", split)
    wrong, known, hard, hard_right = [], 0, 0, 0
    for row, document in zip(rows, annotate([row["text"] for row in rows]), strict=True):
        begin, end = places(row["name"], row["text"])[0]
        around = [
            (m.end - m.begin, c.entity)
            for c in document.clusters
            for m in c.mentions
            if m.begin <= begin and end <= m.end
        ]
        entity = min(around, key=lambda pair: pair[0])[1] if around else None
        right = entity in row["entities"]
        candidates = kb.candidates(row["name"])
        known += bool({None, *(candidate.entity for candidate in candidates)} & set(row["entities"]))
        if not candidates or max(candidates, key=lambda candidate: candidate.prior).entity not in row["entities"]:
            hard, hard_right = hard + 1, hard_right + right
        if not right:
            wrong.append(f"{row['name']} = {entity}, wanted {row['entities'][0]}  {described(document)}")
    right = len(rows) - len(wrong)
    return [
        Figure("ambiguous names right", right, len(rows), "at least 70 %", right >= 0.7 * len(rows), wrong),
        Figure("  where the likeliest entity is another", hard_right, hard),
        Figure("  the right entity is among the candidates", known, len(rows)),
    ]


def controls(annotate: Annotate, split: str) -> list[Figure]:
    """Count the sentences of common words that have a link: as they are usually written, in capitals, lower-cased."""
    rows = read("controls", split)
    wrong: dict[str, list[str]] = {}
    for form, texts in {
        "plain": [row["plain"] for row in rows],
        "capitals": [row["capitals"] for row in rows],
        "lower case": [row["plain"].lower() for row in rows],
    }.items():
        wrong[form] = [described(document) if any(links(document)) else "" for document in annotate(texts)]
    figures = []
    for form, found in wrong.items():
        bad = [text for text in found if text]
        figures.append(
            Figure(f"common words with a link, {form}", len(bad), len(rows), "no more than before", None, bad)
        )
    new = [
        text
        for form in ("capitals", "lower case")
        for text, plain in zip(wrong[form], wrong["plain"], strict=True)
        if text and not plain
    ]
    return [*figures, Figure("  not linked in the plain version", len(new), 2 * len(rows))]


def acronyms(annotate: Annotate, split: str) -> list[Figure]:
    """Count the acronyms spelled like ordinary words that are mentions, and stressed words in capitals that are one."""
    rows = read("acronyms", split)
    missed, wrong = [], []
    for row, document in zip(rows, annotate([row["text"] for row in rows]), strict=True):
        begin, end = places(row["name"], row["text"])[0]
        found = {re.sub(r"^(The|the|A|An) ", "", m.text or "") for c in document.clusters for m in c.mentions}
        if row["is_name"] and row["name"] not in found:
            missed.append(described(document))
        around = [m for c in document.clusters for m in c.mentions if m.begin < end and begin < m.end]
        if not row["is_name"] and around:
            wrong.append(described(document))
    names = sum(row["is_name"] for row in rows)
    right = names - len(missed)
    return [
        Figure("acronyms spelled like a word, found", right, names, "at least 80 %", right >= 0.8 * names, missed),
        Figure("stressed words taken for a name", len(wrong), len(rows) - names, "none", not wrong, wrong),
    ]


def namesakes(annotate: Annotate, split: str) -> list[Figure]:
    """Count the texts about two of one name in which each of the two has all of its marked places and no other.

    ``[a Bush] and [b Laura Bush]`` marks places of ``a`` and of ``b``; a mention that ends with a place is found there.
    """
    rows = read("namesakes", split)
    marked = [unmarked(row["text"]) for row in rows]
    wrong, apart = [], 0
    for (_, places_of), document in zip(marked, annotate([text for text, _ in marked]), strict=True):
        found = {key: [cluster_at(document, place) for place in places] for key, places in places_of.items()}
        is_apart = not set.intersection(*map(set, found.values())) - {None}
        apart += is_apart
        if not is_apart or not all(len(set(numbers)) == 1 and None not in numbers for numbers in found.values()):
            wrong.append(described(document))
    right = len(rows) - len(wrong)
    return [
        Figure("two of one name, all places right", right, len(rows), "at least 70 %", right >= 0.7 * len(rows), wrong),
        Figure("  never in one cluster", apart, len(rows)),
    ]


def cluster_at(document: AnnotatedDocument, place: tuple[int, int]) -> int | None:
    """Return the number of the cluster whose mention ends where the place ends, the one that begins nearest to it."""
    begin, end = place
    found = [(abs(m.begin - begin), n) for n, c in enumerate(document.clusters) for m in c.mentions if m.end == end]
    return min(found)[1] if found else None


def unmarked(text: str) -> tuple[str, dict[str, list[tuple[int, int]]]]:
    """Return a text without its marks, and the places of each mark."""
    found: dict[str, list[tuple[int, int]]] = {}
    plain, position = "", 0
    for mark in re.finditer(r"\[(\w) ([^\]]+)\]", text):
        plain += text[position : mark.start()]
        found.setdefault(mark.group(1), []).append((len(plain), len(plain) + len(mark.group(2))))
        plain, position = plain + mark.group(2), mark.end()
    return plain + text[position:], found


def hyphenated(text: str) -> str:
    """Return the text in lines of 40 characters, words of ten letters and more broken where a line is full."""
    lines = [""]
    for word in re.findall(r"\s*\S+", text):
        if len(lines[-1]) + len(word) <= 40:
            lines[-1] += word
        elif len(word.strip()) >= 10 and word.strip().isalpha():
            half = len(word) - len(word.strip()) + len(word.strip()) // 2
            lines[-1] += word[:half] + "-"
            lines.append(word[half:])
        else:
            lines.append(word.lstrip())
    return "\n".join(lines)


def variants(text: str) -> dict[str, str]:
    """Return the text in the other forms that people write, by name; each has the same letters in the same order."""
    paragraphs = text.strip().split("\n\n")
    rng = random.Random(13)
    words = re.compile(r"\S+")

    def each(change: Callable[[str], str]) -> str:
        return "\n\n".join(map(change, paragraphs))

    return {
        "lines of 40": each(lambda paragraph: textwrap.fill(paragraph, 40)),
        "lines of 72": each(lambda paragraph: textwrap.fill(paragraph, 72)),
        "lines of 40, words broken": each(hyphenated),
        "double blanks": text.replace(" ", "  "),
        "blanks at random": words.sub(lambda word: word.group() + " " * rng.choice((0, 0, 1, 2)), text),
        "non-breaking blanks": text.replace(" ", "\u00a0"),
        "tabs": text.replace(" ", "\t"),
        "CRLF, lines of 40": each(lambda paragraph: textwrap.fill(paragraph, 40)).replace("\n", "\r\n"),
        "indented": each(
            lambda paragraph: textwrap.fill(paragraph, 60, initial_indent="    ", subsequent_indent="    ")
        ),
        "soft hyphens": re.sub(r"(?<=[a-z]{4})(?=[a-z]{4})", "\u00ad", text),
        "decomposed accents": unicodedata.normalize("NFD", text),
        "typographic": text.replace("'", "\u2019").replace(' "', " \u201c").replace('"', "\u201d"),
        "capitals": text.upper(),
        "lower case": text.lower(),
    }


def links_by_letters(document: AnnotatedDocument) -> set[Link]:
    """Return the links with offsets that count letters and digits only."""
    before = [0]
    for character in document.text:
        before.append(before[-1] + character.isalnum())
    return {(before[begin], before[end], entity) for begin, end, entity in links(document)}


def forms(annotate: Annotate, texts: dict[str, str]) -> list[Figure]:
    """Count the links of the flat text that each of its variants has too; capitals and lower case may lose some."""
    figures = []
    for name, text in texts.items():
        versions = variants(text)
        flat, *others = (links_by_letters(document) for document in annotate([text, *versions.values()]))
        letters = "".join(filter(str.isalnum, text))
        for version, found in zip(versions, others, strict=True):
            share = {"capitals": 28 / 30, "lower case": 24 / 30}.get(version)
            kept, extra = len(flat & found), found - flat
            met: bool | None = flat == found if share is None else kept >= share * len(flat)
            target = "the same links" if share is None else f"at least {share * len(flat):.0f}"
            notes = [f"lost {letters[b:e]} = {x}" for b, e, x in sorted(flat - found)]
            notes += [f"new {letters[b:e]} = {x}" for b, e, x in sorted(extra)]
            label = f"{name}, {version}" + (f" (+ {len(extra)} new)" if extra else "")
            figures.append(Figure(label, kept, len(flat), target, met, notes))
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path(bundled_checkpoint()), help="folder of a checkpoint")
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the forms have no split")
    parser.add_argument("--details", action="store_true", help="print each failure below its line")
    options = parser.parse_args(arguments)
    pipe = load_pipeline(options.model)

    def annotate(texts: Sequence[str]) -> list[AnnotatedDocument]:
        return pipe.annotate(texts, batch_size=8)

    texts = {"news": NEWS.read_text(encoding="utf-8").strip()}
    texts["accents"] = (HERE / "reading" / "accents.txt").read_text(encoding="utf-8").strip()
    print(f"{options.model}, {options.split}")
    for figures in (
        first_names(annotate, options.split),
        honorifics(annotate, options.split),
        ambiguous(annotate, options.split, pipe.processor.knowledge_base),
        controls(annotate, options.split),
        acronyms(annotate, options.split),
        namesakes(annotate, options.split),
        forms(annotate, texts),
    ):
        for figure in figures:
            print(figure)
            for failure in figure.failures if options.details else ():
                print(f"      {failure}")


if __name__ == "__main__":
    main()
