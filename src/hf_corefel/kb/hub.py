"""Knowledge bases on the Hub: a repository of their own, or the folder that a model's repository has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .errors import KnowledgeBaseError
from .folder import CONFIG_FILE

if TYPE_CHECKING:
    from .saved import SavedKnowledgeBase

__all__ = ["KNOWLEDGE_BASE_FOLDER", "HubAccess", "find_folder", "knowledge_base_card"]

# Where a model keeps its knowledge base.
KNOWLEDGE_BASE_FOLDER = "knowledge_base"
# One name alone stands for a folder, so that a misspelt folder asks no server.
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


class HubAccess(TypedDict, total=False):
    """How a repository of the Hub is reached; what is left out, huggingface_hub decides.

    Attributes:
        revision: Branch, tag or commit.
        token: The user's token, or whether to send the stored one.
        cache_dir: Where downloaded files are kept.
        local_files_only: Ask no server, take what is in the cache.
        subfolder: The folder inside the repository, or inside the folder, that holds all files.
    """

    revision: str | None
    token: str | bool | None
    cache_dir: str | Path | None
    local_files_only: bool
    subfolder: str | None


def find_folder(name: str | Path, **given: Unpack[HubAccess]) -> Path:
    """Return the folder of a knowledge base; one on the Hub is downloaded, without the model beside it.

    Args:
        name: A folder, or ``organisation/name`` on the Hub: of a knowledge base, or of a model that has one.
        **given: See `HubAccess`.

    Raises:
        KnowledgeBaseError: When there is none of that name, or it cannot be fetched.
    """
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    subfolder = options.pop("subfolder", None)
    folder = Path(name, subfolder) if subfolder else Path(name)
    if isinstance(name, str) and not os.path.lexists(name) and _REPOSITORY.fullmatch(name):
        folder = _download(name, subfolder, options)
    inside = folder / KNOWLEDGE_BASE_FOLDER
    return inside if not (folder / CONFIG_FILE).is_file() and (inside / CONFIG_FILE).is_file() else folder


def _download(name: str, subfolder: str | None, options: Mapping[str, Any]) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    prefix, reason = f"{subfolder}/" if subfolder else "", ""
    try:
        for place in (prefix, f"{prefix}{KNOWLEDGE_BASE_FOLDER}/"):
            try:
                hf_hub_download(name, f"{place}{CONFIG_FILE}", **options)
            except LocalEntryNotFoundError as error:
                # No server was asked or answered; a cache may hold the other place only.
                reason = f" ({error})"
                continue
            except EntryNotFoundError:
                continue
            # Beside it lie the card, and in a model's repository the weights.
            patterns = [f"{place}*.marisa", f"{place}*.safetensors", f"{place}*.json"]
            return Path(snapshot_download(name, allow_patterns=patterns, **options)) / place
    except (OSError, ValueError) as error:
        raise KnowledgeBaseError(f"{name}: no such folder, and it cannot be fetched from the Hub: {error}") from error
    raise KnowledgeBaseError(
        f"{name}: no such folder, and no repository on the Hub, or in the cache, that has {CONFIG_FILE} or "
        f"{KNOWLEDGE_BASE_FOLDER}/{CONFIG_FILE}{reason}"
    )


def knowledge_base_card(kb: SavedKnowledgeBase, repo_id: str) -> str:
    """Return the README.md of a repository that holds a knowledge base and nothing else."""
    from ..hub.card_text import plain_text, python_literal

    def sources(content: Mapping[str, Any]) -> Iterator[str]:
        for key, value in content.items():
            yield f"- {plain_text(key)}: {plain_text(value if isinstance(value, str) else str(value))}"

    return "\n".join(
        [
            "---",
            "library_name: hf-corefel",
            "tags:",
            "- knowledge-base",
            "- entity-linking",
            "- coref-el",
            "---",
            "",
            f"# {plain_text(repo_id)}",
            "",
            "A knowledge base for entity linking with hf-corefel: which entities a surface may stand for, how likely",
            "each is, and vectors of the entities.",
            "",
            "| | |",
            "|---|---|",
            f"| entities | {kb.num_entities:,} |",
            f"| surfaces | {kb.num_surfaces:,} |",
            f"| candidates | {kb.num_candidates:,} |",
            f"| width of the vectors | {kb.vector_size} |",
            f"| unknown surfaces fall back on | {plain_text(kb.fallback)} |",
            f"| fingerprint | {plain_text(kb.fingerprint)} |",
            "",
            "```python",
            "from hf_corefel import KnowledgeBase, load_pipeline",
            "",
            f"kb = KnowledgeBase.from_pretrained({python_literal(repo_id)})",
            f"annotate = load_pipeline(knowledge_base={python_literal(repo_id)})",
            "```",
            "",
            "A model takes it when its vectors are of the model's kind and width.",
            "",
            "## Sources",
            "",
            *(sources(kb.provenance) if kb.provenance else ["It does not say where its facts come from."]),
            "",
        ]
    )
