"""The files of `runs/`: what each run trains or decodes, and the order in which the queue takes them.

A run either says everything (corpus, seed, encoder, knowledge base, training arguments, fields of the configuration),
or names another one as its ``base`` and what it changes of it, by dotted names that the base has. ``weights_of`` names
the run whose trained model is decoded in another way, ``merges`` the two whose stored clusters and links are put
together; both without training.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DECODINGS", "RUNS", "Run", "RunFileError", "read_queue", "read_run"]

RUNS = Path(__file__).parent / "runs"
QUEUE = "queue.txt"
DECODINGS = ("best_tree", "marginals", "min_bayes_risk")
_PLAIN = {
    "table": str,
    "row": str,
    "corpus": str,
    "seed": int,
    "encoder": str,
    "encoder_config": dict,
    "knowledge_base": str,
    "training": dict,
    "config": dict,
    "parts": list,
}
_BESIDE = {"base", "change", "weights_of", "decoding", "merges", *_PLAIN}


class RunFileError(ValueError):
    """A file of runs says what cannot be; the message names the file and the field."""


@dataclass(frozen=True)
class Run:
    """One entry of the queue.

    Attributes:
        name: The name of its file.
        settings: Everything that it says, with what its base says.
        weights_of: The run whose model it decodes; None when it trains one.
        decoding: How clusters and links are chosen, one of `DECODINGS`.
        merges: The runs whose clusters and whose links it puts together; none for others.
    """

    name: str
    settings: Mapping[str, Any]
    weights_of: str | None = None
    decoding: str = "best_tree"
    merges: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        """Whether it has a model of its own."""
        return self.weights_of is None and not self.merges

    @property
    def head(self) -> str:
        """The head that is trained."""
        return str(self.settings["config"].get("head", "global"))

    @property
    def parts(self) -> list[str]:
        """The parts of the corpus that it is evaluated on."""
        return list(self.settings["parts"])

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, as it is stored beside the results."""
        return {**self.settings, "weights_of": self.weights_of, "decoding": self.decoding, "merges": list(self.merges)}


def read_queue(folder: Path = RUNS) -> list[Run]:
    """Return the runs of a folder in the order of its ``queue.txt``.

    Raises:
        RunFileError: When a file is missing or malformed, or the queue lacks one.
    """
    names = list(_names(folder / QUEUE))
    files = {path.stem for path in folder.glob("*.json")}
    if twice := {name for name in names if names.count(name) > 1}:
        raise RunFileError(f"{folder / QUEUE}: {', '.join(sorted(twice))} stands there twice")
    if lacking := files ^ set(names):
        raise RunFileError(f"{folder}: {QUEUE} and the files *.json differ in {', '.join(sorted(lacking))}")
    runs = [read_run(folder, name) for name in names]
    for run in runs:
        for field, others in (("weights_of", filter(None, [run.weights_of])), ("merges", run.merges)):
            if unknown := set(others) - files:
                raise RunFileError(f"{folder / run.name}.json: {field}: there is no run {unknown.pop()!r}")
    return runs


def _names(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise RunFileError(f"{path}: no such file; it lists the runs, one name a line")
    for line in path.read_text(encoding="utf-8").splitlines():
        name = line.partition("#")[0].strip()
        if name:
            yield name


def read_run(folder: Path, name: str) -> Run:
    """Return one run of a folder, with what its base says.

    Raises:
        RunFileError: When its file, or that of its base, is missing or malformed.
    """
    path = folder / f"{name}.json"
    content = _read(path)
    base = content.pop("base", None)
    changes = content.pop("change", {})
    weights_of, decoding = content.pop("weights_of", None), content.pop("decoding", "best_tree")
    if decoding not in DECODINGS:
        raise RunFileError(f"{path}: decoding must be one of {', '.join(DECODINGS)}; got {decoding!r}")
    merges = content.pop("merges", [])
    if merges and (not isinstance(merges, list) or len(merges) != 2):
        raise RunFileError(f"{path}: merges must name two runs, that of the clusters and that of the links")
    settings = content
    if base is not None:
        settings = {**copy.deepcopy(dict(read_run(folder, base).settings)), **content}
        for dotted, value in changes.items():
            _change(settings, dotted, value, path)
    elif changes:
        raise RunFileError(f"{path}: change: there is no base that it could change")
    for field, kind in _PLAIN.items():
        if not isinstance(settings.get(field), kind):
            raise RunFileError(f"{path}: {field} must be there, and be of type {kind.__name__}")
    return Run(name, settings, weights_of, decoding, tuple(merges))


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise RunFileError(f"{path}: no such file")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunFileError(f"{path}: no JSON: {error}") from error
    if not isinstance(content, dict):
        raise RunFileError(f"{path}: expected an object")
    if unknown := set(content) - _BESIDE:
        raise RunFileError(f"{path}: unknown {', '.join(sorted(unknown))}; known are {', '.join(sorted(_BESIDE))}")
    return content


def _change(settings: dict[str, Any], dotted: str, value: Any, path: Path) -> None:
    """Set a field by its dotted name; one that the base does not have would be a misspelt one."""
    *parents, last = dotted.split(".")
    inner = settings
    for parent in parents:
        inner = inner.get(parent, {})
    if last not in inner:
        raise RunFileError(f"{path}: change: the base says nothing of {dotted!r}; say it there first")
    inner[last] = value
