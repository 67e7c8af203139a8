"""Options that several commands have, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["KnowledgeBaseOption", "ModelOption", "QuietOption", "TrustOption", "is_bundled", "knowledge_base_folder"]

BUNDLED = "bundled"
# As in `processing_corefel`, which imports more than looking up needs.
KNOWLEDGE_BASE_FOLDER = "knowledge_base"

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="FOLDER_OR_ID", help="A saved model; the bundled checkpoint when left out."),
]
KnowledgeBaseOption = Annotated[
    str | None,
    typer.Option("--knowledge-base", metavar="DIR", help="A knowledge base, or that of a model, for the model's own."),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that the model's files name; read it first. A model of such code cannot be loaded without.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Errors only: no progress bar, no warnings.")]


def is_bundled(name: str) -> bool:
    """Whether the word stands for the checkpoint of the package; a folder of that name goes first."""
    return name == BUNDLED and not Path(name).exists()


def knowledge_base_folder(name: str) -> Path:
    """The folder of a knowledge base, also when a model that has one is named."""
    if is_bundled(name):
        from hf_corefel.pipeline_corefel import bundled_checkpoint

        name = bundled_checkpoint()
    inside = Path(name) / KNOWLEDGE_BASE_FOLDER
    return inside if (inside / "kb_config.json").is_file() else Path(name)
