"""``hf-corefel cache-teacher``: what a model says of documents, for the training of another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ..documents import Document
from ..formats.files import read_documents
from ..formats.writer import AnyDocument
from .annotate import load_or_fail
from .messages import fail, warnings_as_messages, with_notes
from .options import ModelOption, QuietOption, TrustOption
from .rendering import ProgressBar, printable, show
from .silence import silent_transformers

__all__ = ["cache_teacher"]


def cache_teacher(
    documents: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="The documents to train on, with gold clusters or without.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where to write, a file a document.")],
    model: ModelOption = None,
    temperature: Annotated[float, typer.Option(help="Divides the scores; distillation_temperature of training.")] = 1.0,
    threshold: Annotated[float, typer.Option(help="What is not more probable is left out.")] = 1e-4,
    max_document_words: Annotated[
        int, typer.Option(min=0, help="Longer documents are cut, as in a training with this argument; 0 cuts none.")
    ] = 2000,
    bf16: Annotated[bool, typer.Option("--bf16", help="Compute in bfloat16.")] = False,
    device: Annotated[
        str | None, typer.Option(help="Where the model runs: cpu, cuda, cuda:1, mps …; the GPU where there is one.")
    ] = None,
    trust_remote_code: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write down what a teacher says of documents, for CorefELTrainer(teacher=DIR).

    Run the same again after an interruption: documents that are there are passed over. Several processes may share DIR,
    each with other documents.
    """
    from ..training import LiveTeacher
    from ..training import cache_teacher as write_down

    pipe: Any = load_or_fail(model, device, None, {"trust_remote_code": trust_remote_code}, quiet=quiet)
    try:
        with warnings_as_messages(quiet=quiet), silent_transformers():
            read = [_gold(document) for path in documents for document in read_documents(path)]
            with ProgressBar("Asking the teacher", None, shown=not quiet) as progress:
                written = write_down(
                    LiveTeacher(pipe.model, pipe.processor),
                    read,
                    out,
                    temperature=temperature,
                    threshold=threshold,
                    max_document_words=max_document_words,
                    bf16=bf16,
                    progress=progress.update,
                )
    except (OSError, ValueError) as error:
        fail(with_notes(f"cannot write what a teacher says to {out}: {error}", error))
    show(Text(f"{printable(str(out))}: {written:,} documents written"))


def _gold(document: AnyDocument) -> Document:
    """A document, or a result as one: where it is cut depends on its mentions."""
    if isinstance(document, Document):
        return document
    return Document(document.text, document.id, clusters=list(document.clusters))
