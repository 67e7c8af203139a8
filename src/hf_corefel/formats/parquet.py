"""Parquet: a row a result, with the columns and types of `hf_corefel.documents.features`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..documents import AnnotatedDocument, DocumentError
from ..documents.extra_fields import ExtraFields
from .writer import AnyDocument, Losses, Writer, as_result, count_losses, document_from, without_surrogates

__all__ = ["Parquet"]

# Documents of a row group, which is what is in memory at once.
_ROWS = 256
_OPTIONAL = ("resolved_text", "word_offsets")
_KEPT = (
    "entity",
    "url",
    "wikidata",
    "type",
    "probability",
    "link_probability",
    "alternatives",
    "parent",
    "warnings",
    "words",
    "resolved_text",
)


class Parquet(Writer):
    """A Parquet file of results, for `datasets`, pyarrow, pandas and DuckDB.

    Its columns are those of `RESULT_FEATURES`, with ``id``, ``resolved_text`` and ``word_offsets`` where one of the
    first 256 documents has them.
    """

    title = "a Parquet file"
    suffixes = (".parquet",)
    binary = True

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[bytes]:
        # Bring datasets and pyarrow along.
        import pyarrow as pa
        import pyarrow.parquet as pq

        from ..documents.features import result_features

        results = (_result(document, losses) for document in documents)
        first = list(islice(results, _ROWS))
        schema = result_features(
            id="string" if any(result.id is not None for result in first) else None,
            resolved_text=any(result.resolved_text is not None for result in first),
            word_offsets=any(result.word_offsets is not None for result in first),
        ).arrow_schema
        buffer = _Pieces()
        with pq.ParquetWriter(buffer, schema) as writer:
            rest = iter(lambda: list(islice(results, _ROWS)), [])
            for batch in chain([first] if first else [], rest):
                rows = [_row(result, schema.names, losses) for result in batch]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                yield buffer.taken()
        yield buffer.taken()

    def read(self, path: Path) -> Iterator[AnyDocument]:
        """Yield results, or documents where the rows are of these, as those of corpora are."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(path) as file:
                rows = chain.from_iterable(batch.to_pylist() for batch in file.iter_batches(batch_size=_ROWS))
                extra = ExtraFields()
                for number, row in enumerate(rows):
                    try:
                        document = document_from(row, extra)
                    except DocumentError as error:
                        raise DocumentError(f"{path}: row {number}: {error}") from error
                    yield document
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            raise DocumentError(f"{path}: no Parquet file, or a damaged one: {error}") from error


def _result(document: AnyDocument, losses: Losses) -> AnnotatedDocument:
    count_losses(document, losses, _KEPT)
    return as_result(without_surrogates(document, losses))


def _row(result: AnnotatedDocument, columns: list[str], losses: Losses) -> dict[str, Any]:
    data: dict[str, Any] = dict(result.to_dict())
    if result.id is not None and "id" in columns:
        data["id"] = str(result.id)
    for name in ("id", *_OPTIONAL):
        losses.count(f"values of {name} after 256 documents without any", name in data and name not in columns)
    for name in result.extra:
        data.pop(name, None)
    return data


class _Pieces(io.RawIOBase):
    """A file that pyarrow writes to, whose content is taken away as it comes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._length += len(part)
        return len(part)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken
