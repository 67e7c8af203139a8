"""One way to every corpus: its format, told by its files, and its annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, get_args

from ..documents import Document
from .aida import FILE_NAME, read_aida
from .aida_plus import AIDA_PLUS_FOLDERS, read_aida_plus_annotations
from .dwie import ArticleAnnotation, read_dwie_annotations
from .errors import CorpusError
from .gum import read_gum

__all__ = ["CORPUS_FORMATS", "CorpusFormat", "detect_format", "read_annotations"]

CorpusFormat = Literal["dwie", "aida", "aida_plus", "gum"]
CORPUS_FORMATS: tuple[CorpusFormat, ...] = get_args(CorpusFormat)

# What shows that a folder is of the format, in the order in which they are asked.
_SIGNS: dict[CorpusFormat, tuple[str, ...]] = {
    "dwie": ("DW_*.json", "annos_with_content/DW_*.json", "annos_only/DW_*.json", "annos/DW_*.json"),
    "aida": (FILE_NAME,),
    "aida_plus": tuple(f"{folder}/*.json" for folder in AIDA_PLUS_FOLDERS),
    "gum": ("dep/*.conllu", "*.conllu"),
}
_SUFFIXES: dict[str, CorpusFormat] = {".tsv": "aida", ".conllu": "gum"}
_READERS: dict[CorpusFormat, Callable[..., Iterator[Document | ArticleAnnotation]]] = {
    "dwie": read_dwie_annotations,
    "aida": read_aida,
    "aida_plus": read_aida_plus_annotations,
    "gum": read_gum,
}


def detect_format(path: str | Path) -> CorpusFormat:
    """The format of a corpus in its official files.

    Raises:
        CorpusError: When there is nothing at the path, or nothing of a known format.
    """
    path = Path(path)
    if not path.exists():
        raise CorpusError(f"{path}: no such file or folder")
    if path.is_file():
        if path.suffix in _SUFFIXES:
            return _SUFFIXES[path.suffix]
    else:
        for name, patterns in _SIGNS.items():
            if any(any(path.glob(pattern)) for pattern in patterns):
                return name
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
