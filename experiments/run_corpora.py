"""The corpora of the runs: documents to train on, and parts to evaluate on, their texts apart from their gold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hf_corefel import Document
from hf_corefel.corpora import development_split, read_aida, read_dwie, read_gold, read_texts
from hf_corefel.formats import read_jsonl

__all__ = ["Part", "RunCorpus", "open_corpus"]

_PARTS = {"dwie": ("dev", "test"), "aida": ("testa", "testb")}


@dataclass(frozen=True)
class Part:
    """What a model is evaluated on.

    Attributes:
        texts: What the model is given: texts and, where the corpus has no other text, words.
        gold: The same documents with gold clusters.
    """

    texts: list[Document]
    gold: list[Document]


class RunCorpus:
    """A corpus by the name that runs call it: ``dwie``, ``aida``, or a folder of JSON lines under any other.

    The development part of DWIE is every tenth training article; AIDA has ``testa`` and ``testb``. A folder of JSON
    lines has ``train.jsonl`` and a file for each part.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path

    def train(self) -> list[Document]:
        """Return the documents to train on."""
        if self.name == "dwie":
            return development_split(list(read_dwie(self.path, "train", strict=False)))[0]
        if self.name == "aida":
            # NIL mentions of one surface are taken for one thing, as in evaluation.
            return list(read_aida(self.path, "train", nil_clusters="surfaces", strict=False))
        return list(read_jsonl(self.path / "train.jsonl"))

    def part(self, name: str) -> Part:
        """Return a part to evaluate on.

        Raises:
            ValueError: When there is no such part, or it has no documents, or some without an id of their own.
        """
        if self.name not in _PARTS:
            gold = list(read_jsonl(path := self.path / f"{name}.jsonl"))
            _check_ids(gold, path)
            return Part([Document(document.text, document.id, document.words) for document in gold], gold)
        if name not in _PARTS[self.name]:
            raise ValueError(f"{self.name} has the parts {', '.join(_PARTS[self.name])}, not {name!r}")
        if (self.name, name) == ("dwie", "dev"):
            gold = development_split(list(read_gold(self.path, "train", corpus_format="dwie")))[1]
            split = "train"
        else:
            split = name
            gold = list(read_gold(self.path, split, corpus_format=self.name))
        texts = {text.id: text for text in read_texts(self.path, split, corpus_format=self.name)}
        return Part([texts[document.id] for document in gold], gold)


def _check_ids(documents: list[Document], path: Path) -> None:
    """Raise unless there are documents, told apart by their ids, as predictions and counts of them are stored."""
    if not documents:
        raise ValueError(f"{path}: there is no document")
    seen: set[str] = set()
    for number, document in enumerate(documents, 1):
        if document.id is None or str(document.id) in seen:
            has = "no id" if document.id is None else f"the id {document.id!r} of another one"
            raise ValueError(f"{path}: document {number} has {has}; give each an id of its own")
        seen.add(str(document.id))


def open_corpus(name: str, folders: dict[str, Path]) -> RunCorpus:
    """Return a corpus by its name.

    Raises:
        ValueError: When it was not said where it lies, or there is nothing.
    """
    if name not in folders:
        raise ValueError(f"where is {name}? say --corpus {name}=FOLDER")
    if not folders[name].exists():
        raise ValueError(f"--corpus {name}={folders[name]}: there is nothing")
    return RunCorpus(name, folders[name])
