"""How often a surface is a link where it occurs: link probability, from a sample of articles.

It is counted in articles, for Wikipedia links a name where an article has it first: of the sampled articles that have
the surface, the share that has it as a link somewhere. Where a surface is part of a longer link or of the title of the
same article, as "Obama" is beside "Barack Obama", it is not counted: it is a name there that the longer form links.

The cost is bounded: the sample has a fixed expected size whatever the size of the dump, and of its texts only runs of up
to `LONGEST_RUN` words within a line are looked up, as hashes in a sorted array that worker processes share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import regex
import xxhash

from ..kb.normal_form import normal_form

__all__ = ["LONGEST_RUN", "SAMPLED_ARTICLES", "count_sample", "link_probabilities", "surface_keys"]

# Articles of the sample: with so many, what is in one article of a thousand is seen a hundred times.
SAMPLED_ARTICLES = 100_000
LONGEST_RUN = 5
_WORD = regex.compile(r"\w+")
_EDGES = regex.compile(r"^\W+|\W+$")


def surface_keys(surfaces: Iterable[str]) -> np.ndarray:
    """Return a hash uint64 [M] of each of M surfaces, which leaves out what stands before and after its words."""
    hash_of = xxhash.xxh3_64_intdigest
    return np.fromiter(
        (hash_of(text if text.isalnum() else _EDGES.sub("", text) or text) for text in surfaces), dtype=np.uint64
    )


def _runs(text: str) -> set[int]:
    """The hashes of all runs of words in a text of one line in normal form."""
    words = [match.span() for match in _WORD.finditer(text)]
    hash_of = xxhash.xxh3_64_intdigest
    return {
        hash_of(text[begin:end])
        for first, (begin, _) in enumerate(words)
        for _, end in words[first : first + LONGEST_RUN]
    }


def count_sample(
    rows: Iterable[tuple[str, str, Sequence[str]]], keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count in how many articles of a sample surfaces occur, and in how many they are links.

    Args:
        rows: Text, title and the surfaces of links of each article.
        keys: uint64 [K], the keys of all surfaces, ascending, each once.

    Returns:
        Positions in `keys` int64 [N] of the surfaces that occur, ascending; and for each of them the number of articles
        that have it, int64 [N], and that have it as a link, int64 [N].
    """
    occurring, linked = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for text, title, surfaces in rows:
        links = set(surface_keys(surfaces).tolist())
        parts: set[int] = set()
        for surface in (*surfaces, normal_form(title)):
            parts |= _runs(surface)
        found: set[int] = set()
        for line in text.splitlines():
            found |= _runs(normal_form(line))
        occurring.append(_positions(links | (found - parts), keys))
        linked.append(_positions(links, keys))
    places, counts = np.unique(np.concatenate(occurring), return_counts=True)
    linked_places, linked_counts = np.unique(np.concatenate(linked), return_counts=True)
    as_links = np.zeros(len(places), dtype=np.int64)
    as_links[np.searchsorted(places, linked_places)] = linked_counts
    return places, counts, as_links


def _positions(wanted: set[int], keys: np.ndarray) -> np.ndarray:
    """Where those of the wanted keys that there are stand in the sorted keys."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    values = np.fromiter(wanted, dtype=np.uint64, count=len(wanted))
    values.sort()
    places = np.searchsorted(keys, values)
    places[places == len(keys)] = 0
    return places[keys[places] == values]


def link_probabilities(occurring: np.ndarray, linked: np.ndarray) -> np.ndarray:
    """Return the link probability float64 [K] of surfaces by their counts; 1 of those that the sample lacks.

    One more article is taken to have each as a link: what the sample has once, and not as a link, is half sure.
    """
    return (linked.astype(np.float64) + 1) / (occurring.astype(np.float64) + 1)
