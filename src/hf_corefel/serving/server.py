"""Serves an application on an address of this machine until a signal says to stop."""

from __future__ import annotations

import math
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn

__all__ = ["address_of", "bind", "serve"]

# Seconds beyond the time limit of requests that stopping waits for their answers to be sent.
_SENDING = 5


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address and does not listen yet: who connects is refused until it does.

    Args:
        host: A name or an address.
        port: The port; 0 for any that is free.

    Raises:
        OSError: When there is no such address, or it is taken.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        with suppress(OSError, AttributeError):
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address of a socket as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Any, bound: socket.socket, timeout: float, ready: Callable[[], None]) -> None:
    """Answer requests until SIGTERM, SIGINT or SIGHUP; what is accepted by then is answered before this returns.

    A second SIGINT ends it without waiting.

    Args:
        app: The application (ASGI).
        bound: Where to listen, see `bind`.
        timeout: Seconds that a request takes at most.
        ready: Called when requests are answered.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(timeout) + _SENDING,
    )
    server = _Server(config, ready)
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:  # which nohup has it be
        signal.signal(hangup, server.handle_exit)
    # Uvicorn raises the signals again that it was stopped by; being stopped is how serving ends.
    with suppress(KeyboardInterrupt):
        server.run([bound])


class _Server(uvicorn.Server):
    """Says when it answers requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
