"""Checkpoints of a training that are whole, and the newest of them.

A checkpoint is many files. While it is written its manifest says so; when all files are there, the manifest is replaced
in one step by one with their sizes and checksums. What a kill or a full disk left behind therefore never passes for
whole. Checkpoints without one, of earlier releases or of `transformers.Trainer`, are judged by reading their files.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers.trainer_callback import TrainerState
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from transformers.utils import logging

from ..candidates.backends import open_source
from ..candidates.hub import KNOWLEDGE_BASE_FOLDER
from ..utils.files import sha256_of, whole_file

__all__ = [
    "MANIFEST_FILE",
    "STATE_FILE",
    "BrokenCheckpointError",
    "begin_checkpoint",
    "check_checkpoint",
    "complete_checkpoint",
    "lacks_optimizer",
    "newest_whole_checkpoint",
    "rotate_checkpoints",
]

logger = logging.get_logger(__name__)

MANIFEST_FILE = "checkpoint_manifest.json"
STATE_FILE = "trainer_state.json"
_FOLDER = re.compile(rf"{PREFIX_CHECKPOINT_DIR}-(\d+)")
# One of them holds the weights.
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
)
# Or one of these: FSDP and DeepSpeed, which have files of their own for the optimizer too, and several adapters.
_WEIGHTS_IN_PARTS = ("pytorch_model_fsdp*", "global_step*", "*/adapter_model.*")


class BrokenCheckpointError(ValueError):
    """A checkpoint lacks a file, or a file is not what was saved; the message names it.

    Example:
        >>> from hf_corefel.training import BrokenCheckpointError
        >>> issubclass(BrokenCheckpointError, Exception)
        True
    """


# Saving -----------------------------------------------------------------------------------------------


def begin_checkpoint(folder: Path) -> None:
    """Make an empty checkpoint folder that counts as broken until `complete_checkpoint`.

    What an earlier run left there goes: files of two runs in one folder would each be whole.
    """
    if folder.exists():
        # Its manifest last, so that what a kill leaves of it is not judged by reading.
        _write_manifest(folder, {"complete": False})
        for path in folder.iterdir():
            if path.name != MANIFEST_FILE:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    _write_manifest(folder, {"complete": False})


def complete_checkpoint(folder: Path) -> None:
    """Write down size and SHA-256 of every file of a checkpoint, which makes it whole."""
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / MANIFEST_FILE
    }
    _write_manifest(folder, {"complete": True, "files": files})


def _write_manifest(folder: Path, content: dict[str, Any]) -> None:
    with whole_file(folder / MANIFEST_FILE) as path:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def rotate_checkpoints(run: Path, limit: int | None, keep: set[Path]) -> None:
    """Delete the oldest checkpoints of a run until `limit` are left; as `transformers.Trainer` does, after saving.

    Args:
        run: The run's folder.
        limit: How many to leave; None or 0 deletes none.
        keep: Checkpoints that stay: the newest whole one, and the best one.
    """
    if not limit or limit < 0:
        return
    kept = {path.resolve() for path in keep}
    # One that a kill has cut is the first to go, whatever its number.
    oldest_first = sorted(_checkpoints(run), key=lambda path: (_is_finished(path), path.stat().st_mtime_ns))
    surplus = len(oldest_first) - max(limit, len(kept))
    for path in [path for path in oldest_first if path.resolve() not in kept][: max(0, surplus)]:
        logger.info("Deleting older checkpoint [%s] due to args.save_total_limit", path)
        shutil.rmtree(path, ignore_errors=True)


def _is_finished(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))["complete"])
    except FileNotFoundError:
        return (folder / STATE_FILE).is_file()
    except (ValueError, KeyError, TypeError):
        return False


# Resuming ---------------------------------------------------------------------------------------------


def newest_whole_checkpoint(run: str | Path) -> Path:
    """Find the checkpoint of a run to go on from, warning of newer ones that are broken.

    Raises:
        BrokenCheckpointError: When there is none; the message says what is the matter with each.
    """
    run = Path(run)
    broken = []
    for folder in sorted(_checkpoints(run), key=_step, reverse=True):
        try:
            check_checkpoint(folder)
        except BrokenCheckpointError as error:
            broken.append(str(error))
            continue
        for reason in broken:
            logger.warning("%s; it is passed over, training goes on from %s", reason, folder.name)
        return folder
    if broken:
        raise BrokenCheckpointError(
            f"No valid checkpoint found in output directory ({run}), all are broken: {'; '.join(broken)}. "
            "Train without resume_from_checkpoint, or give it the path of a checkpoint elsewhere"
        )
    raise BrokenCheckpointError(f"No valid checkpoint found in output directory ({run})")


def check_checkpoint(folder: str | Path) -> None:
    """Raise `BrokenCheckpointError` unless a checkpoint is whole; all its files are read."""
    folder = Path(folder)
    problem = _problem(folder)
    if problem is not None:
        raise BrokenCheckpointError(f"{folder}: the checkpoint is broken: {problem}")


def lacks_optimizer(folder: str | Path) -> bool:
    """Return whether a checkpoint has the model alone, as with ``save_only_model``: neither moments nor schedule."""
    # FSDP and DeepSpeed have files of their own.
    return not any(any(Path(folder).glob(pattern)) for pattern in ("optimizer*", "global_step*"))


def _checkpoints(run: Path) -> list[Path]:
    if not run.is_dir():
        return []
    return [path for path in run.iterdir() if _FOLDER.fullmatch(path.name) and path.is_dir()]


def _step(folder: Path) -> int:
    match = _FOLDER.fullmatch(folder.name)
    return int(match[1]) if match else -1


def _problem(folder: Path) -> str | None:
    """What is the matter with a checkpoint, None when it is whole."""
    if not folder.is_dir():
        return "there is no such folder"
    if not any(folder.iterdir()):
        return "the folder is empty"
    try:
        manifest = _read_json(folder / MANIFEST_FILE)
    except FileNotFoundError:
        return next(_problems_by_reading(folder), None)
    except (OSError, ValueError):
        return f"{MANIFEST_FILE} cannot be read"
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files", {}), dict):
        return f"{MANIFEST_FILE} cannot be read"
    if not manifest.get("complete"):
        return "saving it was never finished"
    return next(_problems_by_manifest(folder, manifest.get("files", {})), None)


def _problems_by_manifest(folder: Path, files: dict[str, Any]) -> Iterator[str]:
    for name in [name for name in (STATE_FILE,) if name not in files]:
        yield f"{MANIFEST_FILE} lacks {name}"
    for name, saved in files.items():
        path = folder / name
        try:
            size = path.stat().st_size
            if size != saved["bytes"]:
                yield f"{name} has {size} bytes instead of {saved['bytes']}"
            elif sha256_of(path) != saved["sha256"]:
                yield (
                    f"{name} is not what was saved (if you changed it on purpose, delete {MANIFEST_FILE} beside it, "
                    "which has its checksum)"
                )
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror}"
        except (KeyError, TypeError):
            yield f"{MANIFEST_FILE} cannot be read"


def _problems_by_reading(folder: Path) -> Iterator[str]:
    names = {path.name for path in folder.iterdir()}
    # The last that is written.
    if STATE_FILE not in names:
        yield f"{STATE_FILE} is missing"
    in_parts = any(any(folder.glob(pattern)) for pattern in _WEIGHTS_IN_PARTS)
    if not in_parts:
        if not names.intersection(_WEIGHTS):
            yield f"{_WEIGHTS[0]} is missing"
        if "config.json" not in names and not names.intersection({"adapter_config.json"}):
            yield "config.json is missing"
        # With save_only_model there is none of the three.
        saved = {"optimizer.pt": "optimizer.pt", "scheduler.pt": "scheduler.pt", "rng_state.pth": "rng_state*.pth"}
        missing = [name for name, pattern in saved.items() if not any(folder.glob(pattern))]
        if missing and len(missing) < len(saved):
            yield f"{missing[0]} is missing"
    for name in sorted(names):
        reason = _unreadable(folder / name)
        if reason is not None:
            yield f"{name} is damaged or cut: {reason}"


def _unreadable(path: Path) -> str | None:
    """Why a file of a checkpoint cannot be read, None when it can or is of no kind that is known."""
    try:
        if path.name == KNOWLEDGE_BASE_FOLDER and path.is_dir():
            open_source(path)
        elif not path.is_file():
            return None
        elif path.name == STATE_FILE:
            TrainerState.load_from_json(str(path))
        elif path.suffix == ".safetensors":
            _open_safetensors(path)
        elif path.name.endswith(".index.json"):
            _check_shards(path)
        elif path.suffix == ".json":
            _read_json(path)
        elif path.suffix in (".pt", ".pth", ".bin"):
            _read_torch(path)
    except Exception as error:  # noqa: BLE001  # whatever a reader says of a damaged file
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return None


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _open_safetensors(path: Path) -> set[str]:
    """Names of the tensors; raises when the file is shorter or longer than they are."""
    with safe_open(path, framework="pt") as file:
        return set(file.keys())


def _check_shards(index: Path) -> None:
    shards: dict[str, set[str]] = {}
    for tensor, name in _read_json(index)["weight_map"].items():
        shards.setdefault(name, set()).add(tensor)
    for name, tensors in shards.items():
        path = index.with_name(name)
        if not path.is_file():
            raise ValueError(f"its part {name} is missing")
        if path.suffix == ".safetensors" and not tensors <= _open_safetensors(path):
            raise ValueError(f"its part {name} lacks tensors")


def _read_torch(path: Path) -> None:
    """Compare the checksums that torch saves; files of old forms without them are loaded."""
    if not zipfile.is_zipfile(path):
        torch.load(path, map_location="cpu", weights_only=True)
        return
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"{damaged} has another checksum")
