"""``hf-corefel kb add``, ``subset``, ``merge`` and ``diff``: knowledge bases made of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ..kb import COARSE_TYPES, KnowledgeBase, KnowledgeBaseError
from ..kb.combining import CONFLICT_RULE
from ..kb.comparing import Differences, compare
from ..kb.readers import read_lines
from .kb_building import not_empty, read_additions
from .kb_common import (
    FolderArgument,
    JsonOption,
    forget_fingerprint,
    kb_app,
    model_vectorizer,
    open_table,
    or_fail,
    size_line,
)
from .messages import complain, fail, json_for_stdout
from .options import QuietOption, TrustOption, is_bundled, knowledge_base_folder
from .rendering import printable, show

__all__ = ["add", "diff", "merge", "subset"]

# So many differences of a kind are shown; --json has all.
_SHOWN = 10

OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to save it.", show_default=False)]


@kb_app.command()
def add(
    folder: FolderArgument,
    entity: Annotated[
        str | None, typer.Option("--entity", help="Its name, such as a title with underscores.", show_default=False)
    ] = None,
    surface: Annotated[
        list[str] | None, typer.Option("--surface", help="What it may be called; give it several times.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it is.")] = None,
    prior: Annotated[float | None, typer.Option(help="p(entity | surface); an equal share when left out.")] = None,
    wikidata: Annotated[str | None, typer.Option(metavar="ID", help="Its Wikidata id, such as Q42.")] = None,
    url: Annotated[str | None, typer.Option(help="Where readers find it.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help=f"What it is: {', '.join(COARSE_TYPES)}.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help='Many at once: JSON lines {"entity", "surfaces", "prior", "description", "wikidata", "url", "type", '
            '"links", "redirects", "vector"}, also .gz; all of them or none.',
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="FOLDER", help="Its encoder makes the entity's vector; bundled is one too."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Save there and leave DIR as it is.")] = None,
    trust_remote_code: TrustOption = False,
) -> None:
    """Add an entity, or many of a file, or surfaces and facts of ones that are known, and save.

    Without --model the entity has no vector of its own: a trained model tells it from others by its prior only.
    """
    given = [surface, description, prior, wikidata, url, kind]
    if (entity is None) == (file is None):
        fail(f"cannot add to {folder}: give one of --entity and --from")
    if file is not None and any(value is not None for value in given):
        fail(f"cannot add {file} to {folder}: with --from, all that is known of the entities stands in the file")
    what = entity if file is None else str(file)
    with _editing(folder, out, f"add {what} to {folder}") as (kb, target):
        if model is not None:
            _, kb.vectorizer = model_vectorizer(kb, model, trust_remote_code)
        before = kb.num_entities
        if entity is not None:
            kb.add(entity, surface or (), description=description, prior=prior, wikidata=wikidata, url=url, type=kind)
            new = kb.num_entities > before
            line = f"{'added' if new else 'changed'} {printable(entity)}"
        elif file is not None:
            rows = list(not_empty(file, read_additions(file)))
            kb.add_all([row for _, row in rows], places=[where for where, _ in rows])
            new_ones, listed = kb.num_entities - before, len({row["entity"] for _, row in rows})
            line = f"added {new_ones:,} entities, changed {listed - new_ones:,}"
    show(Text(line), size_line(target, kb))


@contextmanager
def _editing(folder: str, out: Path | None, what: str) -> Iterator[tuple[KnowledgeBase, Path]]:
    """Give a knowledge base to change, and where it is saved when the block ends well: in its place, or elsewhere."""
    if out is None and is_bundled(folder):
        fail(f"cannot {what}: that would change the installed package; say with --out where to save")
    if out is None and not os.path.lexists(folder):
        fail(f"cannot {what}: there is no such folder here; say with --out where to save")
    with or_fail(what):
        source = knowledge_base_folder(folder)
        target = out or source
        in_place = os.path.realpath(target) == os.path.realpath(source)
        # Others that add to the folder wait for their turn.
        with KnowledgeBase.edit(source) if in_place else nullcontext(KnowledgeBase.from_pretrained(source)) as kb:
            yield kb, target
        if not in_place:
            kb.save_pretrained(target)
        forget_fingerprint(target)


@kb_app.command()
def subset(
    folder: FolderArgument,
    out: OutOption,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help=f"Only of this type; give it several times: {', '.join(COARSE_TYPES)}."),
    ] = None,
    min_links: Annotated[int | None, typer.Option(min=0, help="Only what so many links lead to at least.")] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE", help="Only these: a name, title or Wikidata id a line, also .gz."),
    ] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Pass over lines of --ids that are unknown here, and count them.")
    ] = False,
) -> None:
    """Save a smaller knowledge base: the entities that fulfil all that is asked, and all that is known of them."""
    if types is None and min_links is None and ids is None:
        fail(f"cannot take a part of {folder}: say which with --type, --min-links or --ids")
    with or_fail(f"take a part of {folder}"):
        kb = open_table(folder)
        listed = None if ids is None else [line.strip() for _, line in not_empty(ids, read_lines(ids))]
        if listed is not None and skip_unknown:
            known = [given for given in listed if kb.find_entity(given) is not None]
            if len(known) < len(listed):
                complain(f"warning: {ids}: {len(listed) - len(known):,} of {len(listed):,} lines are unknown here")
            listed = known
        part = kb.subset(types, min_links, listed)
        if not part.num_entities:
            raise KnowledgeBaseError("no entity is left; nothing was saved")
        part.save_pretrained(out)
    show(size_line(out, part))


@kb_app.command(help=f"Save several knowledge bases as one. {CONFLICT_RULE}")
def merge(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="FOLDER...", help="Saved knowledge bases or models, or bundled.", show_default=False),
    ],
    out: OutOption,
    quiet: QuietOption = False,
) -> None:
    """Save several knowledge bases as one, by `CONFLICT_RULE`."""
    with or_fail(f"merge {', '.join(folders)}", quiet=quiet):
        if len(folders) < 2:
            raise KnowledgeBaseError("expected two at least")
        kb = KnowledgeBase.merge(*map(open_table, folders))
        kb.save_pretrained(out)
    show(size_line(out, kb))


@kb_app.command()
def diff(first: FolderArgument, second: FolderArgument, as_json: JsonOption = False) -> None:
    """Say what a second knowledge base says of entities and surfaces that a first does not, and the other way round."""
    with or_fail(f"compare {first} and {second}"):
        bases = open_table(first), open_table(second)
        found = Differences() if _same_content(*bases) else compare(*bases)
    if as_json:
        print(json_for_stdout(found.to_dict()))
        return
    if not found:
        show(Text("they say the same"))
    for name, values in found.to_dict().items():
        if values:
            show(Text(f"{len(values):,} {name.replace('_', ' ')}"), *map(Text, _lines(values)))


def _same_content(first: KnowledgeBase, second: KnowledgeBase) -> bool:
    return first.content_fingerprint == second.content_fingerprint


def _lines(values: Any) -> Iterator[str]:
    for number, value in enumerate(values):
        if number == _SHOWN:
            yield f"  … and {len(values) - _SHOWN:,} more (--json has all)"
            return
        if not isinstance(values, dict):
            yield f"  {printable(value)}"
            continue
        told = values[value]
        pairs = told.items() if isinstance(told, dict) else [("", told)]
        parts = [f"{printable(name)} {_said(old)} → {_said(new)}".strip() for name, (old, new) in pairs]
        yield f"  {printable(value)}: {', '.join(parts)}"


def _said(value: Any) -> str:
    return "none" if value is None else f"{value:.4g}" if isinstance(value, float) else printable(str(value))
