"""Readers of the files that a knowledge base is built from, and the check that every alias row passes."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from ..documents.plain_values import plain
from .errors import KnowledgeBaseError
from .normal_form import normal_form

__all__ = [
    "MAX_LINE_BYTES",
    "AliasRow",
    "check_alias_row",
    "check_counts",
    "check_key",
    "check_surface",
    "check_surfaces",
    "check_unseen",
    "read_alias_jsonl",
    "read_jsonl",
    "read_lines",
    "shown",
    "to_float",
]

# A line may have so many bytes, once unpacked: a small .gz can hold one that takes all memory.
MAX_LINE_BYTES = 16 * 1024 * 1024
# So much of a value stands in a message about it.
_SHOWN = 100


class AliasRow(NamedTuple):
    """A surface form with what it may stand for: entities and p(entity | surface).

    Example:
        >>> from hf_corefel.kb import AliasRow, KnowledgeBase
        >>> KnowledgeBase.build([AliasRow("Oslo", [("Oslo", 1.0)])]).candidates("Oslo")[0].entity
        'Oslo'
    """

    surface: str
    candidates: list[tuple[str, float]]


def check_key(value: object, where: str, what: str) -> str:
    """Returns a surface or an entity name that a trie can hold.

    Raises:
        KnowledgeBaseError: When it is no string, empty, has a NUL, or is no valid Unicode.
    """
    value = plain(value)  # a trie takes no string of numpy
    if not isinstance(value, str):
        raise KnowledgeBaseError(f"{where}: expected a string as {what}, got {shown(value)}")
    if not value or value.isspace():
        raise KnowledgeBaseError(f"{where}: empty {what}")
    if "\0" in value:
        raise KnowledgeBaseError(f"{where}: {what} {shown(value)} holds a NUL character")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise KnowledgeBaseError(f"{where}: {what} {shown(value)} is no valid Unicode: {error.reason}") from error
    return value


def check_surface(surface: object, where: str) -> str:
    """Return the normal form of a surface.

    Raises:
        KnowledgeBaseError: When it is no string, or holds nothing that can be seen, a NUL, or no valid Unicode.
    """
    if not isinstance(surface, str):
        raise KnowledgeBaseError(f"{where}: expected a string as surface, got {shown(surface)}")
    key = normal_form(surface)
    if surface.strip() and not key:
        raise KnowledgeBaseError(f"{where}: empty surface: {shown(surface)} holds nothing that can be seen")
    return check_key(key, where, "surface")


def check_unseen(unseen: Any) -> float:
    """Return a mass of counts for something else.

    Raises:
        KnowledgeBaseError: When it is no finite number from 0 on.
    """
    mass = to_float(unseen)
    if mass is None or not 0.0 <= mass < math.inf:
        raise KnowledgeBaseError(f"unseen: expected a number from 0 on, got {shown(unseen)}")
    return mass


def check_alias_row(surface: object, candidates: object, where: str, *, clip_priors: bool = False) -> AliasRow:
    """Brings the surface into normal form and checks the row.

    Args:
        surface: The surface form.
        candidates: Pairs (entity, prior).
        where: How messages call the place of the row.
        clip_priors: Move finite priors outside 0..1 to the nearer bound instead of raising.

    Raises:
        KnowledgeBaseError: When the surface or an entity is no non-empty string, or a prior is no
            number between 0 and 1.
    """
    key = check_surface(surface, where)
    here = f"{where}, surface {key[:_SHOWN]!r}"
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Iterable):
        raise KnowledgeBaseError(f"{here}: expected pairs [entity, prior], got {shown(candidates)}")
    checked = []
    for pair in candidates:
        if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise KnowledgeBaseError(f"{here}: expected a pair [entity, prior], got {shown(pair)}")
        entity = check_key(pair[0], here, "entity")
        checked.append((entity, _check_prior(pair[1], f"{here}, entity {entity[:_SHOWN]!r}", clip_priors)))
    return AliasRow(key, checked)


def check_surfaces(
    entity: str,
    surfaces: Iterable[str] | Mapping[str, float | None],
    prior: float | Mapping[str, float | None] | None,
) -> list[tuple[str, float | None]]:
    """Return the normal forms of the surfaces of an entity that is added, each with its prior or None.

    Raises:
        KnowledgeBaseError: When a surface or prior is invalid, or a prior is given of what is none of the surfaces.
    """
    if isinstance(surfaces, Mapping) and prior is None:
        prior = surfaces
    listed = [surfaces] if isinstance(surfaces, str) else list(surfaces)
    rows: list[tuple[str, float | None]] = []
    known = {check_surface(surface, "add") for surface in listed}
    by_surface: dict[str, list[float | None]] = {}
    if isinstance(prior, Mapping):
        for name, value in prior.items():
            key = normal_form(name) if isinstance(name, str) else name
            if key not in known:
                raise KnowledgeBaseError(f"add: prior: {name!r} is none of the surfaces")
            by_surface.setdefault(key, []).append(value)
    else:
        by_surface = {surface: [prior] for surface in known}
    for surface in dict.fromkeys(map(normal_form, listed)):
        for given in by_surface.get(surface, [None]):
            checked = check_alias_row(surface, [(entity, 1.0 if given is None else given)], "add")
            rows.append((surface, None if given is None else checked.candidates[0][1]))
    return rows


def check_counts(counts: Iterable[Any]) -> Iterator[tuple[str, str, float]]:
    """Passes on triples of surface, entity and count.

    Raises:
        KnowledgeBaseError: When one is no such triple; the message names its place.
    """
    for i, row in enumerate(counts):
        where = f"counts[{i}]"
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != 3:
            raise KnowledgeBaseError(f"{where}: expected a triple (surface, entity, count), got {shown(row)}")
        surface, entity, given = map(plain, row)
        for what, value in (("surface", surface), ("entity", entity)):
            if not isinstance(value, str):
                raise KnowledgeBaseError(f"{where}: expected a string as {what}, got {shown(value)}")
        number = to_float(given)
        if number is None:
            raise KnowledgeBaseError(
                f"{where}, surface {shown(surface)}: expected a number as count, got {shown(given)}"
            )
        # As those of a file: a blank at its end, which nobody sees, would make another entity.
        yield surface, entity.strip(), number


def to_float(value: Any) -> float | None:
    """Return a number as a float, an infinite one when it is too large for any, and None for what is no number."""
    # Numpy scalars have __float__ as well; a bool or a string is a mistake in the data.
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def shown(value: object) -> str:
    """Return a value as messages show it: no more than its beginning."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}… ({len(value)} characters)"
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python refuses to write out an integer of thousands of digits.
        return f"a value of type {type(value).__name__} that is too long or too deep to show"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def _check_prior(value: Any, where: str, clip: bool) -> float:
    prior = to_float(value)
    if prior is not None and clip and math.isfinite(prior):
        return min(1.0, max(0.0, prior))
    if prior is None or not 0.0 <= prior <= 1.0:
        raise KnowledgeBaseError(f"{where}: expected a prior between 0 and 1, got {shown(value)}")
    return prior


def _open_bytes(path: Path) -> IO[bytes]:
    try:
        found, folder = path.is_file(), path.is_dir()
        if found:
            return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
    except (OSError, ValueError) as error:
        raise KnowledgeBaseError(f"{path}: cannot be opened: {getattr(error, 'strerror', None) or error}") from error
    raise KnowledgeBaseError(f"{path}: {'a folder, not a file' if folder else 'file not found'}")


def read_lines(path: str | Path) -> Iterator[tuple[str, str]]:
    """Yields ("file:line", line) of every non-blank line of a text file, without its line end; ``.gz`` is unpacked.

    A byte order mark, as spreadsheets write it, is no part of the first line.

    Raises:
        KnowledgeBaseError: When the file is missing, cut off, or not UTF-8, or a line is longer than `MAX_LINE_BYTES`.
    """
    path = Path(path)
    with _open_bytes(path) as file:
        for number in count(1):
            try:
                data = file.readline(MAX_LINE_BYTES + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise KnowledgeBaseError(f"{path}: unreadable after line {number - 1}: {error}") from error
            # Before it is decoded: what was read may end within a character.
            if len(data) > MAX_LINE_BYTES:
                raise KnowledgeBaseError(
                    f"{path}:{number}: longer than the limit of {MAX_LINE_BYTES:,} bytes a line (MAX_LINE_BYTES); "
                    "spread what it holds over several lines"
                )
            if not data:
                return
            try:
                line = data.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise KnowledgeBaseError(f"{path}: unreadable after line {number - 1}: {error}") from error
            if line.strip():
                yield f"{path}:{number}", line.rstrip("\r\n")


def read_jsonl(path: str | Path) -> Iterator[tuple[str, Any]]:
    """Yields ("file:line", value) of every non-blank line of a JSON lines file; ``.gz`` is unpacked.

    Raises:
        KnowledgeBaseError: When the file is missing, cut off, not UTF-8, or a line is no JSON.
    """
    for where, line in read_lines(path):
        try:
            value = json.loads(line)
        except ValueError as error:
            raise KnowledgeBaseError(f"{where}: not a line of JSON: {error}") from error
        except RecursionError as error:
            raise KnowledgeBaseError(f"{where}: not a line of JSON that can be read: nested too deeply") from error
        yield where, value


def read_alias_jsonl(path: str | Path, *, clip_priors: bool = False, unseen: float = 1.0) -> Iterator[AliasRow]:
    """Yields the rows of an alias table in JSON lines, plain or ``.gz``.

    A line is either ``[surface, [[entity, prior], ...]]`` or
    ``{"surface": ..., "candidates": [{"entity": ..., "prior": ...}, ...]}``. The latter may have a ``"count"``, how
    often the surface was seen, which makes each prior count / (count + unseen) of what it is.

    Args:
        path: The file.
        clip_priors: Move finite priors outside 0..1 to the nearer bound instead of raising.
        unseen: How many times a surface that has a count may have stood for something that was not seen.

    Raises:
        KnowledgeBaseError: When a line is invalid; the message names the file, the line and the surface.
    """
    mass = check_unseen(unseen)
    for where, data in read_jsonl(path):
        share = 1.0
        if isinstance(data, dict):
            surface, candidates = _from_object(data, where)
            if "count" in data:
                share = _seen_share(data["count"], mass, f"{where}, surface {shown(surface)}")
        elif isinstance(data, list) and len(data) == 2:
            surface, candidates = data
        else:
            raise KnowledgeBaseError(
                f"{where}: expected [surface, [[entity, prior], ...]] or an object, got {shown(data)}"
            )
        row = check_alias_row(surface, candidates, where, clip_priors=clip_priors)
        yield AliasRow(row.surface, [(entity, share * prior) for entity, prior in row.candidates])


def _from_object(data: dict[str, Any], where: str) -> tuple[Any, list[tuple[Any, Any]]]:
    _check_fields(data, ("surface", "candidates"), where, optional=("count",))
    here = f"{where}, surface {shown(data['surface'])}"
    if not isinstance(data["candidates"], list):
        raise KnowledgeBaseError(f"{here}: expected a list of candidates, got {shown(data['candidates'])}")
    pairs = []
    for item in data["candidates"]:
        if not isinstance(item, dict):
            raise KnowledgeBaseError(f"{here}: expected a candidate object, got {shown(item)}")
        _check_fields(item, ("entity", "prior"), here)
        pairs.append((item["entity"], item["prior"]))
    return data["surface"], pairs


def _seen_share(given: Any, mass: float, where: str) -> float:
    """What part of its uses a surface had what was seen, count times."""
    count = to_float(given)
    if count is None or not 0.0 < count < math.inf:
        raise KnowledgeBaseError(f"{where}: expected a count above 0, got {shown(given)}")
    # Not count / (count + mass), for the sum may be too large.
    return 1.0 / (1.0 + mass / count)


def _check_fields(data: dict[str, Any], names: tuple[str, ...], where: str, optional: tuple[str, ...] = ()) -> None:
    for name in names:
        if name not in data:
            raise KnowledgeBaseError(f"{where}: missing field {name!r}")
    for name in data:
        if name not in (*names, *optional):
            known = ", ".join((*names, *optional))
            raise KnowledgeBaseError(f"{where}: unknown field {shown(name)}; the known fields are {known}")
