"""The corpora as `datasets` datasets, in one call each."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from datasets.exceptions import DatasetGenerationError

from ..moved import renamed_argument
from .aida import NilClusters
from .brat import COREFERENCE
from .builders import AidaBuilder, CorpusBuilder, DwieBuilder, GumBuilder
from .gum import MentionScope
from .reading import detect_format
from .spec_builder import BratBuilder, Conll2012Builder, CorefUDBuilder, DocREDBuilder, builder_of

__all__ = [
    "load_aida",
    "load_aida_plus",
    "load_brat",
    "load_builder",
    "load_conll2012",
    "load_corefud",
    "load_corpus",
    "load_docred",
    "load_dwie",
    "load_gum",
]


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
            What was warned of then is said again by each load that finds it there.

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


@renamed_argument("mentions", "mention_scope")
def load_gum(
    data_dir: str | Path,
    *,
    split: str | None = None,
    mention_scope: MentionScope = "all",
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
        mention_scope: ``all``, or the ``named`` ones only, whose head has a proper noun.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(GumBuilder, mention_scope, data_dir, cache_dir, strict=strict)
    return load_builder(builder, split, streaming=streaming)


def load_conll2012(
    data_dir: str | Path,
    *,
    split: str | None = None,
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """Files in the columns of CoNLL-2012, as OntoNotes and LitBank; see `read_conll2012`.

    All mentions are annotated: to train or score a model with scopes, see `load_gum`.

    Args:
        data_dir: A folder with ``*.conll`` or ``*_conll``, or with folders ``train``, ``development`` and ``test``.
        split: As in `load_dwie`, and so are the other arguments and what is returned; ``train``, ``validation`` and
            ``test`` by the names of files or folders, and all documents are ``train`` where none is named after any.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(Conll2012Builder, "default", data_dir, cache_dir, strict=strict)
    return load_builder(builder, split, streaming=streaming)


def load_corefud(
    data_dir: str | Path,
    *,
    split: str | None = None,
    mention_scope: MentionScope = "all",
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """A treebank in the CoNLL-U of CorefUD; see `read_corefud`.

    Args:
        data_dir: A folder with ``*.conllu``, such as ``CorefUD_Czech-PDT``.
        split: As in `load_conll2012`, and so are the other arguments and what is returned.
        mention_scope: ``all``, or the ``named`` ones only, whose head is a proper noun.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(CorefUDBuilder, mention_scope, data_dir, cache_dir, strict=strict)
    return load_builder(builder, split, streaming=streaming)


def load_docred(
    data_dir: str | Path,
    *,
    split: str | None = None,
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """DocRED or Re-DocRED, linked to Wikidata where the files are; see `read_docred`.

    Args:
        data_dir: A folder with ``*.json``, or one of these files.
        split: As in `load_conll2012`, and so are the other arguments and what is returned.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(DocREDBuilder, "default", data_dir, cache_dir, strict=strict)
    return load_builder(builder, split, streaming=streaming)


def load_brat(
    data_dir: str | Path,
    *,
    split: str | None = None,
    relations: Collection[str] = COREFERENCE,
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
) -> Any:
    """Standoff annotation of brat; see `read_brat`.

    Args:
        data_dir: A folder with ``*.ann`` beside ``*.txt``.
        split: As in `load_conll2012`, and so are the other arguments and what is returned.
        relations: Names of the relations that mean coreference.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
    """
    builder = _builder(BratBuilder, "default", data_dir, cache_dir, strict=strict, relations=tuple(relations))
    return load_builder(builder, split, streaming=streaming)


def load_corpus(
    data_dir: str | Path,
    *,
    corpus: str | None = None,
    config: str | None = None,
    split: str | None = None,
    streaming: bool = False,
    strict: bool = True,
    cache_dir: str | Path | None = None,
    **options: Any,
) -> Any:
    """Any corpus of the registry (`hf_corefel.corpora.CORPORA`), those of other packages among them.

    Args:
        data_dir: Its files.
        corpus: Its name; told by the files when None.
        config: A configuration of its builder; that builder's default when None.
        split: As in `load_dwie`, and so are the other arguments and what is returned.
        streaming: See `load_dwie`.
        strict: See `load_dwie`.
        cache_dir: See `load_dwie`.
        **options: Other fields of the builder's configuration.

    Raises:
        CorpusError: When the corpus cannot be told, or a file is missing or malformed; the message says where.
        ValueError: When there is no such corpus, configuration or split.
    """
    name = corpus or detect_format(data_dir)
    kind = builder_of(name)
    known = [each.name for each in kind.BUILDER_CONFIGS]
    chosen = config or (name if name in known else kind.DEFAULT_CONFIG_NAME)
    builder = _builder(kind, chosen, data_dir, cache_dir, strict=strict, **options)
    return load_builder(builder, split, streaming=streaming)


def _builder(
    kind: type[CorpusBuilder], config: str, data_dir: str | Path, cache_dir: str | Path | None, **options: Any
) -> CorpusBuilder:
    where = None if cache_dir is None else str(cache_dir)
    return kind(cache_dir=where, config_name=config, data_dir=str(data_dir), **options)


def load_builder(builder: CorpusBuilder, split: str | None = None, *, streaming: bool = False) -> Any:
    """What a builder builds: a dataset of a split, or a dict of all of them.

    Raises:
        CorpusError: When a file is missing or malformed, the bare error of the reader; readers of others may raise
            another ValueError, or an OSError.
    """
    if streaming:
        return builder.as_streaming_dataset(split=split)
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, ValueError | OSError):
            raise error.__cause__ from None
        raise
    return builder.as_dataset(split=split)
