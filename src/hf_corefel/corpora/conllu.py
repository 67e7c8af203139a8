"""Sentences of CoNLL-U with the place of every token in a text that is put together from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from ..documents import Offsets, Turn
from .errors import CorpusError, numbered_lines, raise_or_warn

__all__ = ["ConlluDocument", "Token", "conllu_documents", "entity_fields_of"]

_ID = re.compile(r"(\d+)(?:-(\d+)|(\.)\d+)?")
_COLUMNS = 10
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Token:
    """A syntactic word, or an empty node of enhanced dependencies.

    Attributes:
        line: Its line in the file.
        begin: First code point; parts of a multi-word token that do not spell it out have all of its offsets.
        end: One past the last code point.
        pos: Universal part of speech.
        misc: The key-value pairs of the last column.
        empty: Whether it is an empty node, which stands for no text; its offsets say where it would.
    """

    line: int
    begin: int
    end: int
    pos: str
    misc: dict[str, str]
    empty: bool = False


@dataclass(slots=True)
class ConlluDocument:
    """A document of a CoNLL-U file.

    Attributes:
        id: From ``# newdoc id``, else the file's name, with a number from the file's second such document on.
        text: Its sentences, see `conllu_documents`.
        nodes: Its syntactic words and empty nodes.
        words: Offsets of its words, in order and without overlap.
        turns: What speakers say, from the ``# speaker`` of sentences; those that follow each other are one turn.
        entity_fields: The fields of a mention by the last ``# global.Entity`` up to its first sentence; None when the
            file has none so far.
    """

    id: str
    text: str = ""
    nodes: list[Token] = field(default_factory=list)
    words: list[Offsets] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    entity_fields: tuple[str, ...] | None = None

    @property
    def tokens(self) -> list[Token]:
        """Its syntactic words, without the empty nodes."""
        return [node for node in self.nodes if not node.empty]


@dataclass(slots=True)
class _Range:
    """A multi-word token whose parts follow: last number, offsets, what its parts still have to spell out."""

    last: int
    begin: int
    end: int
    parts: list[tuple[int, list[str]]] = field(default_factory=list)


@dataclass(slots=True)
class _Sentence:
    """The lines of a sentence with their numbers: comments without ``#``, and tokens."""

    comments: list[tuple[int, str]] = field(default_factory=list)
    rows: list[tuple[int, str]] = field(default_factory=list)

    def comment(self, key: str) -> str | None:
        """The value of the comment ``key = value``, or None."""
        return next((value for text in self.comments if (value := _comment(text[1], key)) is not None), None)

    @property
    def newdoc(self) -> str | None:
        """What is said of the document that it begins, None when it begins none."""
        # Of a document without sentences there is nothing but such a line, before that of the next.
        return next((text for _, text in reversed(self.comments) if re.match(r"newdoc\b", text)), None)


def conllu_documents(path: Path, *, strict: bool = True) -> Iterator[ConlluDocument]:
    """The documents of a file, read one by one.

    A token is followed by a space unless it says ``SpaceAfter=No``. Sentences are joined alike; before one that
    begins a paragraph (``# newpar``) stands a line feed instead. Where a token says what it is followed by, as UDPipe
    does (``SpacesAfter=\\s\\n``; ``SpacesBefore=`` of the first one), that counts.

    Args:
        path: The file.
        strict: Raises on a malformed document; otherwise warns and leaves it out.

    Raises:
        CorpusError: When a line has not ten columns or no valid number, a form is empty, or a sentence differs from
            its ``# text``; the message has the file and the line.
    """
    fields: tuple[str, ...] | None = None
    unnamed = 0
    for sentences in _sentences_of_documents(path):
        fields = _entity_fields(sentences[0]) or fields
        name = (sentences[0].newdoc or "").partition("id =")[2].strip()
        if not name:
            unnamed += 1
            name = path.stem if unnamed == 1 else f"{path.stem}_{unnamed}"
        try:
            builder = _Builder(path, ConlluDocument(name, entity_fields=fields))
            for sentence in sentences:
                builder.add(sentence)
        except CorpusError as error:
            raise_or_warn(error, strict, "document skipped")
        else:
            yield builder.finish()
        for sentence in sentences[1:]:
            fields = _entity_fields(sentence) or fields


def entity_fields_of(path: Path) -> tuple[str, ...] | None:
    """The fields of ``# global.Entity`` at the top of a file, None when there is none before its first token.

    Raises:
        CorpusError: When the file is not UTF-8 there.
        OSError: When it cannot be read.
    """
    with closing(numbered_lines(path)) as lines:
        for _, line in lines:
            if line.startswith("#"):
                value = _comment(line[1:].strip(), "global.Entity")
                if value is not None:
                    return tuple(value.split("-"))
            elif line.strip():
                break
    return None


def _sentences_of_documents(path: Path) -> Iterator[list[_Sentence]]:
    """The sentences of a file, document by document."""
    document: list[_Sentence] = []
    for sentence in _sentences(path):
        if sentence.newdoc is not None and document:
            yield document
            document = []
        document.append(sentence)
    if document:
        yield document


def _sentences(path: Path) -> Iterator[_Sentence]:
    sentence = _Sentence()
    for number, line in numbered_lines(path):
        if line.startswith("#"):
            sentence.comments.append((number, line[1:].strip()))
        elif line.strip():
            sentence.rows.append((number, line))
        elif sentence.rows:
            yield sentence
            sentence = _Sentence()
    if sentence.rows:
        yield sentence


def _entity_fields(sentence: _Sentence) -> tuple[str, ...] | None:
    value = sentence.comment("global.Entity")
    return None if value is None else tuple(value.split("-"))


def _comment(text: str, key: str) -> str | None:
    """The value of a comment ``key = value``, None when it has another key."""
    given, sign, value = text.partition("=")
    return value.strip() if sign and given.strip() == key else None


@dataclass
class _Builder:
    """Appends sentences to a document."""

    path: Path
    document: ConlluDocument
    separator: str = ""
    speaker: str = ""
    # Whether the separator is what stood in the text, not a guess.
    exact: bool = False
    # The sentence as its forms and SpaceAfter give it, which is what "# text" has.
    plain: str = ""

    def finish(self) -> ConlluDocument:
        """Return the document, with the white space that its last token says to follow."""
        if self.exact:
            self.document.text += self.separator
        return self.document

    def add(self, sentence: _Sentence) -> None:
        """Append a sentence."""
        document = self.document
        newpar = any(re.fullmatch(r"newpar\b.*", text) for _, text in sentence.comments)
        if document.text and newpar and not self.exact:
            self.separator = "\n"
        self.plain = ""
        begin: int | None = None
        within: _Range | None = None
        for number, line in sentence.rows:
            columns, match = self._columns(number, line)
            if within is not None:
                within.parts.append((number, columns))
                if not match[3] and int(match[1]) >= within.last:
                    self._split(within)
                    within = None
            elif match[3]:
                self._add_empty(number, columns, len(document.text))
            else:
                form, misc = columns[1], _key_values(columns[9])
                start, end = self._append(form, misc)
                begin = start if begin is None else begin
                if match[2]:
                    within = _Range(int(match[2]), start, end)
                else:
                    document.words.append((start, end))
                    document.nodes.append(Token(number, start, end, columns[3], misc))
        if within is not None:
            self._split(within)
        self._compare(sentence.comments)
        self._add_turn(len(document.text) if begin is None else begin, sentence.comments)

    def _columns(self, number: int, line: str) -> tuple[list[str], re.Match[str]]:
        """The columns of a line and what its number says, once both are known to be in order."""
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise CorpusError(f"{self.path}:{number}: expected {_COLUMNS} columns, got {len(columns)}")
        match = _ID.fullmatch(columns[0])
        if match is None:
            raise CorpusError(f"{self.path}:{number}: column 1: expected a token number, got {columns[0]!r}")
        if not match[3] and not columns[1].strip():
            raise CorpusError(f"{self.path}:{number}: column 2: the form is empty")
        return columns, match

    def _add_empty(self, number: int, columns: list[str], at: int) -> None:
        self.document.nodes.append(Token(number, at, at, columns[3], _key_values(columns[9]), empty=True))

    def _append(self, form: str, misc: dict[str, str]) -> Offsets:
        if not self.document.text and "SpacesBefore" in misc:
            self.separator = _spaces(misc["SpacesBefore"])
        begin = len(self.document.text) + len(self.separator)
        self.document.text += self.separator + form
        self.separator = "" if misc.get("SpaceAfter") == "No" else " "
        self.plain += form + self.separator
        self.exact = "SpacesAfter" in misc
        if self.exact:
            self.separator = _spaces(misc["SpacesAfter"])
        return begin, begin + len(form)

    def _split(self, whole: _Range) -> None:
        """Gives the parts of a multi-word token their own places when together they spell it, else all of it."""
        forms = [columns[1] for _, columns in whole.parts if "." not in columns[0]]
        spelled = "".join(forms) == self.document.text[whole.begin : whole.end]
        if not spelled:
            self.document.words.append((whole.begin, whole.end))
        begin = whole.begin
        for number, columns in whole.parts:
            if "." in columns[0]:
                self._add_empty(number, columns, begin)
                continue
            offsets = (begin, begin + len(columns[1])) if spelled else (whole.begin, whole.end)
            if spelled:
                self.document.words.append(offsets)
            self.document.nodes.append(Token(number, *offsets, columns[3], _key_values(columns[9])))
            begin = offsets[1] if spelled else begin

    def _compare(self, comments: list[tuple[int, str]]) -> None:
        found = self.plain.removesuffix(" ")
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
            # "JoeFulgham": GUM, which one knows by a field of its mentions, writes names in one word.
            is_gum = "infstat" in (self.document.entity_fields or ("infstat",)) and " " not in self.speaker
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.speaker) if is_gum else self.speaker
            if turns and self.speaker == before:
                begin = turns.pop().begin
            turns.append(Turn(begin, end, name))


def _spaces(value: str) -> str:
    """White space as UDPipe writes it in the last column."""
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[0]), value)


def _key_values(column: str) -> dict[str, str]:
    """The last column: ``A=b|C=d``; ``_`` and whatever has no ``=`` say nothing here."""
    return dict(item.split("=", 1) for item in column.split("|") if "=" in item)
