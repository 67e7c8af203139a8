"""Texts of others in a model card: shown as they are, and never markup, metadata or code."""

from __future__ import annotations

import re
import shlex

from ..utils.characters import printable

__all__ = ["code_block", "plain_text", "python_literal", "shell_command"]

# What begins markup inside a line; an underscore does so at the edge of a word only.
_MARKUP = re.compile(r"[\\`*\[\]<>|~$&]|(?<![^\W_])_|_(?![^\W_])")


def plain_text(value: object) -> str:
    """Return Markdown that shows a text, in one line, at any place of a paragraph, list or table."""
    text = _MARKUP.sub(lambda found: f"\\{found.group()}", printable(value))
    # Headings, lists and rules begin where a text stands first in its line.
    return f"\\{text}" if text[:1] in "#+=-" and text[:1] else text


def python_literal(text: str) -> str:
    """Return the literal of a string in double quotes, in one line of ASCII that ends no block of HTML or Markdown."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '\\"':
        return f"\\{character}"
    if character.isascii() and character.isprintable() and character not in "<>`":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shell_command(arguments: list[object]) -> str:
    """Return a command that a shell takes for just these arguments; what cannot be seen is marked."""
    return " ".join(shlex.quote(printable(argument)) for argument in arguments)


def code_block(text: str, language: str = "") -> str:
    """Return a fenced block that its text cannot end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
