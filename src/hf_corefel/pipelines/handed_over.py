"""What a caller may hand over where many texts or documents are wanted, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from torch.utils.data import Dataset

from ..documents import Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..documents.plain_values import advice, is_missing, is_splits, plain

__all__ = [
    "LazyResults",
    "SizedIterable",
    "as_document",
    "is_single",
    "is_stream",
    "is_words",
    "items_of",
    "joined",
    "located",
    "read_batches",
]

# How messages about a document without an id begin.
_NAMELESS = ("document:", "document.")

R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


class SizedIterable(Protocol[T_co]):
    """What holds many things and says how many: a list, a set, a column of a table, an array."""

    def __iter__(self) -> Iterator[T_co]: ...

    def __len__(self) -> int: ...


class LazyResults(Generic[R]):
    """The results of a dataset that has a length, made while they are asked for, and anew each time.

    Args:
        make: Begins to make them.
        length: How many there are.
    """

    def __init__(self, make: Callable[[], Iterator[R]], length: int) -> None:
        self._make, self._length = make, length

    def __iter__(self) -> Iterator[R]:
        return self._make()

    def __len__(self) -> int:
        return self._length


def is_single(inputs: Any) -> bool:
    """Whether something, in plain form, is one text or document and not many."""
    return isinstance(inputs, str | Document | Mapping) and not is_splits(inputs)


def is_stream(inputs: Any) -> bool:
    """Whether many things come one by one: from a generator or other iterator, or a dataset of torch or a stream."""
    return isinstance(inputs, Dataset) or (isinstance(inputs, Iterable) and not hasattr(inputs, "__len__"))


def items_of(inputs: Any, where: str, wanted: str, *, rows: bool = False) -> Iterator[Any]:
    """Return an iterator over many things.

    Args:
        inputs: An iterable, or a dataset of torch that has a length and items but no iterator.
        where: What the message calls it.
        wanted: What it should hold, in words.
        rows: Whether rows are wanted of a table, and not its texts.

    Raises:
        TypeError: When it is no such thing, or a table or a row of one, which iterate over something else.
    """
    if hint := advice(inputs, rows=rows):
        raise TypeError(f"{where}: expected {wanted}; got a {type(inputs).__name__}{hint}")
    if not isinstance(inputs, bytes | bytearray):
        if isinstance(inputs, Iterable):
            return iter(inputs)
        if hasattr(inputs, "__getitem__") and hasattr(inputs, "__len__"):
            # Nothing but its length need say where it stops.
            return (inputs[i] for i in range(len(inputs)))
    raise TypeError(f"{where}: expected {wanted}; got {type(inputs).__name__}")


def as_document(item: Any, where: str, extra: ExtraFields | None = None) -> Document:
    """The document that a text, a document or its dict stands for.

    Args:
        item: What was given.
        where: What the message calls it.
        extra: Names the fields that a document does not have.

    Raises:
        DocumentError: When it is none of these, or an invalid one.
    """
    given, item = item, plain(item)
    if isinstance(item, str):
        return Document(item)
    if isinstance(item, Document):
        return item
    if not isinstance(item, Mapping):
        kind = type(given).__name__
        if given is not None and is_missing(item):
            kind = f"a missing value ({kind}); leave it out, or give an empty text"
        raise DocumentError(f"{where}: expected a text, a Document or its dict; got {kind}{advice(given)}")
    try:
        return Document.from_dict(item, extra=extra)
    except DocumentError as error:
        if item.get("id") is not None and str(error).startswith("document "):
            raise
        # Without an id the message cannot say which of the documents it is about.
        raise DocumentError(f"{where}: {error}") from error


def located(error: Exception, number: int) -> Exception:
    """Return an error of one of many documents so that it says which one, as `as_document` does; else the same error.

    Args:
        error: What was raised.
        number: Of the document among those that were given.
    """
    if isinstance(error, DocumentError) and str(error).startswith(_NAMELESS):
        return DocumentError(f"inputs[{number}]: {error}")
    return error


def is_words(inputs: Any) -> bool:
    """Whether something, in plain form, is the words of one text: a list of strings, or an empty one."""
    return isinstance(inputs, Sequence) and not isinstance(inputs, str) and (not inputs or isinstance(inputs[0], str))


def joined(words: Any, where: str, extra: ExtraFields | None = None) -> Document:
    """The document of a text that was given as its words.

    Args:
        words: What was given.
        where: What the message calls it.
        extra: Left alone: words have no fields.

    Raises:
        DocumentError: When it is no list of words.
    """
    listed = plain(words)
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence):
        kind = type(words).__name__
        raise DocumentError(f"{where}: expected a text as a list of words (is_split_into_words=True); got {kind}")
    try:
        return Document.from_words(listed)
    except DocumentError as error:
        raise DocumentError(f"{where}: {error}") from error


def read_batches(
    items: Iterator[Any], size: int | None = None, read: Callable[[Any, str, ExtraFields], Document] = as_document
) -> Iterator[list[Document]]:
    """Yield the documents of many things in batches, each read when it is asked for.

    Before an error, of an item or of where it comes from, what was read is yielded. Fields that documents do not have
    are named in one warning a run, later ones that are new in others.

    Args:
        items: What `as_document` takes.
        size: Documents of a batch; None puts all in one, and yields nothing before an error.
        read: Makes a document of an item, what messages call it, and what names fields that a document does not have.

    Raises:
        DocumentError: When an item is no valid document.
    """
    extra, numbered = ExtraFields(), enumerate(items)
    failure: Exception | None = None
    is_last = False
    while not is_last:
        batch: list[Document] = []
        try:
            for number, item in islice(numbered, size):
                batch.append(read(item, f"inputs[{number}]", extra))
        except Exception as error:
            if size is None:
                raise
            failure = error
        is_last = size is None or len(batch) < size
        extra.say()
        if batch:
            yield batch
    if failure is not None:
        raise failure
