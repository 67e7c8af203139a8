"""What a service counts, in the words of Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

__all__ = ["CONTENT_TYPE", "Counters"]

# The text format that Prometheus and all that understand it read.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_DOCUMENTS = (1, 2, 4, 8, 16, 32, 64)


class Counters:
    """The counters of one service; another in the same process has its own.

    Attributes:
        open: How many requests are being answered.
        waiting: How many documents wait for the model.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        where: dict[str, Any] = {"registry": self._registry, "namespace": "corefel"}
        self._requests = Counter("requests", "Requests, by path and status of the answer.", ["path", "status"], **where)
        self._seconds = Histogram("request_seconds", "From request to answer.", ["path"], buckets=_SECONDS, **where)
        self._documents = Counter(
            "documents", "Documents, by what became of them: annotated, invalid or failed.", ["outcome"], **where
        )
        self._batches = Histogram("batch_documents", "Documents read at once.", buckets=_DOCUMENTS, **where)
        self._batch_seconds = Histogram("batch_seconds", "What a batch takes.", buckets=_SECONDS, **where)
        self.open = Gauge("open_requests", "Requests that are being answered.", **where)
        self.waiting = Gauge("waiting_documents", "Documents that wait for the model.", **where)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def document(self, outcome: str) -> None:
        """Count a document that was annotated, or is invalid, or failed."""
        self._documents.labels(outcome).inc()

    def batch(self, documents: int, seconds: float) -> None:
        """Count what the model has read at once."""
        self._batches.observe(documents)
        self._batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all of them as Prometheus reads them, see `CONTENT_TYPE`."""
        return generate_latest(self._registry)
