"""Widen a knowledge base by public sources, and say what each of them adds.

    python experiments/wide_knowledge_base.py --base runs/knowledge_base --sources path/to/kb \
        --docred linked_qcode.json --gum path/to/GUM --dumps path/to/dumps/*.bz2 --data-dir path/to/DWIE \
        --aida path/to/AIDA --encoder all-MiniLM-L6-v2 --out runs/wide --table runs/wide.json

The base keeps its surfaces, priors and vectors. With ``--table``, the knowledge base is built once more after each
source, and the recall of its candidates measured on development documents that none of the sources knows.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from build_knowledge_base import texts_of_entities
from wide_recall import development_mentions, recall
from wide_sources import (
    POPULAR,
    WELL_KNOWN,
    Source,
    common_words,
    congress,
    docred,
    dump_excerpts,
    first_names,
    freebase,
    graph_types,
    gum,
    gum_wikidata,
    lead_paragraphs,
    person_title,
    popular_titles,
    restored_titles,
    title_of,
    titles,
)

from hf_corefel.corpora import development_split, read_dwie
from hf_corefel.kb import AliasRow, KnowledgeBase, read_jsonl
from hf_corefel.kb.normal_form import folded_form, normal_form
from hf_corefel.kb.short_forms import short_forms
from hf_corefel.wikipedia.coarse_types import type_with_title

MAX_CANDIDATES = 16
FALLBACK = "normalized"
# Pseudo counts of what a name may stand for beside what the sources say, where it is of several words and of one.
UNSEEN, ONE_WORD_UNSEEN = 1.0, 4.0
# Where the base has a name already, what others add gets so much of its share.
BESIDE_BASE = 0.1
# Last names of the obscure, and the like, would only crowd out each other: they are made from such a strength on.
SHORT_FORM_STRENGTH = WELL_KNOWN
WEAK_FORMS = ("last name", "middle name", "university")
# Levels of a coded vector on each side of zero: fewer pack better into a wheel.
LEVELS = 15


@dataclass
class Gathered:
    """What all sources so far say together."""

    names: dict[tuple[str, str], float] = field(default_factory=dict)
    wikidata: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)

    def add(self, source: Source) -> None:
        """Take in a source; of what two say about an entity the first stands, of two strengths their sum."""
        for key, strength in source.names.items():
            self.names[key] = strength + self.names.get(key, 0.0)
        for field_name in ("wikidata", "descriptions", "types", "redirects"):
            known = getattr(self, field_name)
            for entity, value in getattr(source, field_name).items():
                known.setdefault(entity, value)

    def popularity(self, popular: set[str], base: set[str]) -> dict[str, float]:
        """How well known each entity is, in pseudo counts."""
        strength: dict[str, float] = defaultdict(float)
        for (_, entity), value in self.names.items():
            strength[entity] = max(strength[entity], value)
        for entity in list(strength):
            if folded_form(title_of(entity)) in popular:
                strength[entity] = max(strength[entity], POPULAR)
            elif entity in base:
                strength[entity] = max(strength[entity], WELL_KNOWN)
        return strength


def wide_rows(
    base_rows: Iterable[AliasRow], gathered: Gathered, popular: set[str], base: set[str], *, short: bool = True
) -> list[AliasRow]:
    """Return the rows of the base with what the sources add.

    A surface that the base lacks gets strength / (sum + unseen) as priors; one that it has keeps its priors, and what
    is new under it gets a small part of that.
    """
    table: dict[str, dict[str, float]] = {row.surface: dict(row.candidates) for row in base_rows}
    fame = gathered.popularity(popular, base)
    added: dict[str, Counter[str]] = defaultdict(Counter)
    for (surface, entity), strength in gathered.names.items():
        titled = surface == normal_form(title_of(entity))
        added[surface][entity] = max(fame[entity] if titled else strength, added[surface][entity])
    for entity, strength in (
        [*fame.items(), *((entity, WELL_KNOWN) for entity in base if entity not in fame)] if short else []
    ):
        kind = gathered.types.get(entity)
        for form in short_forms(entity, kind):
            if form.kind not in WEAK_FORMS or strength >= SHORT_FORM_STRENGTH:
                surface, value = normal_form(form.surface), strength * form.discount
                added[surface][entity] = max(value, added[surface][entity])
    for surface, entities in added.items():
        if not surface:
            continue
        known = table.setdefault(surface, {})
        weight = BESIDE_BASE if known else 1.0
        total = sum(entities.values()) + (UNSEEN if " " in surface else ONE_WORD_UNSEEN)
        for entity, strength in entities.items():
            known.setdefault(entity, weight * strength / total)
    return [AliasRow(surface, list(entities.items())) for surface, entities in table.items()]


def coarse(vectors: np.ndarray) -> np.ndarray:
    """Round vectors [M, D] to `LEVELS` levels on each side of zero, which int8 keeps and a wheel packs well."""
    scale = np.abs(vectors).max(axis=1, keepdims=True) / LEVELS
    return np.where(scale > 0, np.round(vectors / np.where(scale > 0, scale, 1.0)) * scale, 0.0).astype(np.float32)


def base_rows_of(kb: KnowledgeBase) -> list[AliasRow]:
    """Return the alias rows of a knowledge base."""
    rows = []
    surfaces = list(kb.surfaces())
    ids, priors = kb.lookup(surfaces, MAX_CANDIDATES, fallback="none")
    for surface, row_ids, row_priors in zip(surfaces, ids, priors, strict=True):
        pairs = [(kb.entity_name(int(i)), float(p)) for i, p in zip(row_ids, row_priors, strict=True) if i >= 0]
        rows.append(AliasRow(surface, pairs))
    return rows


def _cached(path: Path | None) -> tuple[list[str], np.ndarray]:
    if path is None or not path.exists():
        return [], np.zeros((0, 0))
    with np.load(path) as cache:
        return cache["names"].tolist(), cache["vecs"]


def entity_vectors(
    names: Sequence[str],
    texts: Mapping[str, str],
    base: KnowledgeBase,
    options: argparse.Namespace,
    base_texts: Mapping[str, str],
) -> np.ndarray:
    """Return vectors of entities: those of the base, and for others what the encoder makes of title and description."""
    from transformers import AutoModel, AutoTokenizer

    from hf_corefel.kb.entity_vectors import fit_projection, vectors_from_titles

    vectors = np.zeros((len(names), base.vector_size), dtype=np.float32)
    ids = [base.entity_id(name) for name in names]
    known = np.array([i is not None for i in ids])
    vectors[known] = base.vectors([i for i in ids if i is not None])
    made = dict(zip(*_cached(options.vectors), strict=True))
    new = [name for name in names if name not in made and base.entity_id(name) is None]
    if new:
        encoder = AutoModel.from_pretrained(options.encoder, trust_remote_code=False, use_safetensors=True)
        tokenizer = AutoTokenizer.from_pretrained(options.encoder, trust_remote_code=False)
        # The map that the base's vectors came from is found again: they are an affine image of the same encoder's.
        projection = fit_projection(encoder, tokenizer, base, descriptions=base_texts, max_entities=8000, ridge=1e-6)
        print(
            f"the map to the base's vectors: mean cosine {projection.info['cosine']} on held-out entities", flush=True
        )
        made.update(
            zip(*vectors_from_titles(new, encoder, tokenizer, descriptions=texts, projection=projection), strict=True)
        )
        if options.vectors:
            np.savez(options.vectors, names=np.array(list(made)), vecs=np.stack(list(made.values())))
    vectors[~known] = [made[name] for name, there in zip(names, known, strict=True) if not there]
    return vectors


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, metavar="FOLDER", help="knowledge base to widen")
    parser.add_argument("--sources", type=Path, required=True, metavar="FOLDER", help="folder of the public tables")
    parser.add_argument("--dumps", type=Path, nargs="*", default=[], metavar="FILE", help="excerpts of Wikipedia dumps")
    parser.add_argument("--docred", type=Path, required=True, metavar="FILE", help="DocRED with Wikidata codes")
    parser.add_argument("--gum", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--data-dir", type=Path, required=True, metavar="DWIE", help="its words in small letters are used"
    )
    parser.add_argument("--aida", type=Path, metavar="FILE", help="measured with --table")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write what each source adds, as JSON")
    parser.add_argument("--encoder", type=Path, metavar="FOLDER", help="encoder that made the vectors of the base")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="cache of the vectors that it makes, .npz")
    parser.add_argument("--out", type=Path, metavar="FOLDER")
    return parser.parse_args(arguments)


def read_sources(
    options: argparse.Namespace, gathered: Gathered, base: set[str], of_base_surfaces: set[str]
) -> Iterator[Source]:
    """Yield the sources in the order in which they are taken in; later ones look at what is gathered by then."""
    folder = options.sources
    yield freebase(folder / "fb15k_entity2wikidata.json.gz")
    yield titles(folder / "wiki_titles.tsv.gz")
    yield congress(folder / "congress.tsv.gz")
    yield lead_paragraphs(folder / "wiki_vital_en.jsonl.gz")
    yield dump_excerpts(options.dumps)
    yield gum(options.gum)
    yield docred(options.docred, {number: entity for entity, number in gathered.wikidata.items()})
    train, _ = development_split(list(read_dwie(options.data_dir, "train", strict=False)))
    known = base | {entity for _, entity in gathered.names}
    popular = popular_titles(folder / "popular_titles_lower.txt.gz")
    surfaces = of_base_surfaces | {surface for surface, _ in gathered.names}
    texts = [document.text for document in train]
    texts += [data["text"] for _, data in read_jsonl(folder / "wiki_vital_en.jsonl.gz")]
    yield restored_titles(popular, known, surfaces, common_words(document.text for document in train), texts)


class Table:
    """Measures the knowledge base after each source."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.steps: list[dict[str, Any]] = []
        self._mentions = development_mentions(options.data_dir, options.aida, options.gum, options.docred)

    def measure(self, name: str, rows: list[AliasRow], wikidata: dict[str, str]) -> None:
        """Build what there is by now, and note its size and recall."""
        kb = KnowledgeBase.build(rows, max_candidates=MAX_CANDIDATES, wikidata=wikidata, fallback=FALLBACK)
        shares = {part: recall(kb, each) for part, each in self._mentions.items()}
        with tempfile.TemporaryDirectory() as folder:
            kb.save_pretrained(folder)
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
        # One byte a dimension of each vector, before the wheel packs them.
        step = {
            "source": name,
            "entities": kb.num_entities,
            "surfaces": kb.num_surfaces,
            "bytes": size,
            "recall": shares,
        }
        self.steps.append(step)
        text = "  ".join(f"{part} {100 * known:.1f}/{100 * found:.1f}" for part, (known, found) in shares.items())
        print(f"{name:46} {kb.num_entities:8,} {kb.num_surfaces:8,} {size / 1e6:6.1f} MB  {text}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the knowledge base and, if asked for, the table of what each source adds."""
    options = parse_arguments(arguments)
    base = KnowledgeBase.from_pretrained(options.base)
    rows, of_base = base_rows_of(base), set(base.entities())
    popular = {folded_form(title) for title in popular_titles(options.sources / "popular_titles_lower.txt.gz")}
    gathered, sources = Gathered(), []
    codes = gum_wikidata(options.gum)
    table = Table(options) if options.table else None
    if table:
        table.measure("what there was", rows, {})
    for source in read_sources(options, gathered, of_base, {row.surface for row in rows}):
        sources.append(source)
        gathered.add(source)
        if table:
            table.measure(source.name, wide_rows(rows, gathered, popular, of_base, short=False), gathered.wikidata)
    entities = of_base | {entity for _, entity in gathered.names}
    for entity in sorted(entities):
        if entity in codes:
            gathered.wikidata.setdefault(entity, codes[entity])
    for entity, kind in graph_types(options.sources / "ppr_entities.jsonl.gz").items():
        if entity in entities:
            gathered.types.setdefault(entity, kind)
    given = first_names(sources, options.sources / "congress.tsv.gz")
    gathered.types.update((e, "person") for e in entities if e not in gathered.types and person_title(e, given))
    for entity in entities:
        found = type_with_title(title_of(entity), gathered.types.get(entity))
        if found:
            gathered.types[entity] = found
    wide = wide_rows(rows, gathered, popular, of_base)
    if table:
        table.measure("short forms", wide, gathered.wikidata)
        options.table.write_text(json.dumps(table.steps, indent=1) + "\n")
    if options.out is None:
        return
    tables = {
        "links": options.sources / "ppr_entities.jsonl.gz",
        "descriptions": options.sources / "wiki_vital_en.jsonl.gz",
    }
    base_texts = texts_of_entities(argparse.Namespace(**tables))
    names = sorted({entity for row in wide for entity, _ in row.candidates} | of_base)
    vectors = entity_vectors(names, gathered.descriptions, base, options, base_texts)
    known = set(names)
    kb = KnowledgeBase.build(
        wide,
        vectors=(names, coarse(vectors)),
        descriptions={e: text for e, text in gathered.descriptions.items() if e in known},
        wikidata={e: number for e, number in gathered.wikidata.items() if e in known},
        types={e: kind for e, kind in gathered.types.items() if e in known},
        redirects={old: new for old, new in gathered.redirects.items() if new in known and old not in known},
        projection=base.projection,
        max_candidates=MAX_CANDIDATES,
        fallback=FALLBACK,
        provenance={**base.provenance, "sources": [source.describe() for source in sources]},
    )
    kb.save_pretrained(options.out)
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {kb}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
