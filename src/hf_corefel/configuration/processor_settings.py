"""``processor_config.json``: the reading settings beside a saved processor."""

from __future__ import annotations

import json
from pathlib import Path

from ..loading.foreign_code import refuse_code
from ..utils.files import whole_file
from ..utils.json_files import read_json_object
from .field_checks import check_spelling
from .fields import FIELDS, READING_FIELDS
from .reading_settings import ReadingSettings

__all__ = ["SETTINGS_FILE", "read_settings", "write_settings"]

SETTINGS_FILE = "processor_config.json"


def read_settings(path: str | Path) -> ReadingSettings:
    """Return the settings in a file, checked as the fields of a `CorefELConfig` are.

    Raises:
        ValueError: When it is damaged, names code, lacks a field, or has an unknown or a bad one; the message names
            both.
        OSError: When it cannot be read.
    """
    content = read_json_object(path)
    refuse_code(content, path)
    check_spelling(content, READING_FIELDS, str(path))
    unknown = sorted(set(content) - {*READING_FIELDS, "processor_class", "auto_map"})
    if unknown:
        raise ValueError(f"{path}: unknown field {unknown[0]!r}; the known fields are {', '.join(READING_FIELDS)}")
    content.setdefault("mention_scopes", None)  # older processors know of none
    content.setdefault("default_mention_scope", None)
    content.setdefault("max_partners", FIELDS["max_partners"].default)
    missing = [field for field in READING_FIELDS if field not in content]
    if missing:
        raise ValueError(f"{path}: missing field {missing[0]!r}; save the processor again")
    return ReadingSettings.checked(content, f"{path}: ")


def write_settings(settings: ReadingSettings, path: str | Path) -> None:
    """Write settings to a file, which is whole or not there."""
    with whole_file(path) as partial:
        content = {"processor_class": "CorefELProcessor", **settings.to_saved()}
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
