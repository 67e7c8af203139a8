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

__all__ = ["DECODINGS", "RUNS", "Run", "RunFileError", "read_queue", "read_run", "what_is_done"]

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
# What the weights of a run depend on; the others name it in tables, or say what it is evaluated on.
_TRAINING = ("corpus", "seed", "encoder", "encoder_config", "knowledge_base", "training", "config")


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

    @property
    def training(self) -> dict[str, Any]:
        """What its weights depend on."""
        return {name: self.settings[name] for name in _TRAINING}

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, as it is stored beside the results."""
        return {**self.settings, "weights_of": self.weights_of, "decoding": self.decoding, "merges": list(self.merges)}


def what_is_done(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run does, of what `Run.to_dict` has, without the names that tables give it."""
    return {
        name: value for name, value in run.items() if name not in ("table", "row") and (name, value) != ("merges", [])
    }


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
    trained = {run.name for run in runs if run.trains}
    for run in runs:
        for field, others in (("weights_of", filter(None, [run.weights_of])), ("merges", run.merges)):
            if unknown := set(others) - files:
                raise RunFileError(f"{folder / run.name}.json: {field}: there is no run {unknown.pop()!r}")
        if run.weights_of is not None and run.weights_of not in trained:
            raise RunFileError(f"{folder / run.name}.json: weights_of: {run.weights_of} trains no model of its own")
    return runs


def _names(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise RunFileError(f"{path}: no such file; it lists the runs, one name a line")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise RunFileError(f"{path}: no text in UTF-8: {error}") from error
    for line in lines:
        name = line.partition("#")[0].strip()
        if name:
            yield name


def read_run(folder: Path, name: str) -> Run:
    """Return one run of a folder, with what its base says.

    Raises:
        RunFileError: When its file, or that of its base, is missing or malformed.
    """
    return _run(folder, name, ())


def _run(folder: Path, name: str, above: tuple[str, ...]) -> Run:
    """As `read_run`, of a run that others, each the next one's base, are made from."""
    path = folder / f"{name}.json"
    content = _read(path)
    base, weights_of = (_pop_name(content, field, path) for field in ("base", "weights_of"))
    if base in (chain := (*above, name)):
        raise RunFileError(f"{path}: base: runs are made from one another, {' → '.join((*chain, base))}")
    changes = content.pop("change", {})
    if not isinstance(changes, dict):
        raise RunFileError(f"{path}: change must be an object of dotted names and values; got {changes!r}")
    decoding = content.pop("decoding", "best_tree")
    if decoding not in DECODINGS:
        raise RunFileError(f"{path}: decoding must be one of {', '.join(DECODINGS)}; got {decoding!r}")
    merges = content.pop("merges", [])
    if merges != [] and not (_is_names(merges) and len(merges) == 2):
        raise RunFileError(f"{path}: merges must name two runs, that of the clusters and that of the links")
    settings = content
    if base is not None:
        settings = {**copy.deepcopy(dict(_run(folder, base, chain).settings)), **content}
        for dotted, value in changes.items():
            _change(settings, dotted, value, path)
    elif changes:
        raise RunFileError(f"{path}: change: there is no base that it could change")
    for field, kind in _PLAIN.items():
        if not isinstance(settings.get(field), kind) or isinstance(settings[field], bool):
            raise RunFileError(f"{path}: {field} must be there, and be of type {kind.__name__}")
    if not _is_names(settings["parts"]):
        raise RunFileError(f"{path}: parts must be names of parts of the corpus; got {settings['parts']!r}")
    return Run(name, settings, weights_of, decoding, tuple(merges))


def _pop_name(content: dict[str, Any], field: str, path: Path) -> str | None:
    value = content.pop(field, None)
    if not isinstance(value, str | None):
        raise RunFileError(f"{path}: {field} must be the name of a run; got {value!r}")
    return value


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise RunFileError(f"{path}: no such file")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
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
        inner = inner.get(parent, {}) if isinstance(inner, dict) else {}
    if not isinstance(inner, dict) or last not in inner:
        raise RunFileError(f"{path}: change: the base says nothing of {dotted!r}; say it there first")
    inner[last] = value
