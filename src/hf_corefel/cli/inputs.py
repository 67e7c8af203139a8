"""Reads the texts that the command is given."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["STDIN", "UnreadableInputError", "read_text"]

STDIN = "-"


class UnreadableInputError(Exception):
    """A file cannot be read as text; the message names the file and the reason."""


def read_text(name: str) -> str:
    """The text of a file, or of standard input when ``name`` is ``-``.

    Line ends are kept as they are, so that offsets count the code points of the file itself; a byte
    order mark at the beginning is no part of the text.

    Raises:
        UnreadableInputError: When the file is missing, is no file, may not be read, or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableInputError(
            f"{name}: not UTF-8 text (byte 0x{data[error.start]:02x} at position {error.start})"
        ) from error
    except OSError as error:
        raise UnreadableInputError(f"{name}: {error.strerror or error}") from error
