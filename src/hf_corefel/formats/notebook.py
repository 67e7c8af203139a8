"""A result as a part of a notebook: the page's rendering, where other results and other styles stand around it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..documents import AnnotatedDocument, DocumentError
from .article import Article, is_alone
from .style import MOST_COLOURS, can_be_lit, part_style

__all__ = ["notebook_html", "result_html"]

# Notebooks keep what they show: of a long document they get the beginning.
_MOST_CHARACTERS = 10_000
_MOST_BYTES = 1_000_000
_LONGEST_NAME = 200
_LONGEST_WARNING = 1000
# Languages that set no blanks between words have them between sentences, or further apart.
_LONGEST_WORD = 100


def notebook_html(document: AnnotatedDocument) -> str:
    """Return a document as HTML for a cell's output: at most 1 MB, without scripts, and with styles of its own.

    It stands in an element of an id that no other has, the ids of another showing of the same document included, and
    its styles hold in there only. Of a document of more than 10,000 characters the beginning is shown, which is said.

    Args:
        document: The document; as on a page, with evidence and alternatives if it has them.
    """
    place = f"corefel-{secrets.token_hex(6)}"
    name = _shortened("Annotated document" if document.id is None else str(document.id), _LONGEST_NAME)
    if any(len(warning) > _LONGEST_WARNING for warning in document.warnings):
        document = replace(document, warnings=[_shortened(warning, _LONGEST_WARNING) for warning in document.warnings])
    coloured = sum(not is_alone(cluster) for cluster in document.clusters)
    colours = min(coloured, MOST_COLOURS)
    style = part_style(place, colours, lit=can_be_lit(colours, document.clusters))
    end = None if len(document.text) <= _MOST_CHARACTERS else _between_words(document.text, _MOST_CHARACTERS)
    while True:
        note = "" if end is None else _note(document, end)
        article = "".join(Article(document, f"{place}-d", name, end=end, note=note).parts())
        # A table of contents of the notebook would list what is a heading to HTML.
        article = article.replace("<h2", '<div role="heading" aria-level="2"').replace("</h2>", "</div>")
        part = f'<div class="hf-corefel" id="{place}">\n<style>{style}</style>\n{article}</div>\n'
        if end == 0 or len(part.encode()) <= _MOST_BYTES:
            return part
        end = (len(document.text) if end is None else end) // 2


def result_html(result: Mapping[str, Any]) -> str | None:
    """Return what `notebook_html` makes of a result of the pipeline; None when it has been changed into something else.

    Fields that a user has added are not shown.
    """
    known = {field.name for field in fields(AnnotatedDocument)}
    try:
        return notebook_html(AnnotatedDocument.from_dict({name: result[name] for name in result if name in known}))
    except DocumentError:
        return None


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _between_words(text: str, end: int) -> int:
    """The end of the last whole word shortly before an offset, or the offset in text without words."""
    return max(text.rfind(blank, max(end - _LONGEST_WORD, 0), end) for blank in " \n") + 1 or end


def _note(document: AnnotatedDocument, end: int) -> str:
    clusters = sum(any(mention.end <= end for mention in cluster.mentions) for cluster in document.clusters)
    return (
        f"The first {end:,} of {len(document.text):,} characters, with {clusters:,} of {len(document.clusters):,} "
        "clusters; hf_corefel.formats.write_html writes all of them to a page."
    )
