"""Options that several commands have, and what they stand for."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..formats.registry import FORMATS, find_writer, format_of, known_suffixes
from ..kb.hub import find_folder
from .messages import fail

__all__ = [
    "BackendOption",
    "DtypeOption",
    "EntityMapOption",
    "KnowledgeBaseOption",
    "MaxKeptSpansOption",
    "ModelOption",
    "OutputFormatOption",
    "QuietOption",
    "RevisionOption",
    "TokenOption",
    "TrustOption",
    "chosen_format",
    "computed_by",
    "hub_access",
    "is_bundled",
    "knowledge_base_folder",
    "map_place",
]

BUNDLED = "bundled"


class Backend(StrEnum):
    """`pipelines.loading.BACKENDS` as choices."""

    TORCH = "torch"
    ONNX = "onnx"


class Dtype(StrEnum):
    """The precisions of weights that torch and `load_pipeline` know by these names."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    INT8 = "int8"
    AUTO = "auto"


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
BackendOption = Annotated[
    Backend | None,
    typer.Option("--backend", help="What computes the model: torch, or onnx for a folder of `export onnx`."),
]
DtypeOption = Annotated[
    Dtype | None,
    typer.Option("--dtype", help="Precision of the weights; float32 if left out, int8 is for a CPU."),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run code that the model's files name; read it first. A model of such code cannot be loaded without.",
    ),
]
EntityMapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--entity-map",
        metavar="FILE_OR_KB",
        help="Names that mean one entity: lines of an old and a new name, or a knowledge base with redirects and "
        "Wikidata ids; may be given again.",
    ),
]
MaxKeptSpansOption = Annotated[
    int | None,
    typer.Option(min=1, help="Spans of a document that may be mentions, at most; the model's bound if left out."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Errors only on standard error: no bar, no warnings.")]


def _format(name: str) -> str:
    """The name of a format that there is; raises what says so on the command line."""
    try:
        find_writer(name)
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error
    return name


# Names only: what each of them is stands in the documentation, and asking would import the packages of others.
_FORMAT_NAMES = ", ".join(FORMATS)
OutputFormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        parser=_format,
        help=f"How results are written: {_FORMAT_NAMES}. When left out, what the ending of the output says.",
        show_default=False,
    ),
]


def chosen_format(kind: str | None, output: str | None, *, default: str) -> str:
    """Return the format of the output: the one that is said, else that of its ending, else the default.

    Leaves with a message where the ending looks like one, and is none that is known.
    """
    named = None if output is None else format_of(output)
    if kind is None and named is None and output is not None and _looks_like_another_format(output):
        fail(
            f"cannot tell what to write from the ending of {output}: end it in {', '.join(known_suffixes())}, name a "
            f"folder ({output}/), or say --format"
        )
    return kind or named or default


def _looks_like_another_format(output: str) -> bool:
    """Whether a name ends as those of some format do; what is wrong with .gz is said where files are opened."""
    is_folder = output.endswith(("/", "\\")) or os.path.isdir(output)
    return not is_folder and Path(output).suffix.lower() not in ("", ".gz")


def is_bundled(name: str) -> bool:
    """Whether the word stands for the checkpoint of the package; a folder of that name goes first."""
    return name == BUNDLED and not Path(name).exists()


def hub_access(revision: str | None, token: str | None) -> dict[str, Any]:
    """The two options as keyword arguments, those that were not given left out."""
    return {name: value for name, value in (("revision", revision), ("token", token)) if value is not None}


def computed_by(backend: Backend | None, dtype: Dtype | None) -> dict[str, Any]:
    """The two options as keyword arguments of `load_pipeline`, those that were not given left out."""
    return {name: value.value for name, value in (("backend", backend), ("dtype", dtype)) if value is not None}


def knowledge_base_folder(name: str, **access: Any) -> Path:
    """The folder of a knowledge base, also when a model that has one is named; one on the Hub is downloaded."""
    if is_bundled(name):
        from ..pipeline_corefel import bundled_checkpoint

        name = bundled_checkpoint()
    return find_folder(name, **access)


def map_place(name: str, **access: Any) -> Path:
    """The file of an entity map, or the folder of a knowledge base whose names are one."""
    from ..evaluation.entity_maps import no_map

    if Path(name).is_file():
        return Path(name)
    with no_map(name):
        return knowledge_base_folder(name, **access)
