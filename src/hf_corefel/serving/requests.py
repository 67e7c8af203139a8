"""What a request asks for: its body within limits, its documents or what is wrong with them, its parameters."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from ..documents import Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..pipelines.handed_over import as_document
from ..utils.json_files import parse_json
from .limits import ServingLimits

__all__ = ["Asked", "RefusedError", "check_characters", "form_of", "read_body", "read_documents"]

_log = logging.getLogger(__name__)
# An error may quote what is wrong, which may be a whole text.
_LONGEST_MESSAGE = 2_000


class RefusedError(Exception):
    """A request that is answered with an error.

    Attributes:
        status: The status of the answer.
        message: What is wrong and what would be right, in a sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        shown = message
        if len(message) > _LONGEST_MESSAGE:
            shown = f"{message[:_LONGEST_MESSAGE]} … ({len(message):,} characters)"
        super().__init__(shown)
        self.status, self.message = status, shown


@dataclass(frozen=True, slots=True)
class Asked:
    """The documents of a request.

    Attributes:
        documents: Each document, or what is wrong with it.
        single: Whether it is one that was not in a list.
    """

    documents: list[Document | RefusedError]
    single: bool


async def read_body(request: Request, kind: str, limits: ServingLimits) -> bytes:
    """Return the body of a request, of which no more is in memory than may be.

    Args:
        request: The request.
        kind: The type of content that it must say.
        limits: How long it may be, and how long it may take.

    Raises:
        RefusedError: When it is of another type (415), too long (413), or does not come to its end (408).
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # Which is also what keeps pages of other sites from sending it: a browser asks first, and is not allowed to.
    if said != kind:
        raise RefusedError(415, f"the content type is {said or 'not said'}; send the header Content-Type: {kind}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError(415, "the body is compressed; send it as it is")
    body = bytearray()
    try:
        async with asyncio.timeout(limits.timeout):
            async for piece in request.stream():
                body += piece
                if len(body) > limits.max_bytes:
                    raise _too_large(f"the body has more than {limits.max_bytes:,} bytes")
    except TimeoutError as error:
        raise RefusedError(408, f"the body did not come within {limits.timeout:g} seconds") from error
    except ClientDisconnect as error:
        raise RefusedError(400, "the body ended before its end") from error
    return bytes(body)


def read_documents(body: bytes, limits: ServingLimits) -> Asked:
    """Return the documents of a body: one, or a list of them, each a text or an object as `Document.from_dict` takes.

    Raises:
        RefusedError: When it is no JSON (400), or holds more documents or characters than a request may have (413).
    """
    try:
        found = parse_json(body, "the body")
    except ValueError as error:
        raise RefusedError(400, str(error)) from error
    single = not isinstance(found, list)
    items = [found] if single else found
    if len(items) > limits.max_queue:
        raise RefusedError(
            413, f"{len(items):,} documents in a request, which may have {limits.max_queue:,}; send them in several"
        )
    check_characters(sum(map(_characters, items)), limits)
    extra = ExtraFields(_log.info)
    asked = Asked(
        [_document(item, "inputs" if single else f"inputs[{i}]", extra) for i, item in enumerate(items)], single
    )
    extra.say()
    return asked


def check_characters(number: int, limits: ServingLimits) -> None:
    """Raises `RefusedError` (413) when texts have more characters than a request may have."""
    if number > limits.max_characters:
        raise _too_large(f"the text has {number:,} characters, and may have {limits.max_characters:,} in a request")


def _too_large(what: str) -> RefusedError:
    return RefusedError(413, f"{what}; send the parts of a long text, or a list of texts, in several requests")


def _characters(item: Any) -> int:
    text = item.get("text") if isinstance(item, dict) else item
    return len(text) if isinstance(text, str) else 0


def _document(item: Any, where: str, extra: ExtraFields) -> Document | RefusedError:
    try:
        return as_document(item, where, extra)
    except DocumentError as error:
        return RefusedError(422, str(error))
    except RecursionError:  # lists that are parsed may still be nested too deeply to be talked about
        return RefusedError(422, f"{where}: no document: lists or objects are nested too deeply")


def form_of(body: bytes) -> dict[str, str]:
    """Return the fields of an HTML form; the line ends of a text are line feeds, where forms have two characters.

    Raises:
        RefusedError: When it has more fields than any form of ours (400).
    """
    try:
        pairs = parse_qs(body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=10)
    except ValueError as error:
        raise RefusedError(400, f"the form has too many fields: {error}") from error
    return {name: values[0].replace("\r\n", "\n") for name, values in pairs.items()}
