"""Take comments, templates and extension tags out of wikitext; the few templates that are text leave their text.

One pass with a stack of bounded depth, so that time grows as the text does, whatever it holds. That is why no parser of
others stands here: mwparserfromhell, the one most in use, reads two million characters a second of real articles, but
needs 10 seconds for 60,000 characters of ``<b><b>...``, four times that for twice as many, and cannot be interrupted
meanwhile; nor does it tell captions from options of files or other languages from articles. It is the oracle in the
tests, which find the same links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..utils.word_lists import word_set

__all__ = ["NOTHING", "Expanded", "expand", "template_key"]

# Stands where something was taken out. XML cannot hold it, so no dump does.
NOTHING = "\x03"
_DEPTH = 40
# Tags whose content is no prose: notes, formulas, code, charts. What <nowiki> holds is text.
_TAKEN_TAGS = word_set("""
    nowiki ref references math chem ce score pre source syntaxhighlight timeline hiero imagemap templatedata
    templatestyles graph mapframe maplink includeonly categorytree inputbox indicator section charinsert rss data
""")
# Written so that a token's first letter is looked for by itself, which is five times as fast.
_MARKUP = r"(?:(?<=<)!--|(?<=<)([a-zA-Z]++)(?=[\s/>])([^<>]*+)>|(?<=\{)\{+|(?<=\})\}+"
_OUTSIDE = re.compile(rf"[<{{}}]{_MARKUP})")
_WITHIN = re.compile(rf"[<{{}}\[\]|]{_MARKUP}|(?<=\[)\[|(?<=\])\]|(?<=\|))")
_GALLERY = re.compile(r"<gallery(?=[\s>])[^<>]*>", re.IGNORECASE)
_GALLERY_END = re.compile(r"</gallery\s*>", re.IGNORECASE)
# What would be markup within <nowiki> becomes entities, which are resolved when no markup is looked for any more.
_AS_ENTITIES = {ord(character): f"&#{ord(character)};" for character in "<>[]{}|'=*:!_-/"}

# Templates that are no more than a sign.
_SIGNS: Mapping[str, str] = {
    "!": "|", "=": "=", "pipe": "|", "'": "'", "'s": "'s", "ndash": "–", "mdash": "—", "snd": " – ", "spnd": " – ",
    "spaced ndash": " – ", "spaced en dash": " – ", "en dash": "–", "em dash": "—", "nbsp": " ", "space": " ",
    "dot": " · ", "·": " · ", "•": " • ", "bullet": " • ", "shy": "", "zwj": "", "zwnj": "", "hair space": " ",
    "thin space": " ", "thinsp": " ", "bc": " BC", "ad": " AD", "ce": " CE", "bce": " BCE",
}  # fmt: skip
# Templates that show their first argument: forms of type, quotations, names in other scripts, links elsewhere.
_FIRST_ARGUMENT = word_set("""
    nowrap nobr nobreak nobold noitalic small smaller large larger big resize midsize abbr abbreviation tooltip key
    keypress mono code char quote blockquote quotation cquote title strikethrough underline sic nihongo vanchor va
    smallcaps sc small-caps sup sub em strong gloss linktext ill illm w notatypo no-wrap script unicode angbr
    polytonic
""")
# Templates that show one of their arguments: its number, -1 for the last one.
_TEXTS: Mapping[str, int] = {
    **dict.fromkeys(_FIRST_ARGUMENT, 1),
    "lang": 2, "langue": 2, "langx": 2, "rtl-lang": 2, "color": 2, "text color": 2, "fontcolor": 2, "font color": 2,
    "transl": -1, "transliteration": -1, "translit": -1, "font": 1, "interlanguage link": 1, "not a typo": 1,
    "interlanguage link multi": 1, "visible anchor": 1, "script/arabic": 1, "script/hebrew": 1, "citation bloc": 1,
}  # fmt: skip
# Templates that show all their arguments, as items of a list.
_LISTS = frozenset({"hlist", "ubl", "unbulleted list", "plainlist", "flatlist", "flat list", "div col", "columns-list"})
_UNITS = frozenset({"convert", "cvt", "unité", "unit", "val", "height", "nombre"})
_FUNCTIONS = frozenset({"lc", "uc", "lcfirst", "ucfirst", "formatnum"})
_NAMED = re.compile(r"([\w \-]{1,40}?)\s*+=(.*)", re.DOTALL)


class Expanded(NamedTuple):
    """Wikitext whose only markup is links, tables, headings, lists, quotes and HTML."""

    text: str
    templates: frozenset[str]
    """Names of the templates, as `template_key` writes them."""
    short_description: str


class _Frame:
    """An opening that still waits for its end: braces, or within them the two brackets of a link."""

    __slots__ = ("braces", "parts")

    def __init__(self, braces: int) -> None:
        self.braces = braces
        """How many; 0 for a link's brackets."""
        self.parts: list[list[str]] = [[]]
        """Pieces of text between the bars."""


def template_key(name: str) -> str:
    """Return a template's name in lower case with single spaces, without its namespace."""
    key = " ".join(name.replace("_", " ").lower().split())
    return key.removeprefix("template:").strip()


def expand(text: str, title: str = "") -> Expanded:
    """Take comments, templates and extension tags out of a page's text.

    Args:
        text: Wikitext.
        title: The page's title, for ``{{PAGENAME}}``.
    """
    return _Expander(_galleries_as_links(text), title).run()


def _galleries_as_links(text: str) -> str:
    """Write each line of a gallery as the link to a file that it stands for."""
    pieces: list[str] = []
    position = 0
    while (begin := _GALLERY.search(text, position)) and (end := _GALLERY_END.search(text, begin.end())):
        pieces.append(text[position : begin.start()])
        lines = text[begin.end() : end.start()].split("\n")
        pieces += [f"[[File:{line}]]\n" for line in lines if line.strip()]
        position = end.end()
    return "".join([*pieces, text[position:]]) if pieces else text


class _Expander:
    def __init__(self, text: str, title: str) -> None:
        self.text = text
        self.title = title
        self.frames: list[_Frame] = []
        self.out: list[str] = []
        self.ignored = 0  # openings that were too deep
        self.names: set[str] = set()
        self.short_description = ""
        self.unclosed: set[str] = set()  # tags that have no end after where we are

    def run(self) -> Expanded:
        position = 0
        while found := (_WITHIN if self.frames else _OUTSIDE).search(self.text, position):
            self.current.append(self.text[position : found.start()])
            position = found.end()
            token = found[0]
            if token == "<!--":
                end = self.text.find("-->", position)
                position = end + 3 if end >= 0 else len(self.text)
            elif token[0] == "<":
                position = self.tag(found, position)
            elif token[0] == "{":
                self.open(len(token))
            elif token[0] == "}":
                self.close(len(token))
            else:
                self.within_braces(token)
        self.current.append(self.text[position:])
        while self.frames:
            self.give_up()
        return Expanded("".join(self.out), frozenset(self.names), self.short_description)

    @property
    def current(self) -> list[str]:
        return self.frames[-1].parts[-1] if self.frames else self.out

    def tag(self, found: re.Match[str], position: int) -> int:
        """Take out an extension tag with what it holds; return where to go on."""
        name = found[1].lower()
        if name not in _TAKEN_TAGS:
            self.current.append(found[0])
            return position
        self.current.append(NOTHING)
        if found[2].endswith("/"):
            return position
        if name in self.unclosed:
            return position  # the tag alone is left out
        end = _tag_end(name).search(self.text, position)
        if end is None:
            self.unclosed.add(name)
            return position
        if name == "nowiki":
            self.current.append(self.text[position : end.start()].translate(_AS_ENTITIES) + NOTHING)
        return end.end()

    def open(self, braces: int) -> None:
        if len(self.frames) < _DEPTH:
            self.frames.append(_Frame(braces))
        else:
            self.ignored += 1

    def within_braces(self, token: str) -> None:
        frame = self.frames[-1]
        if token == "|" and frame.braces:
            frame.parts.append([])
        elif token == "[[" and len(self.frames) < _DEPTH:
            self.frames.append(_Frame(0))
        elif token == "]]" and not frame.braces:
            self.frames.pop()
            self.current.append("[[")
            self.current.extend(frame.parts[0])
            self.current.append("]]")
        else:
            self.current.append(token)

    def close(self, braces: int) -> None:
        """Close as many templates and arguments as some closing braces can, the innermost first."""
        if self.ignored:
            self.ignored -= 1
            return
        while braces >= 2:
            while self.frames and not self.frames[-1].braces:
                self.give_up()
            if not self.frames:
                break
            frame = self.frames[-1]
            taken = 3 if min(frame.braces, braces) >= 3 else 2
            shown = self.argument(frame) if taken == 3 else self.template(frame)
            braces -= taken
            left = frame.braces - taken
            if left >= 2:
                frame.braces, frame.parts = left, [[shown]]
            else:
                self.frames.pop()
                self.current.append("{" * left + shown)
        if braces:
            self.current.append("}" * braces)

    def give_up(self) -> None:
        """Take the innermost opening, which has no end, for text."""
        frame = self.frames.pop()
        self.current.append("{" * frame.braces or "[[")
        for number, part in enumerate(frame.parts):
            if number:
                self.current.append("|")
            self.current.extend(part)

    def argument(self, frame: _Frame) -> str:
        return "".join(frame.parts[1]) if len(frame.parts) > 1 else ""

    def template(self, frame: _Frame) -> str:
        """Return what a template shows, as far as it is text."""
        written = "".join(frame.parts[0])
        key = template_key(written[:200])
        self.names.add(key)
        if key in _SIGNS:
            return _SIGNS[key]
        if key == "short description" or key == "shortdesc":
            described = _positional(frame.parts)
            if described and not self.short_description and described[0].strip().lower() != "none":
                self.short_description = described[0].strip()
            return NOTHING
        if key == "pagename":
            return self.title
        function, colon, rest = written.partition(":")
        function = function.strip().lower()
        if colon and function in _FUNCTIONS:
            return rest.strip()
        if function == "shortdesc" and colon:
            self.short_description = self.short_description or rest.strip()
            return NOTHING
        number = _TEXTS.get(key) or (1 if key.startswith("lang-") else 0)
        if number:
            shown = _positional(frame.parts)
            index = number - 1 if number > 0 else len(shown) - 1
            return shown[index].strip() if 0 <= index < len(shown) else NOTHING
        if key in _LISTS:
            return ", ".join(argument.strip() for argument in _positional(frame.parts))
        if key in _UNITS:
            return " ".join(argument.strip() for argument in _positional(frame.parts)[:2])
        if key in ("circa", "c."):
            return "c. " + "".join(_positional(frame.parts)[:1]).strip()
        if key == "as of":
            return "As of " + " ".join(argument.strip() for argument in _positional(frame.parts)[:3])
        return NOTHING


def _positional(parts: list[list[str]]) -> list[str]:
    """Return the unnamed arguments of a template, and those named by their numbers."""
    found: list[str] = []
    for part in parts[1:]:
        argument = "".join(part)
        named = _NAMED.match(argument.lstrip())
        if named is None:
            found.append(argument)
        elif named[1] == str(len(found) + 1):
            found.append(named[2])
    return found


_TAG_ENDS: dict[str, re.Pattern[str]] = {}


def _tag_end(name: str) -> re.Pattern[str]:
    if name not in _TAG_ENDS:
        _TAG_ENDS[name] = re.compile(rf"</{name}\s*>", re.IGNORECASE)
    return _TAG_ENDS[name]
