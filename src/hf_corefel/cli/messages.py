"""What the command says on standard error, and JSON on standard output.

Whatever is printed may quote a file's name, a document or an argument. So all of it passes here, where nothing in it
can command the terminal or look like a line of its own.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from ..formats.json_text import json_text

__all__ = [
    "TRACEBACK_VARIABLE",
    "complain",
    "fail",
    "harmless",
    "json_for_stdout",
    "json_options",
    "on_terminal",
    "say",
    "say_json",
    "warnings_as_messages",
    "with_notes",
    "writing_to_stdout",
]

# Set to anything: what nobody foresaw ends with Python's traceback.
TRACEBACK_VARIABLE = "HF_COREFEL_TRACEBACK"
# An error may quote what is wrong, which may be a whole file.
_LONGEST_MESSAGE = 2000


def harmless(text: str) -> str:
    """Return a text with escapes, as Python writes them, for all that cannot be seen, line feeds among it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def complain(message: str) -> None:
    """Prints a message after the name of the command, in one line; where there is no standard error, nowhere."""
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} … ({len(message):,} characters)"
    # Nobody can be told that nobody can be told.
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(f"hf-corefel: {harmless(message)}", file=sys.stderr, flush=True)


def fail(message: str) -> NoReturn:
    """Prints a message and leaves with exit status 1."""
    complain(message)
    raise typer.Exit(1)


def say(text: str) -> None:
    """Prints a line on standard output."""
    with writing_to_stdout():
        print(harmless(text), flush=True)


def say_json(value: Any) -> None:
    """Prints a line of JSON on standard output; see `json_for_stdout`."""
    with writing_to_stdout():
        print(json_for_stdout(value), flush=True)


def with_notes(message: str, error: BaseException) -> str:
    """Return a message and the notes of the error behind it (`BaseException.add_note`), such as what was kept."""
    return "; ".join([message, *getattr(error, "__notes__", ())])


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """Leaves with a message when standard output is full or closed; when its reader has left, without one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left of it would be written, and complained about, once more when Python ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"cannot write to standard output: {error.strerror or error}")


@contextmanager
def warnings_as_messages(*, quiet: bool) -> Iterator[None]:
    """While inside, each warning is collected; afterwards its text is printed like other messages, unless quiet."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Each message once, wherever the program's filters would hide or repeat it.
            warnings.simplefilter("default")
            yield
    finally:
        if not quiet:
            for message in dict.fromkeys(str(warning.message) for warning in caught if _concerns_users(warning)):
                complain(f"warning: {message}")


def _concerns_users(warning: warnings.WarningMessage) -> bool:
    """Deprecations and files left open are for programmers, and Python hides them by default."""
    hidden = DeprecationWarning | PendingDeprecationWarning | ImportWarning | ResourceWarning
    return not issubclass(warning.category, hidden)


def on_terminal() -> bool:
    """Whether standard output is a terminal, which obeys some of what it is shown."""
    return sys.stdout is not None and sys.stdout.isatty()


def json_options() -> dict[str, bool]:
    """How `json_text` writes for standard output.

    Only in UTF-8 are characters beyond ASCII written as they are; on a terminal only those that can be seen. A file or
    a pipe gets what is there.
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("_", "-")
    return {"ascii_only": encoding not in ("utf-8", "utf8"), "printable": on_terminal()}


def json_for_stdout(value: Any, indent: int | None = None) -> str:
    """JSON that standard output can encode and a terminal can show; see `json_options`."""
    return json_text(value, indent=indent, **json_options())
