"""A pipeline behind HTTP: ``hf-corefel serve``, and `create_app` for servers of ASGI.

It needs the packages of an extra: ``pip install "hf-corefel[serve]"``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .limits import ServingLimits

if TYPE_CHECKING:
    from .server import address_of, bind, serve
    from .service import create_app

__all__ = ["ServingLimits", "address_of", "bind", "create_app", "serve"]

_PLACES = {"address_of": ".server", "bind": ".server", "create_app": ".service", "serve": ".server"}
_NEEDED = ("fastapi", "prometheus_client", "uvicorn")


def _attribute(name: str) -> Any:
    """Find what needs a package of the extra when it is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_PLACES[name], __name__), name)
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        raise ImportError(
            f"serving needs the package {error.name}, which is not installed: pip install 'hf-corefel[serve]'"
        ) from error


if not TYPE_CHECKING:
    # Type checkers would take it to have every attribute.
    __getattr__ = _attribute
