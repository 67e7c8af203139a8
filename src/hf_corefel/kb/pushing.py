"""Uploads a knowledge base to a repository of its own, or to the place where a model's repository has its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .configuration_file import CONFIG_FILE
from .hub import KNOWLEDGE_BASE_FOLDER, knowledge_base_card
from .saving import is_own_file

if TYPE_CHECKING:
    from .saved import SavedKnowledgeBase

__all__ = ["push_knowledge_base"]

# A repository with one of these is a model's.
_MODEL_FILES = frozenset(("config.json", "adapter_config.json"))


def push_knowledge_base(
    kb: SavedKnowledgeBase, repo_id: str, *, token: str | bool | None, revision: str | None, **kwargs: Any
) -> Any:
    """Upload what `save_pretrained` writes; of what the repository has, only files of a knowledge base are replaced.

    Args:
        kb: The knowledge base.
        repo_id: The repository, made when it does not exist. In a model's, the model's knowledge base is replaced.
        token: The user's token; the stored one when None.
        revision: A branch, made when it does not exist; ``main`` when None.
        **kwargs: Passed to `hf_corefel.loading.repositories.upload_folder`.

    Returns:
        The `huggingface_hub.CommitInfo`.

    Raises:
        ValueError: When the repository is that of a model without a knowledge base, or has to be private and is not.
    """
    from ..loading.repositories import FINGERPRINT_FILE, upload_folder

    there = _files(repo_id, token, revision)
    beside_model = CONFIG_FILE not in there and f"{KNOWLEDGE_BASE_FOLDER}/{CONFIG_FILE}" in there
    if CONFIG_FILE not in there and not beside_model and there & _MODEL_FILES:
        raise ValueError(
            f"repo_id: {repo_id} is the repository of a model and has no knowledge base; push to a repository of its "
            "own, or give it to the model: processor.with_knowledge_base(kb).push_to_hub"
        )
    with tempfile.TemporaryDirectory() as temporary:
        if beside_model:
            kb.save_pretrained(Path(temporary, KNOWLEDGE_BASE_FOLDER))
            # The fingerprint is of the model with the knowledge base before.
            stale = [FINGERPRINT_FILE, f"{KNOWLEDGE_BASE_FOLDER}/*"]
        else:
            kb.save_pretrained(temporary)
            stale = sorted(name for name in there if CONFIG_FILE in there and is_own_file(name))
            if "README.md" not in there:
                Path(temporary, "README.md").write_text(knowledge_base_card(kb.merged(), repo_id), encoding="utf-8")
        return upload_folder(
            temporary,
            repo_id,
            token=token,
            revision=revision,
            delete_patterns=stale,
            ignore_patterns=[".*", "*/.*"],
            **kwargs,
        )


def _files(repo_id: str, token: str | bool | None, revision: str | None) -> set[str]:
    """What a repository has at a revision; a branch that is not there yet will begin as its main one."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    api = HfApi(token=token)
    if not api.repo_exists(repo_id):
        return set()
    try:
        return set(api.list_repo_files(repo_id, revision=revision))
    except RevisionNotFoundError:
        return set(api.list_repo_files(repo_id))
