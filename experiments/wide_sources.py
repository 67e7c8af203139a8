"""What each public source says about entities: names, other names with how often, Wikidata ids, descriptions, types."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hf_corefel.corpora import read_docred, read_gum
from hf_corefel.kb.normal_form import folded_form, normal_form
from hf_corefel.kb.readers import read_jsonl, read_lines
from hf_corefel.kb.short_forms import lead_initialisms
from hf_corefel.utils.word_lists import SMALL_WORDS
from hf_corefel.wikipedia.coarse_types import (
    type_by_description,
    type_by_hints,
    type_by_lead,
)
from hf_corefel.wikipedia.dumps import read_pages, read_site
from hf_corefel.wikipedia.facts import page_facts

# A namesake's share of a name that has no counts grows with how well known it is.
KNOWN, WELL_KNOWN, POPULAR = 1.0, 3.0, 10.0
# Every second of the 200 coded paragraphs of DocRED gives names, the others are a measure.
DOCRED_TRAIN = slice(0, None, 2)
# A title whose letter case had to be guessed is taken when the guess is right in so many cases of a hundred or more.
SURE_OF_CASE = 0.65
# First words that begin other names than persons' far more often, and last words that persons hardly have.
NO_FIRST_NAMES = frozenset(
    ["The", "United", "Northern", "Southern", "La", "Le", "Al", "El", "St.", "San", "New", "Grand", "Green", "Warner"]
)
NO_LAST_NAMES = frozenset(
    [
        "Records",
        "University",
        "Airport",
        "County",
        "Park",
        "Station",
        "Award",
        "Awards",
        "Party",
        "Company",
        "Group",
        "Hall",
        "School",
        "College",
        "Church",
        "River",
        "Lake",
        "Island",
        "Islands",
        "Street",
        "Bridge",
        "Tower",
        "House",
        "Castle",
        "Museum",
        "Library",
        "Institute",
        "Hospital",
        "Club",
        "Band",
        "Festival",
        "Cup",
        "League",
        "Stadium",
        "Arena",
        "Center",
        "Centre",
        "Prize",
        "Theatre",
        "Theater",
        "Show",
        "Series",
        "Trophy",
        "Day",
        "Foundation",
        "Council",
        "Committee",
        "Commission",
        "Championship",
        "Games",
        "District",
        "City",
        "Town",
        "Village",
        "Province",
        "State",
        "Empire",
        "Republic",
        "Township",
        "Municipality",
        "Association",
        "Capital",
        "Beach",
        "Bay",
        "Racing",
        "Cars",
        "Brothers",
        "Bros.",
    ]
)
PARTICLES = frozenset(
    ["von", "van", "de", "der", "den", "del", "della", "di", "da", "dos", "bin", "al", "el", "la", "le"]
)


@dataclass
class Source:
    """What one source adds.

    Attributes:
        name: Its name in the table and in the provenance.
        licence: Its licence.
        names: How strongly, as pseudo counts, a surface stands for an entity: ``{(surface, entity): strength}``.
        wikidata: Wikidata ids by entity.
        descriptions: What entities are.
        types: Coarse types of entities.
        redirects: Other titles of entities.
    """

    name: str
    licence: str
    names: dict[tuple[str, str], float] = field(default_factory=dict)
    wikidata: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)

    def add(self, surface: str, entity: str, strength: float) -> None:
        """Note that a surface stands for an entity; of two strengths the higher stays."""
        key = (normal_form(surface), entity)
        if key[0]:
            self.names[key] = max(strength, self.names.get(key, 0.0))

    def describe(self) -> dict[str, Any]:
        """Return what a knowledge base says about the source."""
        surfaces = {surface for surface, _ in self.names}
        counts = {"entities": len(self.entities), "surfaces": len(surfaces)}
        return {"name": self.name, "licence": self.licence, **counts}

    @property
    def entities(self) -> set[str]:
        """The entities that it names."""
        return {entity for _, entity in self.names}


def title_of(entity: str) -> str:
    """Return a title as texts write it."""
    return entity.replace("_", " ")


def without_parenthesis(title: str) -> str:
    """Return a title without what tells it from its namesakes."""
    return re.sub(r"\s*\([^()]*\)$", "", title)


def freebase(path: Path) -> Source:
    """Entities of FB15k with Wikidata's label, aliases, description and id, under the title of their Wikipedia page."""
    source = Source("FB15k and Wikidata", "MIT; Wikidata CC0")
    for item in json.loads(gzip.decompress(path.read_bytes())).values():
        address = item.get("wikipedia")
        if not address:
            continue
        entity = unquote(address.rpartition("/wiki/")[2]).replace(" ", "_")
        source.add(title_of(entity), entity, WELL_KNOWN)
        source.add(item["label"], entity, WELL_KNOWN)
        for alias in item["alternatives"]:
            source.add(alias, entity, KNOWN)
        source.wikidata[entity] = item["wikidata_id"]
        if item.get("description"):
            source.descriptions[entity] = item["description"]
            found = type_by_description(item["description"])
            if found:
                source.types[entity] = found
    return source


def titles(path: Path) -> Source:
    """Titles of YAGO3-10 and DBP15K; one that both have is better known than others."""
    source = Source("YAGO3-10 and DBP15K titles", "YAGO CC BY 3.0; DBpedia CC BY-SA 3.0")
    for _, line in read_lines(path):
        entity, _, listed = line.partition("\t")
        # Some are percent-encoded; a bare per cent sign stays.
        entity = unquote(entity)
        source.add(title_of(entity), entity, WELL_KNOWN if "," in listed else KNOWN)
        found = type_by_hints(title_of(entity), (), ())
        if found:
            source.types[entity] = found
    return source


def congress(path: Path) -> Source:
    """Members of the Congress of the United States by first, nick- and last name."""
    source = Source("Members of the US Congress", "CC0")
    lines = read_lines(path)
    next(lines)
    for _, line in lines:
        entity, first, _, last, nickname = [*line.split("\t"), "", "", ""][:5]
        source.add(title_of(entity), entity, KNOWN)
        for given in filter(None, (first, nickname)):
            source.add(f"{given} {last}", entity, KNOWN)
        source.types[entity] = "person"
    return source


def docred(path: Path, titles_of: dict[str, str]) -> Source:
    """What DocRED's coded mentions stand for, of every second document; an item without a title is ``wikidata:Q42``."""
    source = Source("DocRED coded mentions (every second document)", "MIT; text CC BY-SA")
    counts: Counter[tuple[str, str]] = Counter()
    for document in list(read_docred(path, strict=False))[DOCRED_TRAIN]:
        for cluster in document.clusters or []:
            if cluster.entity is None:
                continue
            entity = titles_of.get(cluster.entity, f"wikidata:{cluster.entity}")
            source.wikidata[entity] = cluster.entity
            for mention in cluster.mentions:
                # The tokens are joined by blanks: "Won - yong".
                counts[(re.sub(r" (?=[-.,')])|(?<=[-(]) ", "", mention.text), entity)] += 1
    for (surface, entity), count in counts.items():
        source.add(surface, entity, float(count))
    return source


def gum(folder: Path) -> Source:
    """What the linked names of GUM's training documents stand for, and Wikidata ids of titles."""
    source = Source("GUM training links", "CC BY and others, see GUM; Wikidata CC0")
    counts: Counter[tuple[str, str]] = Counter()
    for document in read_gum(folder, "train", strict=False):
        for cluster in document.clusters or []:
            for mention in cluster.mentions if cluster.entity is not None else ():
                if mention.text[:1].isupper():
                    counts[(mention.text, str(cluster.entity))] += 1
    for (surface, entity), count in counts.items():
        source.add(surface, entity, float(count))
    return source


def gum_wikidata(folder: Path) -> dict[str, str]:
    """Wikidata ids by title, as GUM lists them."""
    rows = (line.split("\t") for _, line in read_lines(folder / "wiki_map.tab") if not line.startswith("#"))
    return {row[1].replace(" ", "_"): row[2] for row in rows if len(row) > 2 and row[2].startswith("Q")}


class LetterCase:
    """Puts the letter case back into titles that were lower-cased, as other titles, or texts, write their words."""

    def __init__(self, known: Iterable[str], texts: Iterable[str]) -> None:
        self._texts: dict[str, Counter[str]] = defaultdict(Counter)
        for text in texts:
            for word in re.findall(r"[^\W\d_]+", text):
                if not word.islower():
                    self._texts[word.lower()][word] += 1
        self._first: dict[str, Counter[str]] = defaultdict(Counter)
        self._later: dict[str, Counter[str]] = defaultdict(Counter)
        for entity in known:
            words = without_parenthesis(title_of(entity)).split()
            for i, word in enumerate(words):
                (self._later if i else self._first)[word.lower()][word] += 1

    def restore(self, title: str) -> tuple[str, float]:
        """Return a title in its likely letter case, and a score from 0 to 1 of how sure that is."""
        words, sure = [], 1.0
        for i, word in enumerate(title.split()):
            first, later = self._first[word], self._later[word]
            seen = first + later if i == 0 else later or first
            capital = Counter({form: n for form, n in seen.items() if i or form[:1] == form[:1].upper()})
            if not capital:
                # "LinkedIn", where texts mostly write a word so; "Bezos" otherwise.
                form, count = (self._texts.get(word) or Counter()).most_common(1)[0] if word in self._texts else ("", 0)
                usual = form.isupper() or 2 * count <= self._texts[word].total() if count else True
                words.append(word[:1].upper() + word[1:] if usual else form)
                sure *= 0.7 if i else 0.9
                continue
            form, count = capital.most_common(1)[0]
            words.append(form)
            sure *= 0.8 if i and not later else (count + 0.5) / (capital.total() + 1)
        return " ".join(words), sure


def popular_titles(path: Path) -> list[str]:
    """The lower-cased titles of popular articles."""
    return [line for _, line in read_lines(path)]


def restored_titles(
    popular: Iterable[str], known: set[str], surfaces: set[str], common: set[str], texts: Iterable[str]
) -> Source:
    """Names among the popular titles that no other source has, in the letter case that other titles' words have.

    Phrases that keep a small letter ("odds ratio") are no names, and neither is a single word that texts write small. A
    name that already stands for something is left alone: it most likely is another title of that.

    Args:
        popular: Lower-cased titles.
        known: The entities of other sources.
        surfaces: What they are called.
        common: Words that texts write in small letters.
        texts: Texts that show how words are written.
    """
    source = Source("popular titles, letter case restored", "MIT")
    case = LetterCase(known, texts)
    lowered = {folded_form(title_of(entity)) for entity in known} | {folded_form(surface) for surface in surfaces}
    for title in popular:
        if folded_form(title) in lowered or title.startswith(("list of ", "lists of ", "deaths in ", "index of ")):
            continue
        restored, sure = case.restore(title)
        words = without_parenthesis(restored).split()
        named = all(
            word[:1] != word[:1].lower() or word.lower() in SMALL_WORDS or not word[:1].isalpha() for word in words
        )
        if sure >= SURE_OF_CASE and named and words and not (len(words) == 1 and words[0].lower() in common):
            source.add(restored, restored.replace(" ", "_"), POPULAR)
    return source


def common_words(texts: Iterable[str]) -> set[str]:
    """Return the words that texts write in small letters."""
    return {word for text in texts for word in re.findall(r"(?<!\w)[^\W\d_A-Z][^\W\d_]*", text) if word.islower()}


def dump_excerpts(paths: Iterable[Path]) -> Source:
    """Anchors with their counts, titles, redirects, initialisms and types of excerpts of Wikipedia dumps."""
    source = Source("Wikipedia dump excerpts", "CC BY-SA 4.0")
    counts: Counter[tuple[str, str]] = Counter()
    for path in paths:
        site = read_site(path)
        for page in read_pages(path):
            facts = page_facts(page, site)
            entity = facts.title.replace(" ", "_")
            if facts.kind == "redirect" and facts.redirect:
                source.redirects[entity] = facts.redirect.replace(" ", "_")
                counts[(facts.title, source.redirects[entity])] += 1
            elif facts.kind in ("article", "disambiguation"):
                counts.update((surface, target.replace(" ", "_")) for surface, target in facts.links)
            if facts.kind == "article":
                counts.update((surface, entity) for surface in (facts.title, *facts.initialisms))
                if facts.type:
                    source.types[entity] = facts.type
    for (surface, target), count in counts.items():
        # A link in small letters is a word that is explained, not a name.
        if not surface.islower():
            source.add(surface, source.redirects.get(target, target), float(count))
    return source


def lead_paragraphs(path: Path) -> Source:
    """Initialisms and types that lead paragraphs of vital articles give; nothing of their text is kept."""
    source = Source("vital articles' leads (initialisms, types)", "CC BY-SA 4.0")
    for _, data in read_jsonl(path):
        for form in lead_initialisms(data["entity"], data["text"]):
            source.add(form.surface, data["entity"], WELL_KNOWN * form.discount)
        found = type_by_lead(data["text"])
        if found:
            source.types[data["entity"]] = found
    return source


def graph_types(path: Path) -> dict[str, str]:
    """Types of entities as PPRforNED's table has them: persons, places and organizations."""
    kinds = {"PER": "person", "GPE": "place", "ORG": "organization"}
    lines = (data for _, data in read_jsonl(path))
    return {data["entity"]: kinds[data["type"]] for data in lines if data.get("type") in kinds}


def first_names(sources: Iterable[Source], path: Path) -> set[str]:
    """Return the first words of at least two persons' names, as congress' table and the typed entities have them."""
    lines = read_lines(path)
    next(lines)
    counts = Counter(line.split("\t")[1] for _, line in lines)
    for source in sources:
        counts.update(entity.split("_")[0] for entity, kind in source.types.items() if kind == "person")
    return {name for name, count in counts.items() if count >= 2 and len(name) > 1 and name not in NO_FIRST_NAMES}


def person_title(title: str, given: set[str]) -> bool:
    """Whether a title looks like a person's full name: a known first name, then one to three capitalised words."""
    words = title.split("_")
    if not 2 <= len(words) <= 4 or words[0] not in given or words[-1] in NO_LAST_NAMES or re.search(r"[,(&:\d]", title):
        return False
    return all(word[:1].isupper() or word in PARTICLES for word in words)
