"""Read Wikidata's JSON dump: labels, aliases, descriptions, articles and coarse types of its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .problems import OnProblem, ignore_problem

__all__ = ["Item", "coarse_type", "read_items"]


class Item(NamedTuple):
    """One item of Wikidata, in one language."""

    qid: str
    title: str | None
    """Title of its article in the Wikipedia of that language, with spaces; None where there is none."""
    label: str
    aliases: list[str]
    description: str
    type: str | None
    """Coarse type by what it is an instance of, or else by its description; None where neither tells."""


def read_items(path: str | Path, language: str = "en", *, on_problem: OnProblem = ignore_problem) -> Iterator[Item]:
    """Read the items of a Wikidata JSON dump."""
    raise NotImplementedError


def coarse_type(instance_of: Iterable[str]) -> str | None:
    """Return the coarse type of what is an instance of some classes (QIDs); None where none of them is known."""
    raise NotImplementedError
