"""Which spans of a long document are scored in pairs: each one with at most k others that it chooses, its partners.

What makes a partner is cheap to know: it is near, it is a likely mention (Φp) and near, or it has something in common
with the span: its text, a word, a candidate entity, a definition, a speaker. Of those with something in common the last
ones, the first one and the likeliest mentions count, so that a name at the end of a book meets its mates at the
beginning. Where this makes more than k, the strongest reasons go first; where it makes less, the nearest spans are
taken. Both directions of a pair are scored.

The number of pairs, and the work on them, grows with the number of spans only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..trees.arborescence import IntArray

__all__ = ["PartnerKeys", "choose_pairs"]

# Of the spans with something in common: so many before the span, first ones, and likeliest mentions.
_LAST, _FIRST, _BEST = 3, 1, 3
# So many likely mentions right before.
_NEAR_MENTIONS = 64
# The likeliest mentions of the document, of so many different texts, which all spans are compared with.
_ANCHORS = 32
# Words that more spans than this share ("the") say nothing.
_COMMON = 1_000


@dataclass(frozen=True)
class PartnerKeys:
    """What the N retained spans of a document have that others may have too.

    Attributes:
        words: ``[N, W]`` forms of the words of each span, -1 on padding.
        entities: ``[N, K]`` its candidates, -1 on padding.
        definitions: ``[N, 6]`` see `hf_corefel.processing.definitions.label_definitions`.
        persons: ``[N]`` whom it means of those who speak, -1 for none.
        mention: ``[N]`` mention scores Φp.
    """

    words: IntArray
    entities: IntArray
    definitions: IntArray
    persons: IntArray
    mention: np.ndarray


def choose_pairs(keys: PartnerKeys, most: int) -> tuple[IntArray, IntArray]:
    """Return pairs of spans as the earlier and the later ones ``[M]``; each span chooses `most` partners at most.

    Args:
        keys: What the spans have in common.
        most: Most partners that a span chooses. It may be chosen by more.
    """
    count = len(keys.mention)
    texts = _texts(keys.words)
    found = [
        _within_groups(np.arange(count), texts, keys.mention, reason=0, common=count),
        *(_within_groups(*_labels(keys, which), keys.mention, reason=0, common=count) for which in _PAIRS_OF_LABELS),
        _within_groups(*_named(keys.persons[:, None]), keys.mention, reason=1, common=count),
        _right_before(np.flatnonzero(keys.mention > 0), count, _NEAR_MENTIONS, reason=2),
        _right_before(np.arange(count), count, most, reason=2),
        _within_groups(*_named(keys.words), keys.mention, reason=10, common=_COMMON),
        _within_groups(*_named(keys.entities), keys.mention, reason=14, common=_COMMON),
        _with_anchors(texts, keys.mention, reason=20),
    ]
    one, other, weak = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # Each partner once, for the strongest reason.
    order = np.lexsort((weak, other, one))
    one, other, weak = one[order], other[order], weak[order]
    new = np.ones(len(one), dtype=bool)
    new[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    new &= one != other
    one, other, weak = one[new], other[new], weak[new]
    # The strongest reasons of each span, of equal ones the nearest.
    order = np.lexsort((np.abs(one - other), weak, one))
    one, other = one[order], other[order]
    total = np.bincount(one, minlength=count)
    stays = np.arange(len(one)) - (np.cumsum(total) - total)[one] < most
    pairs = np.minimum(one[stays], other[stays]) * count + np.maximum(one[stays], other[stays])
    early, late = np.divmod(np.unique(pairs), max(count, 1))
    return early, late


# Labels of definitions that meet: a term and its bracket, a term and what it was defined for, initials and capitals.
_PAIRS_OF_LABELS = ((0, 1), (2, 3), (4, 5))

_Found = tuple[IntArray, IntArray, np.ndarray]


def _texts(words: IntArray) -> IntArray:
    """A number for each text, equal where all words are."""
    if not words.size:
        return np.zeros(len(words), dtype=np.int64)
    number: IntArray = np.unique(words, axis=0, return_inverse=True)[1].reshape(-1)
    return number


def _named(values: IntArray) -> tuple[IntArray, IntArray]:
    """The spans and the numbers that they have, each once a span."""
    span, place = np.nonzero(values >= 0)
    pairs = np.unique(np.stack([span, values[span, place]]), axis=1)
    return pairs[0], pairs[1]


def _labels(keys: PartnerKeys, which: tuple[int, int]) -> tuple[IntArray, IntArray]:
    return _named(keys.definitions[:, list(which)])


def _within_groups(spans: IntArray, group: IntArray, mention: np.ndarray, reason: float, common: int) -> _Found:
    """Pairs within groups of spans: each with the last ones before it, the first ones, and the likeliest mentions.

    Args:
        spans: ``[P]`` spans.
        group: ``[P]`` the group of each.
        mention: ``[N]`` mention scores.
        reason: How weak a reason it is; a larger group is a weaker one.
        common: Larger groups are left out.
    """
    _, group, size = np.unique(group, return_inverse=True, return_counts=True)
    keep = (size[group] > 1) & (size[group] <= common)
    spans, group = spans[keep], group[keep]
    order = np.lexsort((spans, group))
    spans, group = spans[order], group[order]
    total = np.bincount(group, minlength=len(size))
    starts = (np.cumsum(total) - total)[group]
    place = np.arange(len(spans))
    likely = np.lexsort((-mention[spans], group))  # the places of a group, the likeliest mention first
    weak = reason + np.log2(np.maximum(total[group], 1)) / 4
    # For each step the places that have such a partner, the partner's place, and how much weaker a reason it is.
    found: list[tuple[IntArray, IntArray, float]] = []
    for step in range(1, _LAST + 1):
        inside = place[place - step >= starts]
        found.append((inside, inside - step, step / 8))
    for step in range(_FIRST):
        inside = place[step < total[group]]
        found.append((inside, starts[inside] + step, 0.5))
    for step in range(_BEST):
        inside = place[step < total[group]]
        found.append((inside, likely[starts[inside] + step], step / 8))
    one = np.concatenate([inside for inside, _, _ in found])
    other = np.concatenate([partner for _, partner, _ in found])
    weakness = np.concatenate([weak[inside] + more for inside, _, more in found])
    return spans[one], spans[other], weakness


def _right_before(spans: IntArray, count: int, most: int, reason: float) -> _Found:
    """Pairs of each span with the last ones before it of some spans, ascending."""
    place = np.searchsorted(spans, np.arange(count))
    steps = np.arange(1, most + 1)
    at, step = np.nonzero(place[:, None] >= steps)
    return at, spans[place[at] - steps[step]], reason + steps[step] / 3


def _with_anchors(texts: IntArray, mention: np.ndarray, reason: float) -> _Found:
    """Pairs of each span with the document's likeliest mentions."""
    order = np.lexsort((np.arange(len(mention)), -mention))
    anchors = order[np.sort(np.unique(texts[order], return_index=True)[1])[:_ANCHORS]]
    one = np.tile(np.arange(len(mention)), len(anchors))
    return one, np.repeat(anchors, len(mention)), np.full(len(one), float(reason))
