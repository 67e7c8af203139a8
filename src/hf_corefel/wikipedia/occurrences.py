"""How often a surface is a link where it occurs: link probability, from a sample of articles.

It is counted in articles, for Wikipedia links a name where an article has it first: of the sampled articles that have
the surface, the share that has it as a link somewhere. Where a surface is part of a longer link or of the title of the
same article, as "Obama" is beside "Barack Obama", it is not counted: it is a name there that the longer form links.

The cost is bounded: the sample has a fixed expected size whatever the size of the dump, and of its texts only runs of
up to `LONGEST_RUN` words are looked up, as numbers in a sorted array that worker processes share. A run is told by its
words alone, so "AT&T" is the same as "AT T" here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import regex
import xxhash

from ..kb.normal_form import normal_form

__all__ = ["LONGEST_RUN", "SAMPLED_ARTICLES", "count_sample", "link_probabilities", "surface_keys"]

# Articles of the sample: with so many, what is in one article of a thousand is seen twenty times.
SAMPLED_ARTICLES = 20_000
LONGEST_RUN = 5
# A bar ends a run: it stands for the ends of lines and of surfaces.
_WORD = regex.compile(r"\w+|\|")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MOST_WORDS = 1_000_000


class _WordNumbers(dict[str, int]):
    """A number of 64 bits for every word, kept for those that come again."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_WORDS:
            self.clear()
        number = self[word] = xxhash.xxh3_64_intdigest(word.encode())
        return number


_numbers = _WordNumbers()


def surface_keys(surfaces: Iterable[str]) -> np.ndarray:
    """Return a number uint64 [M] for each of M surfaces, the same for those with the same words."""
    multiplier, numbers = int(_MULTIPLIER), _numbers
    keys = []
    for surface in surfaces:
        key = 0
        for word in _WORD.findall(surface) or [surface]:
            key = (key * multiplier + numbers[word]) & 0xFFFF_FFFF_FFFF_FFFF
        keys.append(key)
    return np.array(keys, dtype=np.uint64)


def _runs(text: str) -> np.ndarray:
    """The keys of all runs of words in a text, ascending, each once."""
    words = _WORD.findall(text)
    numbers = np.fromiter(map(_numbers.__getitem__, words), dtype=np.uint64, count=len(words))
    keys = [numbers]
    for length in range(1, min(LONGEST_RUN, len(words))):
        keys.append(keys[-1][:-1] * _MULTIPLIER + numbers[length:])
    return np.unique(np.concatenate(keys))


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
        links = np.unique(surface_keys(surfaces))
        parts = _runs("|".join((*surfaces, normal_form(title))))
        found = np.setdiff1d(_runs(normal_form(text.replace("\n", "|"))), parts, assume_unique=True)
        occurring.append(_positions(np.union1d(links, found), keys))
        linked.append(_positions(links, keys))
    places, counts = np.unique(np.concatenate(occurring), return_counts=True)
    linked_places, linked_counts = np.unique(np.concatenate(linked), return_counts=True)
    as_links = np.zeros(len(places), dtype=np.int64)
    as_links[np.searchsorted(places, linked_places)] = linked_counts
    return places, counts, as_links


def _positions(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where those of the wanted keys that there are stand in the sorted keys; both ascend."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    places = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0
    return places[keys[places] == wanted]


def link_probabilities(occurring: np.ndarray, linked: np.ndarray) -> np.ndarray:
    """Return the link probability float64 [K] of surfaces by their counts; 1 of those that the sample lacks.

    One more article is taken to have each as a link: what the sample has once, and not as a link, is half sure.
    """
    return (linked.astype(np.float64) + 1) / (occurring.astype(np.float64) + 1)
