"""JSON files that somebody else may have written: read in full or refused with the file's name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["parse_json", "read_json", "read_json_object"]


def read_json(path: str | Path) -> Any:
    """Return what a JSON file holds.

    Args:
        path: The file, in UTF-8.

    Raises:
        ValueError: When it is no JSON that has one meaning: cut, nested too deeply, not in UTF-8, with a key that is
            there twice, with NaN, with an integer of thousands of digits, or with a fraction that is too large a
            number. The message names the file.
        OSError: When it cannot be read.
    """
    path = Path(path)
    # Transformers writes infinite limits into the configurations of some encoders.
    return parse_json(path.read_bytes(), str(path), infinite=True)


def parse_json(content: bytes, name: str, *, infinite: bool = False) -> Any:
    """Return what JSON holds.

    Args:
        content: The JSON, in UTF-8.
        name: What messages call it.
        infinite: Whether numbers may be infinite, for which JSON has no form but Python writes one.

    Raises:
        ValueError: As `read_json`.
    """
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_without_repeated_keys,
            parse_constant=_infinite if infinite else _no_number,
            parse_float=_finite,
        )
    except RecursionError as error:
        raise ValueError(f"{name}: no valid JSON: it is nested too deeply") from error
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are such
        raise ValueError(f"{name}: no valid JSON: {error}") from error


def read_json_object(path: str | Path) -> dict[str, Any]:
    """Return the object in a JSON file, see `read_json`.

    Raises:
        ValueError: Also when it holds anything but an object.
        OSError: When it cannot be read.
    """
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits[:20])


def _infinite(name: str) -> float:
    return _no_number(name) if name == "NaN" else float(name)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
