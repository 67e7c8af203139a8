"""Readers of corpora in their official formats; every one gives `Document`s."""

from __future__ import annotations

import warnings
from typing import Any

from .aida import NilClusters, read_aida
from .aida_plus import read_aida_plus, read_aida_plus_annotations
from .article_annotation import ArticleAnnotation
from .brat import read_brat
from .conll2012 import read_conll2012
from .corefud import read_corefud
from .docred import read_docred, read_docred_annotations
from .dwie import (
    development_split,
    read_dwie,
    read_dwie_annotation,
    read_dwie_annotations,
    read_dwie_article,
    read_dwie_texts,
)
from .errors import CorpusError
from .gum import MentionKinds, MentionScope, gum_splits, read_gum
from .reading import (
    corpus_files,
    detect_format,
    read_annotations,
    read_gold,
    read_texts,
)
from .registry import CORPORA, CorpusSpec
from .statistics import CandidateRecall, CorpusStatistics, corpus_statistics

__all__ = [
    "CORPORA",
    "ArticleAnnotation",
    "CandidateRecall",
    "CorpusError",
    "CorpusSpec",
    "CorpusStatistics",
    "MentionKinds",
    "MentionScope",
    "NilClusters",
    "corpus_statistics",
    "corpus_files",
    "detect_format",
    "development_split",
    "gum_splits",
    "read_aida",
    "read_aida_plus",
    "read_aida_plus_annotations",
    "read_annotations",
    "read_dwie",
    "read_dwie_annotation",
    "read_dwie_annotations",
    "read_dwie_article",
    "read_dwie_texts",
    "read_brat",
    "read_conll2012",
    "read_corefud",
    "read_docred",
    "read_docred_annotations",
    "read_gold",
    "read_gum",
    "read_texts",
]


def __getattr__(name: str) -> Any:
    """Find the names that 0.1.0 had for the list of corpora."""
    old = {"CORPUS_FORMATS": lambda: tuple(CORPORA), "CorpusFormat": lambda: str}
    if name not in old:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is now the registry {__name__}.CORPORA", DeprecationWarning, stacklevel=2)
    return old[name]()
