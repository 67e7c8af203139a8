"""Passages about two of one name: a husband and a wife, a club and its city, a stranger called as a town is.

Articles call one thing by one name nearly always, so a model that has read nothing else puts all places of a name into
one cluster.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kind_passages import named_by_kind, passage
from stories import FOLDER, HONORIFICS, PRONOUNS, World, Writer, choose

from hf_corefel import Cluster, Document, KnowledgeBase, Mention

SPOUSES = {"male": "husband", "female": "wife"}
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
# Of families, those in which one is no stranger.
KNOWN_SHARE = 0.4
# The share of passages about things; the others are about people, half of whom are called as a place is.
THINGS_SHARE = 0.4


def namesake_passages(
    world: World,
    surfaces: Sequence[str],
    kb: KnowledgeBase,
    count: int,
    seed: int,
    reserved: Collection[tuple[str, str]] = (),
    reserved_names: Collection[str] = (),
) -> Iterator[Document]:
    """Yield passages in which one name stands for two.

    Args:
        world: First and last names, and places.
        surfaces: Names of things to draw from.
        kb: Says what they may stand for.
        count: How many passages.
        seed: Draws names and sentences.
        reserved: Names with their entities that measuring texts keep for themselves.
        reserved_names: Names of two in measuring texts, likewise.
    """
    kinds = json.loads((FOLDER / "kinds.json").read_text(encoding="utf-8"))
    named = named_by_kind(kinds, [s for s in surfaces if s not in reserved_names], kb, reserved)
    things: dict[str, list[tuple[str, str]]] = {}
    for kind, pairs in named.items():
        for surface, entity in pairs:
            things.setdefault(surface, []).append((kind, entity))
    several = sorted(surface for surface, found in things.items() if len({kind for kind, _ in found}) > 1)
    cities = [(name, entity) for _, name, entity in world.places["city"] if name not in reserved_names]
    lines = (FOLDER / "families.txt").read_text(encoding="utf-8").splitlines()
    families = [line for line in lines if not line.startswith("#")]
    last = [name for name in world.last if name not in reserved_names]
    famous = [person for person in world.known if not set(person[:2]) & set(reserved_names)]
    for number in range(count):
        rng = random.Random(f"{seed} namesakes {number}")
        name, scope = f"namesakes.{number}", rng.choice(("named", "entities", "all"))
        if rng.random() < THINGS_SHARE:
            surface = rng.choice(several)
            one = rng.choice(things[surface])
            other = rng.choice([pair for pair in things[surface] if pair[0] != one[0]])
            pairs = [one, other, one][: rng.choice((2, 2, 3))]
            parts = [passage(kinds[kind]["sentences"], surface, entity, rng, "") for kind, entity in pairs]
            yield joined(parts, name, rng.choice(("named", "entities")))
        elif rng.random() < 0.5:
            known = rng.choice(famous) if famous and rng.random() < KNOWN_SHARE else None
            yield family(world, rng.choice(families), rng.choice(last), rng, name, scope, known)
        else:
            city, entity = rng.choice(cities)
            town = passage(kinds["parent"]["sentences"], city, entity, rng, "")
            people = family(world, rng.choice(families), city, rng, "", scope)
            yield joined([town, people] if rng.random() < 0.5 else [people, town], name, scope)


def joined(parts: Sequence[Document], name: str, scope: str) -> Document:
    """Return the texts one after the other; clusters of one entity become one, and only what is a mention is known."""
    text, strangers = "", []
    linked: dict[str, list[Mention]] = {}
    for part in parts:
        text += " " if text else ""
        for cluster in part.clusters or []:
            moved = [Mention(m.begin + len(text), m.end + len(text), m.text) for m in cluster.mentions]
            if cluster.entity is None:
                strangers.append(Cluster(tuple(moved)))
            else:
                linked.setdefault(cluster.entity, []).extend(moved)
        text += part.text
    clusters = [*(Cluster(tuple(mentions), entity) for entity, mentions in linked.items()), *strangers]
    given = sorted(m.offsets for cluster in clusters for m in cluster.mentions)
    return Document(text, name, mentions=given, clusters=clusters, mention_scope=scope)


def family(
    world: World,
    template: str,
    last: str,
    rng: random.Random,
    name: str,
    scope: str,
    known_person: tuple[str, str, str, str] | None = None,
) -> Document:
    """Return a story about a man and a woman of one last name; what the scope has of its mentions is given.

    Args:
        world: First names, cities, and who is known.
        template: A line of ``families.txt``.
        last: The last name.
        rng: Draws the rest.
        name: Of the document.
        scope: The mention scope.
        known_person: One of the two, with a last name that takes the place of the other.
    """
    people = dict(zip("ab", rng.sample(("male", "female"), 2), strict=True))
    if known_person is not None:
        last = known_person[1]
    first = {key: rng.choice([n for n in world.first[gender] if n != last]) for key, gender in people.items()}
    if known_person is not None:
        first[next(key for key, gender in people.items() if gender == known_person[2])] = known_person[0]
    known = {f"{f} {n}": entity for f, n, _, entity in world.known}
    full = {key: f"{first[key]} {last}" for key in people}
    writer, sentence, position = Writer(), choose(template, rng), 0
    for slot in _SLOT.finditer(sentence):
        writer.add(sentence[position : slot.start()])
        position = slot.end()
        key, form = slot.groups()
        if key == "city":
            before, city, entity = rng.choice([place for place in world.places["city"] if place[1] != last])
            writer.add(before)
            writer.add(city, ("place", entity), entity)
            continue
        gender, entity = people[key], known.get(full[key])
        if form == "spouse":
            writer.add(SPOUSES[gender])
        elif form is None or form == "last":
            writer.add(full[key] if form is None else last, ("person", key), entity)
        elif form == "title":
            writer.add(f"{rng.choice([t for t in HONORIFICS[gender] if t[0] == 'M'])} ")
            writer.add(last, ("person", key), entity)
        else:
            word = PRONOUNS[gender][form.lower()]
            writer.add(word.capitalize() if form[0].isupper() else word, ("person", key), entity, name=False)
    writer.add(sentence[position:])
    made = writer.document(name, scope)
    return replace(made, mentions=sorted(m.offsets for c in made.clusters or [] for m in c.mentions))
