"""Read Wikidata's QIDs of pages from the ``page_props`` table of a wiki's SQL dump."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .problems import OnProblem, Problem, WikipediaError, ignore_problem
from .units import Unit, lines_of

__all__ = ["read_qids"]

_TABLE = b"`page_props`"
# One row: page, property, value (a quoted string in which the backslash escapes, or a binary one), and the sort key.
_ROW = re.compile(
    rb"\((\d+),'((?:[^'\\]|\\.)*+)',(?:(?:_binary )?'((?:[^'\\]|\\.)*+)'|NULL|0x[0-9A-Fa-f]*+)", re.DOTALL
)
_QID = re.compile(rb"\s*([Qq][1-9]\d{0,18})\s*")


def read_qids(path: str | Path, *, on_problem: OnProblem = ignore_problem) -> Iterator[tuple[int, str]]:
    """Read the Wikidata item of each page from ``*-page_props.sql.gz``.

    Args:
        path: The SQL dump, packed as bz2, gz or zst, or plain.
        on_problem: Told of values that are no QID, and of what cannot be unpacked; the rest goes on.

    Yields:
        Page number and QID.

    Raises:
        WikipediaError: When the file has no row of this table.
        OSError: When it cannot be read.
    """
    path = Path(path)
    inserts = False
    for where, line in lines_of(Unit(path), on_problem):
        if not line.startswith(b"INSERT INTO") or _TABLE not in line[:100]:
            continue
        inserts = True
        for row in _ROW.finditer(line):
            if row[2] != b"wikibase_item":
                continue
            found = _QID.fullmatch(row[3] or b"")
            if found is None:
                shown = (row[3] or b"").decode("utf-8", "replace")[:60]
                message = f'page {int(row[1])} has the Wikidata item "{shown}", which is no QID; it is left out'
                on_problem(Problem("bad_line", where, message))
                continue
            yield int(row[1]), found[1].decode().upper()
    if not inserts:
        raise WikipediaError(f"{path}: has no rows of the table page_props; give the file named *-page_props.sql.gz")
