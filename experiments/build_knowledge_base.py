"""Build a knowledge base folder from alias tables and entity titles.

    python experiments/build_knowledge_base.py --aliases aliases.jsonl.gz --titles \
        --encoder path/to/encoder --vector-size 128 --out kb

Descriptions are used to make vectors richer and are not stored.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from transformers import AutoModel, AutoTokenizer

from hf_corefel.entity_vectors import vectors_from_titles
from hf_corefel.kb import AliasRow, KnowledgeBase, KnowledgeBaseError, read_alias_jsonl, read_jsonl

MAX_CANDIDATES = 16


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--aliases", type=Path, nargs="+", required=True, metavar="FILE", help="alias tables, .jsonl[.gz]"
    )
    parser.add_argument("--titles", action="store_true", help="add the title of an entity as a surface of its own")
    parser.add_argument("--bare-titles", action="store_true", help="also without the parenthesis at its end")
    parser.add_argument(
        "--descriptions", type=Path, metavar="FILE", help='{"entity", "key", "text"} lines, .jsonl[.gz]'
    )
    parser.add_argument("--description-length", type=int, default=200, help="characters of a description to encode")
    parser.add_argument("--encoder", type=Path, required=True, metavar="FOLDER", help="encoder that makes the vectors")
    parser.add_argument("--vector-size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    return parser.parse_args(arguments)


def title_rows(entities: Iterable[str], known: set[str], *, bare: bool) -> list[AliasRow]:
    """Rows that give the title of an entity as a surface with prior 1, where no table has the surface.

    With `bare`, a title whose parenthesis is left out names all the entities that share it equally.
    """
    titles: dict[str, list[str]] = {}
    bare_titles: dict[str, list[str]] = {}
    for entity in entities:
        title = entity.replace("_", " ").strip()
        titles.setdefault(title, []).append(entity)
        short = re.sub(r"\s*\([^()]*\)$", "", title)
        if bare and short and short != title:
            bare_titles.setdefault(short, []).append(entity)
    rows = {**{s: e for s, e in bare_titles.items() if s not in titles}, **titles}
    return [
        AliasRow(surface, [(entity, 1.0 / len(named)) for entity in named])
        for surface, named in rows.items()
        if surface and surface not in known
    ]


def read_descriptions(path: Path) -> dict[str, str]:
    """Texts by entity."""
    descriptions: dict[str, str] = {}
    for where, data in read_jsonl(path):
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("entity"), str)
            or not isinstance(data.get("text"), str)
        ):
            raise KnowledgeBaseError(f"{where}: expected an object with the strings 'entity' and 'text'")
        descriptions[data["entity"]] = data["text"]
    return descriptions


def main(arguments: Sequence[str] | None = None) -> None:
    """Builds and saves the knowledge base."""
    options = parse_arguments(arguments)
    rows = [row for path in options.aliases for row in read_alias_jsonl(path, clip_priors=True)]
    entities = sorted({entity for row in rows for entity, _ in row.candidates})
    if options.titles or options.bare_titles:
        rows += title_rows(entities, {row.surface for row in rows}, bare=options.bare_titles)

    names, vectors = vectors_from_titles(
        entities,
        AutoModel.from_pretrained(options.encoder),
        AutoTokenizer.from_pretrained(options.encoder),
        descriptions=read_descriptions(options.descriptions) if options.descriptions else None,
        size=options.vector_size,
        max_description_length=options.description_length,
        batch_size=options.batch_size,
    )
    # One factor for all: the scorers' layers are initialised for inputs of variance 1.
    vectors /= np.sqrt(np.mean(vectors**2))

    provenance = {
        "aliases": [path.name for path in options.aliases],
        "titles_as_surfaces": options.titles or options.bare_titles,
        "titles_without_parenthesis": options.bare_titles,
        "vectors": {
            "encoder": "/".join(options.encoder.parts[-2:]),
            "text": "title : beginning of the description, where known" if options.descriptions else "title",
            "descriptions": options.descriptions.name if options.descriptions else None,
            "description_length": options.description_length if options.descriptions else None,
            "reduction": f"PCA to {options.vector_size}, then scaled to a mean square of 1",
        },
    }
    kb = KnowledgeBase.build(rows, vectors=(names, vectors), max_candidates=MAX_CANDIDATES, provenance=provenance)
    kb.save_pretrained(options.out)
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {kb}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
