"""AIDA+ (Zaporojets et al., 2022): AIDA with clusters, also of NIL mentions, in articles of DWIE's form.

The articles of a split lie in a folder of its name: ``train``, ``testa`` and ``testb``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..documents import Document
from .article_annotation import ArticleAnnotation
from .dwie import load_article, read_dwie_annotation, read_dwie_article, read_each
from .errors import CorpusError, raise_or_warn
from .locating import corpus_folder
from .registry import CorpusSpec

__all__ = ["AIDA_PLUS", "AIDA_PLUS_FOLDERS", "read_aida_plus", "read_aida_plus_annotations"]

AIDA_PLUS_FOLDERS = ("train", "testa", "testb")
_FILES = tuple(f"{folder}/*.json" for folder in AIDA_PLUS_FOLDERS)


def read_aida_plus(
    folder: str | Path, split: str = "all", *, candidates: bool = False, strict: bool = True
) -> Iterator[Document]:
    """Reads the articles of a split in the order of their file names, ``all`` of them split after split.

    Args:
        folder: The folder with the folders ``train``, ``testa`` and ``testb``, or one up to two levels above it.
        split: ``train``, ``testa``, ``testb`` or ``all``.
        candidates: Keeps the corpus' own candidate lists in ``Document.candidates``; see `read_dwie`.
        strict: Raises on a malformed article; otherwise warns and leaves it, or the mention, out.

    Raises:
        CorpusError: When a split's folder holds no article, or an article is malformed or has no text.
    """
    read = partial(read_dwie_article, candidates=candidates, strict=strict)
    yield from read_each(_articles(corpus_folder(folder, "aida_plus"), split, strict), read, strict)


def read_aida_plus_annotations(
    folder: str | Path, split: str = "all", *, strict: bool = True
) -> Iterator[ArticleAnnotation]:
    """Reads the annotation of the articles of a split, whether or not they have their text; see `read_aida_plus`."""
    read = partial(read_dwie_annotation, strict=strict)
    yield from read_each(_articles(corpus_folder(folder, "aida_plus"), split, strict), read, strict)


def _articles(folder: Path, split: str, strict: bool) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The parsed files of a split; the name of the file stands for a missing id."""
    if split not in (*AIDA_PLUS_FOLDERS, "all"):
        raise ValueError(f"split must be one of {', '.join(AIDA_PLUS_FOLDERS)}, all; got {split!r}")
    for part in AIDA_PLUS_FOLDERS if split == "all" else (split,):
        paths = sorted((folder / part).glob("*.json"), key=lambda path: path.stem)
        if not paths:
            raise CorpusError(f"{folder / part}: no AIDA+ articles (*.json) here")
        for path in paths:
            try:
                article = load_article(path)
            except CorpusError as error:
                raise_or_warn(error, strict)
            else:
                yield path, {"id": path.stem, **article}


AIDA_PLUS = CorpusSpec(
    name="aida_plus",
    title="AIDA+",
    # Other corpora have a folder "train" too.
    sniff=lambda path: any(any(path.glob(pattern)) for pattern in _FILES[1:]),
    splits={"train": "train", "validation": "testa", "test": "testb"},
    read_gold=read_aida_plus,
    read_annotations=read_aida_plus_annotations,
    builder="hf_corefel.corpora.builders:AidaBuilder",
    files=_FILES,
    expects="*.json in folders testa and testb",
)
