"""AIDA CoNLL-YAGO (Hoffart et al., 2011) in the tab-separated form that its authors' tool writes.

A line a token; a mention's tokens also have ``B`` or ``I``, the mention, and ``--NME--`` (NIL) or the YAGO entity,
its Wikipedia URL, its page id and, where known, its Freebase id. ``-DOCSTART- (947testa CRICKET)`` begins a document
and names its split; a blank line ends a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from ..documents import Cluster, Document, Mention, Offsets
from .errors import CorpusError, numbered_lines, raise_or_warn
from .locating import corpus_folder
from .registry import CorpusSpec

__all__ = ["AIDA", "AIDA_FILE", "NilClusters", "read_aida"]

AIDA_FILE = "AIDA-YAGO2-dataset.tsv"

SPLITS = ("train", "testa", "testb", "all")
NIL = "--NME--"

NilClusters = Literal["singletons", "surfaces"]

_START = re.compile(r"-DOCSTART- \((\d+(testa|testb)?(?: .*)?)\)")
_TITLE = re.compile(r"https?://[^/]*wikipedia\.org/wiki/(.+)")
# Columns after the token by their number: tag, mention, NIL; tag, mention, YAGO entity, URL, page id[, Freebase id].
_NIL_COLUMNS, _LINKED_COLUMNS = 3, (5, 6)


def read_aida(
    path: str | Path, split: str = "all", *, nil_clusters: NilClusters = "singletons", strict: bool = True
) -> Iterator[Document]:
    """Reads the documents of a split in the order of the file.

    The text is the tokens joined by one space and the sentences joined by one line feed, for the corpus has no other;
    ``Document.words`` are the tokens. Entities are the titles of the Wikipedia URLs, unquoted and with underscores.
    Mentions of one entity in a document are one cluster. The corpus does not say which NIL mentions are the same:

    Args:
        path: The file ``AIDA-YAGO2-dataset.tsv``, or the folder that holds it, itself or up to two levels deeper.
        split: ``train``, ``testa``, ``testb`` or ``all``.
        nil_clusters: ``singletons`` makes every NIL mention its own cluster, which claims nothing; ``surfaces`` joins
            the NIL mentions of a document that have the same surface.
        strict: Raises on a malformed line; otherwise warns, keeps its token and leaves its mention out. A document
            whose first line is malformed is left out.

    Raises:
        CorpusError: When there is no such file or it is malformed; the message has the file and the line. A file
            that is not UTF-8 is not read further, strict or not.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
    if nil_clusters not in ("singletons", "surfaces"):
        raise ValueError(f"nil_clusters must be 'singletons' or 'surfaces'; got {nil_clusters!r}")
    path = corpus_folder(path, "aida")
    file = path / AIDA_FILE if path.is_dir() else path
    if not file.is_file():
        raise CorpusError(f"{file}: no such file; AIDA's own tool makes {AIDA_FILE} from the CoNLL 2003 data")
    document: _TokenReader | None = None
    started = False
    for number, line in numbered_lines(file):
        if line.startswith("-DOCSTART-"):
            if document is not None:
                yield document.finish(nil_clusters)
            document, started = _start(file, number, line, split, strict), True
        elif document is not None:
            document.read(number, line)
        elif line and not started:
            raise_or_warn(CorpusError(f"{file}:{number}: a token before the first -DOCSTART- line"), strict)
    if document is not None:
        yield document.finish(nil_clusters)


def _start(file: Path, number: int, line: str, split: str, strict: bool) -> _TokenReader | None:
    """The reader of the document that a line begins; None when it is not in the split."""
    match = _START.fullmatch(line.rstrip())
    if match is None:
        message = f"{file}:{number}: expected '-DOCSTART- (number[testa|testb] title)', got {line!r}"
        raise_or_warn(CorpusError(message), strict, "document skipped")
        return None
    name, part = match[1], match[2] or "train"
    return _TokenReader(file, name, strict) if split in ("all", part) else None


@dataclass
class _OpenMention:
    """A mention whose last token is not known yet."""

    line: int
    begin: int
    surface: str
    columns: list[str]
    entity: str | None


@dataclass
class _TokenReader:
    """Builds one document from its lines."""

    file: Path
    name: str
    strict: bool
    text: str = ""
    words: list[Offsets] = field(default_factory=list)
    mentions: list[tuple[Mention, str | None]] = field(default_factory=list)
    separator: str = ""
    mention: _OpenMention | None = None

    def read(self, number: int, line: str) -> None:
        """Takes one line after the first."""
        token, *columns = line.split("\t")
        if not line.strip():
            self._close()
            self.separator = "\n" if self.text else ""
            return
        if not token.strip():
            self._complain(number, f"no token in {line!r}")
            return
        if not columns or columns[0] != "I":
            self._close()
        begin = len(self.text) + len(self.separator)
        self.text += self.separator + token
        self.words.append((begin, len(self.text)))
        self.separator = " "
        if columns:
            try:
                self._annotate(number, begin, columns)
            except CorpusError as error:
                self.mention = None
                raise_or_warn(error, self.strict, "mention dropped")

    def _annotate(self, number: int, begin: int, columns: list[str]) -> None:
        where = f"{self.file}:{number}"
        if len(columns) not in (_NIL_COLUMNS, *_LINKED_COLUMNS):
            raise CorpusError(f"{where}: expected 1, 4, 6 or 7 columns, got {len(columns) + 1}")
        tag, surface, entity = columns[:3]
        if tag == "I":
            if self.mention is None or self.mention.columns != columns[1:]:
                raise CorpusError(f"{where}: I continues no mention {surface!r} with these columns")
            return
        if tag != "B":
            raise CorpusError(f"{where}: expected B or I in column 2, got {tag!r}")
        if (entity == NIL) != (len(columns) == _NIL_COLUMNS):
            needed = f"{NIL} in column 4" if entity != NIL else "nothing after column 4"
            raise CorpusError(f"{where}: expected a Wikipedia URL in column 5 and an id in column 6, or {needed}")
        title = None if entity == NIL else _TITLE.fullmatch(columns[3])
        if entity != NIL and title is None:
            raise CorpusError(f"{where}: expected a Wikipedia URL in column 5, got {columns[3]!r}")
        name = None if title is None else unquote(title[1]).replace(" ", "_")
        self.mention = _OpenMention(number, begin, surface, columns[1:], name)

    def _close(self) -> None:
        if self.mention is None:
            return
        opened, self.mention = self.mention, None
        surface = self.text[opened.begin :]
        if surface == opened.surface:
            self.mentions.append((Mention(opened.begin, len(self.text)), opened.entity))
        else:
            self._complain(opened.line, f"column 3 has the mention {opened.surface!r}, its tokens are {surface!r}")

    def _complain(self, number: int, problem: str) -> None:
        raise_or_warn(CorpusError(f"{self.file}:{number}: {problem}"), self.strict, "mention dropped")

    def finish(self, nil_clusters: NilClusters) -> Document:
        """The document, once all of its lines are read."""
        self._close()
        groups: dict[object, list[Mention]] = {}
        entities: dict[object, str | None] = {}
        for mention, entity in self.mentions:
            surface = self.text[mention.begin : mention.end]
            key = (entity, None if entity else surface if nil_clusters == "surfaces" else mention.offsets)
            groups.setdefault(key, []).append(mention)
            entities[key] = entity
        clusters = [Cluster(tuple(mentions), entities[key]) for key, mentions in groups.items()]
        return Document(self.text, id=self.name, words=self.words, clusters=clusters)


def _is_aida(path: Path) -> bool:
    if path.is_dir():
        return (path / AIDA_FILE).is_file()
    return path.suffix == ".tsv" and (path.name == AIDA_FILE or _starts_document(path))


def _starts_document(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(10) == b"-DOCSTART-"


AIDA = CorpusSpec(
    name="aida",
    title="AIDA",
    sniff=_is_aida,
    splits={"train": "train", "validation": "testa", "test": "testb"},
    # What is said of a NIL mention is its surface: the same one twice in a document is the same thing.
    read_gold=partial(read_aida, nil_clusters="surfaces"),
    read_annotations=read_aida,
    builder="hf_corefel.corpora.builders:AidaBuilder",
    files=(AIDA_FILE,),
    expects=AIDA_FILE,
    note="AIDA does not say which NIL mentions are the same: each is counted as its own cluster.",
)
