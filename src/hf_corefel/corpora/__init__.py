"""Readers of corpora in their official formats; every one gives `Document`s."""

from __future__ import annotations

from .dwie import CorpusError, development_split, read_dwie, read_dwie_article, read_dwie_texts

__all__ = ["CorpusError", "development_split", "read_dwie", "read_dwie_article", "read_dwie_texts"]
