"""GUM (Zeldes, 2017) in its official CoNLL-U, whose last column has coreference and Wikipedia links in ``Entity=``.

``(14-place-new-nnnnn-cf5-1-coref-Durham%2C_England`` opens a mention: group, entity type, information status,
salience, centering, which of its tokens are its head (``minspan``), kind of link and, for a named entity, its
Wikipedia title; ``14)`` closes it, and both may stand at one token, next to others. A group is a cluster: singletons
and pronouns are annotated too. Mentions that consist of several parts (``14[1/2]``) are left out with a warning;
split antecedents (``SplitAnte=``) and bridging (``Bridge=``) are not read, for a cluster cannot say them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from ..documents import AnnotatedLayers, Cluster, Document, DocumentError, Mention
from ..moved import renamed_argument
from .conllu import ConlluDocument, Token, conllu_documents, entity_fields_of
from .errors import CorpusError, numbered_lines, raise_or_warn
from .locating import corpus_folder
from .registry import CorpusSpec

__all__ = ["GUM", "MentionKinds", "MentionScope", "gum_splits", "read_gum"]

MentionScope = Literal["all", "named"]
MentionKinds = MentionScope  # its name in version 0.1.0

SPLITS_FILE = "splits.md"
_BRACKET = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"\[\d+/\d+\]")
_FIELDS = ("GRP", "etype", "infstat", "salience", "centering", "minspan", "link", "identity")
_MINSPAN = _FIELDS.index("minspan")
# Names are linked, and of other clusters nobody says what they are.
_LAYERS = AnnotatedLayers(links="some")


@renamed_argument("mentions", "mention_scope")
def read_gum(
    folder: str | Path, split: str = "all", *, mention_scope: MentionScope = "all", strict: bool = True
) -> Iterator[Document]:
    """Reads the documents of a split in the order of their file names.

    The text is put together from the tokens (see `conllu_documents`); ``Document.words`` are the tokens. Documents
    that are masked with underscores, as those from Reddit are until their texts are fetched, are left out with a
    warning.

    ``Document.mention_scope`` is left unset, which means a model's default. To train or score a model with scopes on
    all mentions it must be set to "all": ``dataclasses.replace(document, mention_scope="all")``. Some links are
    annotated, which ``Document.annotated`` says.

    Args:
        folder: The corpus (the folder with ``splits.md`` and ``dep``, or one up to two levels above it), its folder
            ``dep``, or one CoNLL-U file, which may hold several documents.
        split: A heading of ``splits.md`` (``train``, ``dev``, ``test``; ``test2`` is the GENTLE corpus), or ``all``
            files that are there, for which ``splits.md`` is not needed.
        mention_scope: ``all``, or the ``named`` ones only, whose head has a proper noun.
        strict: Raises on a malformed file, a file of the split that is missing, and an entity that differs within a
            cluster; otherwise warns and leaves out the file, or the mention, or takes the first entity.

    Raises:
        CorpusError: When there are no files or one is malformed; the message has the file and the line.
    """
    if mention_scope not in ("all", "named"):
        raise ValueError(f"mention_scope must be 'all' or 'named'; got {mention_scope!r}")
    for path in _files(corpus_folder(folder, "gum"), split, strict):
        try:
            for source in conllu_documents(path, strict=strict):
                if not any(character.isalnum() for character in source.text):
                    warnings.warn(f"skipped: {path}: {source.id} is masked, its text has to be fetched", stacklevel=2)
                    continue
                try:
                    document = _document(source, path, mention_scope, strict)
                except CorpusError as error:
                    raise_or_warn(error, strict, "document skipped")
                else:
                    yield document
        except CorpusError as error:
            raise_or_warn(error, strict)


def gum_splits(path: str | Path) -> dict[str, list[str]]:
    """The document names of every split, from ``splits.md``: headings ``## dev`` over items ``* GUM_bio_byron``."""
    splits: dict[str, list[str]] = {}
    names: list[str] = []
    for _, line in numbered_lines(Path(path)):
        if line.startswith("## "):
            names = splits.setdefault(line[3:].strip(), [])
        elif match := re.fullmatch(r"\s*[*-]\s+(\w+)\s*", line):
            names.append(match[1])
    return splits


def _files(folder: Path, split: str, strict: bool) -> Iterator[Path]:
    if folder.is_file():
        if split != "all":
            raise ValueError(f"split must be 'all' for a single file; got {split!r}")
        yield folder
        return
    files = folder / "dep" if (folder / "dep").is_dir() else folder
    paths = {path.stem: path for path in sorted(files.glob("*.conllu"))}
    if not paths:
        raise CorpusError(f"{files}: no CoNLL-U files (*.conllu) here")
    if split == "all":
        yield from paths.values()
        return
    listing = next((at / SPLITS_FILE for at in (folder, files.parent) if (at / SPLITS_FILE).is_file()), None)
    if listing is None:
        raise CorpusError(f"{folder}: no {SPLITS_FILE} here, which says what belongs to {split!r}")
    splits = gum_splits(listing)
    if split not in splits:
        raise ValueError(f"split must be one of {', '.join((*splits, 'all'))}; got {split!r}")
    for name in sorted(splits[split]):
        if name in paths:
            yield paths[name]
        else:
            raise_or_warn(CorpusError(f"{files / name}.conllu: no such file, but {listing} has it in {split}"), strict)


@dataclass(slots=True)
class _Open:
    """A mention that is not closed yet: its fields and the position and line of its first token."""

    fields: list[str]
    first: int
    line: int


@dataclass
class _Groups:
    """What is known of the clusters while the brackets are read."""

    path: Path
    scope: MentionScope
    strict: bool
    open: list[_Open] = field(default_factory=list)
    mentions: dict[str, list[Mention]] = field(default_factory=dict)
    entities: dict[str, str] = field(default_factory=dict)

    def complain(self, line: int, problem: str, consequence: str = "mention dropped") -> None:
        """Raises, or warns of what is done instead."""
        raise_or_warn(CorpusError(f"{self.path}:{line}: {problem}"), self.strict, consequence)

    def read(self, position: int, tokens: list[Token]) -> None:
        """Takes the brackets at a token."""
        token = tokens[position]
        value = token.misc.get("Entity", "")
        brackets = _BRACKET.findall(value)
        if "".join(brackets) != value:
            self.complain(token.line, f"unreadable brackets in Entity={value}")
            return
        for bracket in brackets:
            fields = bracket.strip("()").split("-", len(_FIELDS) - 1)
            if _PART.search(fields[0]):
                if bracket.startswith("("):
                    warnings.warn(f"dropped: {self.path}:{token.line}: part of a mention, {bracket}", stacklevel=4)
                continue
            if bracket.startswith("("):
                if len(fields) < len(_FIELDS) - 1:
                    self.complain(token.line, f"expected {'-'.join(_FIELDS)}, the last optional, got {bracket!r}")
                    continue
                self.open.append(_Open(fields, position, token.line))
            if bracket.endswith(")"):
                self._close(fields[0], position, tokens)

    def _close(self, group: str, position: int, tokens: list[Token]) -> None:
        # Mentions of one group that lie within one another close from the inside; other groups may overlap.
        opened = next((item for item in reversed(self.open) if item.fields[0] == group), None)
        if opened is None:
            self.complain(tokens[position].line, f"{group}) closes no mention", "bracket ignored")
            return
        self.open.remove(opened)
        covered = tokens[opened.first : position + 1]
        if len(opened.fields) == len(_FIELDS):
            entity = unquote(opened.fields[-1]).replace(" ", "_")
            known = self.entities.setdefault(group, entity)
            if known != entity:
                self.complain(opened.line, f"group {group} is {entity!r} here and {known!r} before", "ignored")
        if self.scope == "all" or self._named(opened, covered):
            self.mentions.setdefault(group, []).append(Mention(covered[0].begin, covered[-1].end))

    def _named(self, opened: _Open, covered: list[Token]) -> bool:
        """Whether a token of the head, by its number within the mention, is a proper noun."""
        numbers = opened.fields[_MINSPAN].split(",")
        if not all(number.isdecimal() and 1 <= int(number) <= len(covered) for number in numbers):
            self.complain(opened.line, f"minspan {opened.fields[_MINSPAN]!r} of a mention of {len(covered)} tokens")
            return False
        return any(covered[int(number) - 1].pos == "PROPN" for number in numbers)


def _document(source: ConlluDocument, path: Path, scope: MentionScope, strict: bool) -> Document:
    groups = _Groups(path, scope, strict)
    tokens = source.tokens
    for position in range(len(tokens)):
        groups.read(position, tokens)
    for opened in groups.open:
        groups.complain(opened.line, f"mention of group {opened.fields[0]} is not closed")
    clusters = [
        Cluster(tuple(sorted(mentions, key=lambda m: m.offsets)), groups.entities.get(group))
        for group, mentions in groups.mentions.items()
    ]
    clusters.sort(key=lambda cluster: cluster.mentions[0].offsets)
    try:
        return Document(
            source.text,
            id=source.id,
            words=source.words,
            clusters=clusters,
            speakers=source.turns or None,
            annotated=_LAYERS,
        )
    except DocumentError as error:
        raise CorpusError(f"{path}: {error}") from error


def _is_gum(path: Path) -> bool:
    if path.is_dir():
        files = [*path.glob("dep/*.conllu"), *path.glob("*.conllu")]
        return bool(files) and _is_gum(min(files))
    if path.suffix != ".conllu":
        return False
    try:
        fields = entity_fields_of(path)
    except CorpusError:
        return True  # the reader says what is wrong with it
    # Those of CorefUD begin with "eid".
    return fields is None or fields[0] == _FIELDS[0]


GUM = CorpusSpec(
    name="gum",
    title="GUM",
    sniff=_is_gum,
    splits={"train": "train", "validation": "dev", "test": "test"},
    read_gold=read_gum,
    builder="hf_corefel.corpora.builders:GumBuilder",
    files=("dep/*.conllu", "*.conllu", SPLITS_FILE),
    expects="*.conllu, there or in dep, without # global.Entity or with one that begins with GRP",
    scopes=("named", "all"),
)
