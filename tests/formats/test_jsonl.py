"""JSON lines give back what was written, and name file and line where they are wrong."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import AnnotatedDocument, Candidate, Cluster, Document, DocumentError, Mention
from hf_corefel.formats import read_jsonl, write_jsonl

TEXT = "Änne 😀 Berg met Moss.\u2028She left."
GOLD = Document(
    TEXT,
    id="one",
    words=[(0, 4), (7, 11)],
    spans=[(0, 4), (16, 20)],
    candidates={(16, 20): [Candidate("Carl_Moss", 0.25), Candidate("Moss_(town)", 0.75)]},
    clusters=[Cluster((Mention(0, 4), Mention(22, 25)), "Änne_Berg"), Cluster((Mention(16, 20),))],
)
RESULT = AnnotatedDocument(
    TEXT,
    [Cluster((Mention(16, 20, probability=0.5, edge_probability=0.25, link_probability=1.0),), "Carl_Moss", 1.0, "u")],
    id="one",
    warnings=["something was dropped"],
)


@pytest.mark.parametrize("name", ["documents.jsonl", "documents.jsonl.gz"])
def test_documents_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    documents = [GOLD, Document(""), Document("plain", clusters=[]), Document("given", mentions=[(0, 5)])]
    path = tmp_path / name
    assert write_jsonl(path, iter(documents)) == 4
    assert list(read_jsonl(path)) == documents
    content = path.read_bytes()
    write_jsonl(path, documents)
    assert path.read_bytes() == content
    raw = gzip.decompress(content) if name.endswith(".gz") else content
    lines = raw.decode("utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [document.to_dict() for document in documents]
    assert lines[-1] == ""
    assert "Änne 😀" in lines[0]


def test_annotated_documents_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert write_jsonl(path, [RESULT, AnnotatedDocument("nothing", [])]) == 2
    assert list(read_jsonl(path, AnnotatedDocument)) == [RESULT, AnnotatedDocument("nothing", [])]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=3))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "texts.jsonl"
    documents = [Document(text) for text in texts]
    assert write_jsonl(path, documents) == len(texts)
    assert list(read_jsonl(path)) == documents


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "edited.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n   \n{"text": "b"}')
    assert [document.text for document in read_jsonl(path)] == ["a", "b"]


LONG = {"text": "Berg", "clusters": [{"entity": None, "mentions": [{"begin": 0, "end": 9}]}]}
WRONG = {
    b'{"text": "a"': r"no valid JSON: .*\(column 13\)",
    b'{"text": "\xff"}': r"not UTF-8 \(byte 0xff at position 10\)",
    b'["text"]': "expected an object with fields, got list",
    b'{"txet": "a"}': "unknown field 'txet'; the known fields are candidates, clusters, id,",
    b'{"id": "x"}': "document 'x': missing field 'text'",
    json.dumps(LONG).encode(): r"document\.clusters\[0\]\.mentions\[0\]: offsets 0\.\.9 lie outside the text",
    b'{"text": ' + b"1" * 5000 + b"}": "no valid JSON: Exceeds the limit",
    b"[" * 100_000: "nested too deeply",
}


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_errors_name_the_file_and_the_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_bytes(b'{"text": "good"}\n\n' + line + b'\n{"text": "also good"}\n')
    with pytest.raises(DocumentError, match=rf"wrong\.jsonl:3: .*{WRONG[line]}"):
        list(read_jsonl(path))
    with pytest.warns(UserWarning, match=rf"skipped: .*wrong\.jsonl:3: .*{WRONG[line]}") as caught:
        assert [document.text for document in read_jsonl(path, strict=False)] == ["good", "also good"]
    assert [Path(warning.filename).name for warning in caught] == ["test_jsonl.py"]


def test_what_comes_before_an_error_is_given(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text('{"text": "good"}\n{}\n', encoding="utf-8")
    documents = read_jsonl(path)
    assert next(documents).text == "good"
    with pytest.raises(DocumentError, match=r":2: document: missing field 'text'"):
        next(documents)


@pytest.mark.parametrize(("kind", "line"), [(AnnotatedDocument, GOLD), (Document, RESULT)])
def test_the_kinds_are_not_mixed_up(tmp_path: Path, kind: Any, line: Any) -> None:
    path = tmp_path / "other.jsonl"
    write_jsonl(path, [line])
    with pytest.raises(DocumentError, match=r"other\.jsonl:1: document 'one': unknown field"):
        list(read_jsonl(path, kind))


def test_good_files_are_read_without_a_warning(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "good.jsonl", [GOLD])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_jsonl(tmp_path / "good.jsonl", strict=False)) == [GOLD]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.jsonl"):
        next(read_jsonl(tmp_path / "none.jsonl"))
