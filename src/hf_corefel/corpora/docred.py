"""DocRED (Yao et al., 2019) in its official JSON: paragraphs of Wikipedia whose names, dates and numbers are clustered.

A file is a list of documents with ``title``, the tokens of the sentences in ``sents``, and a cluster for each item of
``vertexSet``, whose mentions have ``sent_id`` and ``pos``, the first token and the one past the last. Re-DocRED (Tan et
al., 2022) has the same form. A variant of it says for every mention in ``wikidata_qcode`` which item of Wikidata it
is, or null.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..documents import AnnotatedLayers, Cluster, Document, DocumentError, Mention, Offsets
from .article_annotation import ArticleAnnotation
from .errors import CorpusError, raise_or_warn
from .grouping import Groups
from .locating import corpus_folder
from .registry import CorpusSpec
from .split_files import files_of_split
from .tokens import TokenText

__all__ = ["DOCRED", "read_docred", "read_docred_annotations"]

_FILES = ("*.json",)
_CODE = "wikidata_qcode"
# So many bytes of a file tell what it is.
_SNIFFED = 1 << 17


def read_docred(path: str | Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
    """Read the documents of DocRED in the order of the files and of what is in them; the id is the title.

    The text is the tokens joined by one space and the sentences joined by one line feed, for the corpus has no other;
    ``Document.words`` are the tokens. A cluster's entity is the Wikidata item that most of its mentions are coded as,
    of equal numbers the first; NIL without a code. A mention that the corpus lists twice is there once; where it lists
    one in two clusters the first keeps it, with a warning. ``Document.annotated`` says that names alone are annotated,
    and that some links are where there is a code, and none where there is not.

    Args:
        path: A file, or a folder of ``*.json``; or one up to two levels above it. Of folders only the files of this
            form are read, and several files of one split are an error.
        split: ``train``, ``dev`` or ``test``, by the names of files (``dev_revised.json``), or ``all``.
        strict: Raises on a malformed document; otherwise warns and leaves it out, or the file that is no
            valid JSON.

    Raises:
        CorpusError: When there are no files, several for one split, or one is malformed; the message says where.
        ValueError: When there is no file of the split.
    """
    yield from _read(path, split, _document, strict)


def read_docred_annotations(
    path: str | Path, split: str = "all", *, strict: bool = True
) -> Iterator[ArticleAnnotation]:
    """Read what DocRED lists, also the mentions that it lists twice; see `read_docred`.

    So the counts are those that are published.
    """
    yield from _read(path, split, _annotation, strict)


def _read(path: str | Path, split: str, read: Any, strict: bool) -> Iterator[Any]:
    files = files_of_split(corpus_folder(path, "docred"), split, _FILES, "DocRED files", is_docred)
    if split != "all" and len(files) > 1:
        named = ", ".join(file.name for file in files)
        raise CorpusError(f"{files[0].parent}: {len(files)} files of the split {split!r}, {named}; name one of them")
    for file in files:
        try:
            items = _items(file)
        except CorpusError as error:
            raise_or_warn(error, strict)
            continue
        for number, item in enumerate(items):
            try:
                yield read(item, f"{file}: [{number}]")
            except CorpusError as error:
                raise_or_warn(error, strict, "document skipped")


def _items(file: Path) -> list[Any]:
    try:
        items = json.loads(file.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise CorpusError(f"{file}{line}: no valid JSON: {error}") from error
    if not isinstance(items, list):
        raise CorpusError(f"{file}: expected a list of documents, got {type(items).__name__}")
    return items


def _text(item: Any, where: str) -> tuple[TokenText, list[list[Offsets]]]:
    """The text of a document, and the offsets of its tokens sentence by sentence."""
    tokens = TokenText()
    sentences: list[list[Offsets]] = []
    for s, sentence in enumerate(_field(item, "sents", list, where)):
        if not isinstance(sentence, list) or not all(isinstance(token, str) and token for token in sentence):
            raise CorpusError(f"{where}.sents[{s}]: expected a list of tokens, none of them empty")
        sentences.append([tokens.add(token) for token in sentence])
        tokens.end_sentence()
    return tokens, sentences


def _mentions(item: Any, sentences: list[list[Offsets]], where: str) -> Iterator[tuple[int, Offsets, str | None]]:
    """Every mention that is listed: the number of its cluster, its offsets and its code."""
    for c, cluster in enumerate(_field(item, "vertexSet", list, where)):
        if not isinstance(cluster, list):
            raise CorpusError(f"{where}.vertexSet[{c}]: expected a list of mentions, got {type(cluster).__name__}")
        for m, mention in enumerate(cluster):
            here = f"{where}.vertexSet[{c}][{m}]"
            sentence, place = _field(mention, "sent_id", int, here), _field(mention, "pos", list, here)
            if not 0 <= sentence < len(sentences):
                raise CorpusError(f"{here}: sent_id {sentence} of {len(sentences)} sentences")
            tokens = sentences[sentence]
            if (
                len(place) != 2
                or not all(isinstance(n, int) for n in place)
                or not 0 <= place[0] < place[1] <= len(tokens)
            ):
                raise CorpusError(f"{here}: expected pos [first, end] within {len(tokens)} tokens, got {place}")
            code = mention.get(_CODE)
            if code is not None and not isinstance(code, str):
                raise CorpusError(f"{here}: field {_CODE!r}: expected a string or null, got {code!r}")
            yield c, (tokens[place[0]][0], tokens[place[1] - 1][1]), code or None


def _entities(listed: list[tuple[int, Offsets, str | None]]) -> dict[int, str]:
    """The commonest code of each cluster that has one."""
    codes: dict[int, Counter[str]] = {}
    for cluster, _, code in listed:
        if code is not None:
            codes.setdefault(cluster, Counter())[code] += 1
    return {cluster: counts.most_common(1)[0][0] for cluster, counts in codes.items()}


def _document(item: Any, where: str) -> Document:
    title = _field(item, "title", str, where)
    tokens, sentences = _text(item, where)
    listed = list(_mentions(item, sentences, where))
    groups = Groups()
    for cluster, (begin, end), _ in listed:
        groups.add(cluster, begin, end, f"{where}.vertexSet[{cluster}]")
    entities = _entities(listed)
    for cluster, entity in entities.items():
        groups.link(cluster, entity, where)
    layers = AnnotatedLayers(mentions="named", links="some" if entities else False)
    try:
        return Document(tokens.text, title, tokens.words, clusters=groups.clusters(), annotated=layers)
    except DocumentError as error:
        raise CorpusError(f"{where}: {error}") from error


def _annotation(item: Any, where: str) -> ArticleAnnotation:
    title = _field(item, "title", str, where)
    tokens, sentences = _text(item, where)
    listed = list(_mentions(item, sentences, where))
    entities = _entities(listed)
    members: dict[int, list[Mention]] = {}
    for cluster, offsets, _ in listed:
        members.setdefault(cluster, []).append(Mention(*offsets))
    clusters = [Cluster(tuple(mentions), entities.get(cluster)) for cluster, mentions in members.items()]
    return ArticleAnnotation(title, ("all",), clusters, text=tokens.text, words=tokens.words)


def _field(item: Any, name: str, kind: type, where: str) -> Any:
    """A field of an object, of the kind it must have."""
    if not isinstance(item, dict):
        raise CorpusError(f"{where}: expected an object with fields, got {type(item).__name__}")
    if not isinstance(item.get(name), kind) or isinstance(item[name], bool):
        problem = f"expected {kind.__name__}, got {item[name]!r}" if name in item else "missing"
        raise CorpusError(f"{where}: field {name!r}: {problem}")
    return item[name]


def is_docred(path: Path) -> bool:
    """Return whether a file, or any of a folder, is a list of objects with sentences and vertices."""
    if path.is_dir():
        return any(map(is_docred, sorted(path.glob(_FILES[0]))))
    if path.suffix != ".json":
        return False
    with path.open("rb") as file:
        start = file.read(_SNIFFED)
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and b'"vertexSet"' in start


DOCRED = CorpusSpec(
    name="docred",
    title="DocRED",
    sniff=is_docred,
    splits={"train": "train", "validation": "dev", "test": "test"},
    read_gold=read_docred,
    builder="hf_corefel.corpora.spec_builder:DocREDBuilder",
    read_annotations=read_docred_annotations,
    files=_FILES,
    expects='*.json with lists of {"title", "sents", "vertexSet"}',
    about="Paragraphs of the English Wikipedia in which the names, dates and numbers of one thing are a cluster; "
    "in one variant clusters are linked to Wikidata.",
    note="Mentions that are listed twice are counted twice, as is published; documents have them once.",
    languages=("en",),
    homepage="https://github.com/thunlp/DocRED",
    licence="The annotation is MIT. The texts are Wikipedia's, CC BY-SA.",
    citation="""@inproceedings{yao-etal-2019-docred,
    title = {{DocRED}: A Large-Scale Document-Level Relation Extraction Dataset},
    author = {Yao, Yuan and Ye, Deming and Li, Peng and Han, Xu and Lin, Yankai and Liu, Zhenghao and Liu, Zhiyuan and
        Huang, Lixin and Zhou, Jie and Sun, Maosong},
    booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
    pages = {764--777},
    year = {2019},
}""",
)
