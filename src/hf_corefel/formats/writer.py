"""What a format is: how documents become the content of a file, and what of them it cannot hold."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from ..documents import AnnotatedDocument, AnnotatedLayers, Cluster, Document, Offsets
from ..documents.extra_fields import ExtraFields

__all__ = [
    "AnyDocument",
    "FormatLossWarning",
    "Losses",
    "Writer",
    "as_result",
    "check_writer",
    "clusters_of",
    "count_facts_of_nil",
    "count_layers",
    "count_losses",
    "document_from",
    "given_words",
    "name_in",
    "replaced_surrogates",
    "without_surrogates",
]

_SURROGATES = re.compile("[\ud800-\udfff]")

AnyDocument = Document | AnnotatedDocument


class FormatLossWarning(UserWarning):
    """A format cannot hold all that the documents say; the message counts what is left out.

    Example:
        >>> import warnings
        >>> from hf_corefel.formats import FormatLossWarning
        >>> warnings.simplefilter("ignore", FormatLossWarning)  # whoever knows what a format cannot hold
    """


class Losses:
    """What a format could not hold, counted by kind, so that it is said once for all documents.

    Example:
        >>> from hf_corefel.formats import Losses
        >>> losses = Losses()
        >>> losses.count("links of clusters", 2)
        >>> losses.message("words")
        'words files cannot hold all of it; left out or changed: links of clusters (2)'
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, kind: str, number: int = 1) -> None:
        """Add to what was left out.

        Args:
            kind: What it is, in the plural: "mentions that cut a word".
            number: How many there are.
        """
        if number:
            self._counts[kind] += number

    def __getitem__(self, kind: str) -> int:
        return self._counts[kind]

    def items(self) -> Iterator[tuple[str, int]]:
        """The kinds with their numbers."""
        return iter(self._counts.items())

    def __bool__(self) -> bool:
        return bool(self._counts)

    def message(self, name: str) -> str:
        """Return the sentence that says what the format of that name left out."""
        listed = ", ".join(f"{kind} ({number:,})" for kind, number in self._counts.items())
        return f"{name} files cannot hold all of it; left out or changed: {listed}"

    def warn(self, name: str) -> None:
        """Say it as a `FormatLossWarning`, if there is anything to say."""
        if self:
            warnings.warn(self.message(name), FormatLossWarning, stacklevel=3)


@runtime_checkable
class Writer(Protocol):
    """A format that documents are written in.

    Inherit from it for the defaults of what is optional, and register an instance, or the class, under the format's
    name: ``FORMATS.register("words", Words())``, or as an entry point of the group ``hf_corefel.formats``. Then it can
    be chosen by name or by the ending of a file, in ``hf-corefel annotate`` and ``convert`` and in `write_documents`.

    Attributes:
        title: What a file is, in a few words, for people.
        suffixes: Endings of file names that stand for the format, the usual one first. The longest ending decides.
        streams: Whether each piece that `write` yields is whole: then a file of the first pieces can be read, is kept
            when the command is stopped, and may be compressed (a name that ends in ``.gz``).
        binary: Whether the pieces are bytes that no terminal can show.
        folder: Whether a document becomes several files of a folder; such a format has `files` in place of `write`.

    Example:
        >>> from hf_corefel import Document
        >>> from hf_corefel.formats import Losses, Writer
        >>> class Plain(Writer):
        ...     suffixes = (".plain",)
        ...
        ...     def write(self, documents, losses):
        ...         for document in documents:
        ...             yield document.text
        >>> list(Plain().write([Document("Oslo is old.")], Losses()))
        ['Oslo is old.']
    """

    title: str = ""
    suffixes: tuple[str, ...]
    streams: bool = False
    binary: bool = False
    folder: bool = False

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str | bytes]:
        """Yield the content of a file, piece by piece, each as soon as its documents are there.

        Args:
            documents: What to write: results, or documents with gold clusters. Take the next one only when what was
                made of the last one has been yielded.
            losses: Counts what the format cannot hold.

        Yields:
            Text, which becomes UTF-8, or bytes.
        """
        raise _missing(self, "write")

    def files(self, document: AnyDocument, losses: Losses) -> Mapping[str, str | bytes]:
        """Return the files of one document by their endings; only for formats with `folder`."""
        raise _missing(self, "files")

    def read(self, path: Path) -> Iterator[AnyDocument]:
        """Yield the documents of a file that `write` has written; without it a format is written only."""
        raise _missing(self, "read")

    def escape(self, character: str) -> str:
        """Return how the format writes a character that an output stream or a terminal cannot take."""
        return character.encode("unicode_escape").decode()


def _missing(writer: Writer, method: str) -> TypeError:
    return TypeError(f"{type(writer).__name__} has no method {method}")


def check_writer(name: str, item: Any) -> None:
    """Raise `TypeError` unless an item of the registry is a `Writer` or a class of them."""
    suffixes = getattr(item, "suffixes", None)
    if not isinstance(suffixes, tuple | list) or not all(isinstance(s, str) and s.startswith(".") for s in suffixes):
        raise TypeError(f"format {name!r}: suffixes must be a tuple of endings such as ('.txt',); got {suffixes!r}")
    method = "files" if getattr(item, "folder", False) else "write"
    own = getattr(item, method, None)
    if not callable(own) or getattr(own, "__func__", own) is getattr(Writer, method):
        raise TypeError(f"format {name!r}: {item!r} has no method {method}; see hf_corefel.formats.Writer")


def clusters_of(document: AnyDocument) -> list[Cluster]:
    """Return the clusters of a result, or the gold ones of a document."""
    return document.clusters or []


def given_words(document: AnyDocument) -> list[Offsets] | None:
    """Return the words that the text was given as; None where nobody gave any."""
    return document.words if isinstance(document, Document) else document.word_offsets


def name_in(document: AnyDocument, number: int) -> str:
    """Return the id of a document as text, or ``document-N`` where it has none."""
    return f"document-{number}" if document.id in (None, "") else str(document.id)


def document_from(data: Any, extra: ExtraFields | None = None) -> AnyDocument:
    """Return the result, or the document, that JSON data stand for.

    A result has ``warnings``, if only an empty list, or another field that no document has, and none of those that
    only a document has.

    Raises:
        DocumentError: When it is neither.
    """
    kind: type[Any] = AnnotatedDocument if _is_result(data) else Document
    return cast(AnyDocument, kind.from_dict(data, extra=extra))


_OF_DOCUMENTS = ("words", "mentions", "spans", "candidates", "mention_scope", "speakers", "annotated")


def _is_result(data: Any) -> bool:
    if not isinstance(data, Mapping) or "clusters" not in data:
        return False
    # Every result has the list of its warnings, also when it is empty. A document may have other fields of that name.
    if isinstance(data.get("warnings", []), list):
        marked = any(name in data for name in ("warnings", "resolved_text", "word_offsets"))
        return marked and not any(data.get(name) is not None for name in _OF_DOCUMENTS)
    return False


def as_result(document: AnyDocument) -> AnnotatedDocument:
    """Return a document with gold clusters as a result; a result as it is."""
    if isinstance(document, AnnotatedDocument):
        return document
    return AnnotatedDocument(
        document.text, document.clusters or [], id=document.id, word_offsets=document.words, extra=document.extra
    )


def without_surrogates(document: AnyDocument, losses: Losses) -> AnyDocument:
    """Return a document with U+FFFD for each lone surrogate, which UTF-8 and most libraries lack; offsets stay."""
    data: Any = document.to_dict()
    try:
        json.dumps(data, ensure_ascii=False, default=str).encode("utf-8")
        return document
    except UnicodeEncodeError:
        pass
    losses.count("lone surrogates", max(1, len(_SURROGATES.findall(document.text))))
    return type(document).from_dict(replaced_surrogates(data), extra=ExtraFields())


def replaced_surrogates(value: Any) -> Any:
    """Return a value of JSON with U+FFFD for each lone surrogate in its strings; a string without any is the same."""
    if isinstance(value, str):
        return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list | tuple):
        return [replaced_surrogates(item) for item in value]
    return {name: replaced_surrogates(item) for name, item in value.items()} if isinstance(value, Mapping) else value


# What documents may say beyond text, id and which mentions are one thing, and how it is called.
_KINDS = {
    "id": "ids that are numbers, which become text",
    "entity": "links of clusters",
    "url": "URLs of entities",
    "wikidata": "Wikidata ids of entities",
    "type": "types of entities",
    "probability": "probabilities",
    "link_probability": "probabilities",
    "alternatives": "alternatives of clusters",
    "parent": "parents of mentions",
    "warnings": "warnings",
    "resolved_text": "resolved texts",
    "samples": "samples of clusterings",
    "clusterings": "other clusterings",
    "speakers": "turns of speakers",
    "candidates": "lists of given candidates",
    "spans": "given mentions and spans",
    "words": "given splits into words",
    "mention_scope": "mention scopes",
    "annotated": "statements of which layers are annotated",
    "extra": "other fields",
}


def count_losses(document: AnyDocument, losses: Losses, keeps: Iterable[str] = ()) -> None:
    """Count what a document says and a format cannot hold.

    Args:
        document: The document.
        losses: Where it is counted.
        keeps: The names of what the format holds beside text and clusters: ``"id"`` (also where it is a number),
            ``"entity"``, ``"url"``, ``"wikidata"``, ``"type"``, ``"probability"``, ``"link_probability"``,
            ``"alternatives"``, ``"parent"``, ``"warnings"``, ``"resolved_text"``, ``"samples"``, ``"clusterings"``,
            ``"speakers"``, ``"candidates"``, ``"spans"`` (given mentions too), ``"words"``, ``"mention_scope"``,
            ``"annotated"``, ``"extra"``.
    """
    kept = set(keeps)
    clusters = clusters_of(document)
    mentions = [mention for cluster in clusters for mention in cluster.mentions]
    numbers = [value for mention in mentions for value in (mention.probability, mention.edge_probability)]
    numbers += [cluster.probability for cluster in clusters]
    found: dict[str, int] = {
        "entity": sum(cluster.entity is not None for cluster in clusters),
        "url": sum(cluster.url is not None for cluster in clusters),
        "wikidata": sum(cluster.wikidata not in (None, cluster.entity) for cluster in clusters),
        "type": sum(cluster.type is not None for cluster in clusters),
        "probability": sum(value is not None for value in numbers),
        "link_probability": sum(mention.link_probability is not None for mention in mentions),
        "alternatives": sum(len(cluster.alternatives or ()) for cluster in clusters),
        "parent": sum(mention.parent is not None for mention in mentions),
        "words": given_words(document) is not None,
        "extra": len(document.extra),
        "id": isinstance(document.id, int),
    }
    if isinstance(document, AnnotatedDocument):
        found["warnings"] = len(document.warnings)
        found["resolved_text"] = document.resolved_text is not None
        found["samples"] = len(document.samples or ())
        found["clusterings"] = len(document.clusterings or ())
    else:
        found["speakers"] = len(document.speakers or ())
        found["candidates"] = len(document.candidates)
        found["spans"] = len(document.mentions or ()) + len(document.spans or ())
        found["mention_scope"] = document.mention_scope is not None
        found["annotated"] = document.annotated is not None
    for kind, number in found.items():
        if kind not in kept:
            losses.count(_KINDS[kind], number)


def count_layers(document: AnyDocument, losses: Losses, read_back: AnnotatedLayers) -> None:
    """Count what a document says of its annotated layers where a reader of the format will say something else.

    Args:
        document: The document; give ``"annotated"`` to `count_losses` as kept.
        losses: Where it is counted.
        read_back: What the reader will say.
    """
    if isinstance(document, Document) and document.annotated is not None:
        losses.count(_KINDS["annotated"], document.layers != read_back)


def count_facts_of_nil(document: AnyDocument, losses: Losses, names: Iterable[str]) -> None:
    """Count what is known of clusters without an entity, where a format keeps it with entities only.

    Args:
        document: The document.
        losses: Where it is counted.
        names: ``"wikidata"``, ``"type"`` or both.
    """
    nil = [cluster for cluster in clusters_of(document) if cluster.entity is None]
    for name in names:
        kind = _KINDS[name].replace("entities", "clusters without an entity")
        losses.count(kind, sum(getattr(cluster, name) is not None for cluster in nil))
