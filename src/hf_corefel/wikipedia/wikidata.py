"""Read Wikidata's JSON dump: labels, aliases, descriptions, articles and coarse types of its items.

The dump is one array with an item a line. Deprecated statements are passed over; what an item is an instance of is
looked up in the table of classes in `item_classes`, and where that knows none, its English description is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .coarse_types import type_by_description, type_with_title
from .item_classes import CLASSES, NO_ENTITIES
from .languages import database_of, label_language
from .problems import OnProblem, Problem, WikipediaError, ignore_problem
from .units import Unit, lines_of

__all__ = ["Item", "coarse_type", "read_items"]

_QID = re.compile(r"Q[1-9]\d{0,18}")
_NO_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_INSTANCE_OF = "P31"
# Where types differ, the one that is first here holds: a museum is a place before it is an organization's name.
_ORDER = ("person", "species", "event", "work", "organization", "place", "product", "other")


class Item(NamedTuple):
    """One item of Wikidata, in one language."""

    qid: str
    title: str | None
    """Title of its article in the Wikipedia of that language, with spaces; None where there is none."""
    label: str
    """Empty where there is none in that language, and none for all languages."""
    aliases: list[str]
    description: str
    type: str | None
    """Coarse type by what it is an instance of, or else by its description; None where neither tells."""
    is_entity: bool = True
    """False for what only serves wikis: disambiguation pages, categories, templates, lists."""


def read_items(
    source: str | Path | Unit,
    language: str = "en",
    *,
    on_problem: OnProblem = ignore_problem,
    only_with_article: bool = False,
    wiki: str | None = None,
) -> Iterator[Item]:
    """Read the items of a Wikidata JSON dump.

    Args:
        source: ``*-all.json``, packed as bz2, gz or zst, or plain: an array with an item a line, or JSON lines. Or a
            unit of it (`dumps.split`).
        language: Code of the language of labels, aliases and descriptions and of the Wikipedia, such as ``en``.
        on_problem: Told of lines that are no item, which are left out.
        only_with_article: Passes over items without an article in that Wikipedia before they are parsed, which most of
            the time would go to.
        wiki: Database of that Wikipedia, such as ``enwiki``; that of the language when None.

    Yields:
        Items, those without an article or label in that language too. Properties and lexemes are passed over.

    Raises:
        WikipediaError: When no line of the file is an entity of Wikidata.
        OSError: When it cannot be read.
    """
    unit = source if isinstance(source, Unit) else Unit(Path(source))
    wiki, language = wiki or database_of(language), label_language(language)
    has_article = f'"{wiki}"'.encode()
    entities = 0
    for where, line in lines_of(unit, on_problem):
        line = line.strip().removesuffix(b",").removeprefix(b"\xef\xbb\xbf").strip()
        if line in (b"", b"[", b"]"):
            continue
        if only_with_article and has_article not in line and line.startswith(b"{"):
            entities += 1
            continue
        try:
            entity = json.loads(line)
            entity_id = entity["id"]
            if not isinstance(entity_id, str):
                raise TypeError("its id is no text")
            item = _item(entity, language, wiki) if _QID.fullmatch(entity_id) else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            on_problem(
                Problem("bad_line", where, f"the line is no entity of Wikidata ({_said(error)}); it is left out")
            )
            continue
        entities += 1
        if item is not None and (item.title or not only_with_article):
            yield item
    if not entities and unit.start == 0 and unit.end is None:
        message = "has no line that is an entity of Wikidata; give its JSON dump (*-all.json.bz2)"
        raise WikipediaError(f"{unit.path}: {message}")


def coarse_type(instance_of: Iterable[str]) -> str | None:
    """Return the coarse type of what is an instance of some classes (QIDs); None where none of them is known."""
    found = {CLASSES[qid] for qid in instance_of if qid in CLASSES}
    return next((kind for kind in _ORDER if kind in found), None)


def _said(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _item(entity: Mapping[str, Any], language: str, wiki: str) -> Item:
    classes = _instance_of(entity)
    english = _text(entity, "descriptions", "en")
    title = _mapping(entity, "sitelinks").get(wiki)
    return Item(
        qid=entity["id"],
        title=_string(title["title"]) if title else None,
        label=_text(entity, "labels", language),
        aliases=_aliases(entity, language),
        description=_text(entity, "descriptions", language),
        type=coarse_type(classes)
        or type_with_title(_text(entity, "labels", "en") or "", type_by_description(english) if english else None),
        is_entity=NO_ENTITIES.isdisjoint(classes),
    )


def _mapping(entity: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return entity.get(name) or {}  # PHP writes an empty mapping as []


def _text(entity: Mapping[str, Any], field: str, language: str) -> str:
    """Return a label or description in a language, or the one that Wikidata gives for all languages (``mul``)."""
    texts = _mapping(entity, field)
    found = texts.get(language) or texts.get("mul")
    return _string(found["value"]) if found else ""


def _string(value: Any) -> str:
    """Return a text without control characters and halves of characters, which other formats cannot hold.

    Raises:
        TypeError: When it is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is no text")
    return _NO_CHARACTER.sub(" ", value).strip()


def _aliases(entity: Mapping[str, Any], language: str) -> list[str]:
    texts = _mapping(entity, "aliases")
    found = [_string(alias["value"]) for code in (language, "mul") for alias in texts.get(code) or ()]
    return list(dict.fromkeys(found))


def _instance_of(entity: Mapping[str, Any]) -> list[str]:
    """Return what an item is an instance of, preferred statements first, deprecated ones not."""
    found: list[tuple[bool, str]] = []
    for statement in _mapping(entity, "claims").get(_INSTANCE_OF) or ():
        rank = statement.get("rank", "normal")
        value = (statement["mainsnak"].get("datavalue") or {}).get("value") or {}
        qid = value.get("id") or (f"Q{value['numeric-id']}" if "numeric-id" in value else None)
        if qid and rank != "deprecated":
            found.append((rank != "preferred", qid))
    return [qid for _, qid in sorted(found, key=lambda pair: pair[0])]
