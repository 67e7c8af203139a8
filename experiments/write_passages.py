"""Make training passages of what DWIE's articles do not show, as JSON lines of gold documents.

    python experiments/write_passages.py --kind stories --knowledge-base kb/ --data-dir path/to/DWIE \
        --last-names congress.tsv.gz --out stories.jsonl
    python experiments/write_passages.py --kind honorifics --data-dir path/to/DWIE --out honorifics.jsonl
    python experiments/write_passages.py --kind forms --data-dir path/to/DWIE --out forms.jsonl
    python experiments/write_passages.py --kind context --knowledge-base kb/ --descriptions wiki_vital_en.jsonl.gz \
        --dump enwiki.xml.bz2 --out context.jsonl
    python experiments/write_passages.py --kind kinds --knowledge-base kb/ --aliases dwie_alias.jsonl.gz \
        --out kinds.jsonl
    python experiments/write_passages.py --kind acronyms --knowledge-base kb/ --data-dir path/to/DWIE \
        --out acronyms.jsonl
    python experiments/write_passages.py --kind namesakes --knowledge-base kb/ --data-dir path/to/DWIE \
        --aliases dwie_alias.jsonl.gz --out namesakes.jsonl

- ``stories``: strangers by first names, last names and titles, in sentences and with names written for this purpose;
- ``honorifics``: DWIE's training articles with "Mr.", "Dr." or a role before later last names;
- ``forms``: DWIE's training articles in lower case, in capitals, in short lines, with Markdown, as lists;
- ``kinds``: rivers, clubs and universities that are called as a city is, in sentences written for this purpose;
- ``acronyms``: DWIE's training articles with acronyms that are spelled like ordinary words, such as WHO;
- ``namesakes``: two people, a club and its city, or a stranger and a town, of one name in one text;
- ``context``: Wikipedia's sentences about things whose names have several meanings; only those mentions are given.

Test articles are left out, and those for development. The same options give the same passages.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

import replace_names
from acronym_passages import acronym_passages
from context_passages import contexts_of_descriptions, contexts_of_dump
from kind_passages import kind_passages
from namesake_passages import namesake_passages
from passage_edits import TITLE, Edit, edited, in_another_form, part_of
from stories import PRONOUNS, read_world, stories

from hf_corefel import Cluster, Document, KnowledgeBase, Mention
from hf_corefel.corpora import development_split, read_dwie
from hf_corefel.corpora.dwie import load_article
from hf_corefel.formats import write_jsonl
from hf_corefel.kb import read_jsonl

ROLE_OF_TYPE = {
    "head_of_state": "President", "head_of_gov": "Prime Minister", "minister": "Minister", "sport_coach": "Coach",
    "politician": "Senator", "judge": "Judge", "military": "General", "researcher": "Professor",
}  # fmt: skip
# The titles of real people, by gender where it is known.
COMMON_TITLES = {
    "male": ("Mr.", "Mr.", "Mr.", "Mr", "Dr.", "Prof."),
    "female": ("Mrs.", "Ms.", "Ms.", "Ms", "Dr.", "Prof."),
    "thing": ("Mr.",),
    "": ("Dr.", "Prof.", "Mr."),
}
# Before how many later last names a title is put, and how many of these titles are roles.
TITLE_SHARE, ROLE_SHARE = 0.75, 0.2
READING = Path(__file__).parent / "reading"
KINDS = ("stories", "honorifics", "forms", "context", "kinds", "acronyms", "namesakes")


def reserved_names() -> set[str]:
    """Return the names in the measuring texts of the test split, and all words of those that have titles there."""
    names = set()
    for file, field in (("first_names", "names"), ("honorifics", "forms")):
        for line in (READING / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["split"] == "test":
                names |= {word for name in row[field] for word in (name, *name.split())}
    return names


def reserved_readings() -> set[tuple[str, str]]:
    """Return the names with their entities that the measuring texts of the test split ask for."""
    rows = map(json.loads, (READING / "ambiguous.jsonl").read_text(encoding="utf-8").splitlines())
    return {(row["name"], entity) for row in rows if row["split"] == "test" for entity in row["entities"]}


def reserved_acronyms() -> set[str]:
    """Return the acronyms that the measuring texts of the test split ask for."""
    rows = map(json.loads, (READING / "acronyms.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["name"] for row in rows if row["split"] == "test"}


def reserved_namesakes() -> set[str]:
    """Return the words of the names that two have in the measuring texts of the test split."""
    rows = map(json.loads, (READING / "namesakes.jsonl").read_text(encoding="utf-8").splitlines())
    marked = (re.findall(r"\[\w ([^\]]+)\]", row["text"]) for row in rows if row["split"] == "test")
    return {word for names in marked for name in names for word in name.split()}


def training_articles(folder: Path) -> Iterator[tuple[Document, list[replace_names.Entity]]]:
    """Yield DWIE's training articles that are not for development, and what is known of the people and things there."""
    articles = folder / "annos_with_content"
    train, _ = development_split(list(read_dwie(folder, "train", strict=False)))
    for document in train:
        article = load_article((articles if articles.is_dir() else folder) / f"{document.id}.json")
        yield document, replace_names.entities_of_article(article, {})


def known_people(folder: Path, kb: KnowledgeBase) -> list[tuple[str, str, str, str]]:
    """Return first name, last name, gender and entity of people in the training articles whose full name is clear."""
    people = {}
    for document, entities in training_articles(folder):
        for entity in entities:
            names = {document.text[begin:end] for begin, end in entity.mentions}
            for name in sorted(names):
                first, _, last = name.partition(" ")
                if (
                    last.isalpha()
                    and entity.kind in PRONOUNS
                    and entity.link is not None
                    and entity.link == clear_entity(kb, name)
                ):
                    people[entity.link] = (first, last, entity.kind, entity.link)
    return [people[link] for link in sorted(people)]


def last_names(path: Path) -> list[str]:
    """Return the different last names of a table of people, those of one word."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return sorted({row["last"] for row in csv.DictReader(file, delimiter="\t") if row["last"].isalpha()})


def clear_entity(kb: KnowledgeBase, surface: str) -> str | None:
    """Return the entity that a surface stands for with a prior of at least 0.6, if any."""
    best = max(kb.candidates(surface), key=lambda candidate: candidate.prior, default=None)
    return best.entity if best is not None and best.prior >= 0.6 else None


def role_of(entity: replace_names.Entity) -> str | None:
    """Return the title of the office that an entity holds, if any."""
    if entity.nouns[:1] == ("chancellor",):
        return "Chancellor"
    return next((words for kind, words in ROLE_OF_TYPE.items() if kind in entity.types), None)


def titled(
    passage: Document, entities: Sequence[replace_names.Entity], article: str, start: int, rng: random.Random
) -> Document | None:
    """Return the passage with titles before last names; None where there is no place for one.

    Args:
        passage: Its mentions are annotated as names.
        entities: Those of the whole article.
        article: The text of the whole article.
        start: Where the passage begins there.
        rng: Draws the titles and their places.
    """
    all_offsets = [m.offsets for cluster in passage.clusters or [] for m in cluster.mentions]
    edits, roles = [], []
    for entity in entities:
        if "person" not in entity.types:
            continue
        places = sorted(
            (b - start, e - start) for b, e in entity.mentions if start <= b and e - start <= len(passage.text)
        )
        full = max((article[b:e] for b, e in entity.mentions), key=len)
        if " " not in full:
            continue
        role = role_of(entity)
        honorific = rng.choice(COMMON_TITLES[entity.kind or ""])
        title = role if role is not None and rng.random() < ROLE_SHARE else honorific
        for begin, end in places:
            alone = not any(b < end and begin < e for b, e in all_offsets if (b, e) != (begin, end))
            before = re.search(r"(\S+)\s*$", passage.text[:begin])
            follows_name = before is not None and (before.group(1)[0].isupper() and before.group(1)[-1].isalnum())
            starts = before is None or before.group(1)[-1] in '.!?"“:' or "\n" in passage.text[before.end(1) : begin]
            after_name = passage.text[end : end + 1]
            if passage.text[begin:end] != full.split()[-1] or not alone or after_name in ("-", "’s-") or begin < 0:
                continue
            if (follows_name and not starts) or (before and TITLE.fullmatch(before.group(1))):
                continue
            if (before and before.group(1).lower() in ("the", "a", "an")) or rng.random() >= TITLE_SHARE:
                continue
            edits.append(Edit(begin, begin, f"{title} "))
            if title == role and passage.mention_scope == "named":
                roles.append((begin, title))
    if not edits:
        return None
    changed = edited(passage, edits)
    clusters = list(changed.clusters or [])
    for begin, title in roles:
        # The role stands where the name was before the edits to its left moved it.
        place = begin + sum(len(edit.words) for edit in edits if edit.begin < begin)
        mention = Mention(place, place + len(title), title)
        same = next(
            (i for i, c in enumerate(clusters) if c.entity is None and {m.text for m in c.mentions} == {title}), None
        )
        if same is None:
            clusters.append(Cluster((mention,)))
        else:
            clusters[same] = Cluster((*clusters[same].mentions, mention))
    return Document(changed.text, changed.id, clusters=clusters, mention_scope=passage.mention_scope)


def passages_of_articles(
    folder: Path, kind: str, copies: int, words: tuple[int, int], seed: int, scope: str = "named"
) -> Iterator[Document]:
    """Yield passages of the training articles with titles, or in other forms; for acronyms unchanged in both scopes."""
    for document, entities in training_articles(folder):
        for copy in range(copies):
            rng = random.Random(f"{seed} {kind} {document.id} {copy}")
            for number, (begin, end) in enumerate(replace_names.passages(document.text, rng, words)):
                begin += len(document.text[begin:end]) - len(document.text[begin:end].lstrip())
                passage = part_of(document, begin, end, f"{document.id}.{copy}.{number}")
                if not passage.clusters or len(passage.text.split()) > words[1]:
                    continue
                scoped = {found.mention_scope: found for found in both_scopes(passage, entities, begin)}
                if kind == "acronyms":
                    yield from scoped.values()
                    continue
                if scope not in scoped:
                    continue
                passage = scoped[scope]
                changed = (
                    titled(passage, entities, document.text, begin, rng)
                    if kind == "honorifics"
                    else in_another_form(passage, rng)
                )
                if changed is not None:
                    yield changed


def both_scopes(passage: Document, entities: Sequence[replace_names.Entity], start: int) -> Iterator[Document]:
    """Yield the passage under the scope ``named``, and its things that are entities under that scope.

    Args:
        passage: Its mentions are annotated as names.
        entities: Those of the whole article.
        start: Where the passage begins there.
    """
    yield passage
    things = {(b - start, e - start) for entity in entities if "entity" in entity.types for b, e in entity.mentions}
    clusters = [c for c in passage.clusters or [] if any(m.offsets in things for m in c.mentions)]
    if clusters:
        yield replace(passage, id=f"{passage.id}.entities", clusters=clusters, mention_scope="entities")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the passages of one kind, in an order drawn once, so that the first ones are a fair sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--data-dir", type=Path, help="DWIE in its official JSON, with content")
    parser.add_argument("--knowledge-base", type=Path, help="folder of a saved KnowledgeBase")
    parser.add_argument("--descriptions", type=Path, help='{"entity", "key", "text"} lines, .jsonl[.gz]')
    parser.add_argument("--aliases", type=Path, help="[surface, [[entity, prior], …]] lines, .jsonl[.gz]")
    parser.add_argument("--dump", type=Path, nargs="*", default=[], help="Wikipedia pages, .xml.bz2")
    parser.add_argument("--last-names", type=Path, help="tab-separated with a column `last`, .tsv.gz")
    parser.add_argument(
        "--mention-scope", choices=("named", "entities"), default="named", help="of stories, honorifics and forms"
    )
    parser.add_argument("--count", type=int, default=2000, help="how many stories, or sentences of kinds")
    parser.add_argument("--copies", type=int, default=1, help="passages of every article are drawn that often")
    parser.add_argument("--limit", type=int, help="at most that many passages")
    parser.add_argument("--words", type=int, nargs=2, default=(15, 150), metavar=("FEWEST", "MOST"))
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="documents, .jsonl[.gz]")
    options = parser.parse_args(arguments)
    kb = None if options.knowledge_base is None else KnowledgeBase.from_pretrained(options.knowledge_base)
    if kb is None and options.kind not in ("honorifics", "forms"):
        parser.error("--knowledge-base: it is needed to tell what a name may stand for")
    documents: list[Document] = []
    if options.kind in ("stories", "namesakes"):
        assert kb is not None
        known = known_people(options.data_dir, kb) if options.data_dir else []
        world = read_world(
            partial(clear_entity, kb),
            lambda name: bool(kb.candidates(name)),
            known,
            last_names(options.last_names) if options.last_names else (),
            reserved_names(),
        )
        if options.kind == "stories":
            documents += stories(world, options.count, options.seed, options.mention_scope)
        else:
            surfaces = [surface for _, (surface, *_) in read_jsonl(options.aliases)]
            kept = reserved_readings(), reserved_namesakes()
            documents += namesake_passages(world, surfaces, kb, options.count, options.seed, *kept)
    elif options.kind == "kinds":
        assert kb is not None
        surfaces = [surface for _, (surface, *_) in read_jsonl(options.aliases)]
        documents += kind_passages(surfaces, kb, options.count, options.seed, reserved_readings())
    elif options.kind == "context":
        assert kb is not None
        if options.descriptions is not None:
            documents += contexts_of_descriptions(options.descriptions, kb, options.seed)
        for dump in options.dump:
            documents += contexts_of_dump(dump, kb, options.words[1])
    else:
        words = (options.words[0], options.words[1])
        scope = options.mention_scope
        made = passages_of_articles(options.data_dir, options.kind, options.copies, words, options.seed, scope)
        if options.kind == "acronyms":
            assert kb is not None
            made = acronym_passages(list(made), partial(clear_entity, kb), options.seed, reserved_acronyms())
        documents += made
    random.Random(f"{options.seed} order").shuffle(documents)
    print(f"{write_jsonl(options.out, documents[: options.limit])} passages")


if __name__ == "__main__":
    main()
