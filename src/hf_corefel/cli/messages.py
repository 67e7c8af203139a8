"""What the command says on standard error."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

__all__ = ["complain", "fail"]


def complain(message: str) -> None:
    """Prints a message after the name of the command."""
    print(f"hf-corefel: {message}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    """Prints a message and leaves with exit status 1."""
    complain(message)
    raise typer.Exit(1)
