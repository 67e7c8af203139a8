"""Build a knowledge base folder from alias tables, a corpus' training mentions, and entity titles.

    python experiments/build_knowledge_base.py --aliases aliases.jsonl.gz --titles --lower \
        --encoder path/to/encoder --vector-size 128 --out kb

Descriptions and links between entities are used to make vectors richer and are not stored.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModel, AutoTokenizer

from hf_corefel.corpora import read_aida, read_dwie_annotations
from hf_corefel.kb import AliasRow, KnowledgeBase, KnowledgeBaseError, read_alias_jsonl, read_jsonl
from hf_corefel.kb.entity_vectors import vectors_from_titles
from hf_corefel.kb.normal_form import folded_form, normal_form
from hf_corefel.kb.readers import read_lines

MAX_CANDIDATES = 16
# Share of a surface's corpus counts that an entity gets as its prior where the alias table lacks it.
CORPUS_WEIGHT = 0.1
# How many times a corpus may have used a surface for what it does not show: once seen is one half sure.
UNSEEN = 1.0
# Of one word, there are more things of that name that the corpus does not speak of.
ONE_WORD_UNSEEN = 4.0
# Of a person called by the first name only, a text rarely means the one that the table knows.
FIRST_NAME_WEIGHT = 0.1
# A part of a name that leads to one entity for certain was most likely seen once: 1 / (1 + 4).
SURE = 0.95
ONCE_WEIGHT = 0.2
MAX_LINKS = 8


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--aliases", type=Path, nargs="+", required=True, metavar="FILE", help="alias tables, .jsonl[.gz]"
    )
    parser.add_argument(
        "--aida", type=Path, metavar="FILE", help="AIDA CoNLL-YAGO: adds what its training mentions stand for"
    )
    parser.add_argument("--titles", action="store_true", help="add the title of an entity as a surface of its own")
    parser.add_argument("--bare-titles", action="store_true", help="also without the parenthesis at its end")
    parser.add_argument(
        "--lower", action="store_true", help="add every surface with its first letter lower-cased: common words too"
    )
    parser.add_argument(
        "--without-test-surfaces",
        type=Path,
        metavar="DWIE",
        help="leave out the surfaces of --aliases that only test articles of DWIE (in this folder) have",
    )
    parser.add_argument(
        "--first-names",
        type=Path,
        metavar="FILE",
        help="table of persons with a column 'first', .tsv[.gz]: a part of a name gets less of a prior, see weak_rows",
    )
    parser.add_argument("--links", type=Path, metavar="FILE", help='{"entity", "links"} lines, .jsonl[.gz]')
    parser.add_argument(
        "--descriptions", type=Path, metavar="FILE", help='{"entity", "key", "text"} lines, .jsonl[.gz]'
    )
    parser.add_argument("--description-length", type=int, default=200, help="characters of a description to encode")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--encoder", type=Path, metavar="FOLDER", help="encoder that makes the vectors")
    source.add_argument("--vectors-of", type=Path, metavar="FOLDER", help="knowledge base whose vectors are taken over")
    parser.add_argument("--vector-size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    return parser.parse_args(arguments)


def without_parenthesis(title: str) -> str:
    """Return a title without the parenthesis at its end that tells it from others."""
    return re.sub(r"\s*\([^()]*\)$", "", title)


def title_rows(entities: Iterable[str], known: set[str], *, bare: bool) -> list[AliasRow]:
    """Rows that give the title of an entity as a surface with prior 1, where no table has the surface.

    With `bare`, a title whose parenthesis is left out names all the entities that share it equally.
    """
    titles: dict[str, list[str]] = {}
    bare_titles: dict[str, list[str]] = {}
    for entity in entities:
        title = normal_form(entity.replace("_", " "))
        titles.setdefault(title, []).append(entity)
        short = without_parenthesis(title)
        if bare and short and short != title:
            bare_titles.setdefault(short, []).append(entity)
    rows = {**{s: e for s, e in bare_titles.items() if s not in titles}, **titles}
    return [
        AliasRow(surface, [(entity, 1.0 / len(named)) for entity in named])
        for surface, named in rows.items()
        if surface and surface not in known
    ]


def with_counts(rows: Iterable[AliasRow], counts: Mapping[str, Mapping[str, int]]) -> list[AliasRow]:
    """Adds what the surfaces of a corpus stand for, by their counts ``{surface: {entity: count}}``.

    A surface that is new gets the shares of its counts as priors, `UNSEEN` counts being for something else; one that
    is known keeps its priors and gets the entities that it lacks, with a small part of their share.
    """
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        entry = table.setdefault(normal_form(row.surface), {})
        for entity, prior in row.candidates:
            entry[entity] = max(prior, entry.get(entity, 0.0))
    known = set(table)
    for surface, entities in counts.items():
        entry, weight = table.setdefault(surface, {}), CORPUS_WEIGHT if surface in known else 1.0
        total = sum(entities.values()) + (UNSEEN if " " in surface else ONE_WORD_UNSEEN)
        for entity, count in entities.items():
            entry.setdefault(entity, weight * count / total)
    return [AliasRow(surface, list(entry.items())) for surface, entry in table.items()]


def aida_counts(path: Path) -> dict[str, Counter[str]]:
    """What the linked mentions of AIDA's training documents stand for."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for document in read_aida(path, "train", strict=False):
        for cluster in document.clusters or []:
            if cluster.entity is not None:
                for mention in cluster.mentions:
                    counts[normal_form(document.text[mention.begin : mention.end])][cluster.entity] += 1
    return counts


def read_first_names(path: Path) -> set[str]:
    """Return the first names, in `folded_form`, that at least two lines of a table with a column ``first`` have.

    Raises:
        KnowledgeBaseError: When there is no such column, or a line lacks it.
    """
    lines = read_lines(path)
    where, header = next(lines, (f"{path}:1", ""))
    if "first" not in header.split("\t"):
        raise KnowledgeBaseError(f"{where}: expected a head with a column 'first', got {header!r}")
    column, counts = header.split("\t").index("first"), Counter[str]()
    for where, line in lines:
        fields = line.split("\t")
        if len(fields) <= column:
            raise KnowledgeBaseError(f"{where}: expected {column + 1} columns or more, got {len(fields)}")
        counts[folded_form(fields[column])] += 1
    return {name for name, count in counts.items() if count >= 2 and name}


def weak_rows(rows: Iterable[AliasRow], first_names: set[str], counted: Collection[str]) -> list[AliasRow]:
    """Give less of a prior to a surface that is one word of the names that it leads to.

    A first name of an entity ("Omar" of Omar_bin_Laden) keeps `FIRST_NAME_WEIGHT` of its prior: most texts mean
    somebody else. The first or last word of the only entity that a surface leads to, for certain (`SURE`), keeps
    `ONCE_WEIGHT`, as if it had been seen once. The parenthesis of a title is no part of the name; a title with a comma
    ("Paris,_Texas") is that of a place, which its first word is the name of.

    Args:
        rows: The rows.
        first_names: First names in `folded_form`.
        counted: The surfaces of which it is known how often they were seen.
    """
    weakened = []
    for row in rows:
        word = folded_form(row.surface)
        pairs = []
        for entity, prior in row.candidates:
            title = without_parenthesis(folded_form(entity.replace("_", " ")))
            words = title.split() if " " not in word and "," not in title else []
            weight = 1.0
            if len(words) > 1 and word == words[0] and word in first_names:
                weight = FIRST_NAME_WEIGHT
            elif len(words) > 1 and word in (words[0], words[-1]) and len(row.candidates) == 1:
                weight = ONCE_WEIGHT if prior >= SURE and row.surface not in counted else 1.0
            pairs.append((entity, weight * prior))
        weakened.append(AliasRow(row.surface, pairs))
    return weakened


def lower_rows(rows: Iterable[AliasRow]) -> list[AliasRow]:
    """The rows again with the first letter of the surface lower-cased, where no row has that surface.

    An alias table made from a corpus' mentions gives them away: whatever is in it is a name. With common words in
    it ("apple", "the times"), finding the mentions is left to the model.
    """
    table = {row.surface: row for row in rows}
    added: dict[str, list[AliasRow]] = defaultdict(list)
    for surface, row in table.items():
        small = surface[:1].lower() + surface[1:]
        if small not in table:
            added[small].append(row)
    return [
        AliasRow(surface, [pair for row in originals for pair in row.candidates])
        for surface, originals in added.items()
    ]


def test_only_surfaces(folder: Path) -> set[str]:
    """Surfaces that are mentions in DWIE's test articles and in no training article, whether they have text or not."""
    surfaces = {
        split: {
            normal_form(mention.text)
            for article in read_dwie_annotations(folder, split)
            for cluster in article.clusters
            for mention in cluster.mentions
            if mention.text
        }
        for split in ("train", "test")
    }
    return surfaces["test"] - surfaces["train"]


def read_field(path: Path, name: str, kind: type) -> dict[str, Any]:
    """The field `name` of every line, by the line's entity."""
    values: dict[str, Any] = {}
    for where, data in read_jsonl(path):
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("entity"), str)
            or not isinstance(data.get(name), kind)
        ):
            raise KnowledgeBaseError(
                f"{where}: expected an object with the string 'entity' and the {kind.__name__} {name!r}"
            )
        values[data["entity"]] = data[name]
    return values


def texts_of_entities(options: argparse.Namespace) -> dict[str, str]:
    """What stands for an entity beside its title: its description, else the titles that it links to."""
    texts: dict[str, str] = {}
    if options.links:
        for entity, links in read_field(options.links, "links", list).items():
            names = [link.replace("_", " ") for link in links if link.partition("_(")[0] != entity][:MAX_LINKS]
            if names:
                texts[entity] = "see " + ", ".join(names)
    if options.descriptions:
        texts |= read_field(options.descriptions, "text", str)
    return texts


def main(arguments: Sequence[str] | None = None) -> None:
    """Builds and saves the knowledge base."""
    options = parse_arguments(arguments)
    rows = [row for path in options.aliases for row in read_alias_jsonl(path, clip_priors=True)]
    entities = {entity for row in rows for entity, _ in row.candidates}
    if options.without_test_surfaces:
        hidden = test_only_surfaces(options.without_test_surfaces)
        rows = [row for row in rows if row.surface not in hidden]
    counts = aida_counts(options.aida) if options.aida else {}
    rows = with_counts(rows, counts)
    entities |= {entity for row in rows for entity, _ in row.candidates}
    texts = texts_of_entities(options)
    if options.descriptions:
        entities |= set(read_field(options.descriptions, "text", str))
    names_of_entities = sorted(entities)
    if options.titles or options.bare_titles:
        rows += title_rows(names_of_entities, {row.surface for row in rows}, bare=options.bare_titles)
    if options.first_names:
        rows = weak_rows(rows, read_first_names(options.first_names), counts)
    if options.lower:
        rows += lower_rows(rows)

    if options.vectors_of:
        source = KnowledgeBase.from_pretrained(options.vectors_of)
        ids = [source.entity_id(name) for name in names_of_entities]
        if None in ids:
            raise SystemExit(f"{options.vectors_of}: lacks {names_of_entities[ids.index(None)]!r}")
        vectors, projection = source.vectors(np.array(ids)), source.projection
    else:
        _, vectors, projection = vectors_from_titles(
            names_of_entities,
            AutoModel.from_pretrained(options.encoder, trust_remote_code=False, use_safetensors=True),
            AutoTokenizer.from_pretrained(options.encoder, trust_remote_code=False),
            descriptions=texts,
            size=options.vector_size,
            # One factor for all: the scorers' layers are initialised for inputs of variance 1.
            mean_square=1.0,
            return_projection=True,
            max_description_length=options.description_length,
            batch_size=options.batch_size,
        )

    provenance = {
        "aliases": [path.name for path in options.aliases],
        "titles_as_surfaces": options.titles or options.bare_titles,
        "titles_without_parenthesis": options.bare_titles,
        "weak_parts_of_names": options.first_names is not None,
        "first_letter_lower_cased": options.lower,
        "training_mentions": options.aida.name if options.aida else None,
        "without_surfaces_of_test_articles_only": options.without_test_surfaces is not None,
        "vectors": {
            "encoder": "/".join((options.encoder or options.vectors_of).parts[-2:]),
            "text": "title : beginning of the description, else the titles it links to" if texts else "title",
            "links": options.links.name if options.links else None,
            "descriptions": options.descriptions.name if options.descriptions else None,
            "description_length": options.description_length if options.descriptions else None,
            "reduction": f"PCA to {options.vector_size}, then scaled to a mean square of 1",
        },
    }
    kb = KnowledgeBase.build(
        rows,
        vectors=(names_of_entities, vectors),
        projection=projection,
        max_candidates=MAX_CANDIDATES,
        provenance=provenance,
    )
    kb.save_pretrained(options.out)
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {kb}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
