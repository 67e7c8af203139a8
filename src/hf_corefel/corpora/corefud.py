"""Coreference in CoNLL-U as the CorefUD collection has it (Nedoluzhko et al., 2022), in the last column's ``Entity=``.

``# global.Entity = eid-etype-head-other`` names the fields of a mention. ``(e9-place-1-name:Oslo`` opens one of the
cluster ``e9``, ``e9)`` closes it, and both may stand at one token, next to others. Treebanks have other fields between
and after these, or leave some out; those with ``identity``, as GUM's own files, link a mention to Wikipedia.

What `Document` cannot say is left out with a warning: the mentions that consist of several parts (``e9[1/2]``), and
those that are no words of the text but empty nodes, such as a subject that is not said. Split antecedents
(``SplitAnte=``) and bridging (``Bridge=``) are not read.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from ..documents import AnnotatedLayers, Document, DocumentError
from .conllu import ConlluDocument, Token, conllu_documents, entity_fields_of
from .errors import CorpusError, raise_or_warn
from .grouping import Groups
from .gum import MentionScope
from .locating import corpus_folder
from .registry import CorpusSpec
from .split_files import SPLIT_NAMES, files_below, files_of_split

__all__ = ["COREFUD", "read_corefud"]

_FILES = ("*.conllu",)
_BRACKET = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"(.*)\[(\d+)/(\d+)\]")
# The fields that name the cluster, and those that say which of a mention's words is its head.
_ID_FIELDS = ("eid", "GRP")
_HEAD_FIELDS = ("head", "minspan")


def read_corefud(
    path: str | Path, split: str = "all", *, mention_scope: MentionScope = "all", strict: bool = True
) -> Iterator[Document]:
    """Read the documents of CoNLL-U files with coreference, in the order of the names of the files.

    The text is put together from the tokens (see `conllu_documents`); ``Document.words`` are the tokens. Entities are
    the field ``identity``, unquoted and with underscores; ``Document.annotated`` says that no links are annotated where
    there is no such field, and some where there is.

    Args:
        path: A file, or a folder of ``*.conllu``; or one up to two levels above it.
        split: ``train``, ``dev`` or ``test``, by the names of the files (``en_gum-corefud-train.conllu``), or ``all``.
        mention_scope: ``all``, or the ``named`` ones only, whose head is a proper noun.
        strict: Raises on a malformed document, and an entity that differs within a cluster; otherwise warns and leaves
            the document out, or takes the first entity.

    Raises:
        CorpusError: When there are no files or one is malformed; the message has the file and the line.
        ValueError: When there are no files of the split.
    """
    if mention_scope not in ("all", "named"):
        raise ValueError(f"mention_scope must be 'all' or 'named'; got {mention_scope!r}")
    for file in files_of_split(corpus_folder(path, "corefud"), split, _FILES, "CoNLL-U files"):
        try:
            yield from _read_file(file, mention_scope, strict)
        except CorpusError as error:  # a line that is not UTF-8
            raise_or_warn(error, strict, "rest of the file skipped")


def _read_file(file: Path, mention_scope: MentionScope, strict: bool) -> Iterator[Document]:
    for source in conllu_documents(file, strict=strict):
        if _is_masked(source.text):
            warnings.warn(f"skipped: {file}: {source.id} is masked, its text has to be fetched", stacklevel=3)
            continue
        try:
            document = _Entities(source, file, mention_scope, strict).document()
        except CorpusError as error:
            raise_or_warn(error, strict, "document skipped")
        else:
            yield document


def _is_masked(text: str) -> bool:
    """Whether underscores stand for the letters, as in the texts of Reddit in GUM until they are fetched."""
    return "_" in text and not any(character.isalnum() for character in text)


@dataclass(slots=True)
class _Open:
    """A mention that is not closed yet: its fields by name, and the position of its first node."""

    fields: dict[str, str]
    first: int


@dataclass
class _Entities:
    """The clusters of a document while its brackets are read."""

    source: ConlluDocument
    path: Path
    scope: MentionScope
    strict: bool
    open: dict[str, list[_Open]] = field(default_factory=dict)
    zeros: int = 0
    split: int = 0

    def __post_init__(self) -> None:
        self.groups = Groups(self.strict)

    def document(self) -> Document:
        """Return the document with its clusters.

        Raises:
            CorpusError: When its brackets are malformed.
        """
        for position, node in enumerate(self.source.nodes):
            if "Entity" in node.misc:
                self._read(position, node)
        for group, opened in self.open.items():
            if opened:
                raise self._error(self.source.nodes[opened[-1].first], f"the mention ({group} is not closed")
        for number, what in (
            (self.zeros, "of empty nodes only, which are no words of the text"),
            (self.split, "of several parts"),
        ):
            if number:
                mentions = "1 mention" if number == 1 else f"{number} mentions"
                warnings.warn(f"dropped: {self.path}: {self.source.id}: {mentions} {what}", stacklevel=3)
        source = self.source
        clusters, turns = self.groups.clusters(), source.turns or None
        try:
            layers = AnnotatedLayers(links="some" if "identity" in (source.entity_fields or ()) else False)
            return Document(source.text, source.id, source.words, clusters=clusters, speakers=turns, annotated=layers)
        except DocumentError as error:
            raise CorpusError(f"{self.path}: {error}") from error

    def _error(self, node: Token, problem: str) -> CorpusError:
        return CorpusError(f"{self.path}:{node.line}: {problem}")

    def _read(self, position: int, node: Token) -> None:
        """Take the brackets at a node."""
        value = node.misc["Entity"]
        brackets = _BRACKET.findall(value)
        if "".join(brackets) != value:
            raise self._error(node, f"unreadable brackets in Entity={value}; expected (e1-… , e1) or both")
        for bracket in brackets:
            fields = self._fields(node, bracket)
            group = fields["eid"]
            if bracket.startswith("("):
                self.open.setdefault(group, []).append(_Open(fields, position))
            if bracket.endswith(")"):
                if not self.open.get(group):
                    raise self._error(node, f"{group}) closes no mention; open it with ({group}")
                self._close(group, self.open[group].pop(), position)

    def _fields(self, node: Token, bracket: str) -> dict[str, str]:
        """The fields of a bracket by their names; of a closing one only ``eid``, with its part."""
        names = self.source.entity_fields
        if names is None:
            raise self._error(node, "Entity= without a '# global.Entity = eid-etype-head-other' line before it")
        values = bracket.strip("()").split("-", len(names) - 1)
        at = next((names.index(name) for name in _ID_FIELDS if name in names), None)
        if at is None:
            raise self._error(node, f"# global.Entity = {'-'.join(names)} has no field {' or '.join(_ID_FIELDS)}")
        if not bracket.startswith("("):
            return {"eid": bracket.strip("()")}
        if at >= len(values) or not values[at]:
            raise self._error(node, f"expected {'-'.join(names)}, got {bracket!r}")
        return {**dict(zip(names, values, strict=False)), "eid": values[at]}

    def _close(self, group: str, opened: _Open, position: int) -> None:
        covered = self.source.nodes[opened.first : position + 1]
        where = f"{self.path}:{covered[0].line}"
        part = _PART.fullmatch(group)
        if identity := opened.fields.get("identity"):
            self.groups.link(part[1] if part else group, unquote(identity).replace(" ", "_"), where)
        if part:
            self.split += part[2] == "1"
            return
        words = [node for node in covered if not node.empty]
        if not words:
            self.zeros += 1
        elif self.scope == "all" or self._named(opened, covered):
            self.groups.add(group, words[0].begin, words[-1].end, where)

    def _named(self, opened: _Open, covered: list[Token]) -> bool:
        """Whether a word of the head, by its number within the mention, is a proper noun."""
        name = next((name for name in _HEAD_FIELDS if name in opened.fields), None)
        if name is None:
            fields = "-".join(self.source.entity_fields or ())
            raise self._error(covered[0], f"named mentions need the field head or minspan; # global.Entity = {fields}")
        # GUM's minspan counts the words of the text only.
        covered = covered if name == "head" else [node for node in covered if not node.empty]
        numbers = opened.fields[name].split(",")
        if not all(number.isdecimal() and 1 <= int(number) <= len(covered) for number in numbers):
            raise self._error(covered[0], f"{name} {opened.fields[name]!r} of a mention of {len(covered)} words")
        return any(covered[int(number) - 1].pos == "PROPN" for number in numbers)


def _is_corefud(path: Path) -> bool:
    if path.is_dir():
        files = files_below(path, _FILES)
        return bool(files) and _is_corefud(files[0])
    if path.suffix != ".conllu":
        return False
    try:
        fields = entity_fields_of(path)
    except CorpusError:
        return False
    # Those of GUM's own files begin with "GRP".
    return fields is not None and fields[0] != "GRP"


COREFUD = CorpusSpec(
    name="corefud",
    title="CorefUD",
    sniff=_is_corefud,
    splits={"train": "train", "validation": "dev", "test": "test"},
    read_gold=read_corefud,
    builder="hf_corefel.corpora.spec_builder:CorefUDBuilder",
    files=("*.conllu", *(f"{name}/**/*.conllu" for names in SPLIT_NAMES.values() for name in names)),
    expects="*.conllu with # global.Entity = eid-…",
    scopes=("all", "named"),
    about="Coreference of a treebank in CoNLL-U, in the format of CorefUD. Mentions of several parts and of words that "
    "are not said are left out.",
    homepage="https://ufal.mff.cuni.cz/corefud",
    licence="That of the treebank: see its README.",
    citation="""@inproceedings{nedoluzhko-etal-2022-corefud,
    title = {{CorefUD} 1.0: Coreference Meets {U}niversal {D}ependencies},
    author = {Nedoluzhko, Anna and Nov{\\'a}k, Michal and Popel, Martin and {\\v{Z}}abokrtsk{\\'y}, Zden{\\v{e}}k and
        Zeldes, Amir and Zeman, Daniel},
    booktitle = {Proceedings of the Thirteenth Language Resources and Evaluation Conference},
    pages = {4859--4872},
    year = {2022},
}""",
)
