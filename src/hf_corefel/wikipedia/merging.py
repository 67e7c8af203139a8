"""Merges the facts of all units outside memory, with DuckDB: who is called what, and how often.

DuckDB does what this needs (joins, sums and sorts of tables that are larger than memory, with a bound on memory and a
folder for what does not fit) in one file without a server; Polars' streaming engine has no such bound.

Counts are whole numbers in thousandths of a link, so that sums do not depend on the order in which they are added.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from . import queries
from .item_facts import ITEM_NAMES, ITEMS, PROPS
from .occurrences import surface_keys
from .problems import WikipediaError
from .unit_facts import ALIASES, LINK_WEIGHT, LINKS, PAGES

__all__ = ["DEFAULT_MEMORY", "Candidates", "Merger"]

# Of DuckDB, in MB; other parts of the process need some as well.
DEFAULT_MEMORY = 1500
# Chains of redirects are followed for 2 to the power of this steps.
_DOUBLINGS = 6
_ROWS_AT_ONCE = 100_000
_SQL_TYPES = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.int32(): "INTEGER"}
_SURFACE_NAMES = "SELECT surface FROM surfaces ORDER BY number"
_SCHEMAS = {
    "pages": PAGES,
    "aliases": ALIASES,
    "links": LINKS,
    "props": PROPS,
    "items": ITEMS,
    "item_names": ITEM_NAMES,
}


@dataclass(frozen=True)
class Candidates:
    """Which entities surfaces stand for; entities and surfaces are numbered in the order of their names.

    Attributes:
        offsets: uint64 [S+1], where the candidates of a surface begin and end.
        entities: uint32 [C], by descending prior within a surface.
        priors: float32 [C].
        left_out: How many candidates there were beyond the most that a surface may have.
    """

    offsets: np.ndarray
    entities: np.ndarray
    priors: np.ndarray
    left_out: int


class Merger:
    """A database of the facts of all units, in a file of the work folder; a context manager.

    Args:
        folder: Where the database and what does not fit memory go.
        memory: Bound on DuckDB's memory, in MB.
        threads: How many of DuckDB's threads work at once.
    """

    def __init__(self, folder: Path, *, memory: int = DEFAULT_MEMORY, threads: int = 1) -> None:
        import duckdb

        self._error = duckdb.Error
        self._folder = folder
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory}MB",
            "threads": threads,
            "temp_directory": str(folder / "spilled"),
            # Every query says its order where it matters; keeping that of the files as well would cost memory.
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._database = duckdb.connect(str(folder / "merged.duckdb"), config=settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def merge(self, tables: Mapping[str, Sequence[Path]], min_links: int, stage: Callable[[str], None]) -> None:
        """Make the tables of entities, surfaces and what they weigh.

        Args:
            tables: The files of each table of facts: pages, aliases, links, props, items and item_names.
            min_links: Entities with fewer links to them are left out.
            stage: Told what is being done.

        Raises:
            WikipediaError: When the disk is full, or the memory is too little for it.
        """
        self._tables = {name: _source(tables.get(name, ()), schema) for name, schema in _SCHEMAS.items()}
        stage("titles and redirects")
        self._run(queries.PAGES)
        self._run("CREATE TABLE jumps AS SELECT title, target AS goal FROM pages WHERE kind = 'redirect'")
        for _ in range(_DOUBLINGS):
            self._run(queries.DOUBLE)
        self._run(queries.RESOLVED)
        stage("links")
        self._run(queries.LINKED)
        self._run(queries.IN_LINKS)
        stage("names")
        self._run(queries.KNOWN_ITEMS)
        self._run(queries.QIDS)
        self._run(queries.TITLE_USES)
        self._run(queries.NAMED)
        self._run(queries.ENTITIES, min_links=min_links)
        self._run(queries.WEIGHTS, link_weight=LINK_WEIGHT)
        stage("surfaces")
        self._run(queries.SURFACES)

    def found_anything(self) -> bool:
        """Whether there is a surface, and so an entity."""
        return bool(self._value("SELECT count(*) > 0 FROM surfaces"))

    def counts(self) -> dict[str, Any]:
        """Return what was merged and what was left out, in numbers."""
        return {name: self._value(query) for name, query in queries.COUNTS.items()}

    def examples(self) -> dict[str, list[str]]:
        """Return some of what was left out, by the reason."""
        found = {name: self._execute(query).fetchall() for name, query in queries.EXAMPLES.items()}
        return {name: [row[0] for row in rows] for name, rows in found.items()}

    def by_source(self) -> dict[str, dict[str, int]]:
        """Return how many entities, surfaces and candidates each source gives."""
        rows = self._execute(queries.SOURCES).fetchall()
        return {
            source: {"entities": entities, "surfaces": surfaces, "candidates": candidates}
            for source, entities, surfaces, candidates in rows
        }

    def names(self, table: str) -> Iterator[str]:
        """Yield the names of the entities, or the surfaces, in their order."""
        query = {
            "entities": "SELECT name FROM entities ORDER BY entity",
            "surfaces": _SURFACE_NAMES,
        }[table]
        for batch in self._batches(query):
            yield from batch.column(0).to_pylist()

    def texts(self, field: str) -> Iterator[tuple[int, str]]:
        """Yield (entity, text) in ascending order of a field: descriptions, wikidata, types, or redirects.

        Redirects come in the order of their titles, and an entity may have several.
        """
        query = {
            "descriptions": queries.DESCRIPTIONS,
            "wikidata": queries.WIKIDATA,
            "types": queries.TYPES,
            "redirects": queries.REDIRECTS,
        }[field]
        for batch in self._batches(query):
            yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def links(self) -> np.ndarray:
        """Return the number of links to each entity, int64 [E]."""
        return self._column("SELECT links FROM entities ORDER BY entity", np.int64)

    def surface_keys(self) -> np.ndarray:
        """Return the `surface_keys` of all surfaces, uint64 [S]."""
        parts = [surface_keys(batch.column(0).to_pylist()) for batch in self._batches(_SURFACE_NAMES)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)

    def candidates(self, probabilities: np.ndarray, *, unseen: float, max_candidates: int | None) -> Candidates:
        """Make the priors of all candidates.

        The prior of an entity is its share of what a surface weighs, `unseen` more links among it that stand for
        something else, times the probability that the surface is a link at all.

        Args:
            probabilities: float64 [S], the link probabilities of the surfaces.
            unseen: In links.
            max_candidates: How many a surface keeps at most; None keeps all.
        """
        totals = self._column("SELECT total FROM surfaces ORDER BY number", np.int64)
        scale = probabilities / (totals + unseen * LINK_WEIGHT)
        lengths = np.zeros(len(totals), dtype=np.int64)
        last, reached, left_out = -1, 0, 0
        with (self._folder / "entities.u32").open("wb") as entities, (self._folder / "priors.f32").open("wb") as priors:
            for batch in self._batches(queries.ROWS):
                surface, entity, weight = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
                begins = np.flatnonzero(np.diff(surface, prepend=-2))
                rank = np.arange(len(surface)) - np.repeat(begins, np.diff(begins, append=len(surface)))
                if surface[0] == last:
                    first = int(begins[1]) if len(begins) > 1 else len(surface)
                    rank[:first] += reached
                last, reached = int(surface[-1]), int(rank[-1]) + 1
                kept = rank < max_candidates if max_candidates is not None else np.ones(len(rank), dtype=bool)
                left_out += int(np.count_nonzero(~kept))
                surface = surface[kept]
                (weight[kept] * scale[surface]).astype(np.float32).tofile(priors)
                entity[kept].astype(np.uint32).tofile(entities)
                np.add.at(lengths, surface, 1)
        offsets = np.zeros(len(totals) + 1, dtype=np.uint64)
        np.cumsum(lengths, out=offsets[1:])
        return Candidates(
            offsets,
            _mapped(self._folder / "entities.u32", np.uint32),
            _mapped(self._folder / "priors.f32", np.float32),
            left_out,
        )

    def _column(self, query: str, numbers: type) -> np.ndarray:
        parts = [batch.column(0).to_numpy(zero_copy_only=False) for batch in self._batches(query)]
        return np.concatenate(parts).astype(numbers, copy=False) if parts else np.zeros(0, dtype=numbers)

    def _execute(self, query: str, **more: Any) -> Any:
        try:
            return self._database.cursor().execute(query.format(**self._tables, **more))
        except self._error as error:
            raise _explained(error) from error

    def _run(self, query: str, **more: Any) -> None:
        self._execute(query, **more)

    def _value(self, query: str) -> Any:
        row = self._execute(query).fetchone()
        return None if row is None else row[0]

    def _reader(self, query: str) -> Any:
        try:
            return self._database.cursor().sql(query.format(**self._tables)).to_arrow_reader(_ROWS_AT_ONCE)
        except self._error as error:
            raise _explained(error) from error

    def _batches(self, query: str) -> Iterator[Any]:
        reader = self._reader(query)
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            # DuckDB's errors come as those of Arrow here.
            except (self._error, pa.ArrowException) as error:
                raise _explained(error) from error
            if batch.num_rows:
                yield batch


def _source(files: Sequence[Path], schema: pa.Schema) -> str:
    """What stands for the files of a table in a query; an empty table when there are none."""
    if not files:
        columns = ", ".join(f"NULL::{_SQL_TYPES[field.type]} AS {field.name}" for field in schema)
        return f"(SELECT {columns} WHERE false)"
    # DuckDB takes names for patterns of names.
    listed = ", ".join("'{}'".format(glob.escape(str(file)).replace("'", "''")) for file in files)
    return f"read_parquet([{listed}])"


def _mapped(path: Path, numbers: type) -> np.ndarray:
    # Nothing cannot be mapped.
    return np.memmap(path, dtype=numbers, mode="r") if path.stat().st_size else np.zeros(0, dtype=numbers)


def _explained(error: Exception) -> WikipediaError:
    """What users are told when DuckDB gives up: nearly always the disk or the memory."""
    text = " ".join(str(error).split())
    return WikipediaError(
        f"the facts could not be merged: {text}; what was read is kept, so make room and run the same command again"
    )
