"""Options that several commands have, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..kb.hub import find_folder

__all__ = [
    "KnowledgeBaseOption",
    "MaxKeptSpansOption",
    "ModelOption",
    "QuietOption",
    "RevisionOption",
    "TokenOption",
    "TrustOption",
    "hub_access",
    "is_bundled",
    "knowledge_base_folder",
]

BUNDLED = "bundled"

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="FOLDER_OR_ID", help="A saved model; the bundled checkpoint when left out."),
]
KnowledgeBaseOption = Annotated[
    str | None,
    typer.Option(
        "--knowledge-base",
        metavar="FOLDER_OR_ID",
        help="A knowledge base, or that of a model, for the model's own.",
    ),
]
RevisionOption = Annotated[
    str | None,
    typer.Option("--revision", metavar="REVISION", help="Branch, tag or commit of a model on the Hub."),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="For private repositories; that of `hf auth login` or of HF_TOKEN when left out.",
        show_default=False,
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that the model's files name; read it first. A model of such code cannot be loaded without.",
    ),
]
MaxKeptSpansOption = Annotated[
    int | None,
    typer.Option(min=1, help="Spans of a document that may be mentions, at most; the model's bound if left out."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Errors only on standard error: no bar, no warnings.")]


def is_bundled(name: str) -> bool:
    """Whether the word stands for the checkpoint of the package; a folder of that name goes first."""
    return name == BUNDLED and not Path(name).exists()


def hub_access(revision: str | None, token: str | None) -> dict[str, Any]:
    """The two options as keyword arguments, those that were not given left out."""
    return {name: value for name, value in (("revision", revision), ("token", token)) if value is not None}


def knowledge_base_folder(name: str, **access: Any) -> Path:
    """The folder of a knowledge base, also when a model that has one is named; one on the Hub is downloaded."""
    if is_bundled(name):
        from ..pipeline_corefel import bundled_checkpoint

        name = bundled_checkpoint()
    return find_folder(name, **access)
