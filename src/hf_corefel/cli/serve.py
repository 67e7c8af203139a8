"""``hf-corefel serve``: a service that annotates documents, and a page to paste texts into."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .annotate import EntityId, MentionScope, load_or_fail
from .messages import complain, fail
from .options import (
    BackendOption,
    DtypeOption,
    KnowledgeBaseOption,
    MaxKeptSpansOption,
    ModelOption,
    QuietOption,
    RevisionOption,
    TokenOption,
    TrustOption,
    computed_by,
    hub_access,
)

__all__ = ["serve"]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for one that is free.")] = 8000,
    model: ModelOption = None,
    revision: RevisionOption = None,
    token: TokenOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    trust_remote_code: TrustOption = False,
    device: Annotated[str | None, typer.Option(help="Where the model runs: cpu, cuda, cuda:1, mps …")] = None,
    backend: BackendOption = None,
    dtype: DtypeOption = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Documents that the model reads at once, of whichever requests.")
    ] = 8,
    batch_wait: Annotated[
        float, typer.Option(min=0.0, metavar="MS", help="Milliseconds that a document waits for others to come.")
    ] = 4.0,
    max_queue: Annotated[
        int, typer.Option(min=1, help="Documents that may wait, and that a request may have; more is refused (429).")
    ] = 64,
    max_characters: Annotated[
        int, typer.Option(min=1, help="Characters that the texts of a request may have in all; more is refused (413).")
    ] = 100_000,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="What takes longer is answered with an error (504).")
    ] = 60.0,
    mention_scope: Annotated[
        MentionScope | None, typer.Option(help="Mentions to look for where a request does not say it.")
    ] = None,
    entity_id: Annotated[
        EntityId | None, typer.Option("--id", help="What entities are called where a request does not say it.")
    ] = None,
    max_kept_spans: MaxKeptSpansOption = None,
    quiet: QuietOption = False,
) -> None:
    """Annotate documents that are sent to POST /annotate, and texts that are pasted into a page.

    GET /docs says what can be sent; /health and /metrics tell how it is. Only this machine is answered unless --host
    says otherwise; there is no password: put a proxy that asks for one before it.
    One process holds one model, and reads together what several clients send; start more processes for more cores.
    SIGTERM, SIGHUP and Ctrl-C end it when what it has accepted is answered.
    """
    try:
        from ..serving import ServingLimits, address_of, bind, create_app
        from ..serving import serve as run_server
    except ImportError as error:
        fail(f"cannot serve: {error}")
    try:
        limits = ServingLimits(
            max_queue=max_queue,
            max_characters=max_characters,
            timeout=timeout,
            batch_size=batch_size,
            batch_wait=batch_wait / 1000,
        )
        bound = bind(host, port)
    except ValueError as error:
        fail(f"cannot serve: {error}")
    except OSError as error:
        fail(f"cannot listen on {host}, port {port}: {error.strerror or error}")
    parameters: dict[str, Any] = {
        **({} if mention_scope is None else {"mention_scope": mention_scope.value}),
        **({} if entity_id is None else {"id": entity_id.value}),
        **({} if max_kept_spans is None else {"max_kept_spans": max_kept_spans}),
    }
    access = {**hub_access(revision, token), **computed_by(backend, dtype), **parameters}
    if trust_remote_code:
        access["trust_remote_code"] = True
    pipeline: Any = load_or_fail(model, device, knowledge_base, access, quiet=quiet)

    def ready() -> None:
        if not quiet:
            complain(f"answering on {address_of(bound)} (the page), {address_of(bound)}/docs (the API)")

    run_server(create_app(pipeline, limits), bound, limits.timeout, ready)
    if not quiet:
        complain("stopped; all that was accepted is answered")
