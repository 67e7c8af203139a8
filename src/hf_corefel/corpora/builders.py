"""`datasets` builders of the corpora, from their official files: typed rows, named splits, streaming.

A row is `Document.to_dict`, so `Document.from_dict` takes it; an entity is null for NIL. The builders are used
directly (`hf_corefel.load_dwie` and friends), as `datasets` 4 and later run no scripts from files; the scripts in
``dataset_scripts`` are subclasses of them.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import datasets

from ..documents import Document
from ..documents.features import LAYERS
from .aida import AIDA_FILE, read_aida
from .aida_plus import read_aida_plus
from .dwie import development_split, read_dwie
from .fingerprint import corpus_fingerprint
from .gum import read_gum
from .kept_warnings import WARNINGS_FILE, recorded_warnings, say_again
from .locating import corpus_folder, is_corpus
from .registry import CORPORA
from .rows import document_rows

__all__ = [
    "AidaBuilder",
    "AidaConfig",
    "CorpusBuilder",
    "CorpusConfig",
    "DwieBuilder",
    "GumBuilder",
    "document_features",
]


def document_features(
    *,
    words: bool = False,
    candidates: bool = False,
    speakers: bool = False,
    annotated: bool = False,
    mention_scope: bool = False,
    facts: bool = False,
) -> Any:
    """The columns of a corpus, as `Document.to_dict` names them; offsets are code points, end exclusive.

    Args:
        words: With the column ``words``, pairs of begin and end.
        candidates: With the column ``candidates``, the corpus' own lists.
        speakers: With the column ``speakers``, who says what; null where nobody is known.
        annotated: With the column ``annotated``, which layers are; null where all are.
        mention_scope: With the column ``mention_scope``; null where documents do not say it.
        facts: Whether clusters have ``wikidata`` and ``type``, null where they are not known.
    """
    whole, string = datasets.Value("int64"), datasets.Value("string")
    mention = {"begin": whole, "end": whole, "text": string}
    columns: dict[str, Any] = {"id": string, "text": string}
    if words:
        columns["words"] = [[whole]]
    if candidates:
        listed = [{"entity": string, "prior": datasets.Value("float64")}]
        columns["candidates"] = [{"begin": whole, "end": whole, "candidates": listed}]
    known = {"wikidata": string, "type": string} if facts else {}
    columns["clusters"] = [{"entity": string, "mentions": [mention], **known}]
    if speakers:
        columns["speakers"] = [{"begin": whole, "end": whole, "speaker": string}]
    if mention_scope:
        columns["mention_scope"] = string
    if annotated:
        columns["annotated"] = LAYERS
    return datasets.Features(columns)


@dataclass
class CorpusConfig(datasets.BuilderConfig):
    """What every corpus can be asked.

    Attributes:
        strict: Raises on malformed files; otherwise warns and leaves out what is malformed.
        candidates: With the corpus' own candidate lists, where it has some. They exist for gold mentions only, so a
            model that is given them is told where mentions are.
    """

    strict: bool = True
    candidates: bool = False


@dataclass
class AidaConfig(CorpusConfig):
    """For AIDA.

    Attributes:
        nil_clusters: See `read_aida`; AIDA+ has clusters of its own.
    """

    nil_clusters: str = "singletons"


class CorpusBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc,unused-ignore]
    """What the builders share. ``data_dir`` is the folder with the official files; nothing is fetched.

    Raises:
        ValueError: When there is no ``data_dir``.
        CorpusError: When a file is missing or malformed (`datasets` wraps it while it writes its cache).
    """

    BUILDER_CONFIG_CLASS = CorpusConfig
    CORPUS: ClassVar[str]
    TITLE: ClassVar[str]
    DESCRIPTION: ClassVar[str]
    CITATION: ClassVar[str]
    HOMEPAGE: ClassVar[str]
    LICENSE: ClassVar[str]
    FILES: ClassVar[str]
    LANGUAGES: ClassVar[tuple[str, ...]] = ("en",)
    # Name of a split here -> in the corpus.
    SPLITS: ClassVar[dict[str, str]]

    def __init__(
        self,
        cache_dir: str | None = None,
        dataset_name: str | None = None,
        config_name: str | None = None,
        hash: str | None = None,
        **more: Any,
    ) -> None:
        if more.get("data_dir"):
            name = self._format(config_name)
            more["data_dir"] = str(corpus_folder(more["data_dir"], name))
            hash = (hash or "") + corpus_fingerprint(more["data_dir"], CORPORA[name])
        super().__init__(cache_dir, dataset_name or self.CORPUS, config_name, hash, **more)

    @classmethod
    def available_configs(cls, data_dir: str) -> list[str]:
        """The configurations whose files are in a folder."""
        return [config.name for config in cls.BUILDER_CONFIGS]

    @classmethod
    def _format(cls, config_name: str | None) -> str:
        """The name of the corpus that a configuration reads."""
        return cls.CORPUS

    def _info(self) -> Any:
        return datasets.DatasetInfo(
            description=f"{self.DESCRIPTION}\n\n{self.config.description}",
            features=self._features(),
            citation=self.CITATION,
            homepage=self.HOMEPAGE,
            license=self.LICENSE,
        )

    def _features(self) -> Any:
        return document_features(candidates=self.config.candidates)

    def _split_names(self) -> list[str]:
        return list(self.SPLITS)

    @abstractmethod
    def _documents(self, split: str) -> Iterator[Document]:
        """The documents of a split, read from ``self.config.data_dir``."""

    def _split_generators(self, dl_manager: Any) -> list[Any]:
        if not self.config.data_dir:
            raise ValueError(f"{self.TITLE} needs data_dir={self.FILES}")
        return [datasets.SplitGenerator(name, gen_kwargs={"split": name}) for name in self._split_names()]

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        yield from enumerate(document_rows(self._documents(split), self.info.features, f"{self.TITLE}, split {split}"))

    def download_and_prepare(self, *arguments: Any, **options: Any) -> None:
        """Build the dataset unless it is there; as in `datasets`, but what it warned of then is said each time."""
        super().download_and_prepare(*arguments, **options)
        place = self._place_of_warnings()
        if self._fs.exists(place):
            with self._fs.open(place, encoding="utf-8", mode="r") as file:
                say_again(json.load(file))

    def _download_and_prepare(self, dl_manager: Any, verification_mode: Any, **more: Any) -> None:
        kept: dict[str, str] = {}
        try:
            with recorded_warnings() as kept:
                super()._download_and_prepare(dl_manager, verification_mode, **more)
        except BaseException:
            say_again(kept)
            raise
        with self._fs.open(self._place_of_warnings(), encoding="utf-8", mode="w") as file:
            json.dump(kept, file)

    def _place_of_warnings(self) -> str:
        return f"{self._output_dir}/{WARNINGS_FILE}"

    def _as_dataset(self, split: Any = "train", in_memory: bool = False) -> Any:
        info = (self.info.splits or {}).get(str(split))
        if info is not None and not info.num_examples:
            # `datasets` refuses to read a split without rows: a corpus of which only a part is there has such.
            columns: dict[str, list[Any]] = {name: [] for name in self.info.features}
            return datasets.Dataset.from_dict(columns, features=self.info.features, split=split)
        return super()._as_dataset(split=split, in_memory=in_memory)


class DwieBuilder(CorpusBuilder):
    """DWIE: ``official`` has its own splits, ``development`` holds every tenth training article back."""

    CORPUS = "dwie"
    TITLE = "DWIE"
    DESCRIPTION = (
        "DWIE: English news of Deutsche Welle with clusters of entity mentions, each linked to Wikipedia (2018) or "
        "NIL. Articles without their text are left out."
    )
    HOMEPAGE = "https://github.com/klimzaporojets/DWIE"
    LICENSE = (
        "The articles are © Deutsche Welle and are fetched from there by every user; do not publish them. "
        "The annotation is that of the DWIE repository."
    )
    CITATION = """@article{zaporojets2021dwie,
    title = {{DWIE}: An entity-centric dataset for multi-task document-level information extraction},
    author = {Zaporojets, Klim and Deleu, Johannes and Develder, Chris and Demeester, Thomas},
    journal = {Information Processing \\& Management},
    volume = {58},
    number = {4},
    pages = {102563},
    year = {2021},
    doi = {10.1016/j.ipm.2021.102563},
}"""
    FILES = "the folder with the article files (DW_….json), the one above annos_with_content, or a clone of DWIE"
    SPLITS = {"train": "train", "test": "test"}
    BUILDER_CONFIGS = [
        CorpusConfig(name="official", description="The splits that the articles name: train and test."),
        CorpusConfig(
            name="development",
            description="Of the training articles, sorted by id as strings, positions 0, 10, 20, … are the split "
            "validation and the others train; test is the official one.",
        ),
    ]
    DEFAULT_CONFIG_NAME = "official"

    def _split_names(self) -> list[str]:
        return ["train", "validation", "test"] if self.config.name == "development" else super()._split_names()

    def _documents(self, split: str) -> Iterator[Document]:
        held_back = split == "validation"
        documents = read_dwie(
            self.config.data_dir,
            "train" if held_back else self.SPLITS[split],
            candidates=self.config.candidates,
            strict=self.config.strict,
        )
        if self.config.name == "development" and split != "test":
            yield from development_split(list(documents))[held_back]
        else:
            yield from documents


class AidaBuilder(CorpusBuilder):
    """AIDA+ (``aida_plus``) and AIDA CoNLL-YAGO (``aida``); the split validation is testa, test is testb."""

    CORPUS = "aida_plus"
    TITLE = "AIDA+"
    BUILDER_CONFIG_CLASS = AidaConfig
    DESCRIPTION = (
        "AIDA: the Reuters news of CoNLL 2003 with every entity mention linked to Wikipedia or NIL. "
        "Its testa is the split validation here, its testb the split test."
    )
    HOMEPAGE = "https://www.mpi-inf.mpg.de/departments/databases-and-information-systems/research/ambiverse-nlu/aida"
    LICENSE = (
        "The texts are those of the Reuters Corpus and fall under the agreement of its distributor (NIST); do not "
        "publish them. The annotation is that of the corpora's authors."
    )
    CITATION = """@inproceedings{hoffart-etal-2011-robust,
    title = {Robust Disambiguation of Named Entities in Text},
    author = {Hoffart, Johannes and Yosef, Mohamed Amir and Bordino, Ilaria and F{\\"u}rstenau, Hagen and Pinkal,
        Manfred and Spaniol, Marc and Taneva, Bilyana and Thater, Stefan and Weikum, Gerhard},
    booktitle = {Proceedings of the 2011 Conference on Empirical Methods in Natural Language Processing},
    pages = {782--792},
    year = {2011},
}

@inproceedings{zaporojets-etal-2022-towards,
    title = {Towards Consistent Document-level Entity Linking: Joint Models for Entity Linking and Coreference
        Resolution},
    author = {Zaporojets, Klim and Deleu, Johannes and Jiang, Yiwei and Demeester, Thomas and Develder, Chris},
    booktitle = {Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics},
    pages = {778--784},
    year = {2022},
}"""
    FILES = f"the folder with {AIDA_FILE} (aida), or with the folders train, testa and testb (aida_plus)"
    SPLITS = {"train": "train", "validation": "testa", "test": "testb"}
    BUILDER_CONFIGS = [
        AidaConfig(name="aida_plus", description="AIDA+: clusters also of NIL mentions (Zaporojets et al., 2022)."),
        AidaConfig(
            name="aida",
            description="AIDA CoNLL-YAGO (Hoffart et al., 2011): the text is its tokens joined by spaces; mentions of "
            "one entity are a cluster, and NIL mentions are as `nil_clusters` says.",
        ),
    ]
    DEFAULT_CONFIG_NAME = "aida_plus"

    @classmethod
    def _format(cls, config_name: str | None) -> str:
        """The configurations have the names of their corpora."""
        return config_name or cls.CORPUS

    @classmethod
    def available_configs(cls, data_dir: str) -> list[str]:
        """Those of the two whose files are there."""
        formats = ("aida_plus", "aida")
        return [name for name in formats if is_corpus(corpus_folder(data_dir, name), name)]

    def _features(self) -> Any:
        if self.config.name == "aida":
            return document_features(words=True)
        return super()._features()

    def _documents(self, split: str) -> Iterator[Document]:
        config, part = self.config, self.SPLITS[split]
        if config.name == "aida":
            return read_aida(config.data_dir, part, nil_clusters=config.nil_clusters, strict=config.strict)
        return read_aida_plus(config.data_dir, part, candidates=config.candidates, strict=config.strict)


class GumBuilder(CorpusBuilder):
    """GUM: ``all`` mentions, or the ``named`` ones; the split validation is dev. GENTLE (test2) is not read."""

    CORPUS = "gum"
    TITLE = "GUM"
    DESCRIPTION = (
        "GUM: English of many genres with coreference of all mentions, singletons and pronouns too, and links to "
        "Wikipedia for named entities. Its dev is the split validation here. Documents that are masked with "
        "underscores are left out, and so is GENTLE, its split test2."
    )
    HOMEPAGE = "https://gucorpling.org/gum/"
    LICENSE = (
        "The annotation is CC BY 4.0. Every text has the licence of its source, among them CC BY, CC BY-SA and the "
        "non-commercial CC BY-NC-SA: see the file LICENSE.txt of the corpus."
    )
    CITATION = """@article{zeldes2017gum,
    title = {The {GUM} Corpus: Creating Multilayer Resources in the Classroom},
    author = {Zeldes, Amir},
    journal = {Language Resources and Evaluation},
    volume = {51},
    number = {3},
    pages = {581--612},
    year = {2017},
    doi = {10.1007/s10579-016-9343-x},
}"""
    FILES = "the folder with splits.md and dep"
    SPLITS = {"train": "train", "validation": "dev", "test": "test"}
    BUILDER_CONFIGS = [
        CorpusConfig(name="all", description="All mentions."),
        CorpusConfig(name="named", description="Mentions whose head is a proper noun."),
    ]
    DEFAULT_CONFIG_NAME = "all"

    def _features(self) -> Any:
        return document_features(words=True, speakers=True, annotated=True)

    def _documents(self, split: str) -> Iterator[Document]:
        config = self.config
        return read_gum(config.data_dir, self.SPLITS[split], mention_scope=config.name, strict=config.strict)
