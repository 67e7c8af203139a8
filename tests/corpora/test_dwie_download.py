from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hf_corefel.corpora import read_dwie
from hf_corefel.corpora.dwie_download import (
    CorpusError,
    DownloadError,
    DownloadReport,
    article_content,
    download_dwie,
    read_article_list,
)

ANSWER = {"name": "Berg in Oslo", "teaser": "Anna Berg is in Oslo.", "text": "Berg likes Öslo."}
CONTENT = "Berg in Oslo\nAnna Berg is in Oslo.\nBerg likes Öslo."


@dataclass
class Server:
    """Answers every path with status and body, or as a function of the number of requests for it so far."""

    answers: dict[str, Any] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    address: str = ""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.agents.add(self.headers["User-Agent"])
            state.requests.append(self.path)
            answer = state.answers.get(self.path, (404, b""))
            if callable(answer):
                answer = answer(state.requests.count(self.path))
            status, body, *headers = answer
            try:
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client did not wait

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    state.address = f"http://127.0.0.1:{httpd.server_port}"
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def good(**changed: Any) -> tuple[int, bytes]:
    return 200, json.dumps({**ANSWER, "id": 1, **changed}).encode()


def annotation(name: str) -> dict[str, Any]:
    mention = {"begin": 8, "end": 12, "text": "Oslo", "concept": 0}
    return {"id": name, "tags": ["all", "train"], "mentions": [mention], "concepts": [{"concept": 0, "link": "Oslo"}]}


def corpus(folder: Path, address: str, *names: str) -> Path:
    (folder / "annos").mkdir(parents=True)
    digest = sha1(CONTENT.encode()).hexdigest()
    listed = [{"id": name, "url": f"{address}/article/{name[3:]}", "hash": digest} for name in names]
    (folder / "article_id_to_url.json").write_text(json.dumps(listed), encoding="utf-8")
    for name in names:
        (folder / "annos" / f"{name}.json").write_text(json.dumps(annotation(name)), encoding="utf-8")
    return folder


def run(folder: Path, **options: Any) -> DownloadReport:
    return download_dwie(folder, **{"delay": 0.0, "timeout": 5.0, **options})


def statuses(report: DownloadReport) -> dict[str, str]:
    return {article.id: article.status for article in report.articles}


def detail(report: DownloadReport, name: str) -> str:
    return next(article.detail or "" for article in report.articles if article.id == name)


def written(folder: Path) -> Any:
    return json.loads((folder / "download_report.json").read_text(encoding="utf-8"))


def test_articles_get_their_text(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": good(), "/article/2": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2")
    shown: list[str] = []
    report = run(folder, progress=lambda outcome: shown.append(outcome.id))
    assert statuses(report) == {"DW_1": "complete", "DW_2": "complete"}
    assert shown == ["DW_1", "DW_2"]
    assert [document.text for document in read_dwie(folder)] == [CONTENT] * 2
    article = json.loads((folder / "annos_with_content" / "DW_1.json").read_text(encoding="utf-8"))
    assert {key: value for key, value in article.items() if key != "content"} == annotation("DW_1")
    assert written(folder) == {
        "counts": {"complete": 2, "changed": 0, "mismatched": 0, "failed": 0, "pending": 0},
        "incomplete": [],
    }
    (agent,) = server.agents
    assert agent.startswith("hf-corefel/")


def test_a_changed_text_whose_mentions_are_in_place_is_used_and_reported(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": good(text="Berg left.")}
    folder = corpus(tmp_path / "data", server.address, "DW_1")
    report = run(folder)
    assert statuses(report) == {"DW_1": "changed"}
    (listed,) = written(folder)["incomplete"]
    assert listed["id"] == "DW_1" and listed["url"] == f"{server.address}/article/1"
    assert sha1(CONTENT.encode()).hexdigest() in listed["detail"]
    (document,) = read_dwie(folder)
    assert document.text.endswith("Berg left.")


def test_a_changed_text_without_its_mentions_is_kept_apart(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": good(name="In Oslo: Berg"), "/article/2": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2")
    report = run(folder)
    assert statuses(report) == {"DW_1": "mismatched", "DW_2": "complete"}
    assert "mentions[0]: text 'Oslo' differs" in detail(report, "DW_1")
    assert [document.id for document in read_dwie(folder)] == ["DW_2"]
    kept = json.loads((folder / "annos_mismatched" / "DW_1.json").read_text(encoding="utf-8"))
    assert kept["content"].startswith("In Oslo: Berg") and kept["mentions"] == annotation("DW_1")["mentions"]
    assert json.loads((folder / "annos" / "DW_1.json").read_text(encoding="utf-8")) == annotation("DW_1")
    assert run(folder).count("mismatched") == 1 and server.requests.count("/article/1") == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, b"gone"), "HTTP 404"),
        ((200, b"<html>"), "no JSON"),
        ((200, b"\xff\xfe{"), "no JSON"),
        ((200, b"[1]"), "expected a JSON object, got list"),
        ((200, b'{"id": 1}'), "no text under name, teaser and text; the answer has the fields ['id']"),
        ((200, b'{"text": {}, "name": "a"}'), "no text under"),
        ((200, b'{"text": "Oslo \\ud800"}'), "the content of the answer is no valid Unicode: 'utf-8' codec"),
        pytest.param((200, b"[" * 200_000), "no JSON: ", id="deep"),
        pytest.param((200, b'{"id": ' + b"1" * 5000 + b"}"), "no JSON: ", id="number"),
    ],
)
def test_an_article_without_text_fails_alone(server: Server, tmp_path: Path, answer: Any, message: str) -> None:
    server.answers = {"/article/1": answer, "/article/2": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2")
    report = run(folder)
    assert statuses(report) == {"DW_1": "failed", "DW_2": "complete"}
    assert message in detail(report, "DW_1")
    assert server.requests.count("/article/1") == 1


@pytest.mark.parametrize("content", [b'{"id": "DW_1", "content": "Be', b"[]", b"\xff", b"[" * 200_000])
def test_a_damaged_file_of_an_earlier_run_is_fetched_anew(server: Server, tmp_path: Path, content: bytes) -> None:
    server.answers = {"/article/1": good(), "/article/3": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2", "DW_3")
    (folder / "annos_with_content").mkdir()
    for name in ("DW_1", "DW_2"):
        (folder / "annos_with_content" / f"{name}.json").write_bytes(content)
    report = run(folder)
    assert statuses(report) == {"DW_1": "complete", "DW_2": "failed", "DW_3": "complete"}
    with pytest.warns(UserWarning, match=r"skipped: .*DW_2\.json"):
        assert [document.text for document in read_dwie(folder, strict=False)] == [CONTENT] * 2


def test_what_was_not_tried_says_that_its_file_is_damaged(server: Server, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "data", "http://127.0.0.1:1", "DW_1", "DW_2")
    (folder / "annos_mismatched").mkdir()
    (folder / "annos_mismatched" / "DW_2.json").write_text("{", encoding="utf-8")
    with pytest.raises(DownloadError) as caught:
        run(folder, retries=0, give_up_after=1)
    assert statuses(caught.value.report) == {"DW_1": "failed", "DW_2": "pending"}
    assert "DW_2.json: no valid JSON" in detail(caught.value.report, "DW_2")


def test_a_lone_surrogate_in_a_file_stays(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/2": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2")
    (folder / "annos_with_content").mkdir()
    known = {**annotation("DW_1"), "content": f"{CONTENT} \ud800"}
    (folder / "annos_with_content" / "DW_1.json").write_text(json.dumps(known), encoding="utf-8")
    # In the annotation it may stand anywhere.
    marked = {**annotation("DW_2"), "note": "\ud800"}
    (folder / "annos" / "DW_2.json").write_text(json.dumps(marked), encoding="utf-8")
    assert statuses(run(folder)) == {"DW_1": "changed", "DW_2": "complete"}
    article = json.loads((folder / "annos_with_content" / "DW_2.json").read_text(encoding="utf-8"))
    assert article == {**marked, "content": CONTENT}


def test_an_address_that_cannot_be_asked_for(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/2": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2")
    listed = json.loads((folder / "article_id_to_url.json").read_text(encoding="utf-8"))
    listed[0]["url"] += "/Öslo\ud800"
    (folder / "article_id_to_url.json").write_text(json.dumps(listed), encoding="utf-8")
    report = run(folder, retries=0)
    assert statuses(report) == {"DW_1": "failed", "DW_2": "complete"}
    assert "the address cannot be asked for" in detail(report, "DW_1")
    assert written(folder)["incomplete"][0]["url"] == listed[0]["url"]


def test_passing_failures_are_tried_again(server: Server, tmp_path: Path) -> None:
    def second(number: int) -> tuple[Any, ...]:
        return (503, b"", ("Retry-After", "0")) if number == 1 else good()

    server.answers = {"/article/1": second, "/article/2": (500, b"")}
    report = run(corpus(tmp_path / "data", server.address, "DW_1", "DW_2"))
    assert statuses(report) == {"DW_1": "complete", "DW_2": "failed"}
    assert detail(report, "DW_2").startswith("HTTP 500")
    assert [server.requests.count(f"/article/{number}") for number in (1, 2)] == [2, 3]


def test_the_server_may_ask_for_patience(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": lambda number: (429, b"", ("Retry-After", "1")) if number == 1 else good()}
    begin = time.monotonic()
    assert run(corpus(tmp_path / "data", server.address, "DW_1")).count("complete") == 1
    assert time.monotonic() - begin >= 1.0


def test_requests_keep_their_distance(server: Server, tmp_path: Path) -> None:
    server.answers = {f"/article/{number}": good() for number in (1, 2, 3)}
    begin = time.monotonic()
    run(corpus(tmp_path / "data", server.address, "DW_1", "DW_2", "DW_3"), delay=0.2)
    assert time.monotonic() - begin >= 0.4


def test_a_timeout(server: Server, tmp_path: Path) -> None:
    def slow(number: int) -> tuple[int, bytes]:
        time.sleep(1.0)
        return good()

    server.answers = {"/article/1": slow, "/article/2": good()}
    report = run(corpus(tmp_path / "data", server.address, "DW_1", "DW_2"), timeout=0.3, retries=0)
    assert statuses(report) == {"DW_1": "failed", "DW_2": "complete"}
    assert "timed out" in detail(report, "DW_1")


def test_resuming_fetches_what_is_missing_only(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": good(), "/article/2": (404, b""), "/article/3": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2", "DW_3")

    def interrupt(outcome: Any) -> None:
        if outcome.id == "DW_2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(folder, progress=interrupt)
    assert written(folder)["counts"] == {"complete": 1, "changed": 0, "mismatched": 0, "failed": 1, "pending": 1}
    before = (folder / "annos_with_content" / "DW_1.json").stat().st_mtime_ns
    server.answers["/article/2"] = good()
    server.requests.clear()
    report = run(folder)
    assert server.requests == ["/article/2", "/article/3"]
    assert report.count("complete") == 3
    assert (folder / "annos_with_content" / "DW_1.json").stat().st_mtime_ns == before
    assert [article.fetched for article in report.articles] == [False, True, True]


def test_without_a_network_it_says_what_to_do(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/9": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_9")
    run(folder)
    listed = json.loads((folder / "article_id_to_url.json").read_text(encoding="utf-8"))
    for number in range(1, 6):  # nothing listens at port 1
        listed.insert(0, {"id": f"DW_{number}", "url": f"http://127.0.0.1:1/{number}", "hash": "0"})
        (folder / "annos" / f"DW_{number}.json").write_text(json.dumps(annotation(f"DW_{number}")), encoding="utf-8")
    (folder / "article_id_to_url.json").write_text(json.dumps(listed), encoding="utf-8")
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:1 cannot be reached .*refused.* 1 of 6 articles") as caught:
        run(folder, retries=0, give_up_after=2)
    assert "run this again where there is a network" in str(caught.value)
    counts = {"complete": 1, "changed": 0, "mismatched": 0, "failed": 2, "pending": 3}
    assert caught.value.report.to_dict()["counts"] == written(folder)["counts"] == counts
    assert len(list((folder / "annos").iterdir())) == 6


def test_articles_of_the_list_or_the_annotation_only(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": good(), "/article/2": good()}
    folder = corpus(tmp_path / "data", server.address, "DW_1", "DW_2")
    (folder / "annos" / "DW_2.json").rename(folder / "annos" / "DW_3.json")
    report = run(folder)
    assert statuses(report) == {"DW_1": "complete", "DW_2": "failed", "DW_3": "failed"}
    assert "no annotation" in detail(report, "DW_2") and "not in the list" in detail(report, "DW_3")
    assert server.requests == ["/article/1"]


def test_an_article_that_has_moved(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/19026607": good()}
    assert run(corpus(tmp_path / "data", server.address, "DW_18525950")).count("complete") == 1


def test_another_extractor(server: Server, tmp_path: Path) -> None:
    server.answers = {"/article/1": (200, json.dumps({"body": CONTENT}).encode())}
    folder = corpus(tmp_path / "data", server.address, "DW_1")
    assert run(folder, content=lambda answer: answer["body"]).count("complete") == 1


def test_what_an_extractor_cannot_take_fails_alone(server: Server, tmp_path: Path) -> None:
    server.answers = {
        f"/article/{number}": (200, json.dumps(answer).encode())
        for number, answer in enumerate(({"body": CONTENT}, {}, {"body": 5}), start=1)
    }
    report = run(
        corpus(tmp_path / "data", server.address, "DW_2", "DW_3", "DW_1"), content=lambda answer: answer["body"]
    )
    assert statuses(report) == {"DW_1": "complete", "DW_2": "failed", "DW_3": "failed"}
    assert detail(report, "DW_2") == "no content can be made of the answer: KeyError('body')"
    assert detail(report, "DW_3") == "the content of the answer is no text, but int"


def test_content_of_an_answer() -> None:
    assert article_content(ANSWER) == CONTENT
    assert article_content({"name": "A", "teaser": None}) == "A\n\n"
    with pytest.raises(CorpusError, match="no text"):
        article_content({"name": "", "text": None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a list of objects with id, url and hash"),
        ("[[]]", "expected a list of objects"),
        pytest.param("[" * 200_000, "expected a list of objects", id="deep"),
        ('[{"id": "DW_1", "url": "http://[", "hash": "0"}]', "DW_1: not a web address"),
        ('[{"id": "DW_1", "url": "https://x.org/1"}]', "hash"),
        ('[{"id": "DW_1", "url": "file:///etc/hosts", "hash": "0"}]', "DW_1: not a web address"),
    ],
)
def test_malformed_lists(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "list.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read_article_list(path)


def test_missing_files_say_where_they_are(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file; it is in the folder data of https://github"):
        download_dwie(tmp_path)
    (tmp_path / "article_id_to_url.json").write_text("[]", encoding="utf-8")
    with pytest.raises(CorpusError, match="no annotation"):
        download_dwie(tmp_path)
