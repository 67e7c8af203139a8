"""What the command says on standard error, and JSON on standard output."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

__all__ = ["complain", "fail", "json_for_stdout", "warnings_as_messages"]


def complain(message: str) -> None:
    """Prints a message after the name of the command."""
    print(f"hf-corefel: {message}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    """Prints a message and leaves with exit status 1."""
    complain(message)
    raise typer.Exit(1)


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
    """Deprecations are for programmers, and Python hides them by default."""
    return not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | ImportWarning)


def json_for_stdout(value: Any, indent: int | None = None) -> str:
    """JSON that standard output can encode: only in UTF-8 are characters beyond ASCII written as they are."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("_", "-")
    return json.dumps(value, ensure_ascii=encoding not in ("utf-8", "utf8"), indent=indent)
