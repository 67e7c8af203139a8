"""What the commands of ``hf-corefel kb`` share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ..kb import KnowledgeBase, Vectorizer
from ..kb.hub import KNOWLEDGE_BASE_FOLDER, find_folder
from .messages import complain, fail
from .options import is_bundled, knowledge_base_folder
from .rendering import printable
from .silence import silent_transformers

__all__ = [
    "FINGERPRINT_FILE",
    "FallbackName",
    "FallbackOption",
    "FolderArgument",
    "JsonOption",
    "forget_fingerprint",
    "kb_app",
    "model_vectorizer",
    "open_table",
    "or_fail",
    "size_line",
]

# As in `repositories`, which imports more than looking up needs.
FINGERPRINT_FILE = "fingerprint.json"

kb_app = typer.Typer(name="kb", no_args_is_help=True, help="Build, look at and change a knowledge base.")


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
def or_fail(what: str, *, quiet: bool = False) -> Iterator[None]:
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


def open_table(name: str | Path, fallback: FallbackName | None = None, **access: Any) -> KnowledgeBase:
    """Open a knowledge base, also of a model that has one, with the fallback that is said."""
    folder = knowledge_base_folder(str(name), **access)
    return KnowledgeBase.from_pretrained(folder, fallback=fallback.value if fallback else None)


def forget_fingerprint(folder: str | Path) -> None:
    """Remove the fingerprint of a model whose knowledge base was changed: it was of the one before."""
    real = find_folder(folder).resolve()
    if real.name == KNOWLEDGE_BASE_FOLDER:
        (real.parent / FINGERPRINT_FILE).unlink(missing_ok=True)


def model_vectorizer(
    kb: KnowledgeBase, model: str, trust: bool, *, device: str | None = None, batch_size: int = 64
) -> tuple[KnowledgeBase, Vectorizer]:
    """Return what makes vectors with a model's encoder, and the knowledge base with the projection that it uses.

    Args:
        kb: Whose entities get vectors. One with lazy vectors and no projection yet gets that of the model's own.
        model: A folder or id, or the word bundled.
        trust: Whether code may run that the model's files name.
        device: Where the encoder runs.
        batch_size: Texts a step.
    """
    from ..kb.entity_vectors import title_vectorizer
    from ..loading.adapters import place_of
    from ..loading.processors import options_beside, with_own_vectors
    from ..loading.repositories import HubOptions, checked_name
    from ..loading.tokenizers import load_tokenizer
    from ..modeling_corefel import CorefELModel
    from ..pipeline_corefel import bundled_checkpoint

    name = bundled_checkpoint() if is_bundled(model) else checked_name(model)
    with silent_transformers():
        loaded = CorefELModel.from_pretrained(name, trust_remote_code=trust).eval()
        loaded.check_weights()
        encoder: Any = loaded.encoder
        kb = with_own_vectors(kb, loaded, None, options_beside(loaded, {}))
        name, options = place_of("tokenizer_config.json", name, HubOptions())
        tokenizer = load_tokenizer(name, options, trust_remote_code=trust)
        own = title_vectorizer(encoder.model, tokenizer, kb.projection, batch_size=batch_size, device=device)
    return kb, own


def size_line(folder: Path, kb: KnowledgeBase) -> Text:
    """``kb: 5 entities, 4 surfaces, 6 candidates, vectors of 128``."""
    sizes = f"{kb.num_entities:,} entities, {kb.num_surfaces:,} surfaces, {kb.num_candidates:,} candidates"
    vectors = f"vectors of {kb.vector_size}" if kb.vector_size else "no vectors"
    return Text(f"{printable(str(folder))}: {sizes}, {vectors}")
