"""Folders of a saved model that are replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path

from ..loading.adapters import ADAPTER_FILES, BASE_FOLDER, is_base_folder
from ..loading.repositories import FINGERPRINT_FILE
from ..loading.saved_folder import replaced_files
from ..utils.json_files import read_json_object

__all__ = ["UNMERGED_FILE", "lies_within", "place_for_base", "replaced_model"]

# What a checkpoint needs beyond a model into which its adapters were merged, to go on with these.
UNMERGED_FILE = "unmerged.safetensors"

_PROCESSOR_FILE = "processor_config.json"
# Weights of an earlier model, and what belongs to them; others may lie beside them that are somebody's own.
_WEIGHTS = (
    "model.safetensors",
    "model-*-of-*.safetensors",
    "model.safetensors.index.json",
    "pytorch_model*.bin",
    "pytorch_model*.bin.index.json",
    UNMERGED_FILE,
    *ADAPTER_FILES,
)


@contextmanager
def replaced_model(folder: str | Path, *, origin: str | None = None) -> Iterator[Path]:
    """Give a folder to save a model in, and put its files in place of those in `folder` when the block ends well.

    Until then an earlier model stays whole, also when a disk is full; for a moment there must be room for both. Moving
    takes no room, and a kill in the middle of it leaves a folder without ``config.json``, which does not load.
    Files that are not of a model stay, weights and fingerprint of the earlier one go, and the base of an earlier
    adapter that the new model has no use for.

    Args:
        folder: Where the model is to be; made when it does not exist.
        origin: What the live model was loaded from; a base that is that, or holds it, stays.

    Raises:
        FileBusyError: When another process is saving there.
    """
    with replaced_files(folder, partial(_earlier_files, origin)) as staging:
        yield staging


def _earlier_files(origin: str | None, target: Path, staging: Path) -> list[Path]:
    """Return the weights of an earlier model or adapter, and what was made of them or is of use to nobody now."""
    base = _base_within(target)
    stale = [path for pattern in (FINGERPRINT_FILE, *_WEIGHTS) for path in target.glob(pattern)]
    return stale if base is None or _is_needed(base, staging, origin) else [*stale, base]


def place_for_base(folder: Path, origin: str | None) -> Path:
    """Return where in a folder the base of an adapter goes: in place of an earlier one, else where nothing is.

    Args:
        folder: Where the adapter is to be.
        origin: What the base was loaded from, which stays.
    """
    earlier = _base_within(folder)
    if earlier is not None and not lies_within(origin, earlier):
        return earlier
    names = chain((BASE_FOLDER,), (f"{BASE_FOLDER}_{number}" for number in count(2)))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def lies_within(name: str | None, folder: Path) -> bool:
    """Return whether what a model was loaded from is a folder, or lies in it."""
    return bool(name) and Path(str(name)).resolve().is_relative_to(folder.resolve())


def _base_within(folder: Path, adapter: Path | None = None) -> Path | None:
    """The base in a folder that a trainer has saved there for an adapter, which is the one there if none is given."""
    adapter = adapter or folder
    for config in (adapter / ADAPTER_FILES[0], *adapter.glob(f"[!.]*/{ADAPTER_FILES[0]}")):
        try:
            base = Path(str(read_json_object(config).get("base_model_name_or_path"))).resolve()
        except (OSError, ValueError):  # none, or a damaged one, of which nothing is known
            continue
        # A model of the user's that the adapter is put on has its processor with it.
        is_own = base.is_dir() and not (base / _PROCESSOR_FILE).exists()
        if base.parent == folder.resolve() and is_base_folder(base) and is_own:
            return folder / base.name
    return None


def _is_needed(base: Path, staging: Path, origin: str | None) -> bool:
    """Whether the base of the earlier adapter is that of the new one too, or the live model is made of it."""
    if (staging / base.name).exists():
        return False
    return lies_within(origin, base) or _base_within(base.parent, staging) == base
