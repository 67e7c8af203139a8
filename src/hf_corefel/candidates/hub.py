"""Where the folder of a knowledge base is: on disk, in a repository of its own, or beside a model on the Hub."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ..utils.json_files import read_json_object
from .errors import KnowledgeBaseError

__all__ = ["CONFIG_FILE", "DEFAULT_BACKEND", "KNOWLEDGE_BASE_FOLDER", "HubAccess", "find_folder", "saved_place"]

# What says of a folder that it is a knowledge base, and of which backend.
CONFIG_FILE = "kb_config.json"
# That of `hf_corefel.kb.KnowledgeBase`, and of all folders that name none.
DEFAULT_BACKEND = "alias_table"
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
    return saved_place(folder)


def saved_place(folder: str | Path) -> Path:
    """Return where the knowledge base of a folder lies: in it, or in the folder that a model keeps its own in.

    Opening and saving ask the same, so that what is opened by a model's folder is saved where it was.
    """
    folder = Path(folder)
    inside = folder / KNOWLEDGE_BASE_FOLDER
    return inside if not (folder / CONFIG_FILE).is_file() and (inside / CONFIG_FILE).is_file() else folder


def _download(name: str, subfolder: str | None, options: Mapping[str, Any]) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    prefix, reason = f"{subfolder}/" if subfolder else "", ""
    try:
        for place in (prefix, f"{prefix}{KNOWLEDGE_BASE_FOLDER}/"):
            try:
                config = hf_hub_download(name, f"{place}{CONFIG_FILE}", **options)
            except LocalEntryNotFoundError as error:
                # No server was asked or answered; a cache may hold the other place only.
                reason = f" ({error})"
                continue
            except EntryNotFoundError:
                continue
            # Beside it lie the card, and in a model's repository the weights.
            patterns = [f"{place}*.marisa", f"{place}*.safetensors", f"{place}*.json"]
            if _names_backend(config):
                patterns = [f"{place}*"]  # what its files are called, only that backend knows
            return Path(snapshot_download(name, allow_patterns=patterns, **options)) / place
    except (OSError, ValueError) as error:
        raise KnowledgeBaseError(f"{name}: no such folder, and it cannot be fetched from the Hub: {error}") from error
    raise KnowledgeBaseError(
        f"{name}: no such folder, and no repository on the Hub, or in the cache, that has {CONFIG_FILE} or "
        f"{KNOWLEDGE_BASE_FOLDER}/{CONFIG_FILE}{reason}"
    )


def _names_backend(config: str) -> bool:
    try:
        return read_json_object(config).get("backend", DEFAULT_BACKEND) != DEFAULT_BACKEND
    except ValueError:
        return False  # which is said when the folder is opened
