"""What the API says of itself (OpenAPI): operations, schemas, and examples that the tests send."""

from __future__ import annotations

from typing import Any

__all__ = ["ANNOTATE", "DESCRIPTION", "HEALTH", "METRICS", "WRONG_EXAMPLE"]

DESCRIPTION = (
    "Finds the mentions of a text, clusters those that name one thing, and links each cluster to an entity or NIL. "
    "Offsets are code points of the text, the end exclusive."
)

_TEXT = "Angela Merkel met Barack Obama in Berlin. Merkel smiled."
_PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
_OFFSET = {"type": "integer", "minimum": 0}
_NAME = {"type": ["string", "null"]}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_PAIRS = _list({"type": "array", "items": _OFFSET, "minItems": 2, "maxItems": 2})
_CANDIDATE = _object({"entity": {"type": "string"}, "prior": _PROBABILITY})
_ID = {"type": ["string", "integer"]}
_DOCUMENT = {
    **_object(
        {"text": {"type": "string"}},
        id=_ID,
        words=_PAIRS,
        mentions=_PAIRS,
        spans=_PAIRS,
        candidates=_list(_object({"begin": _OFFSET, "end": _OFFSET, "candidates": _list(_CANDIDATE)})),
        mention_scope={"enum": ["named", "all", "entities"]},
        speakers=_list(_object({"begin": _OFFSET, "end": _OFFSET, "speaker": {"type": "string"}})),
    ),
    "description": "A document, and what is known of it already. Its other fields come back with the result.",
}
_ITEM = {"anyOf": [{"type": "string"}, _DOCUMENT]}
_MENTION = _object(
    {
        "begin": _OFFSET,
        "end": _OFFSET,
        "text": {"type": "string"},
        "probability": _PROBABILITY,
        "edge_probability": _PROBABILITY,
        "link_probability": _PROBABILITY,
    },
    parent=_object(
        {"kind": {"enum": ["root", "mention", "entity"]}},
        begin=_OFFSET,
        end=_OFFSET,
        text={"type": "string"},
        entity={"type": "string"},
    ),
)
_CLUSTER = _object(
    {"entity": _NAME, "mentions": _list(_MENTION), "probability": _PROBABILITY},
    url={"type": "string"},
    wikidata={"type": "string"},
    type={"type": "string"},
    alternatives=_list(_object({"entity": _NAME, "probability": _PROBABILITY}, wikidata={"type": "string"})),
)
_RESULT = _object(
    {"text": {"type": "string"}, "clusters": _list(_CLUSTER), "warnings": _list({"type": "string"})},
    id=_ID,
    resolved_text={"type": "string"},
)
_ERROR = _object({"error": {"type": "string", "description": "What is wrong and what would be right, in a sentence."}})
_ANSWER = {"anyOf": [_RESULT, _list({"anyOf": [_RESULT, _ERROR]})]}


def _json(schema: dict[str, Any], **examples: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": schema}
    if examples:
        content["examples"] = {name: {"value": value} for name, value in examples.items()}
    return {"application/json": content}


def _failure(description: str, example: str) -> dict[str, Any]:
    return {"description": description, "content": _json(_ERROR, error={"error": example})}


_ANNOTATED = {
    "text": "Merkel smiled.",
    "clusters": [
        {
            "entity": "Angela_Merkel",
            "mentions": [
                {
                    "begin": 0,
                    "end": 6,
                    "text": "Merkel",
                    "probability": 0.99,
                    "edge_probability": 0.97,
                    "link_probability": 0.97,
                }
            ],
            "probability": 0.97,
        }
    ],
    "warnings": [],
}
_MISTAKE = {"text": "Merkel smiled.", "mentions": [[0, 99]]}
_SAID = "inputs[1]: document.mentions[0]: offsets 0..99 lie outside the text of 14 code points"
ANNOTATE: dict[str, Any] = {
    "summary": "Annotate one document, or many",
    "description": (
        "The body is a text, a document, or a list of these; the answer is its result, or the list of results in the "
        "same order. In a list, a document that is invalid has an error in place of its result; the others are "
        "answered all the same, and the status is 422. What the model reads together changes no answer."
    ),
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": _json(
                {"anyOf": [_ITEM, _list(_ITEM)]},
                text="Merkel smiled.",
                document={"text": _TEXT, "id": "note-1", "mentions": [[0, 13], [18, 30], [42, 48]]},
                many=[{"text": "Merkel smiled.", "id": 1}, {"text": "Obama left.", "id": 2}],
            ),
        }
    },
    "responses": {
        200: {
            "description": "The result of the document, or the results of a list in its order.",
            "content": _json(_ANSWER, text=_ANNOTATED),
        },
        422: {
            "description": "A document or a parameter is invalid; of a list, the results of all others are there.",
            "content": _json({"anyOf": [_ERROR, _ANSWER]}, many=[_ANNOTATED, {"error": _SAID}]),
        },
        400: _failure("The body is no JSON.", "the body: no valid JSON: Expecting value: line 1 column 1 (char 0)"),
        408: _failure("The body did not come.", "the body did not come within 60 seconds"),
        413: _failure(
            "More characters or documents than a request may have.",
            "the text has 123,456 characters, and may have 100,000 in a request; send the parts of a long text, or a "
            "list of texts, in several requests",
        ),
        415: _failure(
            "The body is not said to be JSON.",
            "the content type is not said; send the header Content-Type: application/json",
        ),
        429: _failure(
            "The queue is full; the header Retry-After says when to try again.",
            "64 documents may wait, and the queue is full; send it again later",
        ),
        500: _failure("The service failed.", "cannot annotate: not enough memory"),
        503: _failure("The service is being stopped.", "the service is being stopped; send it again later"),
        504: _failure(
            "Not annotated in time.",
            "not annotated within 60 seconds; send it again when less is asked of the service, or in smaller parts",
        ),
    },
}
_STATUS = _object({"status": {"enum": ["ok", "stopping"]}, "version": {"type": "string"}})
HEALTH: dict[str, Any] = {
    "summary": "Whether documents are taken on",
    "responses": {
        200: {"description": "They are.", "content": _json(_STATUS, ok={"status": "ok", "version": "1.0"})},
        503: {
            "description": "They are not.",
            "content": _json(_STATUS, stopping={"status": "stopping", "version": "1.0"}),
        },
    },
}
METRICS: dict[str, Any] = {
    "summary": "Counters, as Prometheus reads them",
    "responses": {200: {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
}
# The mistake behind the example of an answer with 422, with a good document before it.
WRONG_EXAMPLE = ["Merkel smiled.", _MISTAKE]
