"""Folders of knowledge bases as older releases saved them, which knew no normal form of surfaces."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

from hf_corefel.kb import Fallback, KnowledgeBase
from hf_corefel.kb.configuration_file import config_checksum

__all__ = ["KB_FILES", "save_as_version", "save_with_raw_surfaces"]

# What a knowledge base with a fallback and without texts is saved as.
KB_FILES = [
    "entities.marisa",
    "fallback.marisa",
    "fallback.safetensors",
    "kb_config.json",
    "surfaces.marisa",
    "tables.safetensors",
    "vectors.safetensors",
]

_SINCE = {
    4: ("has_types", "has_links", "has_redirects", "vectors", "content_fingerprint"),
    3: ("files", "checksum", "fallback_fingerprint", "surface_form", "fallback_form"),
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
    config["format_version"] = version
    if version >= 3:
        config["checksum"] = config_checksum(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def save_with_raw_surfaces(
    folder: Path, aliases: list[tuple[str, list[tuple[str, float]]]], version: int, fallback: Fallback = "none"
) -> None:
    """Save a knowledge base whose surfaces are only stripped, as releases did that wrote a format version."""
    with patch("hf_corefel.kb.readers.normal_form", str.strip):
        KnowledgeBase.build(aliases, fallback=fallback).save_pretrained(folder)
    path = folder / "kb_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["surface_form"], config["fallback_form"]
    path.write_text(json.dumps({**config, "checksum": config_checksum(config)}), encoding="utf-8")
    if version < config["format_version"]:
        save_as_version(folder, version)
