"""Read the pages of a MediaWiki XML dump, one after the other or in parts for many processes, in bounded memory.

The XML is cut at ``<page`` and ``</page>`` before it is parsed, each page by itself. Text cannot hold these marks, as
it is escaped. So a page that is no XML costs that page alone, a part of a file can be read without what stands before
it, nothing grows with the dump, and no entity can be declared by a dump, as declarations stand outside of pages.
(mwxml, the usual reader, keeps about 100 bytes of each page and stops at the first fault.)
"""

from __future__ import annotations

import functools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .problems import OnProblem, Problem, ProblemKind, WikipediaError, ignore_problem
from .site import ENGLISH_NAMESPACES, LONGEST_TITLE, Site
from .streams import unpacked
from .units import Unit, pieces_of, split

__all__ = ["MAX_PAGE_BYTES", "Page", "Unit", "read_pages", "read_site", "split"]

# MediaWiki saves no text above 2 MiB, which escaping may make a few times longer.
MAX_PAGE_BYTES = 16 << 20
_HEAD_BYTES = 1 << 20  # in which the head of a dump ends
_FIRST_BYTES = 1 << 12  # in which a page's title stands
_PAGE = re.compile(rb"<page[\s>]")
_PAGE_OR_END = re.compile(rb"</page\s*>|<page[\s>]")
_LONGEST_MARK = 64
_ROOT = re.compile(rb"<mediawiki\b[^>]*>")
_TITLE = re.compile(rb"<title[^>]*>([^<]*)")
_ILLEGAL = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01])|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]));"
)
_NO_TITLE = re.compile(r"[<>\[\]{}|#\ufffd]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]")


class Page(NamedTuple):
    """One page of a dump, as it stands there."""

    title: str
    """With its namespace's name: ``Category:Towns``."""
    namespace: int
    page_id: int
    """0 where the dump does not say."""
    redirect: str | None
    """Where the page leads, when it is a redirect by its mark in the dump."""
    text: str
    """Its newest text in the dump: wikitext, unless `facts.page_facts` is told otherwise by `model`."""
    offset: int
    """For messages: the byte of the unpacked XML at which the page begins, counted from the unit's or file's start."""
    model: str = "wikitext"


def read_site(path: str | Path) -> Site:
    """Return what the head of a dump says about its wiki; the English rules where it has no head.

    Raises:
        WikipediaError: When the file is no MediaWiki dump, in its first mebibyte.
        OSError: When it cannot be read.
    """
    path = Path(path)
    head = _head(path)
    first = _PAGE.search(head)
    root = _ROOT.search(head)
    if first is None and root is None:
        raise WikipediaError(f"{path}: is no MediaWiki XML dump, as neither <mediawiki> nor <page> is in its beginning")
    attributes = root[0].decode("utf-8", "replace") if root else ""
    version = re.search(r'\bversion="([^"]*)"', attributes)
    language = re.search(r'xml:lang="([^"]*)"', attributes)
    described = re.search(rb"<siteinfo>.*?</siteinfo>", head[: first.start() if first else None], re.DOTALL)
    info: ElementTree.Element | None = None
    if described:
        try:
            info = ElementTree.fromstring(_ILLEGAL.sub(b"", described[0]))
        except ElementTree.ParseError:
            info = None
    if info is None:
        return Site(language=language[1] if language else "en", version=version[1] if version else "")
    database = info.findtext("dbname") or ""
    spoken = language[1] if language else re.sub(r"wik.*$", "", database).replace("_", "-")
    namespaces = {
        int(item.get("key", "")): item.text or ""
        for item in info.iter("namespace")
        if re.fullmatch(r"-?\d+", item.get("key", ""))
    }
    main = next((item for item in info.iter("namespace") if item.get("key") == "0"), None)
    return Site(
        name=info.findtext("sitename") or "",
        database=database,
        language=spoken or "en",
        base=info.findtext("base") or "",
        version=version[1] if version else "",
        case=(main.get("case") if main is not None else None) or info.findtext("case") or "first-letter",
        namespaces=namespaces or dict(ENGLISH_NAMESPACES),
        described=True,
    )


def _head(path: Path) -> bytes:
    """Return the beginning of a dump, with at least the beginning of its first page if that is near."""
    head = b""
    for _, piece in unpacked(path, ignore_problem):
        head += piece
        if len(head) > _HEAD_BYTES or _PAGE.search(head):
            break
    return head


def read_pages(source: str | Path | Unit, *, on_problem: OnProblem = ignore_problem) -> Iterator[Page]:
    """Read the pages of a dump or of one unit of it.

    Args:
        source: A file, or a unit of `split`.
        on_problem: Told of each page or stretch that is left out or was mended; the rest goes on.

    Yields:
        The pages in the dump's order; of a page with several revisions its last one's text.

    Raises:
        WikipediaError: When the file is packed in a way that is not read here.
        OSError: When it cannot be read.
    """
    unit = source if isinstance(source, Unit) else Unit(Path(source))
    # Only pages without a number need it, which dumps before 2012 have.
    site = functools.cache(lambda: read_site(unit.path))
    for offset, raw in _raw_pages(unit, on_problem):
        page = _parsed(unit.path, offset, raw, on_problem, site)
        if page is not None:
            yield page


class _Buffer:
    """The unpacked bytes that are still needed, and where they stand."""

    def __init__(self, unit: Unit, on_problem: OnProblem) -> None:
        self._pieces = pieces_of(unit, on_problem)
        self.held = bytearray()
        self.offset = 0
        """Of the first held byte in what the unit unpacks to."""
        self.limit = math.inf
        """Before which offset a page must begin to be one of the unit's."""
        self.lost = False
        """Whether something before the newest piece could not be unpacked."""
        self.ends_in_gap = False
        """Whether nothing was unpacked after what could not be."""

    def more(self) -> bool:
        """Append the next piece; False at the end, or, with `lost`, before a gap."""
        for beyond, piece in self._pieces:
            if beyond and self.limit == math.inf:
                self.limit = self.offset + len(self.held)
            self.ends_in_gap = not piece
            if not piece:
                self.lost = True
                return False
            self.held += piece
            return True
        return False

    def drop(self, count: int) -> None:
        del self.held[:count]
        self.offset += count


def _raw_pages(unit: Unit, on_problem: OnProblem) -> Iterator[tuple[int, bytes]]:
    """Yield offset and XML of each page that begins within a unit."""
    buffer = _Buffer(unit, on_problem)
    while True:
        found = _PAGE.search(buffer.held)
        if found is None:
            buffer.drop(max(0, len(buffer.held) - _LONGEST_MARK))
            if buffer.offset >= buffer.limit:
                return
            if not buffer.more():
                if not buffer.lost:
                    _check_end(unit, buffer, on_problem)
                    return
                buffer.lost = False
                buffer.drop(len(buffer.held))
            continue
        buffer.drop(found.start())
        if buffer.offset >= buffer.limit:
            return
        start = buffer.offset
        raw = _one_page(unit.path, buffer, on_problem)
        if raw is not None:
            yield start, raw


def _check_end(unit: Unit, buffer: _Buffer, on_problem: OnProblem) -> None:
    """Report a file that ends without the end of a dump although it has its beginning."""
    size = buffer.offset + len(buffer.held)
    if buffer.ends_in_gap or size < _LONGEST_MARK:
        return  # that was said, or the mark may have begun in the unit before
    if unit.end is None and b"</mediawiki" not in buffer.held and _ROOT.search(_head(unit.path)):
        message = "the file ends without </mediawiki>; what came before is read"
        on_problem(Problem("truncated", f"{unit.path}, byte {size} of the unpacked XML", message))


def _one_page(path: Path, buffer: _Buffer, on_problem: OnProblem) -> bytes | None:
    """Take the page with which a buffer begins out of it; None when it has no end or is too big, which is reported."""
    start = buffer.offset
    first = b""  # its first bytes, for messages, where they are not held any more
    scanned = 1
    while True:
        end = _PAGE_OR_END.search(buffer.held, scanned)
        if end is not None:
            break
        if buffer.offset + len(buffer.held) - start > MAX_PAGE_BYTES:  # only its end is looked for
            first = first or bytes(buffer.held[:_FIRST_BYTES])
            buffer.drop(max(1, len(buffer.held) - _LONGEST_MARK))
            scanned = 0
        else:
            scanned = max(1, len(buffer.held) - _LONGEST_MARK)
        if not buffer.more():
            where = _where(path, start, first or bytes(buffer.held[:_FIRST_BYTES]))
            lost = "its end is in a part of the file that cannot be unpacked"
            message = f"{lost if buffer.lost else 'the file ends within this page'}; it is left out"
            on_problem(Problem("truncated", where, message))
            buffer.lost = False
            buffer.drop(len(buffer.held))
            return None
    size = buffer.offset + end.end() - start
    ended = end[0].startswith(b"</")
    if ended and size <= MAX_PAGE_BYTES:
        raw = bytes(memoryview(buffer.held)[: end.end()])
        buffer.drop(len(raw))
        return raw
    where = _where(path, start, first or bytes(buffer.held[:_FIRST_BYTES]))
    if ended:
        message = f"the page has {size:,} bytes, more than {MAX_PAGE_BYTES:,}; it is left out"
        on_problem(Problem("too_big", where, message))
    else:
        on_problem(Problem("broken_xml", where, "the next page begins before this one ends; it is left out"))
    buffer.drop(end.end() if ended else end.start())
    return None


def _where(path: Path, offset: int, raw: bytes) -> str:
    """Return where a page stands, for a message."""
    title = _TITLE.search(raw)
    name = f', page "{_shown(title[1].decode("utf-8", "replace"))}"' if title else ""
    return f"{path}, byte {offset} of the unpacked XML{name}"


def _shown(title: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in title[:200])


def _wrong_title(title: str) -> tuple[ProblemKind, str] | None:
    """Return what is wrong with the title of a page: no wiki saves one with brackets, bars or more than 255 bytes."""
    if not title:
        return "no_title", "the page has no title; it is left out"
    if _CONTROL.search(title):
        return "control_characters", "its title holds control characters; the page is left out"
    if _NO_TITLE.search(title) or len(title.encode()) > LONGEST_TITLE + 100:  # a namespace's name comes on top
        return "bad_title", "its title holds what no title may hold, or is too long; the page is left out"
    return None


def _parsed(path: Path, offset: int, raw: bytes, on_problem: OnProblem, site: Callable[[], Site]) -> Page | None:
    """Parse a page's XML; None when it cannot be used, which is reported."""

    def problem(kind: ProblemKind, message: str) -> None:
        on_problem(Problem(kind, _where(path, offset, raw), message))

    try:
        element = ElementTree.fromstring(raw)
    except ElementTree.ParseError as error:
        mended = _ILLEGAL.sub(b"", raw).decode("utf-8", "replace").encode()
        try:
            element = ElementTree.fromstring(mended)
        except ElementTree.ParseError:
            problem("broken_xml", f"{error}; the page is left out")
            return None
        title = _TITLE.search(raw)
        if title and _ILLEGAL.search(title[1]):
            problem("control_characters", "its title holds control characters; the page is left out")
            return None
    title_text = (element.findtext("title") or "").strip()
    wrong = _wrong_title(title_text)
    if wrong:
        problem(*wrong)
        return None
    try:
        namespace = element.findtext("ns")
        number = int(namespace) if namespace is not None else site().split_title(title_text)[0]
        page_id = int(element.findtext("id") or 0)
    except ValueError:
        problem("bad_field", "its <ns> or <id> is no number; the page is left out")
        return None
    leads_to = element.find("redirect")
    redirect = None if leads_to is None else (leads_to.get("title") or "").strip() or None
    if redirect is not None and redirect.replace("_", " ") == title_text.replace("_", " "):
        problem("self_redirect", "the page redirects to itself; it is left out")
        return None
    revisions = element.findall("revision")
    text = (revisions[-1].findtext("text") if revisions else None) or ""
    model = (revisions[-1].findtext("model") if revisions else None) or "wikitext"
    return Page(title_text, number, page_id, redirect, text, offset, model)
