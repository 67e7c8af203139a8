"""Serves an application on an address of this machine until a signal says to stop."""

from __future__ import annotations

import math
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

__all__ = ["address_of", "bind", "serve"]

_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
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
    _Server(config, ready).run([bound])


class _Server(uvicorn.Server):
    """Says when it answers requests, and ends by a signal as by itself: being stopped is how serving ends."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """While inside, signals stop the server; uvicorn's own would be raised once more at the end."""
        if threading.current_thread() is not threading.main_thread():  # where no signals come
            yield
            return
        # Those that are ignored, as by nohup, stay so.
        heard = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
        earlier = {number: signal.signal(number, self.handle_exit) for number in heard}
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
