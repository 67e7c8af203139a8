"""Warnings of a dataset that is built, kept with it: whoever finds it built is told what was left out, too."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..documents.extra_fields import ExtraFieldWarning
from ..formats.writer import FormatLossWarning

__all__ = ["WARNINGS_FILE", "recorded_warnings", "say_again"]

WARNINGS_FILE = "warnings.json"
_KINDS = {kind.__name__: kind for kind in (UserWarning, ExtraFieldWarning, FormatLossWarning)}


@contextmanager
def recorded_warnings() -> Iterator[dict[str, str]]:
    """Record what users are warned of inside, in place of showing it: each message once, with the name of its kind.

    Warnings of other threads, and those for developers, are shown as ever.
    """
    kept: dict[str, str] = {}
    thread, show = threading.get_ident(), warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *more: Any, **options: Any) -> None:
        if threading.get_ident() == thread and issubclass(category, UserWarning):
            kept.setdefault(str(message), category.__name__)
        else:
            show(message, category, *more, **options)

    with warnings.catch_warnings():
        # What is shown, and how often, is decided when it is said.
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = keep
        yield kept


def say_again(kept: Mapping[str, str]) -> None:
    """Warn of what was recorded, at the line that loads the dataset."""
    for message, kind in kept.items():
        warnings.warn(message, _KINDS.get(kind, UserWarning), stacklevel=5)
