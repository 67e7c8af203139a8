"""Little stories about people whom nobody knows, every name annotated, from sentences and names in ``stories/``."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hf_corefel import Cluster, Document, Mention

FOLDER = Path(__file__).parent / "stories"
# What stands before a last name and is no mention.
HONORIFICS = {
    "male": ("Mr.", "Mr.", "Mr.", "Mr", "Dr.", "Dr", "Prof.", "Rev.", "Fr.", "Lord", "Herr"),
    "female": ("Mrs.", "Ms.", "Ms.", "Mrs", "Miss", "Dr.", "Dr", "Prof.", "Rev.", "Lady", "Frau"),
}
SHORT_RANKS = ("Sgt.", "Lt.", "Capt.", "Col.", "Gen.", "Sen.", "Rep.", "Gov.")
# DWIE annotates a role before a name as a mention of its own, without an entity.
ROLES = (
    "President", "Senator", "Judge", "Captain", "Governor", "Professor", "Mayor", "Bishop", "Colonel", "General",
    "Minister", "Chancellor", "Detective", "Inspector", "Officer", "Coach", "Doctor", "Sergeant", "Ambassador",
)  # fmt: skip
PRONOUNS = {
    "male": {"he": "he", "him": "him", "his": "his"},
    "female": {"he": "she", "him": "her", "his": "her"},
}
NOUNS = {"male": ("man", "boy", "young man", "old man"), "female": ("woman", "girl", "young woman", "old woman")}
# How a person is named the first time, the second time, and from then on.
STYLES = {
    "first": ("first", "first", "first"),
    "last": ("last", "last", "last"),
    "titled": ("titled", "titled", "titled last"),
    "full, titled": ("full", "titled", "titled titled last"),
    "titled, full": ("titled", "full", "titled last"),
    "full, last": ("full", "last", "last"),
    "full, first": ("full", "first", "first"),
    "sir": ("sir full", "sir", "sir titled"),
}
STRANGERS = {
    "first": 12,
    "last": 2,
    "titled": 4,
    "full, titled": 6,
    "titled, full": 2,
    "full, last": 2,
    "full, first": 3,
    "sir": 1,
}
KNOWN = {"full, titled": 8, "titled, full": 3, "full, last": 2}
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?('s)?\}")


@dataclass
class Person:
    """Someone in a story: the names, how they are used, and the entity where the person is no stranger."""

    first: str
    last: str
    gender: str
    style: str
    title: str
    entity: str | None = None
    times: int = 0
    named_in_full: bool = False

    def next_form(self, rng: random.Random) -> tuple[str, str]:
        """Return the words before the name, and the name, for the next time that the person is named."""
        kind = STYLES[self.style][min(self.times, 2)]
        if kind != "sir full":
            kind = rng.choice(kind.split())
        self.times += 1
        self.named_in_full |= kind in ("full", "sir full")
        if kind == "sir full":
            return ("Sir" if self.gender == "male" else "Dame"), f"{self.first} {self.last}"
        if kind == "sir":
            return ("Sir" if self.gender == "male" else "Dame"), self.first
        if kind == "titled":
            return self.title, self.last
        if kind == "full":
            middle = f" {rng.choice('ABCDEFGHJKLMPRST')}." if self.entity is None and rng.random() < 0.08 else ""
            return "", f"{self.first}{middle} {self.last}"
        return "", self.first if kind == "first" else self.last


@dataclass
class World:
    """What stories are made of.

    Attributes:
        first: First names by gender.
        last: Last names.
        more_last: Further ones, of which there may be thousands.
        places: By kind ("city", "country", "organization"): the words before the name, the name, and the entity.
        known: People with an entity: first name, last name, gender, entity.
        sentences: The templates.
        has_candidates: Whether the knowledge base knows a surface.
    """

    first: dict[str, list[str]]
    last: list[str]
    more_last: list[str]
    places: dict[str, list[tuple[str, str, str]]]
    known: list[tuple[str, str, str, str]]
    sentences: list[str]
    has_candidates: Callable[[str], bool]


def read_world(
    entity_of: Callable[[str], str | None],
    has_candidates: Callable[[str], bool],
    known: Sequence[tuple[str, str, str, str]] = (),
    more_last: Sequence[str] = (),
    reserved: Collection[str] = (),
) -> World:
    """Return the world of ``stories/``, without the reserved names.

    Args:
        entity_of: The entity that a surface stands for beyond doubt, or None; places without one are left out.
        has_candidates: Whether the knowledge base knows a surface: no stranger has the full name of someone known.
        known: People with an entity: first name, last name, gender, entity.
        more_last: Further last names.
        reserved: Names that measuring texts keep for themselves.
    """
    names = json.loads((FOLDER / "names.json").read_text(encoding="utf-8"))
    names = {kind: [name for name in listed if name not in reserved] for kind, listed in names.items()}
    places: dict[str, list[tuple[str, str, str]]] = {}
    for kind, listed in json.loads((FOLDER / "places.json").read_text(encoding="utf-8")).items():
        for words in listed:
            name = words.removeprefix("the ")
            entity = entity_of(name)
            if entity is not None:
                places.setdefault(kind, []).append((words[: len(words) - len(name)], name, entity))
    lines = (FOLDER / "sentences.txt").read_text(encoding="utf-8").splitlines()
    sentences = [line for line in lines if line and not line.startswith("#")]
    people = [person for person in known if person[1] not in reserved]
    more = [name for name in more_last if name not in reserved]
    first = {gender: names[gender] for gender in PRONOUNS}
    return World(first, names["last"], more, places, people, sentences, has_candidates)


@dataclass
class Writer:
    """A text that grows, with the mentions of its clusters."""

    text: str = ""
    mentions: dict[tuple[str, str], list[tuple[int, int, bool]]] = field(default_factory=dict)
    entities: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def add(
        self, words: str, key: tuple[str, str] | None = None, entity: str | None = None, *, name: bool = True
    ) -> None:
        """Append words; with a key they are a mention of that cluster, as a name or else a pronoun or description."""
        if key is not None:
            self.mentions.setdefault(key, []).append((len(self.text), len(self.text) + len(words), name))
            self.entities[key] = entity
        self.text += words

    def document(self, name: str, scope: str) -> Document:
        """Return the text with its clusters: names only, or under the scope of all mentions all of them, as given."""
        clusters = []
        for key, places in self.mentions.items():
            wanted = [(b, e) for b, e, is_name in places if is_name or scope == "all"]
            if scope != "named" and key[0] == "role":
                # A role is part of a name's mention under the scope of all, and no entity.
                continue
            if wanted:
                clusters.append(Cluster(tuple(Mention(b, e, self.text[b:e]) for b, e in wanted), self.entities[key]))
        offsets = sorted(mention.offsets for cluster in clusters for mention in cluster.mentions)
        given = offsets if scope == "all" else None
        return Document(self.text, name, mentions=given, clusters=clusters, mention_scope=scope)


def stories(world: World, count: int, seed: int, scope: str = "named") -> Iterator[Document]:
    """Yield stories of two to six sentences; each has its own seed, so that a longer list begins with the shorter.

    Args:
        world: What they are made of.
        count: How many.
        seed: Draws all of it.
        scope: The mention scope of stories of which only names are annotated.
    """
    for number in range(count):
        yield story(world, random.Random(f"{seed} story {number}"), f"story.{number}", scope)


def story(world: World, rng: random.Random, name: str, scope: str) -> Document:
    """Write one story."""
    people = draw_people(world, rng)
    keys = {f"{number}": person for number, person in enumerate(people)}
    writer, recent, taken = Writer(), "", {person.first for person in people} | {person.last for person in people}
    separator = "\n" if rng.random() < 0.12 else " "
    wanted, written, used = rng.randint(2, 6), 0, set()
    while written < wanted:
        template = rng.choice(world.sentences)
        letters = list(dict.fromkeys(match.group(1) for match in _SLOT.finditer(template) if len(match.group(1)) == 1))
        begins_with_pronoun = next(match.group(2) for match in _SLOT.finditer(template) if len(match.group(1)) == 1)
        kinds = {match.group(1) for match in _SLOT.finditer(template)} - set(letters)
        if template in used or len(letters) > len(people) or (begins_with_pronoun and not recent):
            continue
        if any(all(place[1] in taken for place in world.places.get(kind, ())) for kind in kinds):
            # Every such place has the name of someone in the story.
            continue
        used.add(template)
        # Most stories stay with the person of the sentence before.
        stays = recent and (begins_with_pronoun or rng.random() < 0.6)
        others = [key for key in rng.sample(list(keys), len(keys)) if not stays or key != recent]
        cast = dict(zip(sorted(letters), [recent, *others] if stays else others, strict=False))
        if written:
            # After what does not end as a sentence does, the next one begins a line.
            writer.add(separator if writer.text[-1] in '.!?"' else "\n")
        write_sentence(writer, template, {letter: (key, keys[key]) for letter, key in cast.items()}, world, rng, taken)
        recent, written = cast[sorted(letters)[0]], written + 1
    pronouns = any(not is_name for places in writer.mentions.values() for _, _, is_name in places)
    return writer.document(name, "all" if pronouns and rng.random() < 0.4 else scope)


def draw_people(world: World, rng: random.Random) -> list[Person]:
    """Return one to four people of different names, most of them strangers."""
    people: list[Person] = []
    number = rng.choice((1, 2, 2, 3, 3, 4))
    while len(people) < number:
        known = world.known and rng.random() < 0.15
        if known:
            first, last, gender, entity = rng.choice(world.known)
        else:
            gender = rng.choice(("female", "male"))
            # The lists begin with names that someone famous, or a place, has too.
            pool = world.first[gender]
            first = rng.choice(pool[: len(pool) // 3] if rng.random() < 0.5 else pool)
            last = rng.choice(world.more_last if world.more_last and rng.random() < 0.4 else world.last)
            entity = None
            if world.has_candidates(f"{first} {last}"):
                continue
        if {first, last} & {name for person in people for name in (person.first, person.last)}:
            continue
        styles = KNOWN if known else STRANGERS
        style = rng.choices(list(styles), list(styles.values()))[0]
        draw = rng.random()
        title = rng.choice(HONORIFICS[gender] if draw < 0.7 else ROLES if draw < 0.85 else SHORT_RANKS)
        people.append(Person(first, last, gender, style, title, entity))
    return people


def choose(template: str, rng: random.Random) -> str:
    """Return the template with one word of every choice "(one|other)"."""
    return _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), template)


def write_sentence(
    writer: Writer,
    template: str,
    cast: dict[str, tuple[str, Person]],
    world: World,
    rng: random.Random,
    taken: Collection[str],
) -> None:
    """Append one sentence: choices made, people by their next names, places by theirs."""
    sentence, position = choose(template, rng), 0
    for slot in _SLOT.finditer(sentence):
        writer.add(sentence[position : slot.start()])
        position = slot.end()
        kind, form, ending = slot.group(1), slot.group(2), slot.group(3) or ""
        starts = not writer.text or writer.text.rstrip(' "*')[-1:] in "\n.!?"
        if len(kind) > 1:
            words, name, entity = rng.choice([place for place in world.places[kind] if place[1] not in taken])
            writer.add(words.capitalize() if starts else words)
            writer.add(name, ("place", entity), entity)
            continue
        key, person = cast[kind]
        if form is None:
            before, name = person.next_form(rng)
            if before:
                # Twice the same role is one thing, as DWIE has it.
                writer.add(before, ("role", before) if before in ROLES else None)
                writer.add(" ")
            # Who is meant by "Mr. Lester" alone, nobody can tell.
            writer.add(name, ("person", key), person.entity if person.named_in_full else None)
            writer.add(ending)
        else:
            word = (
                f"the {rng.choice(NOUNS[person.gender])}"
                if form.lower() == "the"
                else PRONOUNS[person.gender][form.lower()]
            )
            writer.add(
                word[0].upper() + word[1:] if form[0].isupper() else word,
                ("person", key),
                person.entity if person.named_in_full else None,
                name=False,
            )
    writer.add(sentence[position:])
