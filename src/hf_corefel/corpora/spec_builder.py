"""Builders that are made from what the registry says of a corpus, and the builder of any corpus by its name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from ..documents import Document
from .brat import COREFERENCE
from .builders import CorpusBuilder, CorpusConfig, document_features
from .registry import CORPORA, CorpusSpec

__all__ = [
    "BratBuilder",
    "BratConfig",
    "Conll2012Builder",
    "CorefUDBuilder",
    "DocREDBuilder",
    "SpecBuilder",
    "builder_of",
]

_SPLIT = re.compile(r"\bsplits?\b", re.IGNORECASE)
_ABOUT = {
    "all": "All mentions that are annotated.",
    "named": "Names: the mentions whose head is a proper noun.",
    "default": "As it is annotated.",
}


class SpecBuilder(CorpusBuilder):
    """A builder of a corpus of the registry; a subclass says which in ``CORPUS``, and nothing else.

    A corpus that has ``named`` and ``all`` mentions has a configuration for each, others have ``default``. The splits
    are those whose files are there; where the corpus has none, all of it is the split ``train``. The columns ``words``
    and ``speakers`` are null where a document has none.
    """

    SPEC: ClassVar[CorpusSpec]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "CORPUS" not in cls.__dict__:
            return
        spec = cls.SPEC = CORPORA[cls.CORPUS]
        cls.TITLE, cls.DESCRIPTION, cls.CITATION = spec.title, spec.about or spec.title, spec.citation
        cls.HOMEPAGE, cls.LICENSE, cls.LANGUAGES = spec.homepage, spec.licence, spec.languages
        cls.FILES, cls.SPLITS = f"the folder with {spec.expects or 'its files'}", dict(spec.splits)
        names = spec.scopes if len(spec.scopes) > 1 else ("default",)
        cls.BUILDER_CONFIGS = [cls.BUILDER_CONFIG_CLASS(name=name, description=_ABOUT[name]) for name in names]
        cls.DEFAULT_CONFIG_NAME = names[0]

    def _features(self) -> Any:
        asked = self.config.candidates
        return document_features(
            words=True, candidates=asked, speakers=True, annotated=True, mention_scope=True, facts=True
        )

    def _own_splits(self) -> dict[str, str]:
        """The splits of which something is there, with the corpus' own names."""
        found = {}
        for name, own in self.SPLITS.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    next(self._read(own, strict=False), None)
            except Exception as error:  # noqa: BLE001 - whoever reads it learns what is wrong
                if _says_no_such_split(error):
                    continue
            found[name] = own
        return found or {"train": "all"}

    def _split_names(self) -> list[str]:
        return list(self._own_splits())

    def _documents(self, split: str) -> Iterator[Document]:
        return self._read(self._own_splits()[split], strict=self.config.strict)

    def _read(self, own: str, *, strict: bool) -> Iterator[Document]:
        chosen = {"mention_scope": self.config.name} if len(self.SPEC.scopes) > 1 else {}
        yield from self.SPEC.read_gold(Path(self.config.data_dir), own, strict=strict, **chosen, **self._options())

    def _options(self) -> dict[str, Any]:
        """What the configuration says beside the mentions and the strictness."""
        return {}


def _says_no_such_split(error: Exception) -> bool:
    """Whether a reader says that it has no such split; what is malformed raises other kinds of ValueError too."""
    return type(error) is ValueError and _SPLIT.search(str(error)) is not None


class Conll2012Builder(SpecBuilder):
    """Files in the columns of CoNLL-2012, as OntoNotes and LitBank."""

    CORPUS = "conll2012"


class CorefUDBuilder(SpecBuilder):
    """A treebank of CorefUD: ``all`` mentions, or the ``named`` ones."""

    CORPUS = "corefud"


class DocREDBuilder(SpecBuilder):
    """DocRED and Re-DocRED, with links where they are coded."""

    CORPUS = "docred"


@dataclass
class BratConfig(CorpusConfig):
    """For brat.

    Attributes:
        relations: See `read_brat`.
    """

    relations: tuple[str, ...] = COREFERENCE


class BratBuilder(SpecBuilder):
    """Standoff annotation of brat."""

    BUILDER_CONFIG_CLASS = BratConfig
    CORPUS = "brat"

    def _options(self) -> dict[str, Any]:
        return {"relations": self.config.relations}


def builder_of(name: str) -> type[CorpusBuilder]:
    """Return the builder of a corpus of the registry; one is made where its spec names none.

    Raises:
        ValueError: When no corpus has the name, or its builder cannot be imported.
    """
    spec = CORPORA[name]
    if spec.builder is None:
        return type(f"{name.title().replace('_', '')}Builder", (SpecBuilder,), {"CORPUS": name, "__doc__": spec.title})
    if not isinstance(spec.builder, str):
        return spec.builder
    module, _, attribute = spec.builder.partition(":")
    try:
        builder: type[CorpusBuilder] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"corpus {name!r}: its builder {spec.builder} cannot be imported: {error}") from error
    return builder
