"""Values of other libraries as the plain Python values that they stand for.

Told by what they can do and by the library that they come from, so that none of these libraries has to be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["advice", "is_missing", "is_splits", "is_table", "plain", "plain_name", "plain_whole"]

_PLAIN = frozenset({type(None), bool, int, float, str, list, tuple, dict})
# Tables iterate over the names of their columns, or over the columns, never over what a caller means.
_TABLES = {"DataFrame", "LazyFrame", "RecordBatch", "Table"}
_MISSING = {"NAType", "NaTType", "MaskedConstant", "NullScalar"}


def plain(value: Any) -> Any:
    """Return a number, string, array or column of another library as a plain number, string or list.

    Numbers of numpy and torch, their arrays (also those without a dimension), columns of pandas, polars and Arrow, and
    subclasses of Python's own numbers and strings are brought into plain form. What pandas, Arrow and masked arrays put
    where nothing is becomes None. Anything else is returned as it is.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind.__name__ in _MISSING:
        return None
    # Not str(value) and so on: an enumeration may write itself with its own name.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping | Sequence) or is_table(value):
        return value
    # A dataset has a method to_list as well, which would read all of it.
    for name in ("as_py", "tolist", "to_pylist", *(["to_list"] if kind.__module__.startswith("polars") else [])):
        if callable(convert := getattr(value, name, None)):
            return convert()
    return value


def is_missing(value: Any) -> bool:
    """Whether a plain value stands for nothing: None, or the NaN that tables put where a string or list is missing."""
    return value is None or (isinstance(value, float) and value != value)


def plain_name(value: Any) -> Any:
    """Return a plain value, an integer as its digits: entities and speakers have names, which tables may number."""
    value = plain(value)
    return str(value) if type(value) is int else None if is_missing(value) else value


def plain_whole(value: Any) -> Any:
    """Return a plain value, a whole number as an integer: pandas and numpy make floats of a column with gaps."""
    value = plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_table(value: Any) -> bool:
    """Whether a value is a table, such as a DataFrame of pandas or polars, or a Table of Arrow."""
    return any(base.__name__ in _TABLES for base in type(value).__mro__)


def advice(value: Any, column: str = "text", *, rows: bool = False) -> str:
    """Return what to give in place of a value that another library hands over; empty for any other value.

    Args:
        value: What was given.
        column: The column that is wanted of a table.
        rows: Whether only rows will do, and not a column.

    Returns:
        The end of a sentence, such as ``'; give frame["text"].tolist() or frame.to_dict("records")'``.
    """
    if is_table(value):
        of_column, of_rows = _out_of_table(value)
        return f"; give {of_rows}" if rows else f"; give {of_column.format(column)} or {of_rows}"
    if is_splits(value):
        return f"; give one of its splits ({', '.join(map(repr, value))})"
    if is_row(value):
        return "; give row.to_dict()"
    return "; give row._asdict()" if hasattr(value, "_asdict") else ""


def _out_of_table(table: Any) -> tuple[str, str]:
    """How a column and the rows of a table are had as lists."""
    if type(table).__name__ == "LazyFrame":
        return 'frame.collect()["{}"].to_list()', "frame.collect().to_dicts()"
    if hasattr(table, "to_dicts"):  # polars
        return 'frame["{}"].to_list()', "frame.to_dicts()"
    if hasattr(table, "to_pylist"):  # Arrow
        return 'table["{}"].to_pylist()', "table.to_pylist()"
    return 'frame["{}"].tolist()', 'frame.to_dict("records")'


def is_splits(value: Any) -> bool:
    """Whether a value is a dict of the splits of a dataset."""
    return type(value).__name__ in ("DatasetDict", "IterableDatasetDict")


def is_row(value: Any) -> bool:
    """Whether a value is a row of a pandas DataFrame: a column whose labels are names of fields."""
    labels = getattr(value, "index", None)
    return hasattr(value, "iloc") and not is_table(value) and labels is not None and "text" in labels
