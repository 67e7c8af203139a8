"""``hf-corefel kb``: build, look at and change a knowledge base."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from ..kb import COARSE_TYPES, KnowledgeBase, KnowledgeBaseError, Projection, read_alias_jsonl, read_counts
from ..kb.hub import KNOWLEDGE_BASE_FOLDER
from ..kb.importers import count_rows
from .kb_building import build_table, not_empty, read_entities
from .messages import complain, fail, json_for_stdout
from .options import (
    QuietOption,
    RevisionOption,
    TokenOption,
    TrustOption,
    hub_access,
    is_bundled,
    knowledge_base_folder,
)
from .rendering import ProgressBar, printable, show
from .silence import silent_transformers

__all__ = ["kb_app"]

kb_app = typer.Typer(name="kb", no_args_is_help=True, help="Build, look at and change a knowledge base.")

# As in `repositories`, which imports more than looking up needs.
FINGERPRINT_FILE = "fingerprint.json"
_DESCRIPTION_WIDTH = 60


class FallbackName(StrEnum):
    """What unknown surfaces fall back on, for the command line; equal to `hf_corefel.kb.Fallback`."""

    NONE = "none"
    CASEFOLD = "casefold"
    NORMALIZED = "normalized"


FolderArgument = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER_OR_ID", help="A saved knowledge base or model, or the word bundled.", show_default=False
    ),
]
FallbackOption = Annotated[
    FallbackName | None, typer.Option("--fallback", help="What surfaces that are not in the table fall back on.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON in place of a table.")]


@contextmanager
def _or_fail(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Print what is wrong with files or arguments in one line, and leave; warnings are printed too, unless quiet."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    # Path.resolve raises RuntimeError for links that go in a circle.
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is not None:
            reason = f"{os.fsdecode(error.filename)}: {error.strerror}"
        fail(f"cannot {what}: {' '.join(reason.splitlines())}")
    except MemoryError:
        fail(f"cannot {what}: it takes more memory than there is")
    for warning in [] if quiet else caught:
        complain(f"warning: {warning.message}")


def _open(name: str | Path, fallback: FallbackName | None = None, **access: Any) -> KnowledgeBase:
    folder = knowledge_base_folder(str(name), **access)
    return KnowledgeBase.from_pretrained(folder, fallback=fallback.value if fallback else None)


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
            "--entities", metavar="FILE", help='JSON lines {"entity", "description", "wikidata", "url", "type"}.'
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
    with _or_fail(f"build {out}", quiet=quiet):
        if entities is not None:
            options.update(read_entities(entities))
        if end2end is not None:
            kb = KnowledgeBase.from_end2end_neural_el(end2end, unseen=unseen, **options)
        else:
            rows = [row for path in aliases or [] for row in not_empty(path, read_alias_jsonl(path, unseen=unseen))]
            counted = chain.from_iterable(not_empty(path, read_counts(path)) for path in counts or [])
            rows += count_rows(counted, unseen)
            source = vectors_of or model
            known = None if source is None else _open(source)
            vectorizer = None
            if known is not None and model is not None:
                vectorizer = _vectorizer(known, model, trust_remote_code)
            with ProgressBar("Making vectors", None, shown=vectorizer is not None and not quiet) as progress:
                kb = build_table(rows, wikipedia2vec, known, options, vectorizer, progress.update)
        if kb.num_surfaces == 0:
            raise KnowledgeBaseError(f"no surface has a candidate in {', '.join(sources)}; nothing was saved")
        kb.save_pretrained(out)
    show(_size_line(out, kb))


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
    with _or_fail(f"read {folder}"):
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
    for name, value in facts.items():
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        table.add_row(name.replace("_", " "), printable(text if isinstance(text, str) else json.dumps(text)))
    show(table)


def _facts(kb: KnowledgeBase, folder: Path) -> dict[str, Any]:
    projection: Projection | None = kb.projection
    return {
        "entities": kb.num_entities,
        "surfaces": kb.num_surfaces,
        "candidates": kb.num_candidates,
        "vector_size": kb.vector_size,
        "fallback": kb.fallback,
        "projection": dict(projection.info) if projection is not None else None,
        "bytes": sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        "fingerprint": kb.fingerprint,
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
    with _or_fail(f"read {folder}"):
        kb = _open(folder, fallback, **hub_access(revision, token))
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


@kb_app.command()
def add(
    folder: FolderArgument,
    entity: Annotated[str, typer.Option("--entity", help="Its name, such as a title with underscores.")],
    surface: Annotated[
        list[str] | None, typer.Option("--surface", help="What it may be called; give it several times.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it is.")] = None,
    prior: Annotated[float | None, typer.Option(help="p(entity | surface); an equal share when left out.")] = None,
    wikidata: Annotated[str | None, typer.Option(metavar="ID", help="Its Wikidata id, such as Q42.")] = None,
    url: Annotated[str | None, typer.Option(help="Where readers find it.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help=f"What it is: {', '.join(COARSE_TYPES)}.")] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="FOLDER", help="Its encoder makes the entity's vector; bundled is one too."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Save there and leave DIR as it is.")] = None,
    trust_remote_code: TrustOption = False,
) -> None:
    """Add an entity, or surfaces and texts of one that is known, and save.

    Without --model the entity has no vector of its own: a trained model tells it from others by its prior only.
    """
    if out is None and is_bundled(folder):
        fail(f"cannot add {entity} to {folder}: that would change the installed package; say with --out where to save")
    if out is None and not is_bundled(folder) and not os.path.lexists(folder):
        fail(f"cannot add {entity} to {folder}: there is no such folder here; say with --out where to save")
    with _or_fail(f"add {entity} to {folder}"):
        source = knowledge_base_folder(folder)
        target = out or source
        in_place = os.path.realpath(target) == os.path.realpath(source)
        # Others that add to the folder wait for their turn.
        with KnowledgeBase.edit(source) if in_place else nullcontext(KnowledgeBase.from_pretrained(source)) as kb:
            if model is not None:
                kb.vectorizer = _vectorizer(kb, model, trust_remote_code)
            new = kb.entity_id(entity) is None
            kb.add(entity, surface or (), description=description, prior=prior, wikidata=wikidata, url=url, type=kind)
        if not in_place:
            kb.save_pretrained(target)
        real = Path(os.path.realpath(target))
        if real.name == KNOWLEDGE_BASE_FOLDER:
            # A model's fingerprint was of the knowledge base before.
            (real.parent / FINGERPRINT_FILE).unlink(missing_ok=True)
    show(Text(f"{'added' if new else 'changed'} {printable(entity)}"), _size_line(target, kb))


def _vectorizer(kb: KnowledgeBase, model: str, trust: bool) -> Any:
    from ..kb.entity_vectors import title_vectorizer
    from ..loading.adapters import place_of
    from ..loading.repositories import HubOptions, checked_name
    from ..loading.tokenizers import load_tokenizer
    from ..modeling_corefel import CorefELModel
    from ..pipeline_corefel import bundled_checkpoint

    name = bundled_checkpoint() if is_bundled(model) else checked_name(model)
    with silent_transformers():
        loaded = CorefELModel.from_pretrained(name, trust_remote_code=trust).eval()
        loaded.check_weights()
        encoder: Any = loaded.encoder
        name, options = place_of("tokenizer_config.json", name, HubOptions())
        tokenizer = load_tokenizer(name, options, trust_remote_code=trust)
        return title_vectorizer(encoder.model, tokenizer, kb.projection)


def _size_line(folder: Path, kb: KnowledgeBase) -> Text:
    """``kb: 5 entities, 4 surfaces, 6 candidates, vectors of 128``."""
    sizes = f"{kb.num_entities:,} entities, {kb.num_surfaces:,} surfaces, {kb.num_candidates:,} candidates"
    vectors = f"vectors of {kb.vector_size}" if kb.vector_size else "no vectors"
    return Text(f"{printable(str(folder))}: {sizes}, {vectors}")
