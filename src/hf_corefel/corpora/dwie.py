"""DWIE (Zaporojets et al., 2021) in its official JSON, one article a file.

The split is in an article's `tags`, the clusters in `concepts` (with `link` = Wikipedia title or missing for NIL),
the mentions in `mentions` with offsets into `content`, which the official download script fills in. Without it the
articles are still read by `read_dwie_annotations`, which needs no text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..documents import Candidate, Cluster, Document, DocumentError, Mention, Offsets
from .article_annotation import ArticleAnnotation
from .errors import CorpusError, raise_or_warn
from .locating import corpus_folder
from .registry import CorpusSpec

__all__ = [
    "DWIE",
    "DWIE_FOLDERS",
    "ArticleAnnotation",
    "CorpusError",
    "development_split",
    "load_article",
    "read_dwie",
    "read_dwie_annotation",
    "read_dwie_annotations",
    "read_dwie_article",
    "read_dwie_texts",
    "read_each",
]

_Read = TypeVar("_Read")

SPLITS = ("train", "test", "all")
DWIE_FOLDERS = ("annos_with_content", "annos_only", "annos")
_FILES = ("DW_*.json", *(f"{folder}/DW_*.json" for folder in DWIE_FOLDERS))


def read_dwie(
    folder: str | Path, split: str = "all", *, candidates: bool = False, strict: bool = True
) -> Iterator[Document]:
    """Reads the articles of a split in the order of their ids.

    Args:
        folder: The folder with the article files (``DW_….json``), one above ``annos_with_content``, or a clone of the
            repository: up to two levels above that.
        split: ``train``, ``test`` or ``all``.
        candidates: Keeps the corpus' own candidate lists in ``Document.candidates``. They exist for gold
            mentions only, so a model that is given them is told where mentions are.
        strict: Raises on a malformed article; otherwise warns and leaves it, or the mention, out.

    Raises:
        CorpusError: When the folder holds no article, an article is malformed, or it has no text.
    """
    read = partial(read_dwie_article, candidates=candidates, strict=strict)
    yield from read_each(_articles(_with_content(folder), split, strict), read, strict)


def read_dwie_annotations(
    folder: str | Path, split: str = "all", *, strict: bool = True
) -> Iterator[ArticleAnnotation]:
    """Reads the annotation of every article of a split, with and without text, in the order of the ids.

    Args:
        folder: The folder with the article files, or one above ``annos_with_content``, ``annos_only`` or ``annos``:
            then all of these are read, and an article that is in several is taken from the first.
        split: ``train``, ``test`` or ``all``.
        strict: Raises on a malformed article; otherwise warns and leaves it out.

    Raises:
        CorpusError: When the folder holds no article, or an article is malformed.
    """
    folder = corpus_folder(folder, "dwie")
    below = [folder / name for name in DWIE_FOLDERS if (folder / name).is_dir()]
    read = partial(read_dwie_annotation, strict=strict)
    yield from read_each(_articles(below or [folder], split, strict), read, strict)


def read_dwie_texts(folder: str | Path, split: str = "all") -> Iterator[Document]:
    """Ids and texts of a split, in the order of `read_dwie`; the annotation is not looked at.

    For predictions that gold must not touch. An article whose annotation is malformed is among them.
    """
    articles = _articles(_with_content(folder), split, strict=False)
    yield from read_each(articles, _bare_text, strict=False)


def _bare_text(article: dict[str, Any], where: str) -> Document:
    """Id and text of an article; the name of its file stands for a missing id."""
    if not article.get("content"):
        raise CorpusError(f"{where}: field 'content' is missing or empty")
    text = _field(article, "content", str, where)
    try:
        return Document(text, id=str(article.get("id") or Path(where).stem))
    except DocumentError as error:
        raise CorpusError(f"{where}: {error}") from error


def read_each(
    articles: Iterable[tuple[Path, dict[str, Any]]], read: Callable[[dict[str, Any], str], _Read], strict: bool
) -> Iterator[_Read]:
    """What `read` makes of each parsed article; a malformed one raises, or is left out with a warning."""
    for path, article in articles:
        try:
            result = read(article, str(path))
        except CorpusError as error:
            raise_or_warn(error, strict)
        else:
            yield result


def _with_content(folder: str | Path) -> list[Path]:
    found = corpus_folder(folder, "dwie")
    return [found / "annos_with_content" if (found / "annos_with_content").is_dir() else found]


def _articles(folders: Sequence[Path], split: str, strict: bool) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The parsed files of a split, by id; of files of one name the one in the first folder."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
    paths = {path.stem: path for folder in reversed(folders) for path in folder.glob("DW_*.json")}
    if not paths:
        raise CorpusError(f"{folders[0]}: no DWIE articles (DW_*.json) here; run the official download first")
    for _, path in sorted(paths.items()):
        try:
            article = load_article(path)
            chosen = split == "all" or split in _tags(article, str(path))
        except CorpusError as error:
            raise_or_warn(error, strict)
        else:
            if chosen:
                yield path, article


def _tags(article: dict[str, Any], where: str) -> tuple[str, ...]:
    """The splits that an article is in."""
    tags = _field(article, "tags", list, where) if article.get("tags") is not None else ()
    return tuple(map(str, tags))


def load_article(path: Path) -> dict[str, Any]:
    """The JSON object of an article file; raises `CorpusError` when the file holds none."""
    try:
        article = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        raise CorpusError(f"{path}: no valid JSON: {error}") from error
    if not isinstance(article, dict):
        raise CorpusError(f"{path}: expected one article object, got {type(article).__name__}")
    return article


def read_dwie_article(
    article: dict[str, Any], where: str = "article", *, candidates: bool = False, strict: bool = True
) -> Document:
    """One article in DWIE's form as a `Document` with gold clusters; concepts without mentions are left out.

    Args:
        article: The parsed JSON.
        where: How messages call it.
        candidates: See `read_dwie`.
        strict: Raises when a mention's text differs from the content, or a concept has two links; otherwise warns, and
            drops that mention, or takes the first link.

    Raises:
        CorpusError: When the article is malformed or has no text; the message says where.
    """
    if not article.get("content"):
        hint = "the annotation without text needs the official download"
        raise CorpusError(f"{where}: field 'content' is missing or empty; {hint}")
    name, text = _field(article, "id", str, where), _field(article, "content", str, where)
    _tags(article, where)
    clusters, given = _annotation(article, where, text, candidates=candidates, strict=strict)
    try:
        return Document(text, id=name, clusters=clusters, candidates=given)
    except DocumentError as error:
        raise CorpusError(f"{where}: {error}") from error


def read_dwie_annotation(article: dict[str, Any], where: str = "article", *, strict: bool = True) -> ArticleAnnotation:
    """The annotation of one article in DWIE's form, whether or not it has its text.

    Args:
        article: The parsed JSON.
        where: How messages call it.
        strict: Raises when a concept has two links; otherwise warns and takes the first.

    Raises:
        CorpusError: When the annotation is malformed; the message says where.
    """
    name, text = _field(article, "id", str, where), article.get("content") or None
    if text is not None:
        _field(article, "content", str, where)
    tags = _tags(article, where)
    clusters, given = _annotation(article, where, None, candidates=True, strict=strict)
    bare = [Cluster(tuple(Mention(*m.offsets) for m in cluster.mentions), cluster.entity) for cluster in clusters]
    length = max((m.end for cluster in clusters for m in cluster.mentions), default=0)
    try:
        # A blank text that is long enough lets the schema check all that needs no text.
        Document(" " * length, id=name, clusters=bare, candidates=given)
    except DocumentError as error:
        raise CorpusError(f"{where}: {error}") from error
    listed = {offsets: candidates for offsets, candidates in given.items() if candidates}
    return ArticleAnnotation(name, tags, clusters, listed, text)


def _annotation(
    article: dict[str, Any], where: str, text: str | None, *, candidates: bool, strict: bool
) -> tuple[list[Cluster], dict[Offsets, list[Candidate]]]:
    """Clusters in reading order and candidates by offsets; surfaces are compared with the text when there is one."""
    links = _links(article, where, strict)
    members: dict[int, list[Mention]] = {}
    given: dict[tuple[int, int], list[Candidate]] = {}
    for i, item in enumerate(_field(article, "mentions", list, where)):
        here = f"{where}: mentions[{i}]"
        begin, end, concept = (_field(item, key, int, here) for key in ("begin", "end", "concept"))
        surface = _field(item, "text", str, here)
        if concept not in links:
            raise CorpusError(f"{here}: concept {concept!r} is not among the concepts")
        if text is not None and text[begin:end] != surface:
            message = f"{here}: text {surface!r} differs from the content {text[begin:end]!r} at {begin}..{end}"
            raise_or_warn(CorpusError(message), strict, "mention dropped")
            continue
        members.setdefault(concept, []).append(Mention(begin, end, surface))
        if candidates:
            given[begin, end] = _listed_candidates(item, here)
    clusters = [
        Cluster(tuple(sorted(mentions, key=lambda m: m.offsets)), links[concept])
        for concept, mentions in members.items()
    ]
    return sorted(clusters, key=lambda cluster: cluster.mentions[0].offsets), given


def _links(article: dict[str, Any], where: str, strict: bool) -> dict[int, str | None]:
    """The link of every concept by its number, None for NIL."""
    links: dict[int, str | None] = {}
    for i, item in enumerate(_field(article, "concepts", list, where)):
        here = f"{where}: concepts[{i}]"
        concept = _field(item, "concept", int, here)
        # An article links to "FIFA ", which is no other entity than FIFA.
        link = (_field(item, "link", str, here).strip() or None) if item.get("link") else None
        if links.setdefault(concept, link) != link:
            problem = f"{here}: concept {concept} is {link!r} here and {links[concept]!r} before; give it one link"
            raise_or_warn(CorpusError(problem), strict, "ignored")
    return links


def _field(item: Any, name: str, kind: type, where: str) -> Any:
    """A field of an object, of the kind it must have."""
    if not isinstance(item, dict):
        raise CorpusError(f"{where}: expected an object with fields, got {type(item).__name__}")
    # Python takes true and false for 1 and 0, which are the numbers of concepts.
    if not isinstance(item.get(name), kind) or isinstance(item[name], bool):
        problem = f"expected {kind.__name__}, got {item[name]!r}" if name in item else "missing"
        raise CorpusError(f"{where}: field {name!r}: {problem}")
    return item[name]


def _listed_candidates(item: dict[str, Any], where: str) -> list[Candidate]:
    listed = item.get("candidates") or (), item.get("scores") or ()
    try:
        return [Candidate(entity, float(score)) for entity, score in zip(*listed, strict=True)]
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{where}: 'candidates' and 'scores' must be lists of one length: {error}") from error


def development_split(train: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """The training articles without, and those with, every tenth one: positions 0, 10, 20, … of the sorted ids."""
    ordered = sorted(train, key=lambda document: document.id or "")
    return [d for i, d in enumerate(ordered) if i % 10], ordered[::10]


DWIE = CorpusSpec(
    name="dwie",
    title="DWIE",
    sniff=lambda path: path.is_dir() and any(any(path.glob(pattern)) for pattern in _FILES),
    splits={"train": "train", "test": "test"},
    read_gold=read_dwie,
    read_texts=read_dwie_texts,
    read_annotations=read_dwie_annotations,
    builder="hf_corefel.corpora.builders:DwieBuilder",
    files=_FILES,
    expects="DW_*.json, there or in annos_with_content, annos_only or annos",
)
