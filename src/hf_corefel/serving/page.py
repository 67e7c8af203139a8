"""The page to paste a text into: a form without a script, and below it the product's own view of the result.

Whatever a visitor sends is escaped. Nothing is loaded from elsewhere, which a content security policy says to the
browser too: it takes no script, and only the styles that stand in the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from ..documents import AnnotatedDocument
from ..formats.notebook import notebook_html

__all__ = ["framed", "page_headers", "paste_page"]

_EXAMPLE = (
    "Angela Merkel met Barack Obama in Berlin on Thursday. The chancellor said that she and the president had talked "
    "about NATO. Merkel will travel to Washington in May."
)
_SCOPES = {"named": "names, with dates, demonyms and roles", "all": "all mentions", "entities": "names of entities"}
_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)


def paste_page(
    scopes: Sequence[str],
    form: Mapping[str, str] | None = None,
    found: AnnotatedDocument | None = None,
    problem: str = "",
) -> str:
    """Return the page.

    Args:
        scopes: The mention scopes among which one may choose.
        form: What the visitor sent; an example when None.
        found: Its annotation.
        problem: What is wrong with it.
    """
    form = {"text": _EXAMPLE} if form is None else form
    said = f'<p class="problem" role="alert">{escape(problem)}</p>\n' if problem else ""
    result = "" if found is None else notebook_html(found)
    # A line feed at the beginning of a text area is not the text's.
    return framed(
        "hf-corefel",
        '<h1>Who is who, and what is what</h1>\n<p class="soft">Mentions of a text in the colours of their clusters, '
        'each cluster with its entity or NIL. The text is kept nowhere. For programs: <a href="docs">the API</a>.</p>\n'
        '<form method="post" action="./">\n<label for="text">Text</label>\n'
        f'<textarea id="text" name="text" required>\n{escape(form.get("text", ""))}</textarea>\n'
        f"{_choice(scopes, form.get('mention_scope', ''))}<button>Annotate</button>\n</form>\n{said}{result}",
    )


def _choice(scopes: Sequence[str], chosen: str) -> str:
    """The choice among scopes; none where there is but one."""
    if len(scopes) < 2:
        return ""
    chosen = chosen if chosen in scopes else scopes[0]
    options = (
        f'<label><input type="radio" name="mention_scope" value="{name}"{" checked" if name == chosen else ""}> '
        f"{_SCOPES[name]}</label>\n"
        for name in scopes
    )
    return f"<fieldset>\n<legend>Mentions</legend>\n{''.join(options)}</fieldset>\n"


def framed(title: str, body: str) -> str:
    """Return a page of the service.

    Args:
        title: Its title, in plain words.
        body: What stands in it, as HTML.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{_sheet()}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )


def page_headers(page: str) -> dict[str, str]:
    """Return the headers of a page, among them the policy that says what a browser may do for it."""
    digests = (hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(page))
    styles = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    policy = (
        f"default-src 'none'; style-src {styles}; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return {"Content-Security-Policy": policy}


@cache
def _sheet() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")
