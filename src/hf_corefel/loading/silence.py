"""Keeps to itself what transformers says of a model that nobody named: the checkpoint of this package.

``pipeline("coref-el")`` has a default on purpose, it comes with the package, and it loads in no time; that no model was
supplied, which device is used and a loading bar are for other models, and are said of those as ever.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["DefaultCheckpoint", "unsaid_default", "without_note_of_device"]


class DefaultCheckpoint(str):
    """The folder of a checkpoint that was taken because nobody named a model; by its name it is a plain str."""

    __slots__ = ()


def unsaid_default(folder: str) -> None:
    """Let `transformers.pipeline` take a folder for a default without a warning; other defaults are warned of."""
    logging.getLogger("transformers.pipelines").addFilter(_Without(f"No model was supplied, defaulted to {folder} "))


@contextmanager
def without_note_of_device() -> Iterator[None]:
    """While inside, this thread's pipelines do not say which device they use, as those of transformers 4 do."""
    logger = logging.getLogger("transformers.pipelines.base")
    note = _Without("Device set to use ", threading.get_ident())
    logger.addFilter(note)
    try:
        yield
    finally:
        logger.removeFilter(note)


class _Without(logging.Filter):
    """Holds back messages that begin in a certain way, from a certain thread or from all."""

    def __init__(self, beginning: str, thread: int | None = None) -> None:
        super().__init__()
        self._beginning, self._thread = beginning, thread

    def filter(self, record: logging.LogRecord) -> bool:
        return self._thread not in (None, record.thread) or not record.getMessage().startswith(self._beginning)
