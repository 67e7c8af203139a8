"""A pipeline behind HTTP: ``hf-corefel serve``, and `create_app` for servers of ASGI.

It needs the packages of an extra: ``pip install "hf-corefel[serve]"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .limits import ServingLimits

if TYPE_CHECKING:
    from .service import create_app

__all__ = ["ServingLimits", "create_app"]

_NEEDED = ("fastapi", "prometheus_client", "uvicorn")


def _create_app() -> Any:
    try:
        from .service import create_app
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        raise ImportError(
            f"serving needs the package {error.name}, which is not installed: pip install 'hf-corefel[serve]'"
        ) from error
    return create_app


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Find `create_app` when it is first asked for: whoever looks at limits only needs none of its packages."""
        if name == "create_app":
            return _create_app()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
