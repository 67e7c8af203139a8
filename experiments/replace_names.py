"""Make training passages in which later names of DWIE's articles give way to descriptions and pronouns.

    python experiments/replace_names.py --data-dir path/to/DWIE --descriptions wiki_vital_en.jsonl.gz --copies 3 \
        --out runs/replaced.jsonl

DWIE annotates names only. What an article says of its entities (type, gender, nationality) and the first sentence of
their Wikipedia articles tell how else they may be called: "Angela Merkel … Merkel said" becomes "Angela Merkel … the
German chancellor said", and which entity is meant is known. The mentions are given, so nothing is taught about other
pronouns and descriptions of the text, which nobody annotated. Test articles are left out, and those for development
unless they are asked for.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from hf_corefel import Cluster, Document, Mention
from hf_corefel.corpora import CorpusError, development_split, read_dwie
from hf_corefel.corpora.dwie import load_article
from hf_corefel.formats import write_jsonl
from hf_corefel.kb import read_jsonl

# Nouns for DWIE's types, the most telling types first.
NOUNS = {
    "head_of_gov": ("prime minister", "premier", "head of government"), "minister": ("minister",),
    "head_of_state": ("president", "leader", "head of state"), "sport_coach": ("coach",), "clergy": ("cleric",),
    "sport_player": ("player", "athlete"), "journalist": ("journalist", "reporter"), "filmmaker": ("director",),
    "activist": ("activist",), "actor": ("actor",), "musician": ("musician",), "writer": ("author", "writer"),
    "artist": ("artist",), "manager": ("manager", "executive"), "researcher": ("researcher",),
    "politician": ("politician",), "military_alliance": ("alliance",), "igo": ("organization", "body"),
    "company": ("company", "firm", "group"), "sport_team": ("club", "team", "side"), "party": ("party",),
    "ngo": ("organization", "group"), "armed_movement": ("group", "militants"), "ministry": ("ministry",),
    "court": ("court",), "agency": ("agency",), "education_org": ("institution",), "media": ("outlet",),
    "governmental_organisation": ("institution",), "gpe0": ("country", "nation"), "gpe1": ("state", "region"),
    "gpe2": ("city",), "island": ("island",), "competition": ("competition", "tournament"),
    "film_title": ("film", "movie"), "product": ("product",), "treaty": ("treaty", "agreement"),
}  # fmt: skip
# The word for the head of government where it is not "prime minister".
CHANCELLOR_OF = {"Germany", "Austria"}
TITLES = {"Pope": ("pope", "pontiff"), "King": ("king", "monarch"), "Queen": ("queen", "monarch")}
# What is no thing that a text talks about by other names.
NOT_REPLACED = {"role", "value", "time", "money", "footer", "none", "skip", "gpe0-x", "loc-x", "religion-x", "gpe1-x"}
# No mentions under the scope of all mentions: a role is part of a name's mention, times and sums are seldom named.
NOT_MENTIONS = {"role", "value", "time", "money", "footer", "none", "skip"}
# How many names are replaced: few of those that come first in a passage, so that not every description follows a name;
# of those that come later; of later names of countries and cities, of which there are many. By pronouns where one
# is clear, and with a nationality where it is known.
FIRST_SHARE, LATER_SHARE, PLACE_SHARE = 0.03, 0.75, 0.3
PRONOUN_SHARE, ADJECTIVE_SHARE = 0.45, 0.35
PRONOUNS = {"male": ("he", "him", "his"), "female": ("she", "her", "her"), "thing": ("it", "it", "its")}
THINGS = {"organization", "gpe0", "gpe1", "gpe2", "company", "event", "igo", "party", "product", "film_title"}

_PREPOSITIONS = {
    "of", "to", "with", "by", "for", "from", "against", "about", "on", "after", "before", "at", "between", "under",
    "over", "behind", "than",
}  # fmt: skip
_SUBJECT_BEFORE = {
    "that", "and", "but", "when", "as", "while", "because", "if", "whether", "since", "although", "what", "where",
    "which", "so",
}  # fmt: skip
# What may follow a noun phrase that stands by itself.
_AFTER = {
    "is", "was", "are", "were", "has", "have", "had", "will", "would", "can", "could", "may", "might", "must",
    "should", "did", "does", "do", "said", "says", "told", "tells", "and", "or", "but", "in", "on", "at", "to",
    "for", "who", "which", "that", "with", "by", "from", "after", "before", "during", "as", "of", "also", "not",
    "into", "over", "under", "against", "about", "since", "until", "because", "while", "when", "where", "than",
    "then", "there", "whether", "if", "still", "already", "never", "now", "later", "again",
}  # fmt: skip
_OCCUPATION = re.compile(
    r"(?:served as|is|was|as) (?:an?|the)? ?(?:[\w-]+ ){0,3}?"
    r"(president|chancellor|prime minister|secretary[- ]general|king|queen|emperor|pope)\b",
    re.IGNORECASE,
)
_FIRST_NOUN = re.compile(
    r"\b(?:is|was) an? ((?:[\w'-]+ ){0,5}?[\w'-]+?)"
    r"(?=,| who| that| which| from| in\b| of\b| and| based| headquartered| located| founded| or\b|\.|\()"
)


@dataclass(frozen=True)
class Place:
    """Where an entity is mentioned, and the words that take the place of the text there."""

    begin: int
    end: int
    number: int
    words: str | None = None

    def overlaps(self, other: Place) -> bool:
        """Whether another mention has characters of this one."""
        same = (self.begin, self.end) == (other.begin, other.end)
        return not same and self.begin < other.end and other.begin < self.end


@dataclass
class Entity:
    """What the annotation tells about the thing behind a cluster."""

    types: set[str]
    kind: str | None
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...] = ()
    mentions: list[tuple[int, int]] = field(default_factory=list)
    link: str | None = None


def nouns_of_description(text: str) -> tuple[str, ...]:
    """Offices and the last noun of "X is a …" in an article's first sentences: ("chancellor", "stateswoman")."""
    offices = [match.group(1).lower() for match in _OCCUPATION.finditer(text)]
    first = _FIRST_NOUN.search(text)
    noun = first.group(1).split()[-1] if first else ""
    is_noun = noun.isalpha() and noun.islower() and len(noun) > 2 and not noun.endswith(("ly", "al", "ed", "ing"))
    return tuple(dict.fromkeys([*offices, *([noun] if is_noun else [])]))


def entities_of_article(article: dict[str, Any], descriptions: dict[str, str]) -> list[Entity]:
    """The concepts of an article that have mentions, with the words that may stand for them."""
    concepts = {concept["concept"]: concept for concept in article["concepts"]}
    adjectives: dict[int, list[str]] = {}
    governs: dict[int, set[str]] = {}
    for relation in article["relations"]:
        subject, other = relation["s"], concepts.get(relation["o"], {})
        name = other.get("text") or ""
        if relation["p"] in ("citizen_of-x", "head_of_state-x", "head_of_gov-x", "based_in0-x", "minister_of-x"):
            if name[:1].isupper() and " " not in name:
                adjectives.setdefault(subject, []).append(name)
        elif relation["p"] == "head_of_gov":
            governs.setdefault(subject, set()).add(other.get("link") or name)
    entities = {}
    for number, concept in concepts.items():
        tags = {tag for tag in concept["tags"] or ()}
        types = {tag.removeprefix("type::") for tag in tags if tag.startswith("type::")}
        nouns = tuple(noun for kind, listed in NOUNS.items() if kind in types for noun in listed)
        link = concept.get("link")
        name = concept.get("text") or ""
        if governs.get(number, set()) & CHANCELLOR_OF:
            nouns = ("chancellor", "chancellor", *nouns)
        nouns = TITLES.get(name.split(" ")[0], nouns) if name else nouns
        nouns += nouns_of_description(descriptions.get(link or "", ""))
        gender = next((gender for gender in ("male", "female") if f"gender::{gender}" in tags), None)
        kind = gender or ("thing" if types & THINGS and "person" not in types else None)
        entities[number] = Entity(types, kind, nouns, tuple(adjectives.get(number, ())), link=link)
    roles = {}
    for mention in article["mentions"]:
        entity = entities[mention["concept"]]
        entity.mentions.append((mention["begin"], mention["end"]))
        if "role" in entity.types:
            roles[mention["end"] + 1] = mention["text"].lower()
    for entity in entities.values():
        # "Foreign Minister" right before a name: the most telling word for who is named.
        titles = [roles[begin] for begin, _ in entity.mentions if begin in roles] if entity.kind else []
        entity.nouns += tuple(title for title in titles if re.fullmatch(r"[a-z]+(?:[ -][a-z]+)?", title)) * 2
    return [entity for entity in entities.values() if entity.mentions and not entity.types & NOT_MENTIONS]


def passages(text: str, rng: random.Random, words: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Consecutive sentences, together about as many words as drawn from the range for each passage."""
    begin, wanted, end = 0, rng.randint(*words), 0
    for sentence in re.finditer(r"[^\n]+?(?:[.!?][\"”]?(?= +[A-Z\"“])|\n|$)", text):
        end = sentence.end()
        if len(text[begin:end].split()) >= wanted:
            yield begin, end
            begin, wanted = end, rng.randint(*words)
    if end > begin:
        yield begin, end


def _stands_alone(text: str, begin: int, end: int) -> tuple[str, str] | None:
    """The words before and after a name that is a noun phrase by itself, lower-cased, else None."""
    before = re.search(r"([\w'’-]+|[^\w\s])\s*$", text[:begin])
    after = re.match(r"\s*([\w-]+|'s\b|’s\b|[^\w\s])", text[end:])
    left, right = before.group(1) if before else "", after.group(1) if after else ""
    starts = not left or left in '.!?:"“”' or "\n" in text[max(0, begin - 2) : begin]
    if not starts and (left[:1].isupper() or left[:1].isdigit() or left in ("a", "an", "-", "/", "(")):
        return None
    if right and not (right in _AFTER or right.endswith(("ed", "s")) or right in ("'s", "’s") or right in ".,;:!?)"):
        return None
    return ("" if starts else left), right


def replacement(
    text: str, mention: Place, entity: Entity, rng: random.Random, *, nouns: Sequence[str], pronoun: bool
) -> Place | None:
    """A name's place with a pronoun, or "the" and one of the nouns, for words; None where it may not be replaced.

    The place takes in an article before the name and, for a pronoun, the possessive ending after it.
    """
    begin, end = mention.begin, mention.end
    context = _stands_alone(text, begin, end)
    if context is None:
        return None
    before, after = context
    possessive = after in ("'s", "’s")
    if before in ("the", "The"):
        begin = text.rfind(before, 0, begin)
        before = re.sub(r"\W+$", "", text[:begin].rsplit(" ", 2)[-1]) if begin else ""
    if pronoun and entity.kind:
        subject, objective, genitive = PRONOUNS[entity.kind]
        starts = begin == 0 or text[:begin].rstrip(' "“')[-1:] in ".!?\n:"
        if possessive:
            word, end = genitive, text.index(after, end) + len(after)
        elif before in _PREPOSITIONS:
            word = objective
        elif starts or before in _SUBJECT_BEFORE or (entity.kind == "thing" and after in _AFTER):
            word = subject
        else:
            return None
    elif nouns:
        adjective = rng.choice(entity.adjectives) + " " if entity.adjectives and rng.random() < ADJECTIVE_SHARE else ""
        word = f"the {adjective}{rng.choice(nouns)}"
        starts = begin == 0 or text[:begin].rstrip(' "“')[-1:] in ".!?\n:"
    else:
        return None
    return Place(begin, end, mention.number, word[0].upper() + word[1:] if starts else word)


def replaced_passage(
    text: str, span: tuple[int, int], entities: Sequence[Entity], rng: random.Random, name: str
) -> Document | None:
    """The passage with some names replaced, all its mentions given, as gold; None where nothing could be replaced."""
    start, stop = span
    while start < stop and text[start].isspace():
        start += 1
    mentions = sorted(
        (Place(b, e, number) for number, x in enumerate(entities) for b, e in x.mentions if start <= b < e <= stop),
        key=lambda place: (place.begin, -place.end, place.number),
    )
    kept: list[Place] = []
    # What was mentioned so far, the latest last, and where each ended.
    order: list[int] = []
    ends: dict[int, int] = {}
    covered, edits = start, 0
    for before, mention in pairwise([None, *mentions]):
        assert mention is not None
        if mention.begin < covered or (before and (before.begin, before.end) == (mention.begin, mention.end)):
            # Inside a place that was replaced, or what another entity has already.
            continue
        number, entity = mention.number, entities[mention.number]
        known = number in ends
        rivals = [entities[other] for other in order if other != number]
        later = [entities[other] for other in order[order.index(number) + 1 :]] if known else rivals
        recent = known and not any(other.kind == entity.kind for other in later)
        nouns = [noun for noun in entity.nouns if recent or not any(noun in rival.nouns for rival in rivals)]
        near = known and text[ends[number] : mention.begin].count(". ") <= 2
        alone = not any(mention.overlaps(other) for other in mentions)
        edit = None
        if alone and not entity.types & NOT_REPLACED and rng.random() < (_share(entity) if known else FIRST_SHARE):
            pronoun = near and recent and rng.random() < PRONOUN_SHARE
            edit = replacement(text, mention, entity, rng, nouns=nouns, pronoun=pronoun)
        if edit and edit.begin >= covered:
            covered, edits = edit.end, edits + 1
            kept.append(edit)
        else:
            kept.append(mention)
        ends[number] = mention.end
        order = [*(other for other in order if other != number), number]
    return _written(text, (start, stop), kept, entities, name) if edits else None


def _share(entity: Entity) -> float:
    return PLACE_SHARE if entity.types & {"gpe0", "gpe1", "gpe2"} else LATER_SHARE


def _written(
    text: str, span: tuple[int, int], kept: Sequence[Place], entities: Sequence[Entity], name: str
) -> Document:
    """The text with the new words, and all mentions there. Mentions may nest, new words not."""
    parts, position = [], span[0]
    moves: list[tuple[int, int]] = []
    for place in kept:
        if place.words is not None:
            parts += [text[position : place.begin], place.words]
            moves.append((place.begin, len(place.words) - (place.end - place.begin)))
            position = place.end
    new_text = "".join([*parts, text[position : span[1]]])
    clusters: dict[int, list[Mention]] = {}
    for place in kept:
        words = text[place.begin : place.end] if place.words is None else place.words
        begin = place.begin - span[0] + sum(move for where, move in moves if where < place.begin)
        clusters.setdefault(place.number, []).append(Mention(begin, begin + len(words), words))
    gold = [Cluster(tuple(mentions), entities[number].link) for number, mentions in clusters.items()]
    offsets = sorted(mention.offsets for cluster in gold for mention in cluster.mentions)
    return Document(new_text, name, mentions=offsets, clusters=gold, mention_scope="all")


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the passages of the training articles that are not for development, or of those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="DWIE in its official JSON, with content")
    parser.add_argument("--descriptions", type=Path, help='{"entity", "key", "text"} lines, .jsonl[.gz]')
    parser.add_argument("--development", action="store_true", help="the development articles instead, to measure")
    parser.add_argument("--copies", type=int, default=1, help="passages of every article are drawn that often")
    parser.add_argument("--words", type=int, nargs=2, default=(25, 150), metavar=("FEWEST", "MOST"))
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="documents, .jsonl[.gz]")
    options = parser.parse_args(arguments)
    texts = (
        {} if options.descriptions is None else {d["entity"]: d["text"] for _, d in read_jsonl(options.descriptions)}
    )
    train, development = development_split(list(read_dwie(options.data_dir, "train", strict=False)))
    folder = options.data_dir / "annos_with_content"
    documents = []
    for document in development if options.development else train:
        article = load_article((folder if folder.is_dir() else options.data_dir) / f"{document.id}.json")
        if not isinstance(article.get("relations"), list):
            raise CorpusError(f"{document.id}: field 'relations' is missing; the official annotation has it")
        entities = entities_of_article(article, texts)
        for copy in range(options.copies):
            rng = random.Random(f"{options.seed} {document.id} {copy}")
            for part, span in enumerate(passages(document.text, rng, tuple(options.words))):
                passage = replaced_passage(document.text, span, entities, rng, f"{document.id}.{copy}.{part}")
                if passage is not None:
                    documents.append(passage)
    print(f"{write_jsonl(options.out, documents)} passages")


if __name__ == "__main__":
    main()
