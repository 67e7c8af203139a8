"""``hf-corefel heads``: which heads a model may have, those of installed packages among them."""

from __future__ import annotations

import typer

from .messages import complain, say

__all__ = ["heads"]


def heads() -> None:
    """List the heads that a model may have, with what each predicts and what it may be told."""
    from ..heads import HEADS

    broken = False
    for name in HEADS:
        try:
            head = HEADS[name]
        except ValueError as error:  # of one package; the others are listed all the same
            complain(str(error))
            broken = True
            continue
        say(f"{name}: {head.summary}")
        for option, declared in head.options.items():
            say(f"    {option} ({declared.expected}; {declared.default}): {declared.doc}")
    if broken:
        raise typer.Exit(1)
