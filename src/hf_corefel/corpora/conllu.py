"""Sentences of CoNLL-U with the place of every token in a text that is put together from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..documents import Offsets, Turn
from .errors import CorpusError, numbered_lines

__all__ = ["ConlluDocument", "Token", "conllu_documents"]

_ID = re.compile(r"(\d+)(?:-(\d+)|(\.)\d+)?")
_COLUMNS = 10


@dataclass(frozen=True, slots=True)
class Token:
    """A syntactic word.

    Attributes:
        line: Its line in the file.
        begin: First code point; parts of a multi-word token that do not spell it out have all of its offsets.
        end: One past the last code point.
        pos: Universal part of speech.
        misc: The key-value pairs of the last column.
    """

    line: int
    begin: int
    end: int
    pos: str
    misc: dict[str, str]


@dataclass(slots=True)
class ConlluDocument:
    """A document of a CoNLL-U file.

    Attributes:
        id: From ``# newdoc id``, else the file's name.
        text: Its sentences, see `conllu_documents`.
        tokens: Its syntactic words, without the empty nodes of enhanced dependencies.
        words: Offsets of its words, in order and without overlap.
        turns: What speakers say, from the ``# speaker`` of sentences; those that follow each other are one turn.
    """

    id: str
    text: str = ""
    tokens: list[Token] = field(default_factory=list)
    words: list[Offsets] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)


@dataclass(slots=True)
class _Range:
    """A multi-word token whose parts follow: last number, offsets, what its parts still have to spell out."""

    last: int
    begin: int
    end: int
    parts: list[tuple[int, list[str]]] = field(default_factory=list)


def conllu_documents(path: Path) -> Iterator[ConlluDocument]:
    """The documents of a file.

    A token is followed by a space unless it says ``SpaceAfter=No``. Sentences are joined alike; before one that
    begins a paragraph (``# newpar``) stands a line feed instead.

    Raises:
        CorpusError: When a line has not ten columns or no valid number, a form is empty, or a sentence differs from
            its ``# text``; the message has the file and the line.
    """
    builder: _Builder | None = None
    comments: list[tuple[int, str]] = []
    rows: list[tuple[int, list[str]]] = []
    for number, line in (*numbered_lines(path), (0, "")):
        if line.startswith("#"):
            comments.append((number, line[1:].strip()))
        elif line.strip():
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                raise CorpusError(f"{path}:{number}: expected {_COLUMNS} columns, got {len(columns)}")
            rows.append((number, columns))
        elif rows:
            begins = next((text for _, text in comments if re.match(r"newdoc\b", text)), None)
            if builder is None or begins is not None:
                if builder is not None:
                    yield builder.document
                name = (begins or "").partition("id =")[2].strip()
                builder = _Builder(path, ConlluDocument(name or path.stem))
            builder.add(comments, rows)
            comments, rows = [], []
    if builder is not None:
        yield builder.document


@dataclass
class _Builder:
    """Appends sentences to a document."""

    path: Path
    document: ConlluDocument
    separator: str = ""
    speaker: str = ""

    def add(self, comments: list[tuple[int, str]], rows: list[tuple[int, list[str]]]) -> None:
        """Appends a sentence; ``comments`` and ``rows`` have their line numbers."""
        document = self.document
        if document.text and any(re.fullmatch(r"newpar\b.*", text) for _, text in comments):
            self.separator = "\n"
        begin = len(document.text) + len(self.separator)
        within: _Range | None = None
        for number, columns in rows:
            match = _ID.fullmatch(columns[0])
            if match is None:
                raise CorpusError(f"{self.path}:{number}: column 1: expected a token number, got {columns[0]!r}")
            if match[3]:
                continue
            form, misc = columns[1], _key_values(columns[9])
            if not form.strip():
                raise CorpusError(f"{self.path}:{number}: column 2: the form is empty")
            if match[2]:
                start, end = self._append(form, misc)
                within = _Range(int(match[2]), start, end)
            elif within is None:
                start, end = self._append(form, misc)
                document.words.append((start, end))
                document.tokens.append(Token(number, start, end, columns[3], misc))
            else:
                within.parts.append((number, columns))
                if int(match[1]) >= within.last:
                    self._split(within)
                    within = None
        if within is not None:
            self._split(within)
        self._compare(begin, comments)
        self._add_turn(begin, comments)

    def _append(self, form: str, misc: dict[str, str]) -> Offsets:
        begin = len(self.document.text) + len(self.separator)
        self.document.text += self.separator + form
        self.separator = "" if misc.get("SpaceAfter") == "No" else " "
        return begin, begin + len(form)

    def _split(self, whole: _Range) -> None:
        """Gives the parts of a multi-word token their own places when together they spell it, else all of it."""
        forms = [columns[1] for _, columns in whole.parts]
        spelled = "".join(forms) == self.document.text[whole.begin : whole.end]
        if not spelled:
            self.document.words.append((whole.begin, whole.end))
        begin = whole.begin
        for (number, columns), form in zip(whole.parts, forms, strict=True):
            offsets = (begin, begin + len(form)) if spelled else (whole.begin, whole.end)
            if spelled:
                self.document.words.append(offsets)
            self.document.tokens.append(Token(number, *offsets, columns[3], _key_values(columns[9])))
            begin += len(form)

    def _compare(self, begin: int, comments: list[tuple[int, str]]) -> None:
        found = self.document.text[begin:]
        for number, text in comments:
            key, given, expected = text.partition("text =")
            if given and not key and expected.strip() != found.strip():
                raise CorpusError(f"{self.path}:{number}: the tokens give {found!r}, not this text")

    def _add_turn(self, begin: int, comments: list[tuple[int, str]]) -> None:
        """Takes note of who says the sentence that begins there."""
        before = self.speaker
        given = (text.partition("speaker =") for _, text in comments)
        self.speaker = next((value.strip() for key, sign, value in given if sign and not key), "")
        turns, end = self.document.turns, len(self.document.text)
        if self.speaker and begin < end:
            # "JoeFulgham": GUM writes names in one word.
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.speaker)
            if turns and self.speaker == before:
                begin = turns.pop().begin
            turns.append(Turn(begin, end, name))


def _key_values(column: str) -> dict[str, str]:
    """The last column: ``A=b|C=d``; ``_`` and whatever has no ``=`` say nothing here."""
    return dict(item.split("=", 1) for item in column.split("|") if "=" in item)
