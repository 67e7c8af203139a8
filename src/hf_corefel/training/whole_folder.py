"""Folders of a saved model that are replaced as a whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..loading.adapters import ADAPTER_FILES, BASE_FOLDER
from ..loading.repositories import FINGERPRINT_FILE
from ..utils.files import locked

__all__ = ["replaced_model"]

# Nothing loads without it: it goes first and comes last.
_CONFIG_FILE = "config.json"
# Within the folder, which may be the only place where one can write, or on a disk of its own.
_STAGING = ".saving"
# Weights of an earlier model, and what belongs to them.
_WEIGHTS = (
    "*.safetensors",
    "*.safetensors.index.json",
    "pytorch_model*.bin",
    "pytorch_model*.bin.index.json",
    *ADAPTER_FILES,
    BASE_FOLDER,
)


@contextmanager
def replaced_model(folder: str | Path) -> Iterator[Path]:
    """Give a folder to save a model in, and put its files in place of those in `folder` when the block ends well.

    Until then an earlier model stays whole, also when a disk is full; for a moment there must be room for both. Moving
    takes no room, and a kill in the middle of it leaves a folder without ``config.json``, which does not load.
    Files that are not of a model stay, weights and fingerprint of the earlier one go.

    Args:
        folder: Where the model is to be; made when it does not exist.

    Raises:
        FileBusyError: When another process is saving there.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    staging = target / _STAGING
    with locked(staging):
        try:
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            yield staging
            for pattern in (_CONFIG_FILE, FINGERPRINT_FILE, *_WEIGHTS):
                for stale in target.glob(pattern):
                    shutil.rmtree(stale) if stale.is_dir() and not stale.is_symlink() else stale.unlink()
            for path in sorted(staging.iterdir(), key=lambda path: path.name == _CONFIG_FILE):
                place = target / path.name
                if place.is_dir() and not place.is_symlink():
                    shutil.rmtree(place)
                os.replace(path, place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
