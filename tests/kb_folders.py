"""Folders of knowledge bases as older releases saved them."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["save_as_version"]

_SINCE = {
    3: ("files", "checksum", "fallback_fingerprint"),
    2: ("fingerprint", "fallback", "has_wikidata", "has_urls"),
}


def save_as_version(folder: Path, version: int) -> None:
    """Make a folder that was just saved one of an older format version, whose files have the same names and content."""
    path = folder / "kb_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for since, fields in _SINCE.items():
        if version < since:
            for field in fields:
                config.pop(field, None)
    path.write_text(json.dumps({**config, "format_version": version}), encoding="utf-8")
