"""The folder that a model is saved to: its files are put in place of an earlier model's together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..utils.files import locked
from .adapters import ADAPTER_FILES
from .repositories import FINGERPRINT_FILE
from .weights import GRAPHS_FILE, INDEX_FILE, WEIGHTS_FILE, with_variant

__all__ = ["replaced_files", "replaced_model_files"]

# Nothing loads without it: it goes first and comes last.
_CONFIG_FILE = "config.json"
# Within the folder, which may be the only place where one can write, or on a disk of its own.
_STAGING = ".saving"
# Seconds to wait for another writer: where each process of a training saves, they do so one after another.
_PATIENCE = 600.0


@contextmanager
def replaced_model_files(folder: str | Path, variant: str | None = None) -> Iterator[Path]:
    """Give a folder to save a model in, and put its files in place of those in `folder` when the block ends well.

    Until then the earlier model stays as it is, also when a disk is full; for a moment there must be room for both. A
    kill while they are moved leaves a folder without ``config.json``, which does not load. What belongs to the earlier
    weights goes: they themselves in one file or in shards, their fingerprint, an adapter, exported graphs. All else
    stays, weights of other variants too.

    Args:
        folder: Where the model is to be; made when it does not exist.
        variant: As in ``model.<variant>.safetensors``.

    Raises:
        FileBusyError: When another process has been saving there for minutes.
    """
    with replaced_files(folder, lambda target, staging: _remove_earlier(target, variant), timeout=_PATIENCE) as staging:
        yield staging


@contextmanager
def replaced_files(
    folder: str | Path, remove_earlier: Callable[[Path, Path], None], *, timeout: float = 0.0
) -> Iterator[Path]:
    """Give a folder to write to, and move what is in it to `folder` when the block ends well.

    Args:
        folder: Where the files are to be; made when it does not exist.
        remove_earlier: Takes what belongs to an earlier model out of the folder, which is given with the one that was
            written to. ``config.json`` is gone by then.
        timeout: Seconds to wait for another writer.

    Raises:
        FileBusyError: When another process is still saving there after that time.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    staging = target / _STAGING
    with locked(staging, timeout=timeout):
        try:
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            yield staging
            (target / _CONFIG_FILE).unlink(missing_ok=True)
            remove_earlier(target, staging)
            for path in sorted(staging.iterdir(), key=lambda path: path.name == _CONFIG_FILE):
                place = target / path.name
                if place.is_dir() and not place.is_symlink():
                    shutil.rmtree(place)
                os.replace(path, place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _remove_earlier(folder: Path, variant: str | None) -> None:
    """Remove the weights of an earlier model, of which one file is read before shards, and what was made of them."""
    weights = with_variant(WEIGHTS_FILE, variant)
    for name in (weights, with_variant(INDEX_FILE, variant), FINGERPRINT_FILE, *ADAPTER_FILES):
        (folder / name).unlink(missing_ok=True)
    for shard in folder.glob(weights.replace(".safetensors", "-*-of-*.safetensors")):
        shard.unlink()
    graphs = (folder / GRAPHS_FILE).parent
    # Only an export has the list; another folder of that name is somebody's own.
    if (folder / GRAPHS_FILE).is_file():
        if graphs.is_symlink():
            graphs.unlink()
        else:
            shutil.rmtree(graphs)
