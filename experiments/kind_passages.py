"""Sentences about rivers, clubs, universities and other things that are called as a city or a country is."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from context_passages import given
from stories import FOLDER, choose

from hf_corefel import Document, KnowledgeBase

# Whoever is called so less often than that is not meant without a longer name.
LEAST_PRIOR = 0.015
# How many passages are about the likeliest entity of a name: "parent" in kinds.json, a country or a city.
LIKELIEST_SHARE = 0.3


def kind_passages(
    surfaces: Sequence[str], kb: KnowledgeBase, count: int, seed: int, reserved: Collection[tuple[str, str]] = ()
) -> Iterator[Document]:
    """Yield passages of one to three sentences about one thing of a kind; the names are given.

    Args:
        surfaces: The names to draw from; those with several candidates of different kinds are used.
        kb: Says what they may stand for.
        count: How many passages.
        seed: Draws names and sentences.
        reserved: Names with their entities that measuring texts keep for themselves.
    """
    kinds = json.loads((FOLDER / "kinds.json").read_text(encoding="utf-8"))
    named = named_by_kind(kinds, surfaces, kb, reserved)
    # A city is meant by its name where a river, a club or a university may be meant too.
    others = {
        surface for kind in ("river", "club", "national team", "university", "town") for surface, _ in named[kind]
    }
    named["parent"] = [pair for pair in named["parent"] if pair[0] in others]
    minor = [kind for kind in named if kind != "parent" and named[kind]]
    # Gods are few and clubs many: something between one share for each kind and one for each name.
    weights = [math.sqrt(len(named[kind])) for kind in minor]
    for number in range(count):
        rng = random.Random(f"{seed} kind {number}")
        kind = "parent" if named["parent"] and rng.random() < LIKELIEST_SHARE else rng.choices(minor, weights)[0]
        surface, entity = rng.choice(named[kind])
        yield passage(kinds[kind]["sentences"], surface, entity, rng, f"kind.{kind}.{entity}.{number}")


def named_by_kind(
    kinds: Mapping[str, Any], surfaces: Sequence[str], kb: KnowledgeBase, reserved: Collection[tuple[str, str]] = ()
) -> dict[str, list[tuple[str, str]]]:
    """Return, for each kind, the surfaces of several meanings with an entity of that kind that they may stand for."""
    named: dict[str, list[tuple[str, str]]] = {kind: [] for kind in kinds}
    for surface in sorted(set(surfaces)):
        candidates = kb.candidates(surface)
        if len(candidates) < 2 or not surface[:1].isupper() or surface.isupper():
            continue
        likeliest = max(candidates, key=lambda candidate: candidate.prior).entity
        for candidate in candidates:
            pair = (surface, candidate.entity)
            if candidate.prior < LEAST_PRIOR or pair in reserved:
                continue
            for kind, rules in kinds.items():
                is_parent = kind == "parent"
                if re.search(rules["entity"], candidate.entity) and is_parent == (candidate.entity == likeliest):
                    named[kind].append(pair)
    return named


def passage(templates: Sequence[str], surface: str, entity: str, rng: random.Random, name: str) -> Document:
    """Return one to three of the sentences, with the surface for {x} and what follows the entity's comma for {q}."""
    text, clusters = "", {}
    _, _, region = entity.partition(",_")
    for template in rng.sample(list(templates), min(len(templates), rng.choice((1, 1, 2, 3)))):
        text += " " if text else ""
        for part in re.split(r"(\{[xq]\})", choose(template, rng)):
            words = {"{x}": surface, "{q}": region.replace("_", " ")}.get(part, part)
            if part in ("{x}", "{q}"):
                clusters.setdefault(entity if part == "{x}" else region, []).append((len(text), len(text) + len(words)))
            text += words
    return given(text, clusters, name)
