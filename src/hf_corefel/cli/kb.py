"""``hf-corefel kb``: build, look at and change a knowledge base."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from ..kb import KnowledgeBase, KnowledgeBaseError, Projection, read_alias_jsonl, read_counts
from ..kb.importers import count_rows
from ..kb.summary import summary
from .kb_building import build_table, not_empty, read_entities
from .kb_common import (
    FallbackName,
    FallbackOption,
    FolderArgument,
    JsonOption,
    kb_app,
    model_vectorizer,
    open_table,
    or_fail,
    size_line,
)
from .messages import complain, fail, json_for_stdout
from .options import (
    QuietOption,
    RevisionOption,
    TokenOption,
    TrustOption,
    hub_access,
    knowledge_base_folder,
)
from .rendering import ProgressBar, printable, show

__all__ = ["FallbackName", "kb_app"]

_DESCRIPTION_WIDTH = 60


@kb_app.command()
def build(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to save it.", show_default=False)],
    aliases: Annotated[
        list[Path] | None,
        typer.Option("--aliases", metavar="FILE", help=r"JSON lines \[surface, \[\[entity, prior], ...]], also .gz."),
    ] = None,
    counts: Annotated[
        list[Path] | None,
        typer.Option("--counts", metavar="FILE", help="Lines of surface, entity and count, tabs between, also .gz."),
    ] = None,
    end2end: Annotated[
        Path | None, typer.Option("--end2end-neural-el", metavar="FOLDER", help="The data of end2end_neural_el.")
    ] = None,
    wikipedia2vec: Annotated[
        Path | None, typer.Option("--wikipedia2vec", metavar="FILE", help="Entity vectors as Wikipedia2Vec saves text.")
    ] = None,
    vectors_of: Annotated[
        str | None,
        typer.Option("--vectors-of", metavar="DIR", help="Take the vectors of a knowledge base or model, or bundled."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="FOLDER",
            help="As --vectors-of, and its encoder makes vectors of the titles and descriptions of entities that it "
            "does not know; bundled is one too.",
        ),
    ] = None,
    entities: Annotated[
        Path | None,
        typer.Option(
            "--entities",
            metavar="FILE",
            help='JSON lines {"entity", "description", "wikidata", "url", "type", "links"}.',
        ),
    ] = None,
    max_candidates: Annotated[int | None, typer.Option(min=1, help="Keep so many candidates of a surface.")] = None,
    unseen: Annotated[
        float,
        typer.Option(
            min=0.0, help="How many more times a surface with counts counts, for something that was not seen."
        ),
    ] = 1.0,
    fallback: FallbackOption = None,
    trust_remote_code: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Build a knowledge base from tables and save it.

    Files may be given several times. Vectors come from one of --end2end-neural-el, --wikipedia2vec, --vectors-of and
    --model; Wikipedia2Vec alone makes the titles the surfaces.
    """
    tables, weights = [*(aliases or []), *(counts or [])], [wikipedia2vec, vectors_of, end2end, model]
    if not tables and wikipedia2vec is None and end2end is None:
        fail("cannot build: give --aliases, --counts, --wikipedia2vec or --end2end-neural-el")
    if sum(source is not None for source in weights) > 1:
        fail("cannot build: give only one of --wikipedia2vec, --vectors-of, --model and --end2end-neural-el")
    if end2end is not None and tables:
        fail("cannot build: --end2end-neural-el has a table of its own; give no --aliases and --counts")
    sources = [printable(path.name) for path in (*tables, wikipedia2vec, end2end, entities) if path is not None]
    options: dict[str, Any] = {"provenance": {"files": sources}}
    if fallback is not None:
        options["fallback"] = fallback.value
    if max_candidates is not None:
        options["max_candidates"] = max_candidates
    with or_fail(f"build {out}", quiet=quiet):
        if entities is not None:
            options.update(read_entities(entities))
        if end2end is not None:
            kb = KnowledgeBase.from_end2end_neural_el(end2end, unseen=unseen, **options)
        else:
            rows = [row for path in aliases or [] for row in not_empty(path, read_alias_jsonl(path, unseen=unseen))]
            counted = chain.from_iterable(not_empty(path, read_counts(path)) for path in counts or [])
            rows += count_rows(counted, unseen)
            source = vectors_of or model
            known = None if source is None else open_table(source)
            vectorizer = None
            if known is not None and model is not None:
                known, vectorizer = model_vectorizer(known, model, trust_remote_code)
            with ProgressBar("Making vectors", None, shown=vectorizer is not None and not quiet) as progress:
                kb = build_table(rows, wikipedia2vec, known, options, vectorizer, progress.update)
        if kb.num_surfaces == 0:
            raise KnowledgeBaseError(f"no surface has a candidate in {', '.join(sources)}; nothing was saved")
        kb.save_pretrained(out)
    show(size_line(out, kb))


@kb_app.command()
def info(
    folder: FolderArgument,
    as_json: JsonOption = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read it all and compare it with the fingerprint that it was saved with.")
    ] = False,
    revision: RevisionOption = None,
    token: TokenOption = None,
) -> None:
    """Say what a knowledge base holds and where it comes from."""
    with or_fail(f"read {folder}"):
        place = knowledge_base_folder(folder, **hub_access(revision, token))
        kb = KnowledgeBase.from_pretrained(place)
        compared = kb.verify() if verify else None
        facts = _facts(kb, place)
    if compared is not None:
        facts["verified"] = compared
        if not compared:
            complain(f"warning: {folder}: it was saved without a fingerprint, so there was nothing to compare with")
    if as_json:
        print(json_for_stdout(facts))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    facts["provenance"] = {key: value for key, value in kb.provenance.items() if key != "sources"}
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), _told(name, value))
    show(table)


def _told(name: str, value: Any) -> str:
    """A value of `kb info` for people."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if name == "types":
        return ", ".join(f"{kind} {count:,}" for kind, count in value.items())
    if name == "sources":
        return "\n".join(", ".join(f"{_told('', part)} {key}".strip() for key, part in _source(one)) for one in value)
    if name == "licences":
        return "\n".join(map(printable, value))
    return printable(value if isinstance(value, str) else json.dumps(value))


def _source(source: dict[str, Any]) -> list[tuple[str, Any]]:
    """What is said of a source, its name without a word behind it."""
    words = {"name": "", "licence": "", "url": ""}
    return [(words.get(key, key), value) for key, value in source.items()]


def _facts(kb: KnowledgeBase, folder: Path) -> dict[str, Any]:
    projection: Projection | None = kb.projection
    return {
        "entities": kb.num_entities,
        "surfaces": kb.num_surfaces,
        "candidates": kb.num_candidates,
        **summary(kb),
        "vector_size": kb.vector_size,
        "fallback": kb.fallback,
        "projection": dict(projection.info) if projection is not None else None,
        "bytes": sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        "fingerprint": kb.fingerprint,
        "content_fingerprint": kb.content_fingerprint,
        "provenance": kb.provenance,
    }


@kb_app.command()
def lookup(
    folder: FolderArgument,
    surfaces: Annotated[list[str], typer.Argument(metavar="SURFACE...", help="What to look up.", show_default=False)],
    limit: Annotated[int, typer.Option(min=1, help="Candidates of a surface.")] = 16,
    fallback: FallbackOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a surface and line.")] = False,
    revision: RevisionOption = None,
    token: TokenOption = None,
) -> None:
    """Show the entities that surfaces may stand for."""
    with or_fail(f"read {folder}"):
        kb = open_table(folder, fallback, **hub_access(revision, token))
        found = {
            surface: [{**candidate.to_dict(), **_known(kb, candidate.entity)} for candidate in candidates]
            for surface, candidates in ((surface, kb.candidates(surface, limit)) for surface in surfaces)
        }
    if as_json:
        for surface, listed in found.items():
            print(json_for_stdout({"surface": surface, "candidates": listed}))
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("Surface", overflow="fold")
    table.add_column("Entity", overflow="fold")
    table.add_column("Prior", justify="right")
    described = any("description" in candidate for listed in found.values() for candidate in listed)
    if described:
        table.add_column("Description", max_width=_DESCRIPTION_WIDTH, overflow="ellipsis", no_wrap=True)
    for surface, listed in found.items():
        name = printable(surface)
        for candidate in listed:
            text = [printable(candidate.get("description", ""))] if described else []
            table.add_row(
                Text(name), Text(printable(candidate["entity"])), f"{candidate['prior']:.4f}", *map(Text, text)
            )
            name = ""
        if not listed:
            table.add_row(Text(name), Text("none", style="dim"), "")
    show(table)


def _known(kb: KnowledgeBase, entity: str) -> dict[str, str]:
    values = {"description": kb.description(entity), "wikidata": kb.wikidata(entity), "url": kb.url(entity)}
    values["type"] = kb.type(entity)
    return {field: value for field, value in values.items() if value is not None}
