"""Where models and processors come from: options of loading, and folders of a Hub repository."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import HfApi, snapshot_download

if TYPE_CHECKING:  # whoever looks for a folder needs no torch
    from torch import Tensor

__all__ = [
    "FINGERPRINT_FILE",
    "HubOptions",
    "Origin",
    "checked_name",
    "download_folder",
    "upload_folder",
]

FINGERPRINT_FILE = "fingerprint.json"


@dataclass(frozen=True)
class HubOptions:
    """How files of a Hub repository are found; None leaves the choice to huggingface_hub.

    Copies and pickles lack the token: it is nobody's but the caller's.

    Attributes:
        revision: Branch, tag or commit.
        cache_dir: Where downloaded files are kept.
        token: The user's token, or whether to send the stored one.
        local_files_only: Ask no server, take what is in the cache.
        subfolder: The folder inside the repository, or inside the folder, that holds all files.
    """

    revision: str | None = None
    cache_dir: str | Path | None = None
    token: str | bool | None = field(default=None, repr=False)
    local_files_only: bool = False
    subfolder: str | None = None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(item.name for item in fields(cls))

    @classmethod
    def pick(cls, kwargs: Mapping[str, Any]) -> HubOptions:
        """The options among keyword arguments."""
        return cls(**{name: kwargs[name] for name in cls.names() if kwargs.get(name) is not None})

    def at(self, revision: str | None) -> HubOptions:
        """The options for another repository, at a revision of that one."""
        return replace(self, revision=revision, subfolder=None)

    def to_kwargs(self) -> dict[str, Any]:
        """The options as keyword arguments, those that were not set left out."""
        values = {name: getattr(self, name) for name in self.names()}
        if not self.local_files_only:
            del values["local_files_only"]
        return {name: value for name, value in values.items() if value is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.revision, self.cache_dir, None, self.local_files_only, self.subfolder)


@dataclass(frozen=True)
class Origin:
    """How a model was loaded, and some values of its weights as they were then.

    Attributes:
        options: How its files were found.
        weights: See `hf_corefel.loading.weights.sample_weights`.
        trust_remote_code: Whether the caller trusts code that its files name.
        chose_dtype: Whether the caller said in which precision its weights are wanted.
        default: Whether it was taken because nobody named a model.
        quantized: Whether its weights were quantised when they were loaded.
    """

    options: HubOptions
    weights: Mapping[str, Tensor] = field(repr=False, compare=False)
    trust_remote_code: bool = False
    chose_dtype: bool = False
    default: bool = False
    quantized: bool = False


def checked_name(name: Any, what: str = "model") -> str:
    """Return the name of a saved model: its folder or Hub id.

    Args:
        name: What the caller gave.
        what: What the message calls it.

    Raises:
        TypeError: When it is no name.
        ValueError: When it is empty, which a missing value of a script would be, too.
        OSError: When it can only be a path, and nothing is there.
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"{what}: expected a folder or a Hub id, got an object of {type(name).__name__}")
    text = str(name)
    if not text.strip():
        raise ValueError(f"{what}: expected a folder or a Hub id, got an empty name; leave it out for the default")
    is_path = Path(text).is_absolute() or text.startswith(".") or text.count("/") > 1
    if is_path and not Path(text).exists():
        raise OSError(f"{text}: there is no such folder ({what})")
    return text


def download_folder(name: str, folder: str, options: HubOptions) -> Path:
    """A folder inside a saved model, downloaded when the model is a Hub repository.

    Args:
        name: Folder on disk, or Hub id.
        folder: Name of the folder in it.
        options: How to find the repository.

    Raises:
        OSError: When the repository has no such folder, or it is not in the cache and may not be fetched.
    """
    inside = f"{options.subfolder}/{folder}" if options.subfolder else folder
    if Path(name).is_dir():
        return Path(name) / inside
    kwargs = replace(options, subfolder=None).to_kwargs()
    path = Path(snapshot_download(name, allow_patterns=f"{inside}/*", **kwargs)) / inside
    if not path.is_dir():
        raise OSError(f"{name}: {inside}/ is not in the repository, or was never downloaded and may not be fetched now")
    return path


def upload_folder(
    folder: str | Path,
    repo_id: str,
    *,
    repo_type: str = "model",
    private: bool | None = None,
    revision: str | None = None,
    token: str | bool | None = None,
    **kwargs: Any,
) -> Any:
    """Uploads a folder to a repository and to a branch that are made when they do not exist.

    Args:
        folder: The folder.
        repo_id: The repository.
        repo_type: "model", or "space" for a Space of Gradio.
        private: Whether a new repository is private; None leaves it to the organisation.
        revision: The branch; ``main`` when None.
        token: The user's token; the stored one when None.
        **kwargs: Passed to `HfApi.upload_folder`.

    Returns:
        The `huggingface_hub.CommitInfo`.

    Raises:
        ValueError: When it must be private and the repository is there already, in public.
    """
    api = HfApi(token=token)
    sdk = "gradio" if repo_type == "space" else None
    repo_id = api.create_repo(repo_id, private=private, exist_ok=True, repo_type=repo_type, space_sdk=sdk).repo_id
    if private and not api.repo_info(repo_id, repo_type=repo_type).private:
        raise ValueError(f"{repo_id}: the repository exists and is public; nothing was uploaded")
    if revision is not None and not revision.startswith("refs/"):
        api.create_branch(repo_id, branch=revision, exist_ok=True, repo_type=repo_type)
    return api.upload_folder(repo_id=repo_id, repo_type=repo_type, folder_path=str(folder), revision=revision, **kwargs)
