"""What can go wrong between here and the Hub."""

from __future__ import annotations

from importlib import import_module

from huggingface_hub.utils import get_session

__all__ = ["hub_errors"]


def hub_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises when the Hub refuses, cannot be reached, or is given what it cannot take.

    Its HTTP client is requests, httpx or httpx2, by its release, and the errors of the last two are no `OSError`.
    """
    transport = import_module(type(get_session()).__module__.partition(".")[0])
    return OSError, ValueError, transport.HTTPError
