"""Keeps the libraries that load models from talking to whoever uses the command, and from asking them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ..utils.compat import no_questions

__all__ = ["silent_imports", "silent_transformers"]

# What transformers imports where it is installed, and what that says of kernels for other machines as it is imported.
_TALKATIVE = ("torchao", "torch.utils._pytree")


def silent_imports() -> None:
    """Keeps libraries that a command imports from reporting what they lack, which nobody asked for."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)


@contextmanager
def silent_transformers() -> Iterator[None]:
    """Keeps the loading bars, notes and questions of transformers off the screen, and restores them afterwards.

    A question would be answered by the documents on standard input. None is asked where models are loaded with
    ``trust_remote_code=False``; this holds for whatever transformers loads without passing that on.
    """
    from transformers.utils import logging as messages

    verbosity, bars = messages.get_verbosity(), messages.is_progress_bar_enabled()
    messages.set_verbosity_error()
    messages.disable_progress_bar()
    try:
        with no_questions():
            yield
    finally:
        messages.set_verbosity(verbosity)
        if bars:
            messages.enable_progress_bar()
