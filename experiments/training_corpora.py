"""Put the corpora that are there together as training and development documents, each under its own convention.

    python experiments/training_corpora.py --knowledge_base KB --dwie D --aida A --gum G --docred R --litbank L \
        --gap P --wikipedia dump.xml.bz2 --passages passages.jsonl --out corpora/

writes ``train.jsonl`` and a ``dev.NAME.jsonl`` for each corpus, documents as `Document.to_dict()` gives them. The
mention scope says what is wanted: ``named`` in DWIE and AIDA, with demonyms, roles, dates; ``entities`` in DocRED,
Wikipedia's links and copies of DWIE and GUM without these; ``all`` in GUM, LitBank and GAP. ``Document.annotated``
says what is there.

What is held out: every tenth training article of DWIE, testa and testb of AIDA, dev and test of GUM, every second
linked document of DocRED, every fifth file of LitBank, GAP's development set. Their test sets are not read.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from wikipedia_anchors import anchored_documents

from hf_corefel import Cluster, Document, KnowledgeBase, Mention
from hf_corefel.corpora import (
    development_split,
    read_aida,
    read_conll2012,
    read_docred,
    read_dwie,
    read_gum,
)
from hf_corefel.corpora.dwie import load_article
from hf_corefel.documents import AnnotatedLayers
from hf_corefel.formats import read_jsonl
from hf_corefel.training.cutting import cut_document

MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
DATES = re.compile(
    rf"(?:(?:mid|late|early)[- ])?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b.*|.*\b(?:{MONTHS})\b.*\d.*|{MONTHS}"
    r"|[\d\s.,:/%$£€-]+s?",
    re.IGNORECASE,
)
# Documents of these have thousands of words, all of whose mentions are annotated: whole ones take too much memory.
MAX_WORDS = {"gum": 500, "gum.entities": 500, "litbank": 500}


def main() -> None:
    """Read the corpora that are named and write the documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("dwie", "aida", "gum", "docred", "litbank", "gap"):
        parser.add_argument(f"--{name}", type=Path, help=f"folder of {name}")
    parser.add_argument("--knowledge_base", required=True, help="tells the entities of Wikidata items")
    parser.add_argument("--wikipedia", type=Path, nargs="*", default=[], help="dumps, whose links are trained on")
    parser.add_argument("--passages", type=Path, nargs="*", default=[], help="further training documents, .jsonl")
    parser.add_argument("--copies", nargs="*", default=[], metavar="CORPUS=N", help="how often; of 0.5 a random half")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    train, held = read_corpora(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    copies = {name: float(number) for name, _, number in (item.partition("=") for item in arguments.copies)}
    if unknown := set(copies) - set(train):
        parser.error(f"--copies: {', '.join(sorted(unknown))}; there are {', '.join(train)}")
    for name, read in train.items():
        parts = [part for document in read for part in cut_document(document, MAX_WORDS.get(name))[0]]
        train[name] = mixed(parts, copies.get(name, 1), arguments.seed)
    write(arguments.out / "train.jsonl", (tagged(d, name) for name, read in train.items() for d in read))
    for name, documents in held.items():
        write(arguments.out / f"dev.{name}.jsonl", documents)
    print(table(train, held))


def read_corpora(arguments: argparse.Namespace) -> tuple[dict[str, list[Document]], dict[str, list[Document]]]:
    """Return the documents to train on and those that are held out, by corpus."""
    kb = KnowledgeBase.from_pretrained(arguments.knowledge_base)
    demonyms = demonyms_of(arguments.dwie)
    train: dict[str, list[Document]] = {}
    held: dict[str, list[Document]] = {}
    if arguments.dwie:
        train["dwie"], held["dwie"] = dwie(arguments.dwie)
        train["dwie.entities"] = entities_of_dwie(train["dwie"], arguments.dwie)
    if arguments.aida:
        read = [list(read_aida(arguments.aida, s, nil_clusters="surfaces", strict=False)) for s in ("train", "testa")]
        train["aida"], held["aida"] = ([scoped(d, "named") for d in documents] for documents in read)
    if arguments.gum:
        for split, kept in (("train", train), ("dev", held)):
            kept["gum"] = [scoped(d, "all") for d in read_gum(arguments.gum, split, strict=False)]
            named = read_gum(arguments.gum, split, mention_scope="named", strict=False)
            kept["gum.entities"] = [without(scoped(d, "entities"), demonyms) for d in named]
    if arguments.docred:
        train["docred"], held["docred"] = docred(arguments.docred, kb, demonyms)
    if arguments.litbank:
        train["litbank"], held["litbank"] = litbank(arguments.litbank)
    if arguments.gap:
        train["gap"] = list(gap(arguments.gap / "gap-validation.tsv"))
        held["gap"] = list(gap(arguments.gap / "gap-development.tsv"))
    if arguments.wikipedia:
        train["wikipedia"] = list(anchored_documents(arguments.wikipedia, kb))
    for path in arguments.passages:
        if path.stem in train:
            raise SystemExit(f"--passages: {path}: there are other documents called {path.stem}; rename the file")
        train[path.stem] = list(read_jsonl(path))
    return train, held


def mixed(documents: list[Document], copies: float, seed: int) -> list[Document]:
    """Return the documents so many times, and of a fraction that share of them, chosen at random."""
    whole, rest = int(copies), copies - int(copies)
    return documents * whole + random.Random(seed).sample(documents, round(rest * len(documents)))


def tagged(document: Document, name: str) -> Document:
    """Return the document with the corpus before its id, so that a mixture can choose by it."""
    return replace(document, id=f"{name}:{document.id}")


def write(path: Path, documents: Iterable[Document]) -> None:
    """Write documents as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps(document.to_dict(), ensure_ascii=False) + "\n")


def scoped(document: Document, scope: str) -> Document:
    """Return the document under a mention scope."""
    return replace(document, mention_scope=scope)


def dwie(folder: Path) -> tuple[list[Document], list[Document]]:
    """Return DWIE's training articles without every tenth, and those."""
    train, held = development_split(list(read_dwie(folder, "train", strict=False)))
    return [scoped(d, "named") for d in train], [scoped(d, "named") for d in held]


def types_of_dwie(folder: Path) -> Iterator[tuple[str, list[tuple[set[str], list[tuple[int, int, str]]]]]]:
    """Yield each article's id and, concept by concept, its types and mentions."""
    articles = folder / "annos_with_content"
    for path in sorted((articles if articles.is_dir() else folder).glob("DW_*.json")):
        article = load_article(path)
        mentions: dict[int, list[tuple[int, int, str]]] = {}
        for mention in article["mentions"]:
            mentions.setdefault(mention["concept"], []).append((mention["begin"], mention["end"], mention["text"]))
        yield (
            str(article["id"]),
            [
                ({tag.removeprefix("type::") for tag in concept["tags"] or ()}, mentions.get(concept["concept"], []))
                for concept in article["concepts"]
            ],
        )


def entities_of_dwie(documents: list[Document], folder: Path) -> list[Document]:
    """Return the documents with the clusters that DWIE types as entities: no demonyms, roles, dates or amounts."""
    kept = {
        name: {m[:2] for types, mentions in concepts if "entity" in types for m in mentions}
        for name, concepts in types_of_dwie(folder)
    }
    return [
        replace(d, clusters=[c for c in d.clusters or [] if any(m.offsets in kept[d.id] for m in c.mentions)],
                mention_scope="entities")
        for d in documents
    ]  # fmt: skip


def demonyms_of(folder: Path | None) -> frozenset[str]:
    """Return the surfaces that DWIE's training articles type as made from a place's or a faith's name, lower-cased."""
    if folder is None:
        return frozenset()
    train = {d.id for d in dwie(folder)[0]}
    found = Counter(
        text.casefold()
        for name, concepts in types_of_dwie(folder)
        if name in train
        for types, mentions in concepts
        if any(kind.endswith("-x") for kind in types) or types & {"ethnicity", "language"}
        for _, _, text in mentions
    )
    return frozenset(found)


def without(document: Document, demonyms: frozenset[str]) -> Document:
    """Return the document without mentions that are a demonym or a date."""
    clusters = []
    for cluster in document.clusters or []:
        kept = []
        for mention in cluster.mentions:
            text = document.text[mention.begin : mention.end]
            if text.casefold() not in demonyms and not DATES.fullmatch(text):
                kept.append(mention)
        if kept:
            clusters.append(replace(cluster, mentions=tuple(kept)))
    return replace(document, clusters=clusters)


def docred(folder: Path, kb: KnowledgeBase, demonyms: frozenset[str]) -> tuple[list[Document], list[Document]]:
    """Return DocRED's documents without dates and numbers, linked ones held out by turns."""
    train: list[Document] = []
    held: list[Document] = []
    for path in sorted(folder.glob("*.json")):
        items = json.loads(path.read_text(encoding="utf-8"))
        for item in items:
            item["vertexSet"] = [c for c in item["vertexSet"] if c[0]["type"] not in ("TIME", "NUM")]
        with tempfile.TemporaryDirectory() as work:
            (Path(work) / path.name).write_text(json.dumps(items), encoding="utf-8")
            documents = list(read_docred(Path(work) / path.name, strict=False))
        for number, document in enumerate(documents):
            found = without(scoped(document, "entities"), demonyms)
            if path.name != "linked_qcode.json":
                train.append(replace(found, annotated=AnnotatedLayers(links=False)))
            elif number % 2 == 0:  # those whose coded mentions the bundled knowledge base has
                train.append(with_titles(found, kb))
            else:
                held.append(found)
    return train, held


def with_titles(document: Document, kb: KnowledgeBase) -> Document:
    """Return the document with the knowledge base's entities for Wikidata items; one it lacks is not known."""
    clusters = [
        replace(c, entity=kb.entity_of("wikidata", c.entity) if c.entity else None) for c in document.clusters or []
    ]
    return replace(document, clusters=clusters, annotated=AnnotatedLayers(links="some"))


def litbank(folder: Path) -> tuple[list[Document], list[Document]]:
    """Return LitBank's files, every fifth held out."""
    files = sorted(folder.glob("*.conll"))
    parts: tuple[list[Document], list[Document]] = ([], [])
    for number, path in enumerate(files):
        parts[number % 5 == 0].extend(scoped(d, "all") for d in read_conll2012(path, strict=False))
    return parts


def gap(path: Path) -> Iterator[Document]:
    """Yield GAP's paragraphs: a pronoun, two names, and which of them it means; of the rest nothing is known."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            spans = {
                key: Mention(int(row[f"{name}-offset"]), int(row[f"{name}-offset"]) + len(row[name]))
                for key, name in (("pronoun", "Pronoun"), ("A", "A"), ("B", "B"))
            }
            clusters = [[spans["pronoun"]]]
            for name in ("A", "B"):
                if row[f"{name}-coref"].upper() == "TRUE":
                    clusters[0].append(spans[name])
                else:
                    clusters.append([spans[name]])
            yield Document(
                row["Text"],
                row["ID"],
                clusters=[Cluster(tuple(sorted(c, key=lambda m: m.offsets))) for c in clusters],
                mention_scope="all",
                annotated=AnnotatedLayers(mentions="given", links=False),
            )


def table(train: dict[str, list[Document]], held: dict[str, list[Document]]) -> str:
    """Return what there is of each corpus, as a Markdown table."""
    counts: list[tuple[str, Callable[[Document], int]]] = [
        ("documents", lambda d: 1),
        ("words", lambda d: len(d.text.split())),
        ("clusters", lambda d: len(d.clusters or ())),
        ("mentions", lambda d: sum(len(c.mentions) for c in d.clusters or ())),
        ("linked clusters", lambda d: sum(c.entity is not None for c in d.clusters or ())),
    ]
    rows = ["| part | corpus | " + " | ".join(name for name, _ in counts) + " |", "|---" * (len(counts) + 2) + "|"]
    for part, corpora in (("train", train), ("dev", held)):
        for name, documents in corpora.items():
            rows.append(f"| {part} | {name} | " + " | ".join(f"{sum(map(c, documents)):,}" for _, c in counts) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
