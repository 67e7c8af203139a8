"""Tables of facts in Parquet files, written some rows at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["TableFile"]

_ROWS_AT_ONCE = 20_000


class TableFile:
    """Rows of a table; `close` makes the file whole.

    Args:
        path: The file.
        schema: Its columns.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._columns: list[list[Any]] = [[] for _ in schema]

    def add(self, *row: Any) -> None:
        """Add a row, a value a column."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        if len(self._columns[0]) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        arrays = [pa.array(column, field.type) for column, field in zip(self._columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        for column in self._columns:
            column.clear()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        self._flush()
        self._writer.close()
