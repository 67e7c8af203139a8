"""Coreference in the columns of the CoNLL-2012 shared task (Pradhan et al., 2012), as of OntoNotes and LitBank.

A line a token: document, part, number in the sentence, word, part of speech, parse, lemma, frameset, sense, speaker,
names, arguments (as many columns as the sentence has predicates, none also) and, last, the clusters: ``(3`` opens a
mention of cluster 3, ``3)`` closes it, ``(3)`` is one of a single token, and ``|`` stands between several. A blank line
ends a sentence. ``#begin document (NAME); part 000`` and ``#end document`` stand around every part of a document.

OntoNotes has its columns between spaces and brackets as ``-LRB-``; LitBank has them between tabs and words as they are.
OntoNotes annotates no singletons and no entities to link; clusters of LitBank with one mention are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from ..documents import AnnotatedLayers, Document, DocumentError, Turn
from .errors import CorpusError, numbered_lines, raise_or_warn
from .grouping import Groups
from .locating import corpus_folder
from .registry import CorpusSpec
from .split_files import SPLIT_NAMES, files_below, files_of_split
from .tokens import TokenText

__all__ = ["CONLL2012", "read_conll2012"]

_FILES = ("*.conll", "*_conll", "*.conll2012")

_BEGIN = re.compile(r"#begin document \(?(.*?)\)?(?:;\s*part\s+(\d+))?\s*")
_BRACKET = re.compile(r"(\()?([^()|\s]+)(\))?")
_NOTHING = ("-", "_", "*", "")
_LEAST_COLUMNS = 12
_WORD, _SPEAKER = 3, 9
_LAYERS = AnnotatedLayers(links=False)
# How the Penn Treebank, and so OntoNotes, writes what its parses use themselves.
_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "/.": ".",
    "/?": "?",
    "/-": "-",
}


def read_conll2012(path: str | Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
    """Read the documents of files in CoNLL-2012's columns, every part of a document as one of its own.

    The text is the tokens joined by one space and the sentences joined by one line feed, for the format has no other;
    ``Document.words`` are the tokens, ``Document.speakers`` the turns where the tenth column names speakers. In lines
    without tabs brackets and the full stops of OntoNotes (``-LRB-``, ``/.``) are written as they are. The id is the
    name of the document; that of later parts ends in ``_part_001`` and so on. No links are annotated, which
    ``Document.annotated`` says.

    Args:
        path: A file, or a folder of files (``*.conll``, ``*_conll``, ``*.conll2012``), or of folders ``train``,
            ``development`` and ``test`` with such files, however deep; or one up to two levels above it. In folders
            ``*auto_conll`` is left out, which has the same documents as ``*gold_conll``.
        split: ``train``, ``dev`` or ``test``, by the names of files or folders; ``all`` takes every file.
        strict: Raises on a malformed document; otherwise warns and leaves it out. Where two clusters have a mention
            at one place the first keeps it, with a warning.

    Raises:
        CorpusError: When there are no files or one is malformed; the message has the file and the line.
        ValueError: When there are no files of the split.
    """
    folder = corpus_folder(path, "conll2012")
    for file in files_of_split(folder, split, _FILES, "CoNLL-2012 files", _is_gold):
        try:
            yield from _read_file(file, strict)
        except CorpusError as error:  # a line that is not UTF-8
            raise_or_warn(error, strict, "rest of the file skipped")


def _is_gold(file: Path) -> bool:
    return not file.name.endswith("auto_conll")


def _read_file(file: Path, strict: bool) -> Iterator[Document]:
    reader: _Part | None = None
    # The lines of a document that is left out are passed over.
    failed = False
    for number, line in numbered_lines(file):
        try:
            if line.startswith("#begin document"):
                if reader is not None:
                    raise_or_warn(_no_end(reader), strict, "document skipped")
                reader, failed = None, False
                reader = _begin(file, number, line, strict)
            elif line.startswith("#end document"):
                if reader is not None:
                    finished, reader = reader, None
                    yield finished.finish()
                failed = False
            elif reader is not None:
                reader.read(number, line)
            elif line.strip() and not line.startswith("#") and not failed:
                raise CorpusError(f"{file}:{number}: a token outside of '#begin document' and '#end document'")
        except CorpusError as error:
            raise_or_warn(error, strict, "document skipped")
            reader, failed = None, True
    if reader is not None:
        raise_or_warn(_no_end(reader), strict, "document skipped")


def _no_end(reader: _Part) -> CorpusError:
    return CorpusError(f"{reader.file}:{reader.line}: the document has no '#end document' line; is the file whole?")


def _begin(file: Path, number: int, line: str, strict: bool) -> _Part:
    match = _BEGIN.fullmatch(line)
    if match is None or not match[1].strip():
        raise CorpusError(f"{file}:{number}: expected '#begin document (NAME); part 000', got {line!r}")
    part = int(match[2] or 0)
    return _Part(file, number, match[1].strip() + (f"_part_{part:03d}" if part else ""), strict)


@dataclass
class _Part:
    """Builds one document from its lines.

    Attributes:
        file: The file.
        line: Where the document begins.
        name: Its id.
        strict: See `read_conll2012`.
    """

    file: Path
    line: int
    name: str
    strict: bool
    tokens: TokenText = field(default_factory=TokenText)
    groups: Groups = field(init=False)
    turns: list[Turn] = field(default_factory=list)
    # By cluster, the mentions that are not closed yet: first code point and line.
    open: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    speaker: str = ""

    def __post_init__(self) -> None:
        self.groups = Groups(self.strict)

    def read(self, number: int, line: str) -> None:
        """Take one line after the first."""
        if not line.strip():
            self.tokens.end_sentence()
            return
        if line.startswith("#"):
            return
        tabs = "\t" in line
        columns = line.split("\t") if tabs else line.split()
        if len(columns) < _LEAST_COLUMNS:
            raise CorpusError(
                f"{self.file}:{number}: expected at least {_LEAST_COLUMNS} columns between tabs or spaces, "
                f"got {len(columns)}; the last one is that of the clusters"
            )
        word = columns[_WORD] if tabs else _ESCAPES.get(columns[_WORD], columns[_WORD])
        if not word:
            raise CorpusError(f"{self.file}:{number}: column {_WORD + 1}: the word is empty")
        begin, end = self.tokens.add(word)
        self._say(begin, end, columns[_SPEAKER].strip())
        self._annotate(number, begin, end, columns[-1].strip())

    def _say(self, begin: int, end: int, speaker: str) -> None:
        """Take note of who says a token."""
        if speaker not in _NOTHING:
            if speaker == self.speaker:
                begin = self.turns.pop().begin
            self.turns.append(Turn(begin, end, speaker))
        self.speaker = "" if speaker in _NOTHING else speaker

    def _annotate(self, number: int, begin: int, end: int, column: str) -> None:
        if column in _NOTHING:
            return
        for item in column.split("|"):
            match = _BRACKET.fullmatch(item)
            if match is None or not (match[1] or match[3]):
                raise CorpusError(f"{self.file}:{number}: last column: expected (3, 3) or (3), got {item!r}")
            opened = self.open.setdefault(match[2], [])
            if match[1]:
                opened.append((begin, number))
            if match[3]:
                if not opened:
                    raise CorpusError(f"{self.file}:{number}: last column: {item} closes no mention; open it with (")
                first, line = opened.pop()
                self.groups.add(match[2], first, end, f"{self.file}:{line}")

    def finish(self) -> Document:
        """Return the document, once all of its lines are read."""
        for group, opened in self.open.items():
            if opened:
                raise CorpusError(f"{self.file}:{opened[-1][1]}: the mention ({group} is not closed; close it with )")
        clusters, turns = self.groups.clusters(), self.turns or None
        try:
            return Document(
                self.tokens.text, self.name, self.tokens.words, clusters=clusters, speakers=turns, annotated=_LAYERS
            )
        except DocumentError as error:
            raise CorpusError(f"{self.file}:{self.line}: {error}") from error


def _is_conll2012(path: Path) -> bool:
    """Whether the first line of a file that is not blank begins a document, or the first file of a folder is such."""
    if path.is_dir():
        files = files_below(path, _FILES)
        return bool(files) and _is_conll2012(files[0])
    try:
        with closing(numbered_lines(path)) as lines:
            first = next((line for _, line in lines if line.strip()), "")
    except CorpusError:
        return False
    return first.startswith("#begin document")


CONLL2012 = CorpusSpec(
    name="conll2012",
    title="CoNLL-2012",
    sniff=_is_conll2012,
    splits={"train": "train", "validation": "dev", "test": "test"},
    read_gold=read_conll2012,
    builder="hf_corefel.corpora.spec_builder:Conll2012Builder",
    files=(*_FILES, *(f"{name}/**/{file}" for names in SPLIT_NAMES.values() for name in names for file in _FILES)),
    expects=f"{', '.join(_FILES)} that begin with '#begin document'",
    scopes=("all",),
    about="Coreference of all mentions in the columns of the CoNLL-2012 shared task, as of OntoNotes and LitBank. No "
    "links.",
    homepage="https://conll.cemantix.org/2012/",
    licence="That of the corpus: OntoNotes is the Linguistic Data Consortium's, LitBank is CC BY 4.0.",
    citation="""@inproceedings{pradhan-etal-2012-conll,
    title = {{CoNLL}-2012 Shared Task: Modeling Multilingual Unrestricted Coreference in {O}nto{N}otes},
    author = {Pradhan, Sameer and Moschitti, Alessandro and Xue, Nianwen and Uryupina, Olga and Zhang, Yuchen},
    booktitle = {Joint Conference on {EMNLP} and {CoNLL} - Shared Task},
    pages = {1--40},
    year = {2012},
}

@inproceedings{bamman-etal-2020-annotated,
    title = {An Annotated Dataset of Coreference in {E}nglish Literature},
    author = {Bamman, David and Lewke, Olivia and Mansoor, Anya},
    booktitle = {Proceedings of the Twelfth Language Resources and Evaluation Conference},
    pages = {44--54},
    year = {2020},
}""",
)
