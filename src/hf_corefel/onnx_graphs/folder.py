"""What an exported folder holds beside a configuration and a processor: graphs, and a list of what they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..configuration.fields import FIELDS
from ..configuration_corefel import CorefELConfig
from ..utils.files import sha256_of
from ..utils.json_files import read_json_object
from .parts import PARTS

__all__ = [
    "FOLDER",
    "LIST_FILE",
    "PRECISIONS",
    "Graphs",
    "check_configuration",
    "read_graphs",
    "settings_of_graphs",
    "write_list",
]

FOLDER = "onnx"
"""The folder of the graphs within that of the model."""
LIST_FILE = "graphs.json"
"""The list of the graphs in it."""
PRECISIONS = ("float32", "int8")
"""What the encoder's weights may be."""

_FORMAT_VERSION = 1
# What acts on the scores that graphs give, or in training only, may be changed afterwards.
_OUTSIDE = {"calibration", "encoder_config", "dropout", "mention_loss_weight", "head_modules"}


@dataclass(frozen=True)
class Graphs:
    """The graphs of a folder.

    Attributes:
        folder: Where they are.
        precision: One of `PRECISIONS`.
        by_length: Whether the encoder wants windows of one length at a time.
        subwords: How many the encoder knows.
        settings: What the model was configured to compute, see `settings_of_graphs`.
    """

    folder: Path
    precision: str
    by_length: bool
    subwords: int
    settings: Mapping[str, Any]

    def path(self, part: str) -> Path:
        """Return the file of a part."""
        return self.folder / f"{part}.onnx"


def settings_of_graphs(config: CorefELConfig) -> dict[str, Any]:
    """Return what a configuration says of what graphs compute, in plain types."""
    read = {name for name, field in FIELDS.items() if {"model", "heads"} & set(field.read_by)} - _OUTSIDE
    plain: dict[str, Any] = json.loads(json.dumps({name: getattr(config, name) for name in sorted(read)}))
    text = config.get_text_config()
    return {**plain, "encoder": text.model_type, "hidden_size": text.hidden_size}


def write_list(graphs: Graphs, versions: Mapping[str, str]) -> None:
    """Write the list of graphs that are there, with their sizes and checksums.

    Args:
        graphs: The graphs.
        versions: Of the packages that they were written with.
    """
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in sorted(graphs.folder.iterdir())
    }
    content = {
        "format_version": _FORMAT_VERSION,
        "precision": graphs.precision,
        "by_length": graphs.by_length,
        "subwords": graphs.subwords,
        "settings": graphs.settings,
        "files": files,
        "versions": versions,
    }
    (graphs.folder / LIST_FILE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_graphs(folder: Path, model: str) -> Graphs:
    """Read the list of graphs, and check that each is as it was written.

    Args:
        folder: Where they are.
        model: What messages call the model.

    Raises:
        OSError: When there is no such folder, or a file of it is missing.
        ValueError: When a file is damaged.
    """
    path = folder / LIST_FILE
    if not path.is_file():
        raise OSError(
            f"{model}: it has no ONNX graphs ({FOLDER}/{LIST_FILE}); write them with `hf-corefel export onnx MODEL "
            "OUT`, and load OUT"
        )
    content = read_json_object(path)
    if content.get("format_version") != _FORMAT_VERSION:
        raise ValueError(
            f"{path}: format_version is {content.get('format_version')!r}, and this release reads {_FORMAT_VERSION}; "
            "export the model again"
        )
    files, settings = content.get("files"), content.get("settings")
    precision, by_length, subwords = (content.get(name) for name in ("precision", "by_length", "subwords"))
    if (
        not isinstance(files, dict)
        or not isinstance(settings, dict)
        or not isinstance(by_length, bool)
        or not isinstance(subwords, int)
        or precision not in PRECISIONS
    ):
        raise ValueError(f"{path}: it is damaged; copy or export the model again")
    graphs = Graphs(folder, precision, by_length, subwords, settings)
    for name in sorted({*files, *(graphs.path(part).name for part in PARTS)}):
        if Path(name).name != name or "\\" in name:
            raise ValueError(f"{path}: it names {name!r}, and only files beside it are read; export the model again")
        _check_file(folder / name, files.get(name))
    return graphs


def _check_file(path: Path, expected: Any) -> None:
    if not path.is_file():
        raise OSError(f"{path}: the file is missing; copy or export the model again")
    if not isinstance(expected, dict):
        raise ValueError(f"{path.with_name(LIST_FILE)}: it does not list {path.name}; copy or export the model again")
    size = path.stat().st_size
    if size != expected.get("bytes"):
        raise ValueError(
            f"{path}: it has {size:,} bytes, and {LIST_FILE} says {expected.get('bytes')}; copy or export the model "
            "again"
        )
    if sha256_of(path) != expected.get("sha256"):
        raise ValueError(f"{path}: it is not what was exported (its SHA-256 differs); copy or export the model again")


def check_configuration(graphs: Graphs, config: CorefELConfig, model: str) -> None:
    """Check that a configuration asks for what the graphs compute.

    Raises:
        ValueError: Naming a field that differs.
    """
    for name, value in settings_of_graphs(config).items():
        if graphs.settings.get(name) != value:
            raise ValueError(
                f"{model}: {name} is {value!r} in its configuration, and its ONNX graphs were exported with "
                f"{graphs.settings.get(name)!r}; export the model again with what you want"
            )
