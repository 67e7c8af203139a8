"""``processor_config.json``: what a processor must know of its model's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..loading.foreign_code import refuse_code
from ..utils.files import whole_file
from ..utils.json_files import read_json_object
from .field_checks import check_kept_spans, check_number, check_scopes, check_spelling

__all__ = ["SETTINGS", "SETTINGS_FILE", "check_settings", "read_settings", "write_settings"]

SETTINGS_FILE = "processor_config.json"
# Fields of `CorefELConfig`.
SETTINGS = (
    "max_span_words",
    "max_span_pieces",
    "span_keep_ratio",
    "min_kept_spans",
    "max_kept_spans",
    "max_candidates",
    "window_size",
    "window_overlap",
    "mention_scopes",
)


def read_settings(path: str | Path) -> dict[str, Any]:
    """Return the settings in a file, checked as the fields of a `CorefELConfig` are.

    Raises:
        ValueError: When it is damaged, names code, lacks a field, or has an unknown or a bad one; the message names
            both.
        OSError: When it cannot be read.
    """
    content = read_json_object(path)
    refuse_code(content, path)
    check_spelling(content, SETTINGS, str(path))
    unknown = sorted(set(content) - {*SETTINGS, "processor_class", "auto_map"})
    if unknown:
        raise ValueError(f"{path}: unknown field {unknown[0]!r}; the known fields are {', '.join(SETTINGS)}")
    content.setdefault("mention_scopes", None)  # older processors know of none
    missing = [field for field in SETTINGS if field not in content]
    if missing:
        raise ValueError(f"{path}: missing field {missing[0]!r}; save the processor again")
    return check_settings(content, f"{path}: ")


def check_settings(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings among fields, each of which must be there.

    Raises:
        ValueError: When one has a bad value; the message names it after `where`.
    """
    for field in SETTINGS:
        if field != "mention_scopes":
            check_number(field, settings[field], f"{where}{field}")
    check_scopes(settings["mention_scopes"], f"{where}mention_scopes")
    check_kept_spans(settings, where)
    return {field: settings[field] for field in SETTINGS}


def write_settings(settings: Mapping[str, Any], path: str | Path) -> None:
    """Write settings to a file, which is whole or not there."""
    with whole_file(path) as partial:
        content = {"processor_class": "CorefELProcessor", **settings}
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
