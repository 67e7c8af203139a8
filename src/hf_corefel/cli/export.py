"""``hf-corefel export``: models in forms that need no torch weights."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .messages import complain, fail, warnings_as_messages
from .options import QuietOption, RevisionOption, TokenOption, TrustOption, hub_access, is_bundled
from .silence import silent_transformers

__all__ = ["export_app"]

export_app = typer.Typer(name="export", no_args_is_help=True, help="Write models in other forms.")


class Precision(StrEnum):
    """`hf_corefel.onnx_graphs.folder.PRECISIONS` as choices."""

    FLOAT32 = "float32"
    INT8 = "int8"


@export_app.callback()
def _export() -> None:
    """Write models in other forms."""


@export_app.command()
def onnx(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A saved model, or bundled for that of the package.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write; an earlier export is replaced.")],
    dtype: Annotated[
        Precision, typer.Option(help="What the encoder's weights become; int8 is smaller and faster.")
    ] = Precision.FLOAT32,
    revision: RevisionOption = None,
    token: TokenOption = None,
    trust_remote_code: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a model as ONNX graphs, with its tokenizer and knowledge base, for `annotate --backend onnx`."""
    from ..pipeline_corefel import load_pipeline

    try:
        from ..onnx_graphs import export_onnx

        with warnings_as_messages(quiet=quiet), silent_transformers():
            annotate = load_pipeline(
                None if is_bundled(model) else model,
                trust_remote_code=trust_remote_code,
                **hub_access(revision, token),
            )
            export_onnx(annotate.model, annotate.processor, out, dtype=dtype.value)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        fail(f"cannot export {model}: {error}")
    if not quiet:
        size = sum(path.stat().st_size for path in (out / "onnx").iterdir())
        complain(f"{out}: {size / 1e6:,.0f} MB of graphs; hf-corefel annotate --backend onnx --model {out} TEXT.txt")
