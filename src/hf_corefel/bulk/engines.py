"""The same function for engines that hand out batches themselves: `datasets.Dataset.map` and others."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..documents import Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..documents.plain_values import plain
from ..formats.json_text import json_text
from .annotator import Annotator, BulkError, Failure

__all__ = ["ColumnAnnotator", "annotate_frames"]

_ADDED = ("result", "error")


class ColumnAnnotator:
    """Adds results to batches of columns, as `datasets.Dataset.map` gives them, or as arrays of numpy.

    A batch gets the columns ``result``, the result as JSON, and ``error``; one of both is empty in each row. So the
    schema is the same for any documents. The pipeline is loaded with the first batch of a process, or by an actor.
    A document that cannot be annotated costs no other, unless it ends the process.

    Args:
        text_column: The column of the texts. Those that a document has besides, such as ``id``, are read too.
        **options: Of `Annotator`: ``model``, ``loading``, ``parameters`` …

    Example:
        >>> from hf_corefel.bulk import ColumnAnnotator
        >>> dataset.map(ColumnAnnotator(), batched=True, num_proc=2)  # doctest: +SKIP
    """

    def __init__(self, *, text_column: str = "text", **options: Any) -> None:
        self._text_column = text_column
        self._annotator = Annotator(**options)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a batch, and those of its results.

        Raises:
            BulkError: When there is no column of texts, or one that is called as those of results are; when it is a
                single row; or when the pipeline cannot be loaded.
        """
        columns = {name: batch[name] for name in batch}
        if self._text_column not in columns:
            raise BulkError(f"there is no column {self._text_column!r}; text_column names that of the texts")
        if columns[self._text_column] is None or isinstance(columns[self._text_column], str):
            raise BulkError("expected a batch of columns, got a single row; pass batched=True to Dataset.map")
        for name in _ADDED:
            if name in columns:
                raise BulkError(f"there is a column {name!r} already, which would be replaced; rename it")
        values = {name: plain(list(column)) for name, column in columns.items()}
        rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
        read = [self._document(row) for row in rows]
        results = iter(self._annotator([item for item in read if isinstance(item, Document)]))
        found = [next(results) if isinstance(item, Document) else item for item in read]
        return {
            **columns,
            "result": ["" if isinstance(item, Failure) else json_text(item.to_dict()) for item in found],
            "error": [item.error if isinstance(item, Failure) else "" for item in found],
        }

    def _document(self, row: dict[str, Any]) -> Document | Failure:
        if self._text_column != "text":
            row["text"] = row.pop(self._text_column)
        try:
            # The engine keeps the other columns.
            return replace(Document.from_dict(row, extra=ExtraFields(lambda message: None)), extra={})
        except DocumentError as error:
            return Failure("", str(error))


def annotate_frames(frames: Iterable[Any], *, text_column: str = "text", **options: Any) -> Iterator[Any]:
    """Yield frames of pandas with the columns of `ColumnAnnotator`; as Spark's ``mapInPandas`` asks for.

    A process loads the pipeline once, whatever tasks it is given.

    Args:
        frames: The frames.
        text_column: The column of the texts.
        **options: Of `Annotator`.

    Example:
        >>> from functools import partial
        >>> from hf_corefel.bulk import annotate_frames
        >>> annotate = partial(annotate_frames, model="my/model")
        >>> frame.mapInPandas(annotate, "id string, text string, result string, error string")  # doctest: +SKIP
    """
    annotate = _kept(pickle.dumps((text_column, options)))
    for frame in frames:
        found = annotate({name: frame[name].tolist() for name in frame.columns})
        # Of the other columns, a copy might have other types.
        yield frame.assign(**{name: found[name] for name in _ADDED})


@lru_cache(maxsize=1)
def _kept(options: bytes) -> ColumnAnnotator:
    """The annotator of this process; what is the same comes as an object of its own with each task."""
    text_column, given = pickle.loads(options)
    return ColumnAnnotator(text_column=text_column, **given)
