"""POST /annotate: the pipeline's answers whatever is read together, and a sentence for everything else."""

from __future__ import annotations

import json
import random
import socket
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import jsonschema
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from hf_corefel import AnnotatedDocument, Document, DocumentError
from hf_corefel.candidates.errors import KnowledgeBaseError
from hf_corefel.documents.extra_fields import ExtraFieldWarning
from hf_corefel.serving import create_app
from hf_corefel.serving.descriptions import WRONG_EXAMPLE
from running_services import PATIENCE, StandIn, wait_until

TEXTS = [
    "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city.",
    "Norway won again. Moss, the minister, spoke to the team about Norway.",
    "Bergen",
    "",
    " \n\t",
    "Then she said that he met the coach of the team in the old harbour of Bergen yesterday. " * 4,
    "🙂 Anna Berg \U0001f1f3\U0001f1f4 met a\u0301 \x00 Moss",
]
DOCUMENTS: list[Any] = [
    *TEXTS,
    {"text": TEXTS[0], "id": "with mentions", "mentions": [[0, 9], [14, 23]]},
    {"text": TEXTS[0], "id": 7, "spans": [[0, 9], [33, 37]], "source": {"page": [1, 2.5, None]}},
    {"text": TEXTS[1], "candidates": [{"begin": 0, "end": 6, "candidates": [{"entity": "Elsewhere", "prior": 0.7}]}]},
]


def ask(client: httpx.Client, body: Any, **query: Any) -> httpx.Response:
    return client.post("/annotate", json=body, params=query)


def rounded(value: Any) -> Any:
    """Numbers up to what reading together may round otherwise."""
    if isinstance(value, float):
        return pytest.approx(value, abs=1e-5)
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def alone(pipeline: Any) -> Callable[..., Any]:
    """What the pipeline gives for one document, read by itself."""

    def annotate(document: Any, **parameters: Any) -> Any:
        with warnings.catch_warnings(action="ignore", category=ExtraFieldWarning):
            (found,) = pipeline.annotate([document], **parameters)
        return found.to_dict()

    return annotate


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"evidence": True, "top_k": 3, "resolved_text": True},
        {"min_probability": 0.5, "types": "person,place", "id": "wikidata"},
    ],
)
def test_one_document_and_many_are_answered_as_the_pipeline_does(
    tiny_service: httpx.Client, alone: Callable[..., Any], query: dict[str, Any]
) -> None:
    parameters = {**query, "types": ("person", "place")} if "types" in query else query
    right = [alone(document, **parameters) for document in DOCUMENTS]
    for document, expected in zip(DOCUMENTS[:4], right, strict=False):
        one = ask(tiny_service, document, **query)
        assert (one.status_code, one.headers["content-type"]) == (200, "application/json")
        assert one.json() == rounded(expected)
    many = ask(tiny_service, DOCUMENTS, **query)
    assert many.status_code == 200 and many.json() == rounded(right)
    assert ask(tiny_service, []).json() == []


def test_answers_do_not_depend_on_what_others_ask_at_the_same_time(
    tiny_service: httpx.Client, alone: Callable[..., Any]
) -> None:
    queries: list[dict[str, Any]] = [{}, {"evidence": True}, {"top_k": 2}]
    right = {
        (i, q): alone(document, **query) for i, document in enumerate(DOCUMENTS) for q, query in enumerate(queries)
    }

    def client(number: int) -> None:
        draw = random.Random(number)
        for _ in range(6):
            q = draw.randrange(len(queries))
            chosen = [draw.randrange(len(DOCUMENTS)) for _ in range(draw.randint(1, 5))]
            found = ask(tiny_service, [DOCUMENTS[i] for i in chosen], **queries[q])
            assert found.status_code == 200
            assert found.json() == rounded([right[i, q] for i in chosen])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(client, range(6)))


WRONG: list[Any] = [
    None,
    3,
    ["a"],
    {},
    {"text": None},
    {"text": 3},
    {"text": "Oslo", "mentions": [[0, 99]]},
    {"text": "Oslo", "id": "x", "mentions": [[3, 1]]},
    {"text": "Oslo", "mentions": "all"},
    {"text": "Oslo", "words": [[0, 2], [1, 4]]},
    {"text": "Oslo", "mentions": [[0, 4]], "spans": [[0, 4]]},
    {"text": "Oslo", "mention_scope": "most"},
    {"text": "Oslo", "candidates": [{"begin": 0, "end": 4, "candidates": [{"entity": "", "prior": 2}]}]},
    {"text": "Oslo", "speakers": [{"begin": 0}]},
    {"text": "Oslo", "id": [1]},
]


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
def test_an_invalid_document_is_answered_with_the_sentence_of_the_pipeline_and_the_others_are_annotated(
    tiny_service: httpx.Client, pipeline: Any, alone: Callable[..., Any], wrong: Any
) -> None:
    with pytest.raises(DocumentError) as said:
        pipeline([TEXTS[0], wrong, TEXTS[1]])
    found = ask(tiny_service, [TEXTS[0], wrong, TEXTS[1]])
    assert found.status_code == 422
    assert found.json() == [rounded(alone(TEXTS[0])), {"error": str(said.value)}, rounded(alone(TEXTS[1]))]
    if not isinstance(wrong, list):
        one = tiny_service.post("/annotate", content=json.dumps(wrong), headers={"Content-Type": "application/json"})
        assert one.status_code == 422
        assert one.json() == {"error": str(said.value).replace("inputs[1]", "inputs")}


def test_what_only_annotating_shows_to_be_wrong_costs_no_other(tiny_service: httpx.Client) -> None:
    """The tiny model has no scopes."""
    found = ask(tiny_service, ["Oslo", {"text": "Oslo", "id": "b", "mention_scope": "all"}, "Bergen"])
    assert found.status_code == 422
    assert [sorted(item)[0] for item in found.json()] == ["clusters", "error", "clusters"]
    assert "mention_scope" in found.json()[1]["error"] and "'b'" in found.json()[1]["error"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"top_k": -1}, "top_k: expected a whole number from 0, got -1"),
        ({"top_k": "many"}, "top_k: input should be a valid integer"),
        ({"min_probability": 2}, "min_probability: expected a number between 0 and 1"),
        ({"min_probability": "nan"}, "min_probability: expected a number between 0 and 1"),
        ({"evidence": "perhaps"}, "evidence: input should be a valid boolean"),
        ({"id": "isbn"}, "id: expected 'name' or 'wikidata'"),
        ({"types": "person,plac"}, "did you mean 'place'"),
        ({"mention_scope": "most"}, "mention_scope: expected 'named' or 'all' or 'entities'"),
        ({"batch_size": 3}, "batch_size: no parameter; there are evidence, top_k,"),
        ({"max_kept_spans": 10_000_000}, "max_kept_spans: no parameter"),
    ],
)
def test_a_wrong_parameter_is_named(tiny_service: httpx.Client, query: dict[str, Any], message: str) -> None:
    found = ask(tiny_service, "Oslo", **query)
    assert found.status_code == 422
    assert message in found.json()["error"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body: no valid JSON: Expecting value"),
        (b'{"text": "Oslo"', "the body: no valid JSON: Expecting ',' delimiter"),
        (b"[" * 100_000, "the body: no valid JSON: it is nested too deeply"),
        (b'"\xff"', "the body: no valid JSON: 'utf-8' codec can't decode byte 0xff"),
        (b'{"text": "a", "text": "b"}', "the body: no valid JSON: the key 'text' is there twice"),
        (b'{"text": "a", "weight": NaN}', "the body: no valid JSON: NaN is no number of JSON"),
        (b'{"text": "a", "weight": -Infinity}', "the body: no valid JSON: -Infinity is no number of JSON"),
        (b'{"text": "a", "weight": ' + b"9" * 10_000 + b"}", "the body: no valid JSON: Exceeds the limit"),
    ],
)
def test_a_body_that_is_no_json_is_refused(tiny_service: httpx.Client, body: bytes, message: str) -> None:
    found = tiny_service.post("/annotate", content=body, headers={"Content-Type": "application/json; charset=utf-8"})
    assert found.status_code == 400
    assert found.json()["error"].startswith(message)


def test_what_utf_8_lacks_comes_back_as_it_was(tiny_service: httpx.Client) -> None:
    found = tiny_service.post("/annotate", content=b'"\\ud800 Oslo"', headers={"Content-Type": "application/json"})
    assert found.status_code == 200 and found.json()["text"] == "\ud800 Oslo"


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Content-Encoding": "gzip"}])
def test_another_kind_of_content_is_refused(tiny_service: httpx.Client, headers: dict[str, str]) -> None:
    if "Content-Encoding" in headers:
        headers = {**headers, "Content-Type": "application/json"}
    found = tiny_service.post("/annotate", content=b'"Oslo"', headers=headers)
    assert found.status_code == 415 and "send " in found.json()["error"]


def pieces(number: int) -> Iterator[bytes]:
    """A body of pieces that does not say how long it is."""
    for _ in range(number):
        yield b" " * 10_000


def test_too_much_is_refused_and_says_what_may_be(serve: Callable[..., httpx.Client], stand_in: StandIn) -> None:
    client = serve(stand_in, max_characters=100, max_queue=3)
    assert ask(client, "x" * 100).status_code == 200
    # A character of a text counts as one, however long its bytes are.
    escaped = json.dumps("🙂" * 100).encode()
    assert client.post("/annotate", content=escaped, headers={"Content-Type": "application/json"}).status_code == 200
    for body in ("x" * 101, ["x" * 50, "x" * 51], {"text": "x" * 101}):
        found = ask(client, body)
        assert found.status_code == 413
        assert "the text has 101 characters, and may have 100 in a request" in found.json()["error"]
    found = ask(client, ["a"] * 4)
    assert found.status_code == 413 and "4 documents in a request, which may have 3" in found.json()["error"]
    headers = {"Content-Type": "application/json"}
    found = client.post("/annotate", content=pieces(20), headers=headers)
    assert found.status_code == 413 and "the body has more than 67,136 bytes" in found.json()["error"]
    assert [texts for texts, _ in stand_in.batches] == [["x" * 100], ["🙂" * 100]]
    assert ask(client, "after").status_code == 200


def test_an_error_quotes_no_more_than_can_be_read(tiny_service: httpx.Client) -> None:
    found = ask(tiny_service, {"text": "Oslo", "mention_scope": "x" * 50_000})
    assert found.status_code == 422 and len(found.json()["error"]) < 2_100


def test_a_full_queue_is_said_and_recovers(serve: Callable[..., httpx.Client], stand_in: StandIn) -> None:
    client = serve(stand_in, max_queue=2, batch_size=1, batch_wait=0.0)
    stand_in.hold()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, client, "first")
        wait_until(lambda: stand_in.batches)
        second = pool.submit(ask, client, ["a", "b"])
        wait_until(lambda: "corefel_waiting_documents 2.0" in client.get("/metrics").text)
        full = ask(client, "c")
        assert full.status_code == 429 and full.headers["retry-after"] == "1"
        assert full.json() == {"error": "2 documents may wait, and the queue is full; send it again later"}
        # Whether it is well can be asked all the same.
        assert client.get("/health").json()["status"] == "ok"
        stand_in.release()
        assert [item["text"] for item in second.result(PATIENCE).json()] == ["a", "b"]
        assert first.result(PATIENCE).status_code == 200
    assert ask(client, "c").status_code == 200


def test_what_takes_too_long_is_answered_and_its_rest_withdrawn(
    serve: Callable[..., httpx.Client], stand_in: StandIn
) -> None:
    client = serve(stand_in, timeout=0.3, batch_size=1, batch_wait=0.0)
    stand_in.hold()
    late = ask(client, ["slow", "never read"])
    assert late.status_code == 504
    assert late.json()["error"].startswith("not annotated within 0.3 seconds; send it again")
    stand_in.release()
    assert ask(client, "after").status_code == 200
    assert [texts for texts, _ in stand_in.batches] == [["slow"], ["after"]]


def raw(client: httpx.Client, content: bytes) -> socket.socket:
    """A connection on which something was sent."""
    connection = socket.create_connection((client.base_url.host, client.base_url.port), timeout=PATIENCE)
    connection.sendall(content)
    return connection


HEAD = b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n"


def test_a_body_that_does_not_come_is_given_up(serve: Callable[..., httpx.Client], stand_in: StandIn) -> None:
    client = serve(stand_in, timeout=0.3)
    with raw(client, HEAD + b'"On') as connection:
        assert connection.recv(1_000).startswith(b"HTTP/1.1 408 ")
    assert ask(client, "after").status_code == 200


def test_what_a_client_that_left_asked_for_is_withdrawn(serve: Callable[..., httpx.Client], stand_in: StandIn) -> None:
    client = serve(stand_in, batch_size=1, batch_wait=0.0)
    stand_in.hold()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, client, "first")
        wait_until(lambda: stand_in.batches)
        with raw(client, HEAD + b'"unread"'):
            wait_until(lambda: "corefel_waiting_documents 1.0" in client.get("/metrics").text)
        wait_until(lambda: 'path="/annotate",status="499"} 1.0' in client.get("/metrics").text)
        stand_in.release()
        assert first.result(PATIENCE).status_code == 200
    assert ask(client, "after").status_code == 200
    assert [texts for texts, _ in stand_in.batches] == [["first"], ["after"]]


class Failing:
    """A pipeline that fails as it is told."""

    def annotate(self, inputs: list[Document], batch_size: int) -> list[AnnotatedDocument]:
        raise {"base": KnowledgeBaseError, "memory": MemoryError, "file": OSError, "fault": KeyError}[inputs[0].text](
            "what is wrong"
        )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("base", "cannot annotate: what is wrong"),
        ("memory", "cannot annotate: what is wrong"),
        ("file", "cannot annotate: what is wrong"),
        ("fault", "unexpected KeyError: 'what is wrong'; this may be a fault of the program"),
    ],
)
def test_what_fails_here_is_not_called_the_clients_mistake(
    serve: Callable[..., httpx.Client], kind: str, message: str
) -> None:
    client = serve(Failing())
    found = ask(client, kind)
    assert (found.status_code, found.json()) == (500, {"error": message})
    assert ask(client, [kind, 3]).status_code == 500
    assert client.get("/health").status_code == 200


def test_what_is_counted(serve: Callable[..., httpx.Client], stand_in: StandIn) -> None:
    client = serve(stand_in, batch_size=4)
    ask(client, ["a", "b", 3, "raise RuntimeError"])
    ask(client, "c", top_k=-1)
    client.get("/secret/of/somebody")
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    counted = dict(line.rsplit(" ", 1) for line in found.text.splitlines() if not line.startswith("#"))
    expected = {
        'corefel_requests_total{path="/annotate",status="500"}': 1.0,
        'corefel_requests_total{path="/annotate",status="422"}': 1.0,
        'corefel_requests_total{path="other",status="404"}': 1.0,
        'corefel_documents_total{outcome="annotated"}': 2.0,
        'corefel_documents_total{outcome="invalid"}': 1.0,
        'corefel_documents_total{outcome="failed"}': 1.0,
        "corefel_batch_documents_sum": 3.0,
        "corefel_batch_documents_count": 1.0,
        "corefel_waiting_documents": 0.0,
    }
    assert {name: float(counted[name]) for name in expected} == expected
    # Nobody can make up names of series, or read what others asked for.
    assert "secret" not in found.text


def test_pages_of_other_sites_cannot_use_it(serve: Callable[..., httpx.Client], stand_in: StandIn) -> None:
    client = serve(stand_in)
    other = {"Sec-Fetch-Site": "cross-site"}
    assert client.post("/annotate", json="Oslo", headers=other).status_code == 403
    assert client.post("/", data={"text": "Oslo"}, headers=other).status_code == 403
    assert client.get("/", headers=other).status_code == 200
    assert client.post("/annotate", json="Oslo", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert "access-control-allow-origin" not in client.options("/annotate").headers
    assert [texts for texts, _ in stand_in.batches] == [["Oslo"]]


def test_its_description_holds(tiny_service: httpx.Client) -> None:
    """Examples are answered as they say, answers have the schema, and the page has all of it."""
    described = tiny_service.get("/openapi.json").json()
    assert list(described["paths"]) == ["/annotate", "/health", "/metrics"]
    operation = described["paths"]["/annotate"]["post"]
    asked = operation["requestBody"]["content"]["application/json"]
    answers = {status: item["content"]["application/json"] for status, item in operation["responses"].items()}
    for example in (item["value"] for item in asked["examples"].values()):
        jsonschema.validate(example, asked["schema"])
        found = ask(tiny_service, example, evidence=True, top_k=2, resolved_text=True)
        assert found.status_code == 200, found.text
        jsonschema.validate(found.json(), answers["200"]["schema"])
    for status, answer in answers.items():
        for example in answer["examples"].values():
            jsonschema.validate(example["value"], answer["schema"])
            if status not in ("200", "422"):
                assert list(example["value"]) == ["error"]
    found = ask(tiny_service, WRONG_EXAMPLE)
    assert found.status_code == 422
    assert found.json()[1] == answers["422"]["examples"]["many"]["value"][1]
    for body in DOCUMENTS:
        jsonschema.validate(body, asked["schema"])
        jsonschema.validate(ask(tiny_service, body).json(), answers["200"]["schema"])
    page = tiny_service.get("/docs").text
    for path in described["paths"]:
        assert path in page
    for parameter in operation["parameters"]:
        assert f"<code>{parameter['name']}</code>" in page
    assert all(f"<strong>{status}</strong>" in page for status in operation["responses"])
    assert "<script" not in page and "://" not in page


def test_there_is_no_other_page(tiny_service: httpx.Client) -> None:
    for path in ("/redoc", "/docs/oauth2-redirect", "/nothing"):
        found = tiny_service.get(path)
        assert (found.status_code, found.json()["error"]) == (404, f"there is no {path}; /docs says what there is")
    found = tiny_service.get("/annotate")
    assert (found.status_code, found.headers["allow"]) == (405, "POST")
    assert tiny_service.get("/health").json()["status"] == "ok"


def test_mounted_in_another_service_and_started_twice(stand_in: StandIn) -> None:
    outer, app = FastAPI(), create_app(stand_in)
    outer.mount("/corefel", app)
    with TestClient(outer) as client:  # runs no lifespan of what is mounted
        assert client.post("/corefel/annotate", json="a").json()["text"] == "a"
        assert client.get("/corefel/health").status_code == 200
    for _ in range(2):
        with TestClient(app) as client:
            assert client.post("/annotate", json="a").status_code == 200


def test_numbers_beyond_all_bounds_are_refused(tiny_service: httpx.Client) -> None:
    content = {"Content-Type": "application/json"}
    found = tiny_service.post("/annotate", content=b'{"text": "a", "score": 1e999}', headers=content)
    assert (found.status_code, found.json()) == (400, {"error": "the body: no valid JSON: 1e999 is no number of JSON"})


def test_a_fault_of_the_program_is_counted_as_one() -> None:
    class Odd(StandIn):
        def annotate(self, inputs: Any, **parameters: Any) -> Any:
            return [object() for _ in inputs]

    app = create_app(Odd())
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.post("/annotate", json="a").status_code == 500
        assert 'corefel_requests_total{path="/annotate",status="500"} 1.0' in client.get("/metrics").text
