"""Which corpora there are: what each is, by name; open to corpora of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..documents import Document
from ..utils.registry import Registry
from .article_annotation import ArticleAnnotation

if TYPE_CHECKING:
    from .builders import CorpusBuilder

__all__ = ["CORPORA", "CorpusSpec"]


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """What the package knows of a corpus; all that reads corpora goes through this.

    Commands and functions find a corpus by ``sniff`` or by its name, and read it by the functions here. They call them
    as ``read_gold(path, split, strict=…)``, and with ``mention_scope=…`` where ``scopes`` has two.

    >>> CORPORA["gum"].title, CORPORA["gum"].splits["validation"]
    ('GUM', 'dev')

    Paths are `pathlib.Path`s: the folder that ``sniff`` found, or what was named where it found none.

    Attributes:
        name: What it is called in commands and functions, such as ``gum``.
        title: What it is called in tables and cards, such as ``GUM``.
        sniff: Whether a folder, or a file, is this corpus; not whether one lies deeper. It looks at what no other
            corpus has, for two that claim a folder are an error. It may raise `OSError`.
        splits: The corpus' own names of the splits ``train``, ``validation`` and ``test``, of those it has.
        read_gold: Reads the documents of a split with their gold clusters. The split is one of the corpus' own, or
            ``all``; with ``strict=False`` it leaves out what is malformed, with a warning. Where there is nothing of a
            split it raises a plain `ValueError` whose message has the word "split"; all else counts as malformed.
        read_texts: Reads ids, texts and, where there are, words and speakers, ``read_texts(path, split)``, by which
            nothing of the annotation reaches a prediction; None takes them of ``read_gold``.
        builder: A subclass of `CorpusBuilder`, or its place as ``"module:attribute"``; None makes one.
        read_annotations: Counts what is annotated where texts may be missing, as ``read_gold`` but without
            ``mentions``; None takes ``read_gold``.
        files: What the files are called, as patterns below the folder: they are never written over, and datasets are
            made anew when they change.
        expects: What ``sniff`` looks for, in words, for messages.
        scopes: Which mentions are annotated, the usual ones first: ``named``, ``all``, or both, where readers choose.
        about: One or two sentences on what is annotated, for cards.
        note: A sentence that belongs to its counts.
        homepage: Where it comes from.
        licence: Under which terms, for cards.
        citation: In BibTeX.
        languages: Codes of its languages, for cards; empty where they differ.
    """

    name: str
    title: str
    sniff: Callable[[Path], bool]
    splits: Mapping[str, str]
    read_gold: Callable[..., Iterator[Document]]
    read_texts: Callable[..., Iterator[Document]] | None = None
    builder: type[CorpusBuilder] | str | None = None
    read_annotations: Callable[..., Iterator[Document | ArticleAnnotation]] | None = None
    files: tuple[str, ...] = ("**/*",)
    expects: str = ""
    scopes: tuple[str, ...] = ("named",)
    about: str = ""
    note: str = ""
    homepage: str = ""
    licence: str = "See the corpus' own terms."
    citation: str = ""
    languages: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """Name and what is looked for, for messages."""
        return f"{self.name} ({self.expects})" if self.expects else self.name


# What readers are asked for; a document's own scope may be another.
_SCOPES = ("named", "all")


def _check(name: str, item: Any) -> None:
    if not isinstance(item, CorpusSpec):
        raise TypeError(f"corpus {name!r}: expected a CorpusSpec, got {type(item).__name__}")
    if item.name != name:
        raise ValueError(f"corpus {name!r}: its spec is named {item.name!r}; give both one name")
    if not item.scopes or not set(item.scopes) <= set(_SCOPES):
        raise ValueError(f"corpus {name!r}: scopes has one or both of {_SCOPES}; got {item.scopes!r}")
    readers = {"read_gold": {"strict": True, **({"mention_scope": "all"} if len(item.scopes) > 1 else {})}}
    readers |= {"read_annotations": {"strict": True}, "read_texts": {}}
    for field, options in readers.items():
        read = getattr(item, field)
        try:
            # What is wrong is said when the corpus is added, not when it is read.
            if read is not None:
                signature(read).bind(Path(), "all", **options)
        except TypeError as error:
            expected = ", ".join(("path", "split", *(f"{option}=…" for option in options)))
            raise TypeError(f"corpus {name!r}: {field} is called as {field}({expected}), but: {error}") from error


CORPORA: Registry[CorpusSpec] = Registry(
    "corpus",
    "hf_corefel.corpora",
    {
        "dwie": "hf_corefel.corpora.dwie:DWIE",
        "aida": "hf_corefel.corpora.aida:AIDA",
        "aida_plus": "hf_corefel.corpora.aida_plus:AIDA_PLUS",
        "gum": "hf_corefel.corpora.gum:GUM",
        "conll2012": "hf_corefel.corpora.conll2012:CONLL2012",
        "corefud": "hf_corefel.corpora.corefud:COREFUD",
        "docred": "hf_corefel.corpora.docred:DOCRED",
        "brat": "hf_corefel.corpora.brat:BRAT",
    },
    check=_check,
)
