"""The commands. What only one of them needs is imported when it runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..version import __version__
from . import kb_changes, kb_vectors  # noqa: F401 - their commands join those of kb
from .annotate import annotate
from .cache_teacher import cache_teacher
from .calibrate import calibrate
from .convert import convert
from .corpus import FormatOption, corpus_app
from .export import export_app
from .heads import heads
from .kb import kb_app
from .kb_wikipedia import from_wikidata, from_wikipedia
from .messages import fail, say, warnings_as_messages
from .options import (
    BackendOption,
    DtypeOption,
    EntityMapOption,
    KnowledgeBaseOption,
    MaxKeptSpansOption,
    ModelOption,
    QuietOption,
    RevisionOption,
    TokenOption,
    TrustOption,
    computed_by,
    hub_access,
    knowledge_base_folder,
    map_place,
)
from .publish import publish
from .rendering import ProgressBar, scores_table, show
from .running import Commands, run
from .serve import serve
from .silence import silent_imports, silent_transformers

__all__ = ["app", "main"]

app = typer.Typer(
    name="hf-corefel",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Find the mentions of a text, cluster those that name one thing, and link each cluster to an entity or NIL.",
)
app.add_typer(corpus_app)
app.add_typer(export_app)
kb_app.command("from-wikipedia")(from_wikipedia)
kb_app.command("from-wikidata")(from_wikidata)
app.add_typer(kb_app)
app.command()(annotate)
app.command()(convert)
app.command()(calibrate)
app.command()(publish)
app.command()(heads)
app.command("cache-teacher")(cache_teacher)
app.command()(serve)


def _show_version(value: bool) -> None:
    if value:
        say(f"hf-corefel {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    del version  # the callback has dealt with it
    silent_imports()


@app.command()
def evaluate(
    data_dir: Annotated[
        Path, typer.Argument(metavar="DATA_DIR", help="The folder of a corpus as its authors ship it.")
    ],
    split: Annotated[str, typer.Option(help="The part of the corpus to score.")] = "test",
    corpus_format: FormatOption = None,
    model: ModelOption = None,
    revision: RevisionOption = None,
    token: TokenOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    trust_remote_code: TrustOption = False,
    backend: BackendOption = None,
    dtype: DtypeOption = None,
    mention_scope: Annotated[
        str | None,
        typer.Option(
            metavar="SCOPE",
            help="Mentions to look for: named, all or entities; gold has the same where a corpus has both. What the "
            "corpus annotates if left out.",
        ),
    ] = None,
    given_mentions: Annotated[
        bool, typer.Option("--given-mentions", help="Give the model the gold mentions; score clusters and links.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Score only the first LIMIT documents.")] = None,
    max_kept_spans: MaxKeptSpansOption = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the scores there, as JSON.")] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the predictions there, as JSON lines.")
    ] = None,
    entity_map: EntityMapOption = None,
    quiet: QuietOption = False,
) -> None:
    """Score a model on a corpus, told by its files: coreference, entity linking and their hard cases.

    The pipeline reads the texts alone; the annotation is read once the predictions are written.
    """
    from ..evaluation import evaluate_corpus

    try:
        more: dict[str, Any] = {"trust_remote_code": True} if trust_remote_code else {}
        if entity_map:
            more["entity_map"] = [map_place(name, token=token) for name in entity_map]
        with (
            warnings_as_messages(quiet=quiet),
            ProgressBar("Evaluating", None, shown=not quiet) as progress,
            silent_transformers(),
        ):
            scores = evaluate_corpus(
                data_dir,
                split=split,
                corpus_format=corpus_format,
                model=model,
                knowledge_base=None if knowledge_base is None else knowledge_base_folder(knowledge_base, token=token),
                loading={**hub_access(revision, token), **computed_by(backend, dtype)},
                mention_scope=mention_scope,
                given_mentions=given_mentions,
                limit=limit,
                max_kept_spans=max_kept_spans,
                out=out,
                predictions=predictions,
                progress=progress.update,
                **more,
            )
    except (ImportError, OSError, TypeError, ValueError) as error:
        fail(f"cannot evaluate on {data_dir}: {error}")
    show(scores_table(scores))


def main() -> None:
    """Entry point of the console script, and of ``python -m hf_corefel``, which has the same name in what it says."""
    run(partial(app, prog_name=app.info.name))
