"""What is said about a part of a dump that could not be read, and how a reader says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

__all__ = ["OnProblem", "Problem", "ProblemKind", "WikipediaError", "ignore_problem"]

ProblemKind = Literal[
    "truncated",  # the file ends within a compressed stream or a page
    "damaged",  # compressed bytes that cannot be unpacked, or bytes that are no stream
    "broken_xml",  # a page that is no well-formed XML, or has no end
    "control_characters",  # a title with control characters
    "bad_title",  # a title with other characters that no title may have, or too long
    "too_big",  # a page above the limit
    "no_title",
    "bad_field",  # a namespace or page number that is no number
    "self_redirect",
    "not_wikitext",  # a page of data or code
    "bad_line",  # a line of a JSON or SQL dump that is not what the dump promises
]


class Problem(NamedTuple):
    """One part of a dump that is left out, or that was mended.

    Example:
        >>> from hf_corefel.wikipedia import Problem
        >>> Problem("no_title", "dump.xml: byte 120", "a page without a title was left out").kind
        'no_title'
    """

    kind: ProblemKind
    where: str
    """File and byte, with the page's title where it is known."""
    message: str
    """One sentence that says what was found and what was done."""


OnProblem = Callable[[Problem], None]


def ignore_problem(problem: Problem) -> None:
    """Take note of nothing."""


class WikipediaError(ValueError):
    """A file that is no dump, or a package that is needed to read it is missing.

    Example:
        >>> from hf_corefel.wikipedia import WikipediaError
        >>> from hf_corefel.wikipedia.dumps import read_site
        >>> try:
        ...     read_site("no_such_dump.xml")
        ... except (WikipediaError, OSError):
        ...     print("no dump")
        no dump
    """
