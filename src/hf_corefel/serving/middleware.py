"""What happens to every request and answer: counting, headers, and no use for pages of other sites."""

from __future__ import annotations

import time
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .counters import Counters

__all__ = ["CLIENT_LEFT", "Gate"]

_HEADERS = {
    # A text and its results are nobody else's, and stay in no cache.
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# A client that left gets no answer; this is what it is counted as.
CLIENT_LEFT = 499


class Gate:
    """Counts requests, adds headers to answers, and refuses what a browser sends for a page of another site.

    Args:
        app: Answers the requests.
        counters: Counts them.
        paths: Those that are counted by name; all others are one, for anybody may make them up.
    """

    def __init__(self, app: ASGIApp, counters: Counters, paths: Collection[str]) -> None:
        self._app, self._counters, self._paths = app, counters, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), CLIENT_LEFT

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._app
        # A link to this site, from wherever, is all right.
        if Headers(scope=scope).get("sec-fetch-site") == "cross-site" and scope["method"] not in ("GET", "HEAD"):
            app = JSONResponse({"error": "a page of another site may not use this service"}, 403)
        self._counters.open.inc()
        try:
            await app(scope, receive, sending)
        except Exception:
            # What answers with this status stands around all middleware.
            status = 500
            raise
        finally:
            self._counters.open.dec()
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._counters.request(path, status, time.perf_counter() - started)
