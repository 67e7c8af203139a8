"""What a teacher says of a corpus, on disk: a teacher's pass costs many times a pupil's step, and is made once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ..documents import Document
from ..utils.files import FileBusyError, whole_file
from ..utils.json_files import read_json_object
from .checks import check_number, check_words
from .collator import DocumentDataset
from .teacher_targets import TeacherTargets
from .teachers import LiveTeacher, Reading

__all__ = ["MANIFEST_FILE", "CachedTeacher", "cache_teacher", "document_key"]

MANIFEST_FILE = "teacher_cache.json"
_VERSION = 1
# Seconds between two looks at what another process is writing.
_WAIT = 0.02
# Fields of a document that a model and its processor read.
_READ = ("text", "words", "mentions", "spans", "candidates", "mention_scope", "speakers")
_ALWAYS_SAID = ("version", "head", "temperature", "threshold", "bf16", "reading", "weights_sha256", "calibration")
_INTEGERS = ("spans", "pairs", "links", "mentions")
_PROBABILITIES = ("root", "pair_probabilities", "link_probabilities", "mention_probabilities")


def cache_teacher(
    teacher: LiveTeacher,
    documents: Iterable[Document | Mapping[str, Any]],
    folder: str | Path,
    *,
    temperature: float = 1.0,
    threshold: float = 1e-4,
    max_document_words: int | None = 2000,
    bf16: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write down what a teacher says of documents, one file each, for `CorefELTrainer(teacher=folder)`.

    It goes on where an earlier run was stopped: documents that the folder has are passed over. What another process
    is writing at the same time, as the ranks of one training may, is left to that one. What is lost against the
    teacher itself: edges and mentions that are not more probable than the threshold, and its opinion of spans that only
    the pupil retains. The former count as edges from the root, the latter as no mentions.

    Args:
        teacher: The teacher.
        documents: Documents or their dicts, with gold clusters or without; the ones to train on, since a training cuts
            long documents where no gold mention is cut.
        folder: Where to write; made when it does not exist. One folder is for one teacher.
        temperature: Divides the teacher's scores; the training's `distillation_temperature`.
        threshold: What is not more probable is left out. About 10 kB a document remain at 1e-4.
        max_document_words: The training's argument of this name.
        bf16: Whether the teacher computes in bfloat16, as in a training with this argument.
        progress: Called after every document with how many are done, and of how many.

    Returns:
        How many documents were written; those that were there are not counted.

    Raises:
        DocumentError: When a document is invalid.
        ValueError: When the folder is of another teacher or of other settings, or an argument is out of range; the
            message names what differs.
    """
    check_number(threshold, "threshold", least=0)
    if threshold >= 1.0:
        raise ValueError(f"threshold must be below 1; got {threshold}")
    check_number(temperature, "temperature", above=0)
    check_words(max_document_words, "max_document_words", least=0)
    dataset = DocumentDataset(documents, max_document_words or None, needs_gold=False)
    teacher.check(dataset.documents, dataset.names, max_document_words)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "version": _VERSION,
        "head": teacher.head,
        "temperature": float(temperature),
        "threshold": float(threshold),
        "bf16": bf16,
        "reading": teacher.processor.settings.to_saved(),
        "weights_sha256": _weights_sha256(teacher),
        "calibration": teacher.model.config.calibration,
        "config": teacher.model.config.own_fields(),
        # None where the source of candidates has none; two such sources cannot be told apart.
        "knowledge_base": getattr(teacher.processor.knowledge_base, "content_fingerprint", None),
        "tokenizer_sha256": _tokenizer_sha256(teacher.processor.tokenizer),
    }
    _begin(folder, json.loads(json.dumps(settings)))
    written = 0
    for done, document in enumerate(dataset.documents, 1):
        path = _path(folder, document)
        if not path.is_file():
            device = teacher.model.device.type
            with torch.autocast(device, torch.bfloat16) if bf16 else nullcontext():
                reading = teacher.read(document, temperature)
                said = reading.targets(reading.retained)
            written += _if_nobody_else_writes(path, partial(_write, path, said.above(threshold)))
        if progress is not None:
            progress(done, len(dataset))
    return written


class CachedTeacher:
    """What a teacher said of documents, read from a folder of `cache_teacher`.

    Args:
        folder: The folder.

    Raises:
        ValueError: When it is none, or of another version.

    Example:
        >>> from hf_corefel import Document, bundled_checkpoint
        >>> from hf_corefel.training import CachedTeacher, LiveTeacher, cache_teacher
        >>> cache_teacher(LiveTeacher.from_pretrained(bundled_checkpoint()), [Document("Oslo is old.")], "said")
        1
        >>> CachedTeacher("said").head
        'global'
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        manifest = read_json_object(self._folder / MANIFEST_FILE)
        if manifest.get("version") != _VERSION:
            raise ValueError(f"{self._folder / MANIFEST_FILE}: version {manifest.get('version')!r} cannot be read")
        for name, kind in (("head", str), ("temperature", float)):
            if not isinstance(manifest.get(name), kind):
                raise ValueError(
                    f"{self._folder / MANIFEST_FILE}: {name} is {manifest.get(name)!r}; the file is damaged"
                )
        self.head: str = manifest["head"]
        self.temperature: float | None = manifest["temperature"]

    def check(self, documents: Sequence[Document], names: Sequence[str], max_words: int | None) -> None:
        """Raises `ValueError` unless the folder has each of the documents."""
        lacking = [name for d, name in zip(documents, names, strict=True) if not _path(self._folder, d).is_file()]
        if lacking:
            raise ValueError(
                f"{self._folder}: the teacher's cache lacks {len(lacking)} of {len(documents)} training documents, "
                f"{lacking[0]} the first; write them with hf-corefel cache-teacher, of the documents that are trained "
                f"on and with --max-document-words {max_words or 0}"
            )

    def read(self, document: Document, temperature: float) -> Reading:
        """What the folder has of a document."""
        return _CachedReading(_read(_path(self._folder, document)))


class _CachedReading:
    """What was written down of a document; nothing can be asked beyond that."""

    def __init__(self, targets: TeacherTargets) -> None:
        self._targets = targets
        self.retained = targets.spans

    def targets(self, spans: np.ndarray) -> TeacherTargets:
        """What was written down."""
        return self._targets


def document_key(document: Document) -> str:
    """Return what tells a document from others that a model reads otherwise, in hexadecimal."""
    data: dict[str, Any] = {**document.to_dict()}
    read = {name: data[name] for name in _READ if name in data}
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:40]


def _path(folder: Path, document: Document) -> Path:
    return folder / f"{document_key(document)}.safetensors"


def _begin(folder: Path, settings: dict[str, Any]) -> None:
    path = folder / MANIFEST_FILE

    def write() -> None:
        with whole_file(path) as place:
            place.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")

    if not path.exists() and _if_nobody_else_writes(path, write):
        return
    before = read_json_object(path)
    # Earlier releases wrote down less.
    known = {name: value for name, value in settings.items() if name in before or name in _ALWAYS_SAID}
    if isinstance(there := before.get("config"), dict):
        known["config"] = {name: value for name, value in known["config"].items() if name in there}
    if (difference := _difference(before, known)) is not None:
        name, there, here = difference
        raise ValueError(
            f"{path}: {name} is {there!r} there, and {here!r} was asked for; one folder is for one teacher with one "
            "setting, choose another"
        )


def _difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """The first field that differs, by its dotted name, with both values; None where there is none."""
    for name, value in here.items():
        other = there.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            within = _difference(other, dict.fromkeys(other) | value)
            if within is not None:
                return f"{name}.{within[0]}", *within[1:]
        elif other != value:
            return name, other, value
    return None


def _weights_sha256(teacher: LiveTeacher) -> str:
    found = hashlib.sha256()
    for name, value in sorted(teacher.model.state_dict().items()):
        found.update(name.encode())
        found.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _tokenizer_sha256(tokenizer: Any) -> str:
    if getattr(tokenizer, "is_fast", False):
        said = json.loads(tokenizer.backend_tokenizer.to_str())
        # Left behind by whoever called it last, and set anew by every call.
        said |= {"truncation": None, "padding": None}
    else:
        said = {"vocabulary": sorted(tokenizer.get_vocab().items()), "special": sorted(tokenizer.all_special_ids)}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _if_nobody_else_writes(path: Path, write: Callable[[], None]) -> bool:
    """Whether a file was written, and not by another process, whose end is waited for."""
    while True:
        try:
            write()
            return True
        except FileBusyError:
            if path.is_file():
                return False
            # If that one is stopped before the file is whole, its lock is free.
            time.sleep(_WAIT)


def _write(path: Path, targets: TeacherTargets) -> None:
    arrays = {name: getattr(targets, name).astype(np.int32) for name in _INTEGERS}
    arrays |= {name: getattr(targets, name).astype(np.float32) for name in _PROBABILITIES}
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with whole_file(path) as place:
        save_file(contiguous, place, metadata={"entities": json.dumps(targets.entities)})


def _read(path: Path) -> TeacherTargets:
    try:
        with safe_open(path, framework="np") as file:
            fields: dict[str, Any] = {name: file.get_tensor(name).astype(np.int64) for name in _INTEGERS}
            fields |= {name: file.get_tensor(name).astype(np.float64) for name in _PROBABILITIES}
            return TeacherTargets(entities=json.loads(file.metadata()["entities"]), **fields)
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: it is damaged ({error}); delete it and write it again") from error
