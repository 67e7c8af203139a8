"""The service: a pipeline behind HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Protocol

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from ..candidates.errors import KnowledgeBaseError
from ..documents import AnnotatedDocument, Document
from ..formats.json_text import json_text
from ..version import __version__
from .api_page import api_page
from .batching import Batcher, QueueFullError, StoppingError
from .counters import CONTENT_TYPE, Counters
from .descriptions import ANNOTATE, DESCRIPTION, HEALTH, METRICS
from .limits import ServingLimits
from .middleware import CLIENT_LEFT, Gate
from .page import page_headers, paste_page
from .parameters import Parameters, validation_message
from .requests import Asked, RefusedError, check_characters, form_of, read_body, read_documents

__all__ = ["Pipeline", "create_app"]

_FORM = "application/x-www-form-urlencoded"
# What the page shows of each mention.
_ON_THE_PAGE = {"evidence": True, "top_k": 3}


class Pipeline(Protocol):
    """What is served, such as a `CorefELPipeline`."""

    def annotate(self, inputs: Any, **parameters: Any) -> Any:
        """Return the results of a list of documents, in its order; raise `ValueError` for one that is invalid."""


class ClientLeftError(Exception):
    """Nobody waits for the answer any more."""


def create_app(pipeline: Pipeline, limits: ServingLimits | None = None) -> FastAPI:
    """Return the service of a pipeline, for uvicorn or any other server of ASGI.

    It keeps one thread, which runs the pipeline, between its startup and its shutdown; use one process. The pages ask
    no other server for anything.

    Args:
        pipeline: Annotates the documents.
        limits: How much is taken on at once; the defaults when None.

    Example:
        >>> from hf_corefel import load_pipeline
        >>> from hf_corefel.serving import create_app
        >>> app = create_app(load_pipeline())
    """
    service = _Service(pipeline, limits or ServingLimits())
    # FastAPI's own pages of the API load their program from a server of others.
    app = FastAPI(
        title="hf-corefel",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=service.lifespan,
    )
    app.get("/", include_in_schema=False)(service.show_page)
    app.post("/", include_in_schema=False)(service.fill_page)
    app.get("/docs", include_in_schema=False)(service.show_api)
    app.post("/annotate", **ANNOTATE)(service.annotate)
    app.get("/health", **HEALTH)(service.health)
    app.get("/metrics", **METRICS)(service.metrics)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(ClientLeftError, _to_nobody)
    app.add_exception_handler(RequestValidationError, _invalid_query)
    app.add_exception_handler(HTTPException, _no_such_page)
    app.add_middleware(Gate, counters=service.counters, paths={route.path for route in app.routes})  # type: ignore[attr-defined]
    return app


class _Service:
    def __init__(self, pipeline: Pipeline, limits: ServingLimits) -> None:
        self.counters = Counters()
        self._limits = limits
        self._batcher = Batcher(pipeline.annotate, limits, self.counters)
        self._scopes = _scopes(pipeline)

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Runs the model between the service's startup and shutdown."""
        self._batcher.start()
        yield
        # All requests are answered by now.
        await run_in_threadpool(self._batcher.stop)

    async def annotate(self, request: Request, parameters: Annotated[Parameters, Query()]) -> Response:
        """Find the mentions of texts, cluster them, and link every cluster to an entity or NIL."""
        deadline = _deadline(self._limits)
        said = parameters.said()
        body = await read_body(request, "application/json", self._limits)
        asked = await run_in_threadpool(read_documents, body, self._limits)
        found = await self._results(request, asked.documents, said, deadline)
        return await run_in_threadpool(_answer, asked, found)

    async def show_page(self) -> Response:
        """The page to paste a text into."""
        return _html(paste_page(self._scopes))

    async def fill_page(self, request: Request) -> Response:
        """The page with the annotation of a text, or with what is wrong with it."""
        deadline, form = _deadline(self._limits), {}
        try:
            form = form_of(await read_body(request, _FORM, self._limits))
            text, scope = form.get("text", ""), form.get("mention_scope") or None
            check_characters(len(text), self._limits)
            said = Parameters.model_validate({"mention_scope": scope}).said()
            (found,) = await self._results(request, [Document(text)], {**said, **_ON_THE_PAGE}, deadline)
            if isinstance(found, RefusedError):
                raise found
        except RefusedError as error:
            return _html(paste_page(self._scopes, form, problem=error.message), error.status)
        return _html(await run_in_threadpool(paste_page, self._scopes, form, found))

    async def show_api(self, request: Request) -> Response:
        """What the API takes and gives, to read."""
        return _html(api_page(request.app.openapi()))

    async def health(self) -> Response:
        """Whether documents are taken on: status 200, or 503 while the service stops or when its model has ended."""
        good = self._batcher.is_alive
        return _json(json_text({"status": "ok" if good else "stopping", "version": __version__}), 200 if good else 503)

    async def metrics(self) -> Response:
        """Counters of requests, documents and batches, as Prometheus reads them."""
        return Response(self.counters.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _results(
        self,
        request: Request,
        documents: Sequence[Document | RefusedError],
        parameters: Mapping[str, Any],
        deadline: float,
    ) -> list[AnnotatedDocument | RefusedError]:
        """The result of each document, or what is wrong with it; what is wrong already stays as it is."""
        valid = [document for document in documents if isinstance(document, Document)]
        results = iter(await self._annotated(request, valid, parameters, deadline))
        found = [next(results) if isinstance(item, Document) else item for item in documents]
        for item in found:
            self.counters.document(_outcome(item))
        return found

    async def _annotated(
        self, request: Request, documents: Sequence[Document], parameters: Mapping[str, Any], deadline: float
    ) -> list[AnnotatedDocument | RefusedError]:
        try:
            jobs = self._batcher.submit(documents, parameters)
        except QueueFullError as error:
            raise RefusedError(
                429, f"{self._limits.max_queue:,} documents may wait, and the queue is full; send it again later"
            ) from error
        except StoppingError as error:
            raise RefusedError(503, "the service is being stopped; send it again later") from error
        results: asyncio.Future[list[Any]] = asyncio.gather(*map(asyncio.wrap_future, jobs), return_exceptions=True)
        left: asyncio.Future[Any] = asyncio.ensure_future(_left(request))
        try:
            remaining = max(0.0, deadline - asyncio.get_running_loop().time())
            done, _ = await asyncio.wait({results, left}, timeout=remaining, return_when=asyncio.FIRST_COMPLETED)
            if results in done:
                return [_failure(item) if isinstance(item, BaseException) else item for item in results.result()]
            if left in done:
                raise ClientLeftError
            raise RefusedError(
                504,
                f"not annotated within {self._limits.timeout:g} seconds; send it again when less is asked of the "
                "service, or in smaller parts",
            )
        finally:
            left.cancel()
            for job in jobs:
                job.cancel()


def _deadline(limits: ServingLimits) -> float:
    return asyncio.get_running_loop().time() + limits.timeout


def _scopes(pipeline: Pipeline) -> list[str]:
    """The mention scopes among which a text's visitor may choose, the default first."""
    settings = getattr(getattr(pipeline, "processor", None), "settings", None)
    scopes: list[str] = getattr(settings, "scope_names", None) or []
    said = getattr(pipeline, "_preprocess_params", {}).get("mention_scope")  # what the service was started with
    default = said or getattr(settings, "default_scope", None)
    return sorted(scopes, key=lambda name: name != default)


async def _left(request: Request) -> None:
    """Comes to its end when the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _failure(error: BaseException) -> RefusedError:
    """What a client is told of a document that could not be annotated."""
    reason = str(error) or type(error).__name__
    if isinstance(error, ValueError) and not isinstance(error, KnowledgeBaseError):
        return RefusedError(422, reason)
    if isinstance(error, RuntimeError | MemoryError | OSError | KnowledgeBaseError):
        return RefusedError(500, f"cannot annotate: {reason}")
    return RefusedError(500, f"unexpected {type(error).__name__}: {reason}; this may be a fault of the program")


def _outcome(found: AnnotatedDocument | RefusedError) -> str:
    """What became of a document, as it is counted."""
    if isinstance(found, RefusedError):
        return "invalid" if found.status < 500 else "failed"
    return "annotated"


def _answer(asked: Asked, found: Sequence[AnnotatedDocument | RefusedError]) -> Response:
    """The results; with the status of what went worst, where something did."""
    status = max((item.status for item in found if isinstance(item, RefusedError)), default=200)
    parts = [json_text(_error(item) if isinstance(item, RefusedError) else item.to_dict()) for item in found]
    return _json(parts[0] if asked.single else f"[{', '.join(parts)}]", status)


def _error(error: RefusedError) -> dict[str, Any]:
    return {"error": error.message}


def _json(text: str, status: int = 200, **headers: str) -> Response:
    return Response(text.encode("utf-8"), status, headers, media_type="application/json")


def _html(page: str, status: int = 200) -> Response:
    return HTMLResponse(page.encode("utf-8", "replace"), status, page_headers(page))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    retry = {"Retry-After": "1"} if error.status in (429, 503) else {}
    return _json(json_text(_error(error)), error.status, **retry)


async def _to_nobody(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_LEFT)


async def _invalid_query(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return await _refused(request, RefusedError(422, validation_message(list(error.errors()))))


async def _no_such_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = {404: f"there is no {request.url.path}", 405: f"{request.url.path} takes no {request.method}"}
    message = f"{what.get(error.status_code, error.detail)}; /docs says what there is"
    answer = await _refused(request, RefusedError(error.status_code, message))
    answer.headers.update(error.headers or {})
    return answer
