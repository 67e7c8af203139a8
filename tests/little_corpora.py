"""Little corpora for tests: documents of tokens and clusters at random, written in the formats that have readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from hf_corefel import Document

Place = tuple[int, int, int]  # sentence, first token, last token


@dataclass(frozen=True)
class Source:
    """Sentences of tokens, and clusters of places with their entity."""

    sentences: list[list[str]]
    clusters: list[tuple[str | None, list[Place]]]

    @property
    def text(self) -> str:
        return "\n".join(" ".join(sentence) for sentence in self.sentences)

    def offsets(self, place: Place) -> tuple[int, int]:
        """Code points of a place in `text`, which are counted here by other means than the readers'."""
        sentence, first, last = place
        before = "\n".join(" ".join(words) for words in self.sentences[:sentence]) + ("\n" if sentence else "")
        begin = len(" ".join([before + self.sentences[sentence][0], *self.sentences[sentence][1:first]]))
        begin = len(before) if first == 0 else begin + 1
        return begin, begin + len(" ".join(self.sentences[sentence][first : last + 1]))

    def expected(self, *, linked: bool) -> list[tuple[str | None, list[tuple[int, int]]]]:
        """Entity and offsets of every cluster, in the order of readers."""
        found = [
            (entity if linked else None, sorted(self.offsets(place) for place in places))
            for entity, places in self.clusters
        ]
        return sorted(found, key=lambda cluster: cluster[1][0])


def clusters(document: Document) -> list[tuple[str | None, list[tuple[int, int]]]]:
    """Entity and offsets of the clusters of a document."""
    return [(c.entity, [m.offsets for m in c.mentions]) for c in document.clusters or []]


def surfaces(document: Document) -> list[tuple[str | None, list[str]]]:
    """Entity and surfaces of the clusters of a document."""
    return [(c.entity, [document.text[m.begin : m.end] for m in c.mentions]) for c in document.clusters or []]


@st.composite
def sources(draw: st.DrawFn) -> Source:
    """Documents with nested, overlapping and single mentions; words of other scripts and of two code units too."""
    words = st.sampled_from(["Oslo", "she", "é", "東京", "𝔘", "a", "#", "''"])
    sentences = draw(st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=4))
    places = [
        (s, first, last)
        for s, sentence in enumerate(sentences)
        for first in range(len(sentence))
        for last in range(first, len(sentence))
    ]
    chosen = draw(st.lists(st.sampled_from(places), unique=True, max_size=8))
    owners = draw(st.lists(st.integers(0, 3), min_size=len(chosen), max_size=len(chosen)))
    members: dict[int, list[Place]] = {}
    for owner, place in zip(owners, chosen, strict=True):
        # Brackets cannot say which of two crossing mentions of one cluster ends first.
        if not any(crosses(place, other) for other in members.get(owner, [])):
            members.setdefault(owner, []).append(place)
    entities = st.sampled_from([None, "Q585", "Oslo"])
    return Source(sentences, [(draw(entities), listed) for listed in members.values()])


def crosses(left: Place, right: Place) -> bool:
    """Whether two places overlap and neither lies within the other."""
    (_, begin, end), (_, other_begin, other_end) = sorted((left, right))
    return left[0] == right[0] and begin < other_begin <= end < other_end


def brackets(source: Source, open_: Callable[[int], str], separator: str) -> dict[tuple[int, int], str]:
    """What stands at the tokens: opening brackets, the longest first, then closing ones, the innermost first."""
    starts: dict[tuple[int, int], list[tuple[int, str]]] = {}
    ends: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for number, (_, places) in enumerate(source.clusters, start=1):
        for sentence, first, last in places:
            if first == last:
                starts.setdefault((sentence, first), []).append((0, f"({open_(number)})"))
            else:
                starts.setdefault((sentence, first), []).append((first - last, f"({open_(number)}"))
                ends.setdefault((sentence, last), []).append((last - first, f"{closing(open_(number))})"))
    spots = {*starts, *ends}
    # Those that close do so before any of the same cluster opens, and those of one token stand for themselves.
    return {
        spot: separator.join(text for _, text in [*sorted(ends.get(spot, [])), *sorted(starts.get(spot, []))])
        for spot in spots
    }


def closing(opened: str) -> str:
    return opened.partition("-")[0]


def write_conll2012(path: Path, source: Source) -> Path:
    marks = brackets(source, str, "|")
    lines = ["#begin document (d); part 000"]
    for s, sentence in enumerate(source.sentences):
        for t, token in enumerate(sentence):
            lines.append("\t".join(["d", "0", str(t), token, *"_" * 8, marks.get((s, t), "_")]))
        lines.append("")
    path.write_text("\n".join([*lines, "#end document", ""]), encoding="utf-8")
    return path


def write_corefud(path: Path, source: Source) -> Path:
    def fields(number: int) -> str:
        entity = source.clusters[number - 1][0]
        return f"e{number}-thing-1-{entity or ''}"

    marks = brackets(source, fields, "")
    lines = ["# newdoc id = d", "# global.Entity = eid-etype-head-identity"]
    for s, sentence in enumerate(source.sentences):
        lines.append("# newpar")
        for t, token in enumerate(sentence):
            mark = f"Entity={marks[s, t]}" if (s, t) in marks else "_"
            lines.append("\t".join([str(t + 1), token, "_", "NOUN", *"_" * 5, mark]))
        lines.append("")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def write_docred(path: Path, source: Source) -> Path:
    vertices = [
        [{"name": "x", "sent_id": s, "pos": [first, last + 1], "wikidata_qcode": entity} for s, first, last in places]
        for entity, places in source.clusters
    ]
    document = {"title": "d", "sents": source.sentences, "vertexSet": vertices}
    path.write_text(json.dumps([document]), encoding="utf-8")
    return path


def write_brat(path: Path, source: Source) -> Path:
    path.with_suffix(".txt").write_bytes(source.text.encode())
    lines, number = [], 0
    for entity, places in source.clusters:
        first = number + 1
        for place in places:
            number += 1
            begin, end = source.offsets(place)
            lines.append(f"T{number}\tThing {begin} {end}\t{source.text[begin:end]}")
            if number > first:
                lines.append(f"R{number}\tCoref Arg1:T{number} Arg2:T{number - 1}")
        if entity is not None:
            lines.append(f"N{number}\tReference T{number} Wikidata:{entity}\t{entity}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path
