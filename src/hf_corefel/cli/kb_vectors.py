"""``hf-corefel kb vectors``: the vectors of all entities at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ..kb import KnowledgeBase
from .kb_common import forget_fingerprint, kb_app, model_vectorizer, or_fail
from .messages import fail
from .options import QuietOption, TrustOption
from .rendering import ProgressBar, printable, show

__all__ = ["vectors"]


@kb_app.command()
def vectors(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved knowledge base.", show_default=False)],
    model: Annotated[
        str, typer.Option("--model", metavar="FOLDER", help="The model whose encoder makes them; bundled is one too.")
    ] = "bundled",
    shards: Annotated[int, typer.Option(min=1, help="In how many parts the entities are worked on.")] = 1,
    shard: Annotated[int, typer.Option(min=0, help="Which of them this process works on, from 0.")] = 0,
    device: Annotated[
        str | None, typer.Option(help="Where the encoder runs: cpu, cuda, cuda:1, mps …; the GPU where there is one.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Texts that the encoder reads at once.")] = 64,
    trust_remote_code: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make the vectors of all entities that have none, from their titles and descriptions, and save them.

    What is made is kept at once: run the same again after an interruption, or in several processes at a time that share
    the folder, each with another --shard. The one that makes the last vector saves them all. Without this, a knowledge
    base whose vectors are lazy gets them one by one, as documents need them; they are the same.
    """
    import torch

    from ..kb.vector_filling import fill_vectors

    if shard >= shards:
        fail(f"cannot make vectors: --shard counts from 0, so with --shards {shards} the last is {shards - 1}")
    place = device or ("cuda" if torch.cuda.is_available() else None)
    with or_fail(f"make vectors for {folder}", quiet=quiet):
        kb = KnowledgeBase.from_pretrained(folder)
        kb, vectorizer = model_vectorizer(kb, model, trust_remote_code, device=place, batch_size=batch_size)
        with ProgressBar("Making vectors", None, shown=not quiet) as progress:
            done = fill_vectors(kb, vectorizer, shards=shards, shard=shard, progress=progress.update)
        forget_fingerprint(folder)
    line = f"{printable(str(folder))}: {done.made:,} vectors made"
    show(Text(f"{line}, {done.missing:,} left for other shards" if done.missing else f"{line}, all are saved"))
