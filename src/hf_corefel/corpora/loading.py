"""The corpora as `datasets` datasets, in one call each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets.exceptions import DatasetGenerationError

from .aida import NilClusters
from .builders import AidaBuilder, CorpusBuilder, DwieBuilder, GumBuilder
from .errors import CorpusError
from .gum import MentionKinds

__all__ = ["load_aida", "load_aida_plus", "load_builder", "load_dwie", "load_gum"]


def load_dwie(
    data_dir: str | Path,
    *,
    split: str | None = None,
    dev_split: bool = False,
    candidates: bool = False,
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """DWIE, the articles that have their text.

    Args:
        data_dir: The folder with the article files (``DW_….json``), or the one above ``annos_with_content``.
        split: One split; None gives all of them.
        dev_split: Holds every tenth training article back, as the split ``validation``: of their ids, sorted as
            strings, positions 0, 10, 20, …; DWIE itself has ``train`` and ``test`` only.
        candidates: With the column ``candidates``, the corpus' own lists; see `read_dwie`.
        streaming: Reads the files while one iterates, and writes no cache.
        strict: Raises on a malformed article; otherwise warns and leaves it, or the mention, out.
        cache_dir: Where `datasets` keeps what it made of the files; None is its own place. Made anew when they change.

    Returns:
        A `datasets.DatasetDict` by split, or the `datasets.Dataset` of the given one; when streaming their
        iterable forms. A row is what `Document.from_dict` takes; a null entity is NIL.

    Raises:
        CorpusError: When a file is missing or malformed; the message says where.
        ValueError: When there is no such split.
    """
    builder = _builder(
        DwieBuilder,
        "development" if dev_split else "official",
        data_dir,
        cache_dir,
        strict=strict,
        candidates=candidates,
    )
    return load_builder(builder, split, streaming=streaming)


def load_aida(
    data_dir: str | Path,
    *,
    split: str | None = None,
    nil_clusters: NilClusters = "singletons",
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """AIDA CoNLL-YAGO; its ``testa`` is the split ``validation`` here, its ``testb`` the split ``test``.

    Args:
        data_dir: The folder with ``AIDA-YAGO2-dataset.tsv``.
        split: As in `load_dwie`, and so are the other arguments and what is returned.
        nil_clusters: Which NIL mentions are one cluster; see `read_aida`.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(AidaBuilder, "aida", data_dir, cache_dir, strict=strict, nil_clusters=nil_clusters)
    return load_builder(builder, split, streaming=streaming)


def load_aida_plus(
    data_dir: str | Path,
    *,
    split: str | None = None,
    candidates: bool = False,
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """AIDA+; its ``testa`` is the split ``validation`` here, its ``testb`` the split ``test``.

    Args:
        data_dir: The folder with the folders ``train``, ``testa`` and ``testb``.
        split: As in `load_dwie`, and so are the other arguments and what is returned.
        candidates: See `load_dwie`.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(AidaBuilder, "aida_plus", data_dir, cache_dir, strict=strict, candidates=candidates)
    return load_builder(builder, split, streaming=streaming)


def load_gum(
    data_dir: str | Path,
    *,
    split: str | None = None,
    mentions: MentionKinds = "all",
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """GUM; its ``dev`` is the split ``validation`` here, and masked documents are left out with a warning.

    The mention scope is left unset, which means a model's default. To train or score a model with scopes on all
    mentions it must be set to "all": ``dataclasses.replace(Document.from_dict(row), mention_scope="all")``.

    Args:
        data_dir: The folder with ``splits.md`` and ``dep``.
        split: As in `load_dwie`, and so are the other arguments and what is returned.
        mentions: ``all``, or the ``named`` ones only, whose head has a proper noun.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(GumBuilder, mentions, data_dir, cache_dir, strict=strict)
    return load_builder(builder, split, streaming=streaming)


def _builder(
    kind: type[CorpusBuilder], config: str, data_dir: str | Path, cache_dir: str | Path | None, **options: Any
) -> CorpusBuilder:
    where = None if cache_dir is None else str(cache_dir)
    return kind(cache_dir=where, config_name=config, data_dir=str(data_dir), **options)


def load_builder(builder: CorpusBuilder, split: str | None = None, *, streaming: bool = False) -> Any:
    """What a builder builds: a dataset of a split, or a dict of all of them.

    Raises:
        CorpusError: When a file is missing or malformed, the bare error of the reader.
    """
    if streaming:
        return builder.as_streaming_dataset(split=split)
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, CorpusError):
            raise error.__cause__ from None
        raise
    return builder.as_dataset(split=split)
