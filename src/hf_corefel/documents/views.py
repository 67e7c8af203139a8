"""Results as other tools want them: clusters as lists, mentions in reading order, columns, a data frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from .checks import Offsets
from .mentions import Cluster, Mention
from .plain_values import advice, plain
from .word_map import WordMap

if TYPE_CHECKING:
    import pandas

    from .schema import AnnotatedDocument, Document

__all__ = ["PlacedMention", "ResultViews", "to_columns", "to_pandas"]


class PlacedMention(NamedTuple):
    """A mention with what it belongs to.

    Attributes:
        mention: The mention.
        cluster: Its cluster.
        number: Index of that cluster in the result's ``clusters``.
    """

    mention: Mention
    cluster: Cluster
    number: int

    @property
    def entity(self) -> str | None:
        """The entity of the cluster; None for NIL."""
        return self.cluster.entity


class ResultViews(ABC):
    """What a result offers beside its fields, as `AnnotatedDocument` and as the dict that the pipeline gives."""

    __slots__ = ()

    @abstractmethod
    def _document(self) -> AnnotatedDocument:
        """The result as an object."""

    @overload
    def get_clusters(self, as_strings: Literal[True] = True) -> list[list[str]]: ...

    @overload
    def get_clusters(self, as_strings: Literal[False]) -> list[list[Offsets]]: ...

    @overload
    def get_clusters(self, as_strings: bool) -> list[list[str]] | list[list[Offsets]]: ...

    def get_clusters(self, as_strings: bool = True) -> list[list[str]] | list[list[Offsets]]:
        """Return the mentions of each cluster, in the order of ``clusters``; those of one mention are there, too.

        Args:
            as_strings: Their surfaces; otherwise pairs of begin and end in code points.
        """
        document = self._document()
        if as_strings:
            return [[document.text[slice(*m.offsets)] for m in cluster.mentions] for cluster in document.clusters]
        return [[mention.offsets for mention in cluster.mentions] for cluster in document.clusters]

    def get_word_clusters(self) -> list[list[tuple[int, int]]]:
        """Return the mentions of each cluster as numbers of words, see `word_map`: of the first, and past the last."""
        words = self.word_map()
        return [[words.chars_to_words(*offsets) for offsets in cluster] for cluster in self.get_clusters(False)]

    def iter_mentions(self) -> Iterator[PlacedMention]:
        """Return an iterator over the mentions in the order of the text (by begin, then end), with their clusters."""
        placed = [
            PlacedMention(mention, cluster, number)
            for number, cluster in enumerate(self._document().clusters)
            for mention in cluster.mentions
        ]
        return iter(sorted(placed, key=lambda item: item.mention.offsets))

    def word_map(self) -> WordMap:
        """Return the words: those that the text was given as, or else those that the model's processor splits it into.

        The result holds the former as its ``word_offsets``, of a text that was given with ``is_split_into_words``.
        """
        document = self._document()
        return WordMap.of_text(document.text, document.word_offsets)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of the mentions, see `to_pandas`."""
        return to_pandas([self._document()])


def to_columns(
    documents: Iterable[Document | AnnotatedDocument | Mapping[str, Any]], names: Iterable[str] | None = None
) -> dict[str, list[Any]]:
    """Return documents or results as columns, which ``Dataset.map(batched=True)`` and ``Dataset.from_dict`` take.

    Args:
        documents: `Document`s, results of the pipeline, or dicts of either.
        names: The columns, such as `RESULT_FEATURES`; all that any of the documents has when None.

    Returns:
        A list a column, with None where a document does not have it.
    """
    rows = [item if isinstance(item, Mapping) else item.to_dict() for item in documents]
    columns = dict.fromkeys(name for row in rows for name in row) if names is None else names
    return {name: [row.get(name) for row in rows] for name in columns}


def to_pandas(results: Iterable[Any] | Any) -> pandas.DataFrame:
    """Return a data frame with a row for each mention, by document and by place in its text.

    The columns are there, with their types, when there is no mention at all, so that files of frames fit together.

    - ``document``: number of the result, from 0; ``id``: the id of its document.
    - ``begin``, ``end``, ``text``: offsets of the mention in code points, and its surface.
    - ``cluster``: number of its cluster in the document, from 0.
    - ``entity``, ``url``, ``wikidata``, ``type``: what the cluster is linked to; missing for NIL, and where unknown.
    - ``probability``, ``edge_probability``, ``link_probability``: those of the mention; missing in gold data.
    - ``cluster_probability``: that of its cluster; missing in gold data.

    Ids are Int64 when all of them are integers of 64 bits, as in the table that they come from, and strings otherwise.

    Args:
        results: A result, or many: `AnnotatedDocument`s, results of the pipeline, or rows of a dataset of results.

    Raises:
        ImportError: When pandas is not installed.
        DocumentError: When a dict is no result.
        TypeError: When a table is given in place of results.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas, which is not installed; `pip install pandas` installs it") from error
    from .schema import AnnotatedDocument

    if hint := advice(results, rows=True):
        raise TypeError(f"results: expected results of the pipeline; got a {type(results).__name__}{hint}")
    single = isinstance(results, Mapping | AnnotatedDocument)
    values: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for number, result in enumerate([results] if single else results):
        document = as_result(result)
        for mention, cluster, index in document.iter_mentions():
            text = document.text[slice(*mention.offsets)]
            linked = (cluster.entity, cluster.url, cluster.wikidata, cluster.type)
            row = (number, document.id, *mention.offsets, text, index, *linked)
            found = (mention.probability, mention.edge_probability, mention.link_probability, cluster.probability)
            for column, value in zip(values.values(), (*row, *found), strict=True):
                column.append(value)
    known = [value for value in values["id"] if value is not None]
    if known and all(type(value) is int and abs(value) < 2**63 for value in known):
        types = {**_COLUMNS, "id": "Int64"}
    else:
        types = _COLUMNS
        values["id"] = [None if value is None else str(value) for value in values["id"]]
    return pandas.DataFrame({name: pandas.Series(values[name], dtype=kind) for name, kind in types.items()})


_COLUMNS = {
    "document": "int64",
    "id": "string",
    "begin": "int64",
    "end": "int64",
    "text": "string",
    "cluster": "int64",
    "entity": "string",
    "url": "string",
    "wikidata": "string",
    "type": "string",
    "probability": "float64",
    "edge_probability": "float64",
    "link_probability": "float64",
    "cluster_probability": "float64",
}


def as_result(result: Any) -> AnnotatedDocument:
    """Return a result, or the one that its dict stands for; other fields of a dict are kept aside without a word.

    Raises:
        DocumentError: When it is neither.
    """
    from .extra_fields import ExtraFields
    from .schema import AnnotatedDocument

    result = plain(result)
    if isinstance(result, AnnotatedDocument):
        return result
    return AnnotatedDocument.from_dict(result, extra=ExtraFields())
