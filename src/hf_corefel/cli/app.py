"""The commands. What only one of them needs is imported when it runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from hf_corefel.cli.corpus import corpus_app
from hf_corefel.cli.inputs import UnreadableInputError, read_text
from hf_corefel.cli.kb import kb_app
from hf_corefel.cli.messages import complain, fail
from hf_corefel.cli.publish import publish
from hf_corefel.cli.rendering import (
    LEGEND,
    ProgressBar,
    clusters_table,
    document_heading,
    make_console,
    scores_table,
    show,
)
from hf_corefel.cli.silence import silent_transformers
from hf_corefel.documents import AnnotatedDocument
from hf_corefel.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="hf-corefel",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find the mentions of a text, cluster those that name one thing, and link each cluster to an entity or NIL.",
)
app.add_typer(corpus_app)
app.add_typer(kb_app)
app.command()(publish)

Annotate = Callable[[str], Any]

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="FOLDER_OR_ID", help="A saved model; the bundled checkpoint when left out."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Errors only: no progress bar, no warnings.")]


def _show_version(value: bool) -> None:
    if value:
        print(f"hf-corefel {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    del version  # the callback has dealt with it


def _load(model: str | None) -> Annotate:
    """The pipeline on the bundled checkpoint or on ``model``; leaves with status 1 when it cannot be loaded."""
    from safetensors import SafetensorError

    from hf_corefel.pipeline_corefel import load_pipeline

    try:
        with silent_transformers():
            pipeline: Annotate = load_pipeline(model)
    except (OSError, ValueError, SafetensorError) as error:
        fail(f"cannot load the model {model or 'of the package'}: {error}")
    return pipeline


def _print_document(name: str, document: AnnotatedDocument, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print(json.dumps(document.to_dict(), ensure_ascii=False), flush=True)
        return
    show(document_heading(name, document), Text())
    if document.clusters:
        show(clusters_table(document, make_console().width), Text())
    if not quiet:
        for warning in document.warnings:
            complain(f"{name}: warning: {warning}")


@app.command()
def annotate(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="UTF-8 text files; - is standard input.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a file and line.")] = False,
    model: ModelOption = None,
    quiet: QuietOption = False,
) -> None:
    """Annotate text files: clusters of mentions, each with its entity or NIL.

    A file that cannot be read or annotated is named on standard error, the others are done all the same,
    and the exit status is 1.
    """
    pipeline: Annotate | None = None
    failed = shown = False
    with ProgressBar("Annotating", len(files), shown=len(files) > 1 and not quiet) as progress:
        for name in files:
            try:
                text = read_text(name)
                pipeline = pipeline or _load(model)
                document = replace(AnnotatedDocument.from_dict(pipeline(text)), id=name)
            except UnreadableInputError as error:
                failed = True
                with progress.aside():
                    complain(f"cannot read {error}")
            except typer.Exit:
                raise  # a RuntimeError by descent: the model cannot be loaded, and no file will fare better
            except (ValueError, RuntimeError, MemoryError) as error:
                # RuntimeError is also how torch says that memory ran out: the next file may be smaller.
                failed = True
                with progress.aside():
                    complain(f"cannot annotate {name}: {error or type(error).__name__}")
            else:
                with progress.aside():
                    _print_document(name, document, as_json=as_json, quiet=quiet)
                shown = shown or bool(document.clusters)
            progress.advance()
    if shown and not (as_json or quiet):
        show(LEGEND)
    if failed:
        raise typer.Exit(1)


@app.command()
def evaluate(
    data_dir: Annotated[
        Path, typer.Argument(metavar="DATA_DIR", help="The folder of a corpus as its authors ship it.")
    ],
    split: Annotated[str, typer.Option(help="The part of the corpus to score.")] = "test",
    model: ModelOption = None,
    knowledge_base: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A knowledge base in place of the model's own.")
    ] = None,
    mention_scope: Annotated[
        str | None, typer.Option(metavar="SCOPE", help="Mentions to look for: named or all; GUM's gold has the same.")
    ] = None,
    given_mentions: Annotated[
        bool, typer.Option("--given-mentions", help="Give the model the gold mentions; score clusters and links.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Score only the first LIMIT documents.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the scores there, as JSON.")] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the predictions there, as JSON lines.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Score a model on DWIE, AIDA, AIDA+ or GUM: coreference, entity linking and their hard cases.

    The pipeline reads the texts alone; the annotation is read once the predictions are written.
    """
    from hf_corefel.evaluation import evaluate_corpus

    try:
        with ProgressBar("Evaluating", None, shown=not quiet) as progress, silent_transformers():
            scores = evaluate_corpus(
                data_dir,
                split=split,
                model=model,
                knowledge_base=knowledge_base,
                mention_scope=mention_scope,
                given_mentions=given_mentions,
                limit=limit,
                out=out,
                predictions=predictions,
                progress=progress.update,
            )
    except (OSError, ValueError) as error:
        fail(f"cannot evaluate on {data_dir}: {error}")
    show(scores_table(scores))


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        # A text may hold what the terminal's encoding lacks; better a mark in its place than no result at all.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
