"""Little MediaWiki dumps for tests, written as the dumps of Wikipedia are."""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from hf_corefel.wikipedia.dumps import Page, Unit, read_pages
from hf_corefel.wikipedia.problems import Problem

ENGLISH = {0: "", 1: "Talk", 4: "Wikipedia", 6: "File", 10: "Template", 14: "Category"}
END = b"</mediawiki>\n"


def page_xml(
    title: str,
    text: str = "",
    *,
    namespace: int | None = 0,
    page_id: int = 1,
    redirect: str | None = None,
    model: str = "",
) -> bytes:
    """Returns one page of a dump."""
    lines = [f"  <page>\n    <title>{escape(title)}</title>"]
    if namespace is not None:
        lines.append(f"    <ns>{namespace}</ns>")
    lines.append(f"    <id>{page_id}</id>")
    if redirect is not None:
        lines.append(f"    <redirect title={quoteattr(redirect)} />")
    lines.append("    <revision>\n      <id>7</id>\n      <comment>[[not]] of &lt;page&gt;s</comment>")
    if model:
        lines.append(f"      <model>{model}</model>")
    lines.append(f'      <text bytes="9" xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n')
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def head_xml(
    *,
    version: str = "0.11",
    site: str | None = "Wikipedia",
    database: str = "enwiki",
    language: str = "en",
    case: str = "first-letter",
    namespaces: Mapping[int, str] = ENGLISH,
) -> bytes:
    """Returns the head of a dump, without siteinfo where `site` is None."""
    address = f"http://www.mediawiki.org/xml/export-{version}/"
    lines = [f'<mediawiki xmlns="{address}" version="{version}" xml:lang="{language}">']
    if site is not None:
        lines.append(f"  <siteinfo>\n    <sitename>{site}</sitename>\n    <dbname>{database}</dbname>")
        lines.append(
            f"    <base>https://{language}.wikipedia.org/wiki/Main</base>\n    <case>{case}</case>\n    <namespaces>"
        )
        lines += [f'      <namespace key="{key}" case="{case}">{name}</namespace>' for key, name in namespaces.items()]
        lines.append("    </namespaces>\n  </siteinfo>")
    return "\n".join([*lines, ""]).encode()


def dump_xml(pages: Iterable[bytes], head: bytes | None = None) -> bytes:
    """Returns a whole dump of some pages."""
    return b"".join([head_xml() if head is None else head, *pages, END])


def multistream(head: bytes, pages: list[bytes], each: int = 2) -> list[bytes]:
    """Returns the bz2 streams of a dump: the head, some pages each, the end."""
    parts = [b"".join(pages[start : start + each]) for start in range(0, len(pages), each)]
    return [bz2.compress(part) for part in (head, *parts, END)]


def pages_of(source: Path | Unit) -> tuple[list[Page], list[Problem]]:
    """Returns the pages of a dump and what was said of it."""
    problems: list[Problem] = []
    return list(read_pages(source, on_problem=problems.append)), problems


def kinds(problems: Iterable[Problem]) -> list[str]:
    """Returns the kinds of problems in their order."""
    return [problem.kind for problem in problems]
