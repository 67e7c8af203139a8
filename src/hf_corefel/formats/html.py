"""Annotated documents as one HTML page that asks nothing else of anyone: no script, no font, no picture.

Whatever comes from a document is escaped, and nothing of it becomes markup: not from the text, the names of files and
entities, the warnings, or the addresses (only ``http`` and ``https`` become links). A content security policy in the
page says the same to the browser.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..documents import AnnotatedDocument
from ..utils.files import whole_file
from .article import Article, is_alone, name_html, straight, text_html
from .style import MOST_COLOURS, can_be_lit, page_style
from .wording import counts_line
from .writer import AnyDocument, Losses, Writer, as_result

__all__ = ["HtmlPage", "render_html", "write_html"]


class HtmlPage(Writer):
    """A page to read in a browser."""

    title = "a page to read in a browser"
    suffixes = (".html", ".htm")

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        del losses  # it shows what there is, for people
        yield render_html(map(as_result, documents))

    def escape(self, character: str) -> str:
        return f"&#{ord(character)};"


def render_html(documents: Iterable[AnnotatedDocument], *, title: str | None = None) -> str:
    """The page of one or many documents.

    Args:
        documents: The documents; with ``evidence`` and ``top_k`` of the pipeline the page shows these too.
        title: Heading of the page; the id of a document that is alone when None.

    Returns:
        The page. Control characters of a text stand there as the pictures that Unicode has for them, and what UTF-8
        cannot hold as U+FFFD, one character for one, so that offsets hold on the page too. In names and other single
        lines so do the characters that turn the direction of what follows them.
    """
    documents = list(documents)
    names = [
        f"Document {d}" if document.id is None else str(document.id) for d, document in enumerate(documents, start=1)
    ]
    heading = title if title is not None else names[0] if len(names) == 1 else f"{len(names)} documents"
    clusters = [cluster for document in documents for cluster in document.clusters]
    coloured = [sum(not is_alone(cluster) for cluster in document.clusters) for document in documents]
    colours = min(max([3, *coloured]), MOST_COLOURS)  # three are in the key
    lit = can_be_lit(colours, clusters)
    style = page_style(colours, lit=lit)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    several = len(documents) > 1
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{text_html(straight(heading))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header class="page"><h1>{name_html(heading)}</h1>\n<p class="counts">{counts_line(clusters)}</p>\n'
        f"{_notice(documents)}{_key(lit=lit)}</header>\n"
    ]
    if several:
        items = (f'<li><a href="#d{d}">{name_html(name)}</a></li>\n' for d, name in enumerate(names, start=1))
        parts.append(f'<nav aria-label="Documents"><ol>\n{"".join(items)}</ol></nav>\n')
    parts.append("<main>\n")
    for d, (document, name) in enumerate(zip(documents, names, strict=True), start=1):
        # A document that is alone has its name in the page's heading already.
        parts += Article(document, f"d{d}", name if several or title is not None else None).parts()
    parts.append("</main>\n</body>\n</html>\n")
    return "".join(parts)


def write_html(path: str | Path, documents: Iterable[AnnotatedDocument], *, title: str | None = None) -> int:
    """Writes `render_html` to a file, UTF-8, replaced when the whole page is there.

    Returns:
        How many documents were written.

    Raises:
        FileBusyError: When another process is writing the same file.
        OSError: When the file cannot be written.
    """
    with whole_file(path) as place:
        documents = list(documents)
        place.write_bytes(render_html(documents, title=title).encode("utf-8"))
    return len(documents)


def _notice(documents: Sequence[AnnotatedDocument]) -> str:
    """Of several documents, where to find those with warnings."""
    warned = [d for d, document in enumerate(documents, start=1) if document.warnings]
    if not warned or len(documents) == 1:
        return ""
    return f'<p class="notice">{len(warned)} of them with warnings, <a href="#d{warned[0]}">here is the first</a></p>\n'


def _key(*, lit: bool) -> str:
    unlit = "" if lit else " On a page of this size the other mentions of its cluster do not light up."
    return f"""<ul class="key">
<li><mark class="m c0">entity</mark> a link, click it</li>
<li><mark class="m c2 nil">NIL</mark> one thing that the knowledge base lacks</li>
<li><mark class="m nil alone">NIL</mark> the same, mentioned once</li>
<li>Point at a mention, or go there with the tab key, for its evidence.{unlit}</li>
</ul>
"""
