"""Little dumps of a Wikipedia that tests write, in the form of real ones."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from html import escape
from pathlib import Path

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="{language}">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>{language}wiki</dbname>
    <base>https://{language}.wikipedia.org/wiki/Main_Page</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
END = "</mediawiki>\n"

# A title and its wikitext; a text that begins with "->" makes a redirect.
PAGES: Sequence[tuple[str, str]] = (
    (
        "Oslo",
        "{{Short description|Capital of Norway}}\n'''Oslo''' is the capital of [[Norway]]. Its "
        "[[Oslo Opera House|opera]] is in Oslo. It was named Kristiania.\n\n== See also ==\n* [[Bergen]]",
    ),
    ("Norway", "'''Norway''' is a country. Its capital is [[Oslo]], and [[Bergen]] is a city. The sea is near."),
    (
        "Bergen",
        "'''Bergen''' is a city in [[Norge|Norway]]. The sea is near. People go to [[Oslo]] or to [[Kristiania]].",
    ),
    ("Oslo (band)", "'''Oslo''' is a band from [[Denton, Texas|Denton]]. The sea is near in ''[[It (film)|It]]''."),
    ("Denton, Texas", "'''Denton''' is a city in [[Texas]]. It has the band [[Oslo (band)|Oslo]]. It is near the sea."),
    ("It (film)", "'''It''' is a film that was made in [[Oslo]] and in [[Missing town]]. It is a long one."),
    (
        "Massachusetts Institute of Technology",
        "The '''Massachusetts Institute of Technology''' ('''MIT''') is a university. It is not in [[Norway]].",
    ),
    ("Kristiania", "->Oslo"),
    ("Christiania", "->Kristiania"),
    ("Norge", "->Norway"),
    ("Loop A", "->Loop B"),
    ("Loop B", "->Loop A"),
    ("Nowhere", "->No such article"),
    (
        "Oslo (disambiguation)",
        "'''Oslo''' may refer to:\n* [[Oslo]], the capital of [[Norway]]\n* [[Oslo (band)]]\n{{disambiguation}}",
    ),
    ("Talk:Oslo", "Nice [[Bergen]] article."),
)


def page_xml(number: int, title: str, text: str) -> str:
    """The XML of a page."""
    redirect = ""
    if text.startswith("->"):
        redirect = f'<redirect title="{escape(text[2:])}" />'
        text = f"#REDIRECT [[{text[2:]}]]"
    namespace = 1 if title.startswith("Talk:") else 0
    return (
        f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>{number}</id>{redirect}<revision>"
        f'<id>{number}</id><text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def write_dump(
    path: Path, pages: Sequence[tuple[str, str]] = PAGES, *, language: str = "en", pages_of_stream: int = 2
) -> Path:
    """Write a dump, plain or, by its name, as multistream bz2; page ids are 1, 2, and so on."""
    written = [page_xml(number, title, text) for number, (title, text) in enumerate(pages, start=1)]
    streams = [HEAD.format(language=language)]
    streams += ["".join(written[i : i + pages_of_stream]) for i in range(0, len(written), pages_of_stream)]
    streams.append(END)
    if path.suffix == ".bz2":
        path.write_bytes(b"".join(bz2.compress(stream.encode()) for stream in streams))
    else:
        path.write_text("".join(streams), encoding="utf-8")
    return path
