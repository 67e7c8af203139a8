"""Read Wikidata's QIDs of pages from the ``page_props`` table of a wiki's SQL dump."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .problems import OnProblem, ignore_problem

__all__ = ["read_qids"]


def read_qids(path: str | Path, *, on_problem: OnProblem = ignore_problem) -> Iterator[tuple[int, str]]:
    """Read pairs of page number and QID from ``*-page_props.sql.gz``."""
    raise NotImplementedError
