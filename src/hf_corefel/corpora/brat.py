"""Standoff annotation of brat (Stenetorp et al., 2012): ``x.ann`` beside the text ``x.txt``.

``T1<tab>Person 0 6<tab>Mira H`` is a mention by its offsets, in code points. Which mentions are one cluster is said by

- relations of certain names, ``R1<tab>Coref Arg1:T1 Arg2:T2`` (see `COREFERENCE`), or events of these names;
- equivalences, ``*<tab>Equiv T1 T2 T3``;
- lines as LitBank's tables have them, ``COREF<tab>T1<tab>Mira-0``;
- in LitBank's own brat files a second ``T`` line at the same place, which has the cluster's name for a type:
  ``T9<tab>MIRA-0 0 6<tab>Mira H`` beside ``T1<tab>PROP_PER 0 6<tab>Mira H``.

``N1<tab>Reference T1 Wikipedia:Oslo<tab>Oslo`` links a mention's cluster. A mention of which nothing of the
kind is said is a cluster of its own. Triggers of events, attributes and notes are no mentions.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ..documents import AnnotatedLayers, Document, DocumentError, Offsets
from .errors import CorpusError, numbered_lines, raise_or_warn
from .grouping import Groups
from .locating import corpus_folder
from .registry import CorpusSpec
from .split_files import SPLIT_NAMES, files_below, files_of_split

__all__ = ["BRAT", "COREFERENCE", "read_brat"]

# Relations that say that two mentions are one thing, in lower case. LitBank's "cop" and "appos" are none.
COREFERENCE = (
    "coref",
    "corefer",
    "corefers",
    "coreference",
    "coreferent",
    "corefer_to",
    "identity",
    "ident",
    "same_as",
)

_FILES = ("*.ann",)
_ID = re.compile(r"T\S+")
_FRAGMENT = re.compile(r"(\d+) (\d+)")
_LITBANK_TYPE = re.compile(r"(PROP|NOM|PRON)_[A-Z]+")
_LITBANK_CLUSTER = re.compile(r".+-\d+")
# Databases whose names are the package's; others stand before theirs.
_ITEM = re.compile(r"[QPL][0-9]+")
_PLAIN_DATABASES = ("wikipedia", "wikidata")


def read_brat(
    path: str | Path, split: str = "all", *, relations: Collection[str] = COREFERENCE, strict: bool = True
) -> Iterator[Document]:
    """Read the documents of a folder of standoff annotation in the order of the file names, which are their ids.

    The text is that of the ``.txt`` file. An entity is what stands behind the database's name in an ``N`` line:
    ``Wikipedia:Oslo`` and ``Wikidata:Q585`` give ``Oslo`` and ``Q585``, another database's name stays before it; where
    Wikipedia's is a page number, it is the title that follows. Of a cluster the database that is first named counts; an
    id of Wikidata beside it is its ``wikidata``.
    ``Document.annotated`` says that no links are annotated where there is no ``N`` line, and some where there is one.

    Mentions in several fragments are left out with a warning, unless white space alone is between these, as where brat
    cuts a mention at the end of a line. Two mentions at one place are one.

    Args:
        path: A ``.ann`` or ``.txt`` file, or a folder of them, or of folders ``train``, ``dev`` and ``test`` with such;
            or one up to two levels above it.
        split: ``train``, ``dev`` or ``test``, by the names of files or folders; ``all`` takes every file.
        relations: Names of the relations that mean coreference, in any case.
        strict: Raises on a malformed document, and an entity that differs within a cluster; otherwise warns and leaves
            the document out, or takes the first entity.

    Raises:
        CorpusError: When there are no files, one has no text or is malformed; the message has the file and the line.
        ValueError: When there are no files of the split.
    """
    place, wanted = corpus_folder(path, "brat"), frozenset(name.lower() for name in relations)
    if place.suffix == ".txt" and place.is_file():
        place = place.with_suffix(".ann")
        if not place.is_file():
            raise CorpusError(f"{place}: no such file, which has the annotation of {path}")
    for file in files_of_split(place, split, _FILES, "brat annotation"):
        try:
            yield _read_file(file, wanted, strict)
        except CorpusError as error:
            raise_or_warn(error, strict, "document skipped")


def _read_file(file: Path, relations: frozenset[str], strict: bool) -> Document:
    text_file = file.with_suffix(".txt")
    try:
        # Offsets count what line ends there are.
        text = text_file.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise CorpusError(f"{text_file}: no such file, which has the text of {file.name}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{text_file}: not UTF-8: {error}") from error
    annotation = _Annotation(file, text, relations)
    for number, line in numbered_lines(file):
        if line.strip():
            annotation.read(number, line)
    try:
        layers = AnnotatedLayers(links="some" if annotation.links else False)
        return Document(text, file.stem, clusters=annotation.groups(strict).clusters(), annotated=layers)
    except DocumentError as error:
        raise CorpusError(f"{file}: {error}") from error


@dataclass(slots=True)
class _Mention:
    """A ``T`` line: its number, its type, and the place; None for one of several fragments."""

    line: int
    kind: str
    place: Offsets | None


@dataclass
class _Annotation:
    """What the lines of a file say.

    Attributes:
        file: The file.
        text: The text.
        relations: Names of the relations that mean coreference, in lower case.
        mentions: The ``T`` lines by their ids.
        triggers: The ids of events' triggers by those of the events.
        same: Ids that are one cluster, with the line that says it.
        names: The cluster's name that a ``COREF`` line gives an id, with the line.
        links: Id, database and entity, with the line.
    """

    file: Path
    text: str
    relations: frozenset[str]
    mentions: dict[str, _Mention] = field(default_factory=dict)
    triggers: dict[str, str] = field(default_factory=dict)
    same: list[tuple[int, list[str]]] = field(default_factory=list)
    names: dict[str, tuple[int, str]] = field(default_factory=dict)
    links: list[tuple[int, str, str, str]] = field(default_factory=list)

    def read(self, number: int, line: str) -> None:
        """Take one line."""
        columns = line.split("\t")
        if len(columns) < 2 or not columns[1].strip():
            raise self._error(number, f"expected an id, a tab and what it says, got {line!r}")
        kind = "COREF" if columns[0] == "COREF" else columns[0][:1]
        if kind == "T":
            self._mention(number, columns)
        elif kind == "R":
            name, *arguments = columns[1].split()
            if name.lower() in self.relations:
                self.same.append((number, [argument.rpartition(":")[2] for argument in arguments]))
        elif kind == "*":
            self.same.append((number, columns[1].split()[1:]))
        elif kind == "E":
            self._event(number, columns)
        elif kind == "COREF":
            if len(columns) < 3:
                raise self._error(number, f"expected COREF, a mention and its cluster between tabs, got {line!r}")
            self.names[columns[1]] = number, columns[2]
        elif kind == "N":
            self._link(number, columns)
        elif kind not in ("A", "M", "#", "C", "W"):
            raise self._error(number, f"expected an id such as T1, R1, E1, N1, * or #1, got {columns[0]!r}")

    def _error(self, number: int, problem: str) -> CorpusError:
        return CorpusError(f"{self.file}:{number}: {problem}")

    def _mention(self, number: int, columns: list[str]) -> None:
        kind, _, offsets = columns[1].partition(" ")
        fragments = [_FRAGMENT.fullmatch(part.strip()) for part in offsets.split(";")]
        places = [(int(match[1]), int(match[2])) for match in fragments if match is not None]
        if len(places) != len(fragments) or not kind or not _ID.fullmatch(columns[0]):
            raise self._error(number, f"expected 'T1<tab>TYPE 0 5<tab>text', got {'<tab>'.join(columns)!r}")
        if columns[0] in self.mentions:
            raise self._error(number, f"{columns[0]} is the id of line {self.mentions[columns[0]].line} too")
        for begin, end in places:
            if not begin < end <= len(self.text):
                raise self._error(number, f"{columns[0]} is at {begin}..{end} of a text of {len(self.text)} characters")
        surface = " ".join(self.text[begin:end] for begin, end in places)
        if len(columns) > 2 and _flat(columns[2]) != _flat(surface):
            raise self._error(
                number,
                f"{columns[0]} has the text {columns[2]!r}, but {surface!r} stands there in {self.file.stem}.txt; "
                "are both files of one version, and the line ends as they were?",
            )
        whole = all(end <= begin and not self.text[end:begin].strip() for (_, end), (begin, _) in pairwise(places))
        place = (places[0][0], places[-1][1]) if whole else None
        self.mentions[columns[0]] = _Mention(number, kind, place)

    def _event(self, number: int, columns: list[str]) -> None:
        """Take an event; one that is named as a relation of coreference is such a relation with its trigger."""
        first, *arguments = columns[1].split()
        name, _, trigger = first.rpartition(":")
        if name.lower() in self.relations:
            self.same.append((number, [trigger, *(argument.rpartition(":")[2] for argument in arguments)]))
        else:
            self.triggers[columns[0]] = trigger

    def _link(self, number: int, columns: list[str]) -> None:
        parts = columns[1].split(" ", 2)
        database, colon, entity = parts[-1].strip().partition(":")
        if len(parts) != 3 or not colon or not entity:
            raise self._error(number, f"expected 'N1<tab>Reference T1 DATABASE:NAME<tab>text', got {columns[1]!r}")
        if database.lower() not in _PLAIN_DATABASES:
            entity = f"{database}:{entity}"
        elif database.lower() == "wikipedia" and entity.isdecimal() and len(columns) > 2 and columns[2].strip():
            entity = columns[2].strip().replace(" ", "_")
        self.links.append((number, parts[1], database.lower(), entity))

    def groups(self, strict: bool) -> Groups:
        """Return the clusters, once all lines are read."""
        sets = _Sets()
        joined = self._join(sets)
        triggers = set(self.triggers.values()) - joined - {self._resolve(n, item) for n, item, _, _ in self.links}
        self._join_places(sets, joined, triggers)
        groups, split = Groups(strict), 0
        for name, mention in self.mentions.items():
            if mention.place is None:
                split += 1
            elif name not in triggers:
                groups.add(sets.find(name), *mention.place, f"{self.file}:{mention.line}")
        if split:
            mentions = "1 mention" if split == 1 else f"{split} mentions"
            warnings.warn(f"dropped: {self.file}: {mentions} of several fragments", stacklevel=4)
        databases: dict[str, str] = {}
        for number, item, database, entity in self.links:
            group = sets.find(self._resolve(number, item))
            if databases.setdefault(group, database) == database:
                groups.link(group, entity, f"{self.file}:{number}")
            elif database == "wikidata" and _ITEM.fullmatch(entity):
                groups.identify(group, entity)
        return groups

    def _resolve(self, number: int, item: str) -> str:
        """The mention of an id; that of an event is its trigger.

        Raises:
            CorpusError: When there is none.
        """
        name = self.triggers.get(item, item)
        if name not in self.mentions:
            raise self._error(number, f"{item} is no mention of this file; known are the ids of its T and E lines")
        return name

    def _join(self, sets: _Sets) -> set[str]:
        """Join what the lines say is one cluster; return the ids of which any says so."""
        joined = set()
        for number, items in self.same:
            names = [self._resolve(number, item) for item in items]
            for name in names[1:]:
                sets.join(names[0], name)
            joined.update(names)
        clusters = {**self._litbank(), **self.names}
        for item, (number, cluster) in clusters.items():
            name = self._resolve(number, item)
            sets.join(repr(cluster), name)  # no id looks like this
            joined.add(name)
        return joined

    def _litbank(self) -> dict[str, tuple[int, str]]:
        """The cluster that LitBank's second lines give, with their own lines, by the ids of these."""
        if not any(_LITBANK_TYPE.fullmatch(mention.kind) for mention in self.mentions.values()):
            return {}
        return {
            name: (mention.line, mention.kind)
            for name, mention in self.mentions.items()
            if _LITBANK_CLUSTER.fullmatch(mention.kind)
        }

    def _join_places(self, sets: _Sets, joined: set[str], triggers: set[str]) -> None:
        """Join mentions at one place, unless lines say that they are in clusters of their own."""
        at: dict[Offsets, list[str]] = {}
        for name, mention in self.mentions.items():
            if mention.place is not None and name not in triggers:
                at.setdefault(mention.place, []).append(name)
        for names in at.values():
            first = next((name for name in names if name in joined), names[0])
            for name in names:
                if name not in joined:
                    sets.join(first, name)


class _Sets:
    """Disjoint sets of names."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, name: str) -> str:
        """Return the name that stands for a name's set."""
        while (parent := self._parents.get(name, name)) != name:
            self._parents[name] = self._parents.get(parent, parent)
            name = parent
        return name

    def join(self, left: str, right: str) -> None:
        """Make the sets of two names one."""
        self._parents[self.find(right)] = self.find(left)


def _flat(text: str) -> str:
    """A text without its white space: brat writes a line end within a mention as a blank."""
    return "".join(text.split())


def _is_brat(path: Path) -> bool:
    if path.is_dir():
        return any(file.with_suffix(".txt").is_file() for file in files_below(path, _FILES))
    return path.suffix in (".ann", ".txt") and all(path.with_suffix(end).is_file() for end in (".ann", ".txt"))


BRAT = CorpusSpec(
    name="brat",
    title="brat",
    sniff=_is_brat,
    splits={"train": "train", "validation": "dev", "test": "test"},
    read_gold=read_brat,
    builder="hf_corefel.corpora.spec_builder:BratBuilder",
    files=tuple(
        f"{folder}*{end}"
        for folder in ("", *(f"{name}/**/" for names in SPLIT_NAMES.values() for name in names))
        for end in (".ann", ".txt")
    ),
    expects="*.ann beside *.txt",
    scopes=("all",),
    about="Standoff annotation of brat: mentions, with coreference by relations, equivalences or LitBank's names of "
    "clusters, and links by normalisations.",
    homepage="https://brat.nlplab.org/standoff.html",
)
