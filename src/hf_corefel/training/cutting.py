"""Cutting long training documents at ends of sentences, so that a step fits into memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..documents import Cluster, Document, Mention, Offsets, Turn
from ..processing import split_words
from ..processing.words import WordTable
from .checks import check_words

__all__ = ["Cut", "cut_document", "describe_cuts"]

# How many documents a message names.
_NAMED = 5


@dataclass(frozen=True)
class Cut:
    """What cutting a document did.

    Attributes:
        document: The document's name.
        words: Its words.
        parts: The parts that it was cut into.
        dropped_mentions: Gold mentions that a cut goes through; no part has them.
        dropped_inputs: Given mentions, spans and candidate lists that a cut goes through, likewise.
        split_clusters: Gold clusters that have mentions in several parts, one cluster in each.
    """

    document: str
    words: int
    parts: int
    dropped_mentions: int
    dropped_inputs: int
    split_clusters: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for a training record."""
        return asdict(self)


def cut_document(
    document: Document, max_words: int | None, name: str | None = None
) -> tuple[list[Document], Cut | None]:
    """Cut a document into parts of about equal length if it has more than `max_words` words.

    A cut is at the end of a sentence where there is one in reach, else at the end of a word, and goes through a mention
    only where that is longer than a part. The texts of the parts, joined, are the text. Each part has the words,
    mentions, spans, candidates, turns and gold clusters inside it; a cluster's entity stays on each of its parts. The
    id of the second of five parts of "novel" is "novel [2/5]".

    Args:
        document: The document, which stays as it is.
        max_words: Most words of a part, at least 1; None cuts nothing.
        name: What the report calls the document; its name when None.

    Returns:
        The parts and the report, or the document itself and None when it is short enough.

    Raises:
        ValueError: When `max_words` is no number of words.
    """
    check_words(max_words, "max_words", least=1)
    # A word has at least one character.
    if max_words is None or len(document.text) <= max_words:
        return [document], None
    words = split_words(document.text, document.words)
    if len(words) <= max_words:
        return [document], None
    gold = [mention.offsets for cluster in document.clusters or () for mention in cluster.mentions]
    inputs = [*(document.mentions or ()), *(document.spans or ()), *document.candidates]
    starts = _first_words(words, _uncut(words, [*gold, *inputs]), max_words)
    bounds = [0, *words.begin[starts[1:]].tolist(), len(document.text)]
    parts = _parts(document, bounds, [*starts, len(words)])
    kept_gold = sum(len(cluster.mentions) for part in parts for cluster in part.clusters or ())
    kept_inputs = sum(len(p.mentions or ()) + len(p.spans or ()) + len(p.candidates) for p in parts)
    cut = Cut(
        document=name or document.name,
        words=len(words),
        parts=len(parts),
        dropped_mentions=len(gold) - kept_gold,
        dropped_inputs=len(inputs) - kept_inputs,
        split_clusters=sum(len(_owners(cluster, bounds)) > 1 for cluster in document.clusters or ()),
    )
    return parts, cut


def describe_cuts(cuts: Sequence[Cut], max_words: int | None) -> str:
    """Return one sentence that says which documents were cut into how many parts, and what was dropped."""
    named = [f"{cut.document} ({cut.words} words) into {cut.parts} parts" for cut in cuts[:_NAMED]]
    more = [f"{len(cuts) - _NAMED} more documents"] if len(cuts) > _NAMED else []
    mentions, inputs = (sum(getattr(cut, name) for cut in cuts) for name in ("dropped_mentions", "dropped_inputs"))
    return (
        f"Training documents of more than max_document_words={max_words} words were cut at ends of sentences: "
        f"{', '.join([*named, *more])}. Every word is trained on; {mentions} gold mentions and {inputs} given "
        "mentions, spans or candidate lists were dropped because a cut goes through them, and "
        f"{sum(cut.split_clusters for cut in cuts)} gold clusters now have mentions in several parts"
    )


def _uncut(words: WordTable, spans: Iterable[Offsets]) -> np.ndarray:
    """Whether a part may begin at each word without cutting a span, bool ``[M]``."""
    offsets = np.array(list(spans), dtype=np.int64).reshape(-1, 2)
    change = np.zeros(len(words) + 1, dtype=np.int64)
    np.add.at(change, np.searchsorted(words.begin, offsets[:, 0], side="right"), 1)
    np.add.at(change, np.searchsorted(words.begin, offsets[:, 1], side="left"), -1)
    return np.cumsum(change)[:-1] == 0


def _first_words(words: WordTable, uncut: np.ndarray, max_words: int) -> list[int]:
    """The first word of each part."""
    after_sentence = np.concatenate([[False], words.ends_sentence[:-1]])
    # From the best kind of place to the worst, each with the share of a part below which it is not taken.
    places = [(np.flatnonzero(uncut & after_sentence), max_words // 2), (np.flatnonzero(uncut), 0)]
    starts = [0]
    while (left := len(words) - starts[-1]) > max_words:
        first = starts[-1]
        wanted = first + -(-left // -(-left // max_words))
        for place, least in places:
            near = place[(place > first + least) & (place <= first + max_words)]
            if len(near):
                wanted = int(near[np.abs(near - wanted).argmin()])
                break
        starts.append(wanted)
    return starts


def _parts(document: Document, bounds: list[int], word_bounds: list[int]) -> list[Document]:
    """The document between neighbouring offsets, which are words ``word_bounds`` apart."""
    count = len(bounds) - 1
    clusters: list[list[Cluster]] = [[] for _ in range(count)]
    for cluster in document.clusters or ():
        members: dict[int, list[Mention]] = {}
        for mention in cluster.mentions:
            owner = _owner(mention.offsets, bounds)
            if owner is not None:
                begin, end = _moved(mention.offsets, bounds[owner])
                # What it hangs from may be in another part, and is nothing that training reads.
                members.setdefault(owner, []).append(replace(mention, begin=begin, end=end, parent=None))
        for owner, mentions in members.items():
            clusters[owner].append(replace(cluster, mentions=tuple(mentions)))
    candidates: list[dict[Offsets, Any]] = [{} for _ in range(count)]
    for offsets, listed in document.candidates.items():
        owner = _owner(offsets, bounds)
        if owner is not None:
            candidates[owner][_moved(offsets, bounds[owner])] = listed
    given, spans = _shared(document.mentions, bounds), _shared(document.spans, bounds)
    parts = []
    for number, (begin, end) in enumerate(pairwise(bounds)):
        words = document.words
        if words is not None:
            words = [_moved(word, begin) for word in words[word_bounds[number] : word_bounds[number + 1]]]
        parts.append(
            replace(
                document,
                text=document.text[begin:end],
                id=None if document.id is None else f"{document.id} [{number + 1}/{count}]",
                words=words,
                mentions=None if given is None else given[number],
                spans=None if spans is None else spans[number],
                candidates=candidates[number],
                clusters=None if document.clusters is None else clusters[number],
                speakers=_turns(document.speakers, begin, end),
            )
        )
    return parts


def _turns(turns: Sequence[Turn] | None, begin: int, end: int) -> list[Turn] | None:
    """What is said in a part; a turn that a cut goes through goes on in the next one.

    Where nothing of a turn is left but what is said within it by another, the inner one stays.
    """
    if turns is None:
        return None
    inside = {}
    for turn in turns:  # outer ones before those within them
        if turn.begin < end and begin < turn.end:
            offsets = _moved((max(turn.begin, begin), min(turn.end, end)), begin)
            inside[offsets] = replace(turn, begin=offsets[0], end=offsets[1])
    return list(inside.values())


def _shared(spans: Sequence[Offsets] | None, bounds: list[int]) -> list[list[Offsets]] | None:
    """The spans of each part, by its own offsets."""
    if spans is None:
        return None
    shared: list[list[Offsets]] = [[] for _ in bounds[1:]]
    for offsets in spans:
        owner = _owner(offsets, bounds)
        if owner is not None:
            shared[owner].append(_moved(offsets, bounds[owner]))
    return shared


def _owner(offsets: Offsets, bounds: list[int]) -> int | None:
    """The part that a span is in, None when a cut goes through it."""
    part = bisect_right(bounds, offsets[0]) - 1
    return part if offsets[1] <= bounds[part + 1] else None


def _owners(cluster: Cluster, bounds: list[int]) -> set[int]:
    return {owner for mention in cluster.mentions if (owner := _owner(mention.offsets, bounds)) is not None}


def _moved(offsets: Offsets, begin: int) -> Offsets:
    return offsets[0] - begin, offsets[1] - begin
