"""DWIE (Zaporojets et al., 2021) in its official JSON, one article a file.

The split is in an article's `tags`, the clusters in `concepts` (with `link` = Wikipedia title or missing for NIL),
the mentions in `mentions` with offsets into `content`, which the official download script fills in.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..documents import Candidate, Cluster, Document, DocumentError, Mention

__all__ = ["CorpusError", "development_split", "read_dwie", "read_dwie_article", "read_dwie_texts"]

SPLITS = ("train", "test", "all")


class CorpusError(ValueError):
    """A corpus file is not what its format says; the message names the file and the place."""


def read_dwie(
    folder: str | Path, split: str = "all", *, candidates: bool = False, strict: bool = True
) -> Iterator[Document]:
    """Reads the articles of a split in the order of their ids.

    Args:
        folder: The folder with the article files (``DW_….json``), or one above ``annos_with_content``.
        split: ``train``, ``test`` or ``all``.
        candidates: Keeps the corpus' own candidate lists in ``Document.candidates``. They exist for gold
            mentions only, so a model that is given them is told where mentions are.
        strict: Raises on a malformed article; otherwise warns and leaves it, or the mention, out.

    Raises:
        CorpusError: When the folder holds no article, an article is malformed, or it has no text.
    """
    for path, article in _articles(Path(folder), split, strict):
        try:
            document = read_dwie_article(article, str(path), candidates=candidates, strict=strict)
        except CorpusError as error:
            _raise_or_warn(error, strict)
        else:
            yield document


def read_dwie_texts(folder: str | Path, split: str = "all") -> Iterator[Document]:
    """Ids and texts of a split, in the order of `read_dwie`; the annotation is not looked at.

    For predictions that gold must not touch.
    """
    for path, article in _articles(Path(folder), split, strict=False):
        if article.get("content"):
            yield Document(article["content"], id=str(article.get("id") or path.stem))
        else:
            _raise_or_warn(CorpusError(f"{path}: field 'content' is missing or empty"), strict=False)


def _articles(folder: Path, split: str, strict: bool) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The parsed files of a split, by id."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
    if (folder / "annos_with_content").is_dir():
        folder = folder / "annos_with_content"
    paths = sorted(folder.glob("DW_*.json"), key=lambda path: path.stem)
    if not paths:
        raise CorpusError(f"{folder}: no DWIE articles (DW_*.json) here; run the official download first")
    for path in paths:
        try:
            article = _load(path)
        except CorpusError as error:
            _raise_or_warn(error, strict)
        else:
            if split == "all" or split in (article.get("tags") or ()):
                yield path, article


def _raise_or_warn(error: CorpusError, strict: bool) -> None:
    if strict:
        raise error
    warnings.warn(f"skipped: {error}", stacklevel=4)


def _load(path: Path) -> dict[str, Any]:
    try:
        article = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
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
        strict: Raises when a mention's text differs from the content; otherwise warns and drops that mention.

    Raises:
        CorpusError: When the article is malformed or has no text; the message says where.
    """
    if not article.get("content"):
        hint = "the annotation without text needs the official download"
        raise CorpusError(f"{where}: field 'content' is missing or empty; {hint}")
    name, text = _field(article, "id", str, where), _field(article, "content", str, where)
    links: dict[int, str | None] = {}
    for i, item in enumerate(_field(article, "concepts", list, where)):
        here = f"{where}: concepts[{i}]"
        concept = _field(item, "concept", int, here)
        links[concept] = _field(item, "link", str, here) if item.get("link") else None
    members: dict[int, list[Mention]] = {}
    given: dict[tuple[int, int], list[Candidate]] = {}
    for i, item in enumerate(_field(article, "mentions", list, where)):
        here = f"{where}: mentions[{i}]"
        begin, end, concept = (_field(item, key, int, here) for key in ("begin", "end", "concept"))
        surface = _field(item, "text", str, here)
        if concept not in links:
            raise CorpusError(f"{here}: concept {concept!r} is not among the concepts")
        if text[begin:end] != surface:
            message = f"{here}: text {surface!r} differs from the content {text[begin:end]!r} at {begin}..{end}"
            if strict:
                raise CorpusError(message)
            warnings.warn(f"dropped: {message}", stacklevel=3)
            continue
        members.setdefault(concept, []).append(Mention(begin, end, surface))
        if candidates:
            given[begin, end] = _listed_candidates(item, here)
    clusters = [
        Cluster(tuple(sorted(mentions, key=lambda m: m.offsets)), links[concept])
        for concept, mentions in members.items()
    ]
    clusters.sort(key=lambda cluster: cluster.mentions[0].offsets)
    try:
        return Document(text, id=name, clusters=clusters, candidates=given)
    except DocumentError as error:
        raise CorpusError(f"{where}: {error}") from error


def _field(item: Any, name: str, kind: type, where: str) -> Any:
    """A field of an object, of the kind it must have."""
    if not isinstance(item, dict):
        raise CorpusError(f"{where}: expected an object with fields, got {type(item).__name__}")
    if not isinstance(item.get(name), kind):
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
