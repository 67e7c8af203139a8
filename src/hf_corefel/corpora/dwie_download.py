"""Fetches the texts of DWIE's articles from Deutsche Welle, as the corpus' own download does.

The corpus lists an id, a URL and the SHA-1 of the text for every article (``article_id_to_url.json``). A URL gives
the article as a JSON object, whose ``name``, ``teaser`` and ``text`` are the lines of the ``content``. The list is
of 2019: articles have been edited, moved and withdrawn since, so every answer is compared with its SHA-1.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha1
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from ..version import __version__
from .dwie import load_article, read_dwie_article
from .errors import CorpusError
from .locating import corpus_folder

__all__ = [
    "ArticleOutcome",
    "DownloadError",
    "DownloadReport",
    "ListedArticle",
    "article_content",
    "download_dwie",
    "read_article_list",
]

ARTICLE_LIST = "article_id_to_url.json"
REPORT = "download_report.json"
REPOSITORY = "https://github.com/klimzaporojets/DWIE"

ArticleStatus = Literal["complete", "changed", "mismatched", "failed", "pending"]

_ANNOTATIONS = ("annos", "annos_only")
_CONTENT, _MISMATCHED = "annos_with_content", "annos_mismatched"
# Deutsche Welle keeps this article under another number now.
_MOVED = {"18525950": "19026607"}
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 120.0


class DownloadError(RuntimeError):
    """Nothing can be reached. What was fetched before is kept; ``report`` says what is missing."""

    def __init__(self, message: str, report: DownloadReport) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True, slots=True)
class ListedArticle:
    """A line of the official list; ``sha1`` is of the UTF-8 content."""

    id: str
    url: str
    sha1: str


@dataclass(frozen=True, slots=True)
class ArticleOutcome:
    """What became of an article.

    Attributes:
        id: The article.
        status: ``complete``: the text has the listed SHA-1. ``changed``: it has another, but every mention stands
            at its offsets; it is written all the same. ``mismatched``: mentions do not; text and annotation are in
            ``annos_mismatched``, where no reader looks. ``failed``: no text. ``pending``: not tried.
        url: Where the text is.
        detail: Why it is not complete.
        fetched: Whether it was fetched in this run, not in an earlier one.
    """

    id: str
    status: ArticleStatus
    url: str | None = None
    detail: str | None = None
    fetched: bool = False


@dataclass(frozen=True, slots=True)
class DownloadReport:
    """The outcome of every article that is listed or annotated."""

    articles: list[ArticleOutcome]

    def count(self, status: ArticleStatus) -> int:
        return sum(article.status == status for article in self.articles)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types: counts, and the articles that are not complete."""
        statuses: tuple[ArticleStatus, ...] = ("complete", "changed", "mismatched", "failed", "pending")
        incomplete = [asdict(article) for article in self.articles if article.status != "complete"]
        return {"counts": {status: self.count(status) for status in statuses}, "incomplete": incomplete}


def read_article_list(path: str | Path) -> list[ListedArticle]:
    """Reads ``article_id_to_url.json``; raises `CorpusError` when it is missing or malformed."""
    path = Path(path)
    if not path.is_file():
        raise CorpusError(f"{path}: no such file; it is in the folder data of {REPOSITORY}, clone that first")
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        articles = [ListedArticle(str(item["id"]), str(item["url"]), str(item["hash"])) for item in listed]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorpusError(f"{path}: expected a list of objects with id, url and hash ({error!r})") from error
    for article in articles:
        if not _is_web_address(article.url):
            raise CorpusError(f"{path}: {article.id}: not a web address: {article.url!r}")
    return articles


def _is_web_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:  # "http://["
        return False


def article_content(answer: Mapping[str, Any]) -> str:
    """The content of an article from Deutsche Welle's answer: its lines are ``name``, ``teaser`` and ``text``.

    What is missing or null is an empty line. Which articles this gives the text of 2019 for, their SHA-1 tells.

    Raises:
        CorpusError: When all three are missing, or one is no text.
    """
    values = [answer.get(name) for name in ("name", "teaser", "text")]
    parts = ["" if value is None else value for value in values]
    if not any(parts) or not all(isinstance(part, str) for part in parts):
        raise CorpusError(f"no text under name, teaser and text; the answer has the fields {sorted(answer)}")
    return "\n".join(parts)


def download_dwie(
    data_dir: str | Path,
    *,
    article_list: str | Path | None = None,
    delay: float = 1.0,
    timeout: float = 30.0,
    retries: int = 2,
    give_up_after: int = 3,
    content: Callable[[Mapping[str, Any]], str] = article_content,
    progress: Callable[[ArticleOutcome], None] | None = None,
) -> DownloadReport:
    """Writes ``annos_with_content`` beside the annotation without text, and ``download_report.json``.

    Articles that have their text, from an earlier run or elsewhere, are not fetched again and not touched, so an
    interrupted run is resumed by starting it again; a file that cannot be read is fetched anew. The files in ``annos``
    and ``annos_only`` are only read. Whatever is wrong with one article fails that article alone.

    Args:
        data_dir: The DWIE repository, or its folder ``data``: the list, and ``annos`` (or ``annos_only``).
        article_list: The list when it lies elsewhere.
        delay: Seconds from one request to the next, at least.
        timeout: Seconds without an answer after which a request counts as failed.
        retries: How often a request that failed for a passing reason is made again, after twice the delay, then four
            times, …, or what the server asks for.
        give_up_after: After so many articles in a row without any answer the rest is not tried.
        content: Makes an article's content of the JSON object that its URL gives.
        progress: Called with every outcome.

    Raises:
        CorpusError: When the list is missing or malformed, or there is no annotation.
        DownloadError: When the server cannot be reached.
    """
    folder = corpus_folder(data_dir, "dwie")
    listed = read_article_list(article_list or folder / ARTICLE_LIST)
    annotations = {path.stem: path for name in reversed(_ANNOTATIONS) for path in (folder / name).glob("DW_*.json")}
    if not annotations:
        raise CorpusError(f"{folder}: no annotation (annos/DW_*.json) here; it is in the folder data of {REPOSITORY}")
    client = _Client(delay, timeout, retries)
    outcomes = {article.id: ArticleOutcome(article.id, "pending", article.url) for article in listed}
    for name in sorted(annotations.keys() - outcomes.keys()):
        outcomes[name] = ArticleOutcome(name, "failed", None, "annotated, but not in the list")
    # All that is there comes first, so that a report tells of it when the rest cannot be reached.
    outcomes.update({outcome.id: outcome for article in listed if (outcome := _earlier(folder, article))})
    unanswered: list[ArticleOutcome] = []
    try:
        for article in listed:
            outcome = outcomes[article.id]
            if outcome.status == "pending":
                outcome, answered = _fetch(folder, article, annotations.get(article.id), client, content)
                unanswered = [] if answered else [*unanswered, outcome]
                outcomes[article.id] = outcome
            if progress is not None:
                progress(outcome)
            if len(unanswered) >= give_up_after:
                break
    finally:
        # Also when the run is interrupted from the keyboard.
        report = DownloadReport(list(outcomes.values()))
        _write(folder / REPORT, report.to_dict())
    if len(unanswered) >= give_up_after:
        have = report.count("complete") + report.count("changed")
        host, why = urlsplit(unanswered[-1].url or "").netloc, unanswered[-1].detail
        raise DownloadError(
            f"{host} cannot be reached ({why}). {have} of {len(outcomes)} articles have their text, and nothing is "
            f"lost: run this again where there is a network and it goes on from here. The annotation without text is "
            "read by read_dwie_annotations.",
            report,
        )
    return report


class _Unanswered(Exception):
    """No HTTP answer at all."""


class _Refused(Exception):
    """An answer that is not the article."""


class _Client:
    """Makes requests, not too many at a time."""

    def __init__(self, delay: float, timeout: float, retries: int) -> None:
        self.delay, self.timeout, self.retries = delay, timeout, retries
        self.earliest = 0.0

    def answer(self, url: str) -> bytes:
        """The body of an answer; a passing failure is tried again."""
        for attempt in range(self.retries + 1):
            time.sleep(max(0.0, self.earliest - time.monotonic()))
            self.earliest = time.monotonic() + self.delay
            request = Request(url, headers={"User-Agent": f"hf-corefel/{__version__}", "Accept": "application/json"})
            wait = self.delay * 2 ** (attempt + 1)
            failure: Exception
            try:
                with urlopen(request, timeout=self.timeout) as response:
                    body: bytes = response.read()
                    return body
            except HTTPError as error:
                with error:
                    failure = _Refused(f"HTTP {error.code} {error.reason}")
                    asked = error.headers.get("Retry-After", "")
                if error.code not in _PASSING:
                    raise failure from error
                wait = max(wait, float(asked)) if asked.isdecimal() else wait
            except URLError as error:
                failure = _Unanswered(str(error.reason))
            except (OSError, HTTPException) as error:
                failure = _Unanswered(str(error) or type(error).__name__)
            self.earliest = time.monotonic() + min(wait, _LONGEST_WAIT)
        raise failure


def _earlier(folder: Path, article: ListedArticle) -> ArticleOutcome | None:
    """The outcome of an article that has its text already, None where it has none; a damaged file is fetched anew."""
    damaged = None
    for name in (_CONTENT, _MISMATCHED):
        path = folder / name / f"{article.id}.json"
        try:
            known = load_article(path) if path.is_file() else {}
        except (CorpusError, OSError) as error:
            damaged = damaged or ArticleOutcome(article.id, "pending", article.url, str(error))
            continue
        if known.get("content") and isinstance(known["content"], str):
            return _judge(article, known, fetched=False)
    return damaged


def _fetch(
    folder: Path,
    article: ListedArticle,
    annotation: Path | None,
    client: _Client,
    content: Callable[[Mapping[str, Any]], str],
) -> tuple[ArticleOutcome, bool]:
    """Fetches and writes an article; its outcome, and whether the server answered or was not asked."""
    if annotation is None:
        return ArticleOutcome(article.id, "failed", article.url, "listed, but there is no annotation"), True
    number = article.id.removeprefix("DW_")
    url = article.url.replace(number, _MOVED.get(number, number))
    try:
        annotated = load_article(annotation)
        text = _text(client.answer(url), content)
    except _Unanswered as error:
        return ArticleOutcome(article.id, "failed", url, str(error), True), False
    except (_Refused, CorpusError, OSError) as error:
        return ArticleOutcome(article.id, "failed", url, str(error), True), True
    except ValueError as error:
        return ArticleOutcome(article.id, "failed", url, f"the address cannot be asked for: {error}", True), True
    # The content in the second place, where the official files have it.
    whole = {"id": annotated.get("id", article.id), "content": text, **_without_text(annotated)}
    outcome = _judge(article, whole, fetched=True)
    target = folder / (_MISMATCHED if outcome.status == "mismatched" else _CONTENT)
    _write(target / f"{article.id}.json", whole)
    return outcome, True


def _text(body: bytes, content: Callable[[Mapping[str, Any]], str]) -> str:
    """The content that is made of an answer.

    Raises:
        _Refused: When the answer is none of an article, or its content is no text.
        CorpusError: What an extractor says of it.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refused(f"the answer is no JSON: {error}") from error
    if not isinstance(answer, dict):
        raise _Refused(f"expected a JSON object, got {type(answer).__name__}")
    try:
        text = content(answer)
    except CorpusError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # one answer may lack what others have
        raise _Refused(f"no content can be made of the answer: {error!r}") from error
    if not isinstance(text, str):
        raise _Refused(f"the content of the answer is no text, but {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Refused(f"the content of the answer is no valid Unicode: {error}") from error
    return text


def _without_text(article: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in article.items() if name not in ("id", "content")}


def _judge(article: ListedArticle, whole: Mapping[str, Any], *, fetched: bool) -> ArticleOutcome:
    text = whole["content"]
    # A file from elsewhere may have a lone surrogate; no listed text has one.
    found = sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    if found == article.sha1:
        return ArticleOutcome(article.id, "complete", article.url, None, fetched)
    detail = f"SHA-1 {found}, not {article.sha1}"
    try:
        read_dwie_article(dict(whole), article.id)
    except CorpusError as error:
        return ArticleOutcome(article.id, "mismatched", article.url, f"{detail}; {error}", fetched)
    return ArticleOutcome(article.id, "changed", article.url, f"{detail}; every mention is in its place", fetched)


def _write(path: Path, data: Mapping[str, Any]) -> None:
    """Writes JSON so that an interruption leaves the earlier file, or none, but no half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    # Of a lone surrogate this makes the escape that JSON has for it.
    unfinished.write_bytes((json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace"))
    unfinished.replace(path)
