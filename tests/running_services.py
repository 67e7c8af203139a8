"""Services in threads of the tests, and a stand-in for a pipeline that can be held up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from hf_corefel import AnnotatedDocument, Document
from hf_corefel.serving.server import address_of, bind

PATIENCE = 120.0


def wait_until(condition: Callable[[], Any]) -> None:
    """Waits for what must come to pass; fails when it does not for a long time."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


class StandIn:
    """Stands in for a pipeline: marks the documents that it saw, and waits before each batch while it is held.

    Attributes:
        batches: The texts of every batch, and the parameters.
    """

    def __init__(self) -> None:
        self.batches: list[tuple[list[str], dict[str, Any]]] = []
        self._free = threading.Event()
        self._free.set()

    def hold(self) -> None:
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    def annotate(self, inputs: list[Document], batch_size: int, **parameters: Any) -> list[AnnotatedDocument]:
        self.batches.append(([document.text for document in inputs], parameters))
        assert batch_size == len(inputs)
        assert self._free.wait(PATIENCE)
        for document in inputs:
            if document.text.startswith("raise "):
                raise {"ValueError": ValueError, "RuntimeError": RuntimeError, "KeyError": KeyError}[
                    document.text.split()[1]
                ](f"no: {document.text}")
        return [AnnotatedDocument(document.text, [], document.id, [f"seen {document.text}"]) for document in inputs]


@contextmanager
def answering(app: Any) -> Iterator[httpx.Client]:
    """A client of an application that uvicorn serves in a thread while inside."""
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, http="h11", ws="none", lifespan="on", log_config=None))
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        wait_until(lambda: server.started)
        with httpx.Client(base_url=address_of(bound), timeout=PATIENCE, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()
