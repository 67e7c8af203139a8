"""One way to every corpus: its format, told by its files, its annotation, and its texts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..documents import Document
from .aida import read_aida
from .aida_plus import read_aida_plus, read_aida_plus_annotations
from .dwie import ArticleAnnotation, read_dwie, read_dwie_annotations, read_dwie_texts
from .errors import CorpusError
from .gum import MentionKinds, read_gum
from .locating import CORPUS_FORMATS, CorpusFormat, corpus_files, find_corpus

__all__ = [
    "CORPUS_FORMATS",
    "CorpusFormat",
    "corpus_files",
    "detect_format",
    "read_annotations",
    "read_gold",
    "read_texts",
]

_SUFFIXES: dict[str, CorpusFormat] = {".tsv": "aida", ".conllu": "gum"}
# What readers know the usual splits as.
_SPLITS: dict[CorpusFormat, dict[str, str]] = {
    "dwie": {},
    "aida": {"validation": "testa", "test": "testb"},
    "aida_plus": {"validation": "testa", "test": "testb"},
    "gum": {"validation": "dev"},
}
_READERS: dict[CorpusFormat, Callable[..., Iterator[Document | ArticleAnnotation]]] = {
    "dwie": read_dwie_annotations,
    "aida": read_aida,
    "aida_plus": read_aida_plus_annotations,
    "gum": read_gum,
}


def detect_format(path: str | Path) -> CorpusFormat:
    """The format of a corpus in its official files, which may lie up to two levels below a folder.

    Raises:
        CorpusError: When there is nothing at the path, nothing of a known format, or several corpora below it.
    """
    path = Path(path)
    if not path.exists():
        raise CorpusError(f"{path}: no such file or folder")
    if path.is_dir():
        return find_corpus(path)[0]
    if path.suffix in _SUFFIXES:
        return _SUFFIXES[path.suffix]
    raise CorpusError(f"{path}: no corpus that is known here; expected the files of {', '.join(CORPUS_FORMATS)}")


def read_annotations(
    path: str | Path, split: str = "all", *, corpus_format: CorpusFormat | None = None, strict: bool = True
) -> Iterator[Document | ArticleAnnotation]:
    """Reads the gold annotation of a corpus; that of DWIE and AIDA+ also where the texts are missing.

    Args:
        path: The corpus, as its reader takes it.
        split: As its reader takes it; ``all`` is always one.
        corpus_format: Tells the format; from the files when None.
        strict: Raises on malformed files; otherwise warns and leaves out what is malformed.

    Raises:
        CorpusError: When the format cannot be told, or a file is malformed.
    """
    chosen = corpus_format or detect_format(path)
    if chosen not in _READERS:
        raise ValueError(f"corpus_format must be one of {', '.join(CORPUS_FORMATS)}; got {chosen!r}")
    return _READERS[chosen](path, split, strict=strict)


def read_gold(
    path: str | Path, split: str = "all", *, mentions: MentionKinds = "named", corpus_format: CorpusFormat | None = None
) -> Iterator[Document]:
    """Reads the documents of a corpus that have their text, with gold clusters; malformed ones are left out.

    Args:
        path: The corpus, as its reader takes it.
        split: As its reader takes it, or ``train``, ``validation`` and ``test``, whatever the corpus calls them.
        mentions: Of GUM, ``all`` mentions or the ``named`` ones; the other corpora have names only.
        corpus_format: Tells the format; from the files when None.

    Raises:
        CorpusError: When the format cannot be told, or files are missing.
        ValueError: When there is no such split.
    """
    chosen = corpus_format or detect_format(path)
    name = _SPLITS[chosen].get(split, split)
    if chosen == "gum":
        return read_gum(path, name, mentions=mentions, strict=False)
    if chosen == "aida":
        # What is said of a NIL mention is its surface: the same one twice in a document is the same thing.
        return read_aida(path, name, nil_clusters="surfaces", strict=False)
    return (read_dwie if chosen == "dwie" else read_aida_plus)(path, name, strict=False)


def read_texts(
    path: str | Path, split: str = "all", *, corpus_format: CorpusFormat | None = None
) -> Iterator[Document]:
    """Ids, texts and, where the corpus has them, words and speakers of `read_gold`, in the same order; no annotation.

    For predictions that gold must not touch. DWIE's annotation is not looked at, so an article that `read_gold`
    leaves out for its annotation is here too: match the two by their ids.
    """
    chosen = corpus_format or detect_format(path)
    if chosen == "dwie":
        yield from read_dwie_texts(path, split)
    else:
        for document in read_gold(path, split, corpus_format=chosen):
            yield Document(document.text, document.id, document.words, speakers=document.speakers)
