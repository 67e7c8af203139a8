"""Keeps the libraries that load models from talking to whoever uses the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["silent_transformers"]


@contextmanager
def silent_transformers() -> Iterator[None]:
    """Keeps the loading bars and notes of transformers off the screen, and restores them afterwards."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
