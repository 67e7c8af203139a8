"""Passages in which an acronym is spelled like an ordinary word: "the WHO", "ICE", "PEN".

An encoder that folds letter case reads such a word as the ordinary one, so a model that has met few of them takes them
for no names. Here they stand where training articles have other acronyms; beside them a few ordinary words are written
in capitals, as people do who stress them, and stay no mentions.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from passage_edits import Edit, changed_letters, edited

from hf_corefel import Document
from hf_corefel.documents import AnnotatedLayers

EntityOf = Callable[[str], str | None]
ACRONYM = re.compile(r"[A-Z]{2,6}")
# A word is ordinary when the articles have it so often in small letters.
LEAST_COUNT = 5
STRESSED_SHARE = 0.35


def ordinary_words(documents: Sequence[Document], reserved: Collection[str] = ()) -> dict[str, int]:
    """Return how often words of two to six letters stand in small letters.

    Args:
        documents: Where they are counted.
        reserved: Words in capitals that measuring texts keep for themselves.
    """
    found = Counter(word for document in documents for word in re.findall(r"\b[a-z]{2,6}\b", document.text))
    return {
        word: count for word, count in sorted(found.items()) if count >= LEAST_COUNT and word.upper() not in reserved
    }


def with_other_acronyms(
    passage: Document, words: dict[str, int], entity_of: EntityOf, rng: random.Random
) -> Document | None:
    """Return the passage with ordinary words in capitals in place of its acronyms; None where there is none to replace.

    An acronym is replaced at all its places, where all mentions of its cluster are the acronym and it stands nowhere
    else. Links that the passage does not have are then not known.
    """
    taken = set(re.findall(r"\b[A-Z]+\b", passage.text))
    edits: list[Edit] = []
    renamed: dict[int, str | None] = {}
    for number, cluster in enumerate(passage.clusters or []):
        surfaces = {passage.text[m.begin : m.end] for m in cluster.mentions}
        surface = min(surfaces)
        places = [found.span() for found in re.finditer(rf"\b{re.escape(surface)}\b", passage.text)]
        if len(surfaces) > 1 or not ACRONYM.fullmatch(surface) or len(places) > len(cluster.mentions):
            continue
        free = [word for word in words if word.upper() not in taken]
        acronym = rng.choices(free, [words[word] ** 0.5 for word in free])[0].upper()
        taken.add(acronym)
        edits += [Edit(m.begin, m.end, acronym) for m in cluster.mentions]
        renamed[number] = entity_of(acronym)
    if not edits:
        return None
    named = [replace(c, entity=renamed.get(n, c.entity)) for n, c in enumerate(passage.clusters or [])]
    changed = edited(replace(passage, clusters=named), edits)
    return replace(stressed(changed, words, rng), annotated=AnnotatedLayers(links="some"))


def stressed(passage: Document, words: Collection[str], rng: random.Random) -> Document:
    """Return the passage with one of its ordinary words in capitals, now and then."""
    mentions = [m.offsets for cluster in passage.clusters or [] for m in cluster.mentions]
    places = [
        found.span()
        for found in re.finditer(r"\b[a-z]{2,6}\b", passage.text)
        if found.group() in words and not any(b < found.end() and found.start() < e for b, e in mentions)
    ]
    if not places or rng.random() >= STRESSED_SHARE:
        return passage
    return changed_letters(passage, str.upper, *rng.choice(places))


def acronym_passages(
    passages: Sequence[Document], entity_of: EntityOf, seed: int, reserved: Collection[str] = ()
) -> Iterator[Document]:
    """Yield those of the passages that have acronyms, with others in their place.

    Args:
        passages: Parts of annotated articles, which also say which words are ordinary.
        entity_of: The entity that an acronym stands for beyond doubt; of one without, it is not known.
        seed: Draws the words.
        reserved: Acronyms that measuring texts keep for themselves.
    """
    words = ordinary_words(passages, reserved)
    for passage in passages:
        changed = with_other_acronyms(passage, words, entity_of, random.Random(f"{seed} acronyms {passage.id}"))
        if changed is not None:
            yield changed
