"""The folder that a model is saved to: its files are put in place of an earlier model's together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..utils.files import locked
from .adapters import ADAPTER_FILES
from .repositories import FINGERPRINT_FILE
from .weights import GRAPHS_FILE, INDEX_FILE, WEIGHTS_FILE, with_variant

__all__ = ["holds_nothing", "replaced_files", "replaced_model_files"]

# Nothing loads without it: it goes first and comes last.
_CONFIG_FILE = "config.json"
# Within the folder, which may be the only place where one can write, or on a disk of its own.
_STAGING = ".saving"
_ASIDE = ".replaced"
# What a save that is killed leaves there.
_LEFT_BY_KILL = {_STAGING, f".{_STAGING}.lock", _ASIDE}
# Seconds to wait for another writer: where each process of a training saves, they do so one after another.
_PATIENCE = 600.0


def holds_nothing(folder: Path) -> bool:
    """Return whether a folder is empty but for what a save that was killed may have left in it."""
    return all(path.name in _LEFT_BY_KILL for path in folder.iterdir())


@contextmanager
def replaced_model_files(folder: str | Path, variant: str | None = None) -> Iterator[Path]:
    """Give a folder to save a model in, and put its files in place of those in `folder` when the block ends well.

    Until then the earlier model stays as it is, also when a disk is full; for a moment there must be room for both. A
    kill while they are moved leaves a folder without ``config.json``, which does not load, and the earlier files in
    ``.replaced`` within it. What belongs to the earlier
    weights goes: they themselves in one file or in shards, their fingerprint, an adapter, exported graphs. All else
    stays, weights of other variants too.

    Args:
        folder: Where the model is to be; made when it does not exist.
        variant: As in ``model.<variant>.safetensors``.

    Raises:
        FileBusyError: When another process has been saving there for minutes.
    """
    with replaced_files(folder, lambda target, staging: _earlier_files(target, variant), timeout=_PATIENCE) as staging:
        yield staging


@contextmanager
def replaced_files(
    folder: str | Path, earlier: Callable[[Path, Path], Iterable[Path]], *, timeout: float = 0.0
) -> Iterator[Path]:
    """Give a folder to write to, and move what is in it to `folder` when the block ends well.

    When moving fails, what was moved is moved back.

    Args:
        folder: Where the files are to be; made when it does not exist.
        earlier: Says what of the folder, which is given with the one that was written to, belongs to an earlier model
            and goes.
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
            _put_in_place(target, staging, earlier(target, staging))
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _put_in_place(target: Path, staging: Path, earlier: Iterable[Path]) -> None:
    """Move what was written into a folder; what it takes the place of is kept aside until all of it is there."""
    new = sorted((path.name for path in staging.iterdir()), key=lambda name: name == _CONFIG_FILE)
    old = {*new, _CONFIG_FILE, *(path.name for path in earlier)}
    aside = target / _ASIDE
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        with ExitStack() as moving_back:
            moves = [(target, aside, name) for name in sorted(old, key=lambda name: name != _CONFIG_FILE)]
            for source, place, name in [*moves, *((staging, target, name) for name in new)]:
                if os.path.lexists(source / name):
                    os.replace(source / name, place / name)
                    moving_back.callback(os.replace, place / name, source / name)
            moving_back.pop_all()
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        # Where it could not be moved back, it is better there than lost.
        with suppress(OSError):
            aside.rmdir()


def _earlier_files(folder: Path, variant: str | None) -> list[Path]:
    """Return the weights of an earlier model, of which one file is read before shards, and what was made of them."""
    weights = with_variant(WEIGHTS_FILE, variant)
    names = weights, with_variant(INDEX_FILE, variant), FINGERPRINT_FILE, *ADAPTER_FILES
    shards = folder.glob(weights.replace(".safetensors", "-*-of-*.safetensors"))
    # Only an export has the list; another folder of that name is somebody's own.
    graphs = [(folder / GRAPHS_FILE).parent] if (folder / GRAPHS_FILE).is_file() else []
    return [*(folder / name for name in names), *shards, *graphs]
