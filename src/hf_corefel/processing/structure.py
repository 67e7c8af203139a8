"""Where a page ends one thing and begins another: paragraphs, items, cells, headings, lines.

Two kinds of borders come out of it. No mention crosses a firm one: a blank line, the beginning of a list item, a
heading or a named line ("To: …"), a cell of a table. A loose one may be a border or not: "Tom Baker" above "Mary Jones"
are two items, "Barack" above "Obama left." one name. Only names that the knowledge base knows cross it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import regex

from ..utils.characters import INVISIBLE, LINE_BREAK

__all__ = ["Borders", "find_borders"]

_LINE = regex.compile(rf"(?P<text>.*?)(?:{LINE_BREAK}|\Z)", regex.DOTALL)
_HIDDEN = regex.compile(INVISIBLE, regex.V1)
# What an item of a list, a heading, a quotation or a named line begins with.
_OPENER = re.compile(
    r"""\s*(?:
        [-*+•◦‣⁃∙·▪▫■□●○◆◇★☆►▶➤➢➔→✓✔✗✘–—]\s+      # bullets
      | \[[ xX]\]\s                                   # boxes to tick
      | \(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})[.)]\s+  # 1. a) (iv)
      | \#{1,6}\s                                     # headings of Markdown
      | >                                             # quotations
      | ={2,}\s | \|                                  # headings of wikis, rows of tables
      | [A-Z\u00c0-\u00de][\w.'’-]*(?:\s[\w.'’&-]+){0,3}:(?:\s|$)  # "Anna:", "Subject:", "Prime Minister Smith:"
    )""",
    re.VERBOSE,
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s|={2,}[^=].*=\s*$)")
_RULE = re.compile(r"\s*(?:[-=*_~#+|:]\s*){3,}$")
_CLOSED = re.compile(r"""[.!?…:;。！？]["'”’»)\]*_]*\s*$""")
_CUT_WORD = re.compile(r"\w[-\u2010\u00ad]$")
# A line of this many words or more may be a sentence that has tabs for blanks. With more cells than a table is likely
# to have, it needs no full stop for that.
_FEWEST_WORDS = 3
_MOST_COLUMNS = 8
# Shorter lines than this are too short to tell a wrapped paragraph from lines of their own.
_NARROWEST_PARAGRAPH = 25


@dataclass
class Borders:
    """Places in a text, ascending: a mention that begins before one and ends after it crosses it.

    Attributes:
        firm: Those that no mention crosses.
        loose: Those that only known names cross.
    """

    firm: list[int] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Line:
    begin: int
    text: str

    @property
    def end(self) -> int:
        return self.begin + len(self.text)


@dataclass(frozen=True)
class _Shape:
    """What tells a wrapped paragraph from lines of their own.

    Attributes:
        width: Characters of its widest line.
        runs_on: Whether it reads as running text, whose lines end in the middle of sentences and the last with one.
    """

    width: int
    runs_on: bool

    @classmethod
    def of(cls, lines: list[_Line]) -> _Shape:
        """Return the shape of the lines of a paragraph."""
        bare = [line.text.strip() for line in lines]
        runs_on = any(text[:1].islower() for text in bare[1:]) or bool(bare and _CLOSED.search(bare[-1]))
        return cls(max(map(len, bare), default=0), runs_on)

    def is_wrapped(self, line: str, following: str) -> bool:
        """Whether a line goes on in the following one, because what comes there had no room in it."""
        above, below = line.strip(), following.strip()
        if _CLOSED.search(above):
            return False
        if below[:1].islower() or _CUT_WORD.search(above):
            return True
        first = below.split(maxsplit=1)[0] if below else ""
        is_full = len(above) + 1 + len(first) > self.width
        return is_full and self.runs_on and self.width >= _NARROWEST_PARAGRAPH


def find_borders(text: str) -> Borders:
    """Return the borders that the lines of a text show; those of sentences are not among them."""
    borders = Borders()
    if not regex.search(rf"[\t|]|{LINE_BREAK}", text):
        return borders
    lines = [_Line(m.start(), m["text"]) for m in _LINE.finditer(text) if m.start() < len(text) or m["text"]]
    paragraph: list[_Line] = []
    for line in lines:
        bare = _HIDDEN.sub("", line.text)
        if not bare.strip() or _RULE.match(bare):
            borders.firm += [line.begin, line.end]
            _add_paragraph(borders, paragraph)
            paragraph = []
        elif paragraph and (
            _OPENER.match(bare) or _HEADING.match(paragraph[-1].text) or "\x0c" in text[paragraph[-1].end : line.begin]
        ):
            borders.firm.append(line.begin)
            _add_paragraph(borders, paragraph)
            paragraph = [line]
        else:
            paragraph.append(line)
    _add_paragraph(borders, paragraph)
    borders.firm.sort()
    borders.loose.sort()
    return borders


def _add_paragraph(borders: Borders, lines: list[_Line]) -> None:
    """Adds the borders within lines that no blank line, item or heading parts."""
    # Tabs between the words of a sentence are blanks.
    tabs = [0 if _is_prose(line.text) else line.text.strip().count("\t") for line in lines]
    shape = _Shape.of(lines)
    for i, line in enumerate(lines):
        neighbours = tabs[max(i - 1, 0) : i] + tabs[i + 1 : i + 2]
        table = tabs[i] > 1 or (tabs[i] == 1 and 1 in neighbours)
        lead = len(line.text) - len(line.text.lstrip())
        cells = [line.begin + at for at, c in enumerate(line.text) if c == "\t" and at >= lead and tabs[i]]
        (borders.firm if table else borders.loose).extend(cells)
        borders.firm += [line.begin + at for at, c in enumerate(line.text) if c == "|"]
        if i and (table or tabs[i - 1] > 1 or not shape.is_wrapped(lines[i - 1].text, line.text)):
            borders.loose.append(line.begin)


def _is_prose(line: str) -> bool:
    """Whether tabs stand in a line as blanks do in a sentence: between single words, many of them in lower case."""
    cells = line.split("\t")
    words = [cell for cell in cells if len(cell.split()) <= 1]
    lower = sum(word[:1].islower() for word in words)
    if len(cells) < _FEWEST_WORDS or 4 * len(words) < 3 * len(cells) or 3 * lower < len(cells):
        return False
    # The names of columns are single words in lower case too ("name", "city"), but few, and they end with no full stop.
    return len(cells) > _MOST_COLUMNS or bool(_CLOSED.search(line))
