"""JSON lines give back what was written, and name file and line where they are wrong."""

from __future__ import annotations

import datetime
import gzip
import json
import re
import signal
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import Alternative, AnnotatedDocument, Candidate, Cluster, Document, DocumentError, Mention, Parent
from hf_corefel.documents.extra_fields import ExtraFieldWarning
from hf_corefel.formats import read_jsonl, write_jsonl
from hf_corefel.formats.json_text import json_list, json_text

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


HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Any code points, with many surrogates: lone ones, pairs of them, and beside characters that UTF-16 has pairs for.
STRINGS = st.text(
    st.one_of(st.characters(exclude_categories=()), st.sampled_from("\ud800\udbff\udc00\udfff😀a")), max_size=8
)


def everywhere(text: str, name: str) -> list[Document | AnnotatedDocument]:
    """Documents of both kinds with a text, and a name wherever a document may have one."""
    first = Mention(0, 1, probability=0.5, parent=Parent("entity", entity=name))
    result = Cluster((first,), name, 1.0, name, (Alternative(name, 0.5),))
    return [
        Document(text, name, candidates={(0, 1): [Candidate(name, 0.5)]}, clusters=[Cluster((Mention(0, 1),), name)]),
        AnnotatedDocument(text, [result], name, [name], resolved_text=text),
    ]


@settings(max_examples=250, deadline=None)
@given(STRINGS.filter(bool), STRINGS.filter(bool))
def test_any_strings_come_back_or_are_refused(text: str, name: str) -> None:
    if HALVES.search(text) or HALVES.search(name):
        with pytest.raises(DocumentError, match="two halves of one character"):
            everywhere(text, name)
        return
    with tempfile.TemporaryDirectory() as folder:
        for document in everywhere(text, name):
            path = Path(folder) / "strings.jsonl"
            write_jsonl(path, [document])
            assert list(read_jsonl(path, type(document))) == [document]


@pytest.mark.parametrize(
    "make",
    [
        lambda text: Document(text),
        lambda text: Document("a", id=text),
        lambda text: Document("a", candidates={(0, 1): [Candidate(text, 0.5)]}),
        lambda text: Document("a", clusters=[Cluster((Mention(0, 1),), text)]),
        lambda text: AnnotatedDocument(text, []),
        lambda text: AnnotatedDocument("a", [], id=text),
        lambda text: AnnotatedDocument("a", [], warnings=[text]),
        lambda text: AnnotatedDocument("a", [], resolved_text=text),
        lambda text: AnnotatedDocument("a", [Cluster((Mention(0, 1),), "E", url=text)]),
        lambda text: AnnotatedDocument("a", [Cluster((Mention(0, 1),), "E", None, None, (Alternative(text, 0.5),))]),
        lambda text: AnnotatedDocument("a", [Cluster((Mention(0, 1, parent=Parent("entity", entity=text)),), "E")]),
    ],
)
def test_halves_of_a_character_are_refused_wherever_they_stand(make: Callable[[str], Any]) -> None:
    message = r"code points 1 and 2 are the two halves of one character \('😀'\); join them with text\.encode"
    with pytest.raises(DocumentError, match=message):
        make("x\ud83d\ude00")
    make("x\ude00\ud83d")
    joined = "x\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert joined == "x😀"
    make(joined)


def test_a_line_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl.gz"
    documents = [Document("a"), Document("b" * 1000), Document("c")]
    write_jsonl(path, documents)
    assert list(read_jsonl(path)) == documents
    with pytest.raises(DocumentError, match=r"long\.jsonl\.gz:2: longer than 100 bytes \(max_line_bytes\)"):
        list(read_jsonl(path, max_line_bytes=100))
    with pytest.warns(UserWarning, match=r"skipped: .*:2: longer than 100 bytes"):
        assert list(read_jsonl(path, strict=False, max_line_bytes=100)) == [documents[0], documents[2]]


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_an_error_in_the_middle_leaves_the_earlier_file_and_the_finished_lines(tmp_path: Path, name: str) -> None:
    path, partial = tmp_path / name, tmp_path / f"{name}.part"
    write_jsonl(path, [Document("earlier")])

    def documents(number: int) -> Iterator[Document]:
        for n in range(number):
            yield Document(f"text {n}")
            # Each line can be read before the next document is made.
            with gzip.open(partial) if name.endswith(".gz") else partial.open("rb") as file:
                assert [json.loads(file.readline())["text"] for _ in range(n + 1)][-1] == f"text {n}"
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle") as caught:
        write_jsonl(path, documents(3))
    assert caught.value.__notes__ == [f"what was finished is in {partial}; the next run that writes {path} replaces it"]
    assert list(read_jsonl(path)) == [Document("earlier")]
    kept = partial.read_bytes()
    assert (gzip.decompress(kept) if name.endswith(".gz") else kept).count(b"\n") == 3
    # Nothing finished is nothing to keep.
    with pytest.raises(RuntimeError) as caught:
        write_jsonl(path, documents(0))
    assert not hasattr(caught.value, "__notes__") and list(tmp_path.iterdir()) == [path]


def test_killed_in_the_middle(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from hf_corefel import AnnotatedDocument\n"
        "from hf_corefel.formats import write_html, write_jsonl\n"
        "def documents():\n"
        "    for n in range(100):\n"
        "        yield AnnotatedDocument(f'text {n}', [], str(n))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "for path in sys.argv[1:]:\n"
        "    if os.fork() == 0:\n"
        "        (write_html if path.endswith('html') else write_jsonl)(path, documents())\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    paths = [tmp_path / name for name in ("a.jsonl", "a.jsonl.gz", "a.html")]
    for path in paths:
        path.write_bytes(b"earlier")
    done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * 3, done.stderr
    assert [path.read_bytes() for path in paths] == [b"earlier"] * 3
    assert (tmp_path / "a.jsonl.part").read_bytes().count(b"\n") == 100
    unpacked = zlib.decompressobj(31).decompress((tmp_path / "a.jsonl.gz.part").read_bytes())
    assert [json.loads(line)["id"] for line in unpacked.splitlines()] == [str(n) for n in range(100)]


def test_list_of_json_is_that_of_the_standard_library() -> None:
    for items in ([], [1], [{"a": ["é\n", []], "b": {}}, "\u2028"]):
        assert "".join(json_list(items)) == json.dumps(items, indent=2, ensure_ascii=False) + "\n"
    assert json_text("\x7f\u202e😀\U000e0041\udc80", printable=True) == r'"\u007f\u202e😀\udb40\udc41\udc80"'
    assert json_text("é\udc80") == r'"é\udc80"' and json_text("é", ascii_only=True) == r'"\u00e9"'


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "edited.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n   \n{"text": "b"}')
    assert [document.text for document in read_jsonl(path)] == ["a", "b"]


LONG = {"text": "Berg", "clusters": [{"entity": None, "mentions": [{"begin": 0, "end": 9}]}]}
WRONG = {
    b'{"text": "a"': r"no valid JSON: .*\(column 13\)",
    b'{"text": "\xff"}': r"not UTF-8 \(byte 0xff at position 10\)",
    b'["text"]': "expected an object with fields, got list",
    b'{"txet": "a"}': "missing field 'text'; is it 'txet'\\?",
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


@pytest.mark.parametrize(
    ("kind", "line", "names"),
    [(AnnotatedDocument, GOLD, "'words', 'spans', 'candidates'"), (Document, RESULT, "'warnings'")],
)
def test_what_only_the_other_kind_has_is_kept_aside_and_named(tmp_path: Path, kind: Any, line: Any, names: str) -> None:
    path = tmp_path / "other.jsonl"
    write_jsonl(path, [line, line])
    with pytest.warns(ExtraFieldWarning, match=f"a document does not have them: {names}$") as caught:
        read = list(read_jsonl(path, kind))
    assert len(caught) == 1
    kept = {"warnings": [], **line.to_dict()} if kind is AnnotatedDocument else line.to_dict()
    assert [document.to_dict() for document in read] == [kept] * 2


def test_other_fields_of_lines_come_back_and_are_named_once(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    lines = [{"text": "a", "id": 7, "url": "u", "tags": [1, {"x": None}]}, {"text": "b", "url": "v", "mention": []}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.warns(ExtraFieldWarning) as caught:
        documents = list(read_jsonl(path))
    assert [str(warning.message).rpartition("them: ")[2] for warning in caught] == [
        "'url', 'tags'",
        "'mention' (did you mean 'mentions'?)",
    ]
    assert {Path(warning.filename).name for warning in caught} == {"test_jsonl.py"}
    assert [document.extra for document in documents] == [
        {"url": "u", "tags": [1, {"x": None}]},
        {"url": "v", "mention": []},
    ]
    write_jsonl(path, documents)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == lines


def test_what_json_lacks_is_written_as_text(tmp_path: Path) -> None:
    made = Document("a", extra={"day": datetime.date(2024, 5, 1), "score": np.float32(0.5), "ids": np.arange(2)})
    write_jsonl(tmp_path / "a.jsonl", [made])
    written = json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8"))
    assert written == {"text": "a", "day": "2024-05-01", "score": 0.5, "ids": [0, 1]}


def test_good_files_are_read_without_a_warning(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "good.jsonl", [GOLD])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_jsonl(tmp_path / "good.jsonl", strict=False)) == [GOLD]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.jsonl"):
        next(read_jsonl(tmp_path / "none.jsonl"))


def test_what_is_no_number_of_json_is_null(tmp_path: Path) -> None:
    path = tmp_path / "numbers.jsonl"
    row = {"text": "a", "score": float("nan"), "list": [1.5, float("inf"), {"x": -float("inf")}], "of_numpy": np.nan}
    with pytest.warns(ExtraFieldWarning):
        write_jsonl(path, [Document.from_dict(row)])

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert found == {"text": "a", "score": None, "list": [1.5, None, {"x": None}], "of_numpy": None}


@pytest.mark.parametrize("extra", [{"warnings": "none"}, {"warnings": ["w"]}, {"resolved_text": "Anna left."}])
def test_documents_with_fields_of_results_come_back_as_documents(tmp_path: Path, extra: dict[str, Any]) -> None:
    path, clusters = tmp_path / "gold.jsonl", [Cluster((Mention(0, 4),))]
    document = Document("Anna left.", words=[(0, 4), (5, 9), (9, 10)], clusters=clusters, extra=extra)
    write_jsonl(path, [document])
    with pytest.warns(ExtraFieldWarning):
        assert list(read_jsonl(path)) == [document]
