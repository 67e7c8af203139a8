"""One way to every corpus: its format, told by its files, its annotation, and its texts alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..documents import Document
from .article_annotation import ArticleAnnotation
from .gum import MentionScope
from .locating import corpus_files, corpus_folder, find_corpus
from .registry import CORPORA, CorpusSpec

__all__ = ["corpus_files", "detect_format", "read_annotations", "read_gold", "read_texts"]


def detect_format(path: str | Path) -> str:
    """The name of a corpus in its official files, which may lie up to two levels below a folder.

    Raises:
        CorpusError: When there is nothing at the path, nothing that is known, several corpora below it, or two that
            claim one place.
    """
    return find_corpus(path)[0]


def read_annotations(
    path: str | Path, split: str = "all", *, corpus_format: str | None = None, strict: bool = True
) -> Iterator[Document | ArticleAnnotation]:
    """Reads the gold annotation of a corpus; that of DWIE and AIDA+ also where the texts are missing.

    Args:
        path: The corpus, as its reader takes it.
        split: As its reader takes it, or ``train``, ``validation`` and ``test``; ``all`` is always one.
        corpus_format: The name of the corpus in `CORPORA`; from the files when None.
        strict: Raises on malformed files; otherwise warns and leaves out what is malformed.

    Raises:
        CorpusError: When the format cannot be told, or a file is malformed.
        ValueError: When no corpus has the name, or it has no such split.
    """
    spec, place = _corpus(path, corpus_format)
    read = spec.read_annotations or spec.read_gold
    return read(place, _split(spec, split), strict=strict)


def read_gold(
    path: str | Path,
    split: str = "all",
    *,
    mention_scope: MentionScope = "named",
    corpus_format: str | None = None,
    strict: bool = False,
) -> Iterator[Document]:
    """Reads the documents of a corpus that have their text, with gold clusters; malformed ones are left out.

    Args:
        path: The corpus, as its reader takes it.
        split: As its reader takes it, or ``train``, ``validation`` and ``test``, whatever the corpus calls them.
        mention_scope: ``all`` mentions or the ``named`` ones, of a corpus that has both (GUM, CorefUD); of others what
            is annotated.
        corpus_format: The name of the corpus in `CORPORA`; from the files when None.
        strict: Raises on malformed files.

    Raises:
        CorpusError: When the format cannot be told, or files are missing.
        ValueError: When no corpus has the name, or it has no such split.
    """
    spec, place = _corpus(path, corpus_format)
    chosen = {"mention_scope": mention_scope} if len(spec.scopes) > 1 else {}
    return spec.read_gold(place, _split(spec, split), strict=strict, **chosen)


def read_texts(path: str | Path, split: str = "all", *, corpus_format: str | None = None) -> Iterator[Document]:
    """Ids, texts and, where the corpus has them, words and speakers of `read_gold`, in the same order; no annotation.

    For predictions that gold must not touch. DWIE's annotation is not looked at, so an article that `read_gold`
    leaves out for its annotation is here too: match the two by their ids.
    """
    spec, place = _corpus(path, corpus_format)
    if spec.read_texts is not None:
        yield from spec.read_texts(place, _split(spec, split))
    else:
        for document in read_gold(place, split, mention_scope="all", corpus_format=spec.name):
            yield Document(document.text, document.id, document.words, speakers=document.speakers)


def _corpus(path: str | Path, name: str | None) -> tuple[CorpusSpec, Path]:
    """What a corpus is, and where it lies."""
    if name is None:
        name, place = find_corpus(path)
        return CORPORA[name], place
    return CORPORA[name], corpus_folder(path, name)


def _split(spec: CorpusSpec, split: str) -> str:
    """What a corpus itself calls a split."""
    return spec.splits.get(split, split)
