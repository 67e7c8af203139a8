"""One input that is too large, or damaged in some way, is named, and costs neither memory nor the others."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.cli.inputs import UnreadableInputError, count_documents, read_documents
from hf_corefel.documents import Document


def read(name: str, **options: Any) -> list[str]:
    """The texts of the documents of a file, or what is wrong with one."""
    return [item.text if isinstance(item, Document) else str(item) for item in read_documents(name, **options)]


def bomb(path: Path, megabytes: int) -> None:
    """A small file that unpacks to one line of many megabytes, with a document before and behind it."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"text": "before"}\n{"text": "')
        for _ in range(megabytes):
            file.write(b"a " * (1 << 19))
        file.write(b'"}\n{"text": "behind"}\n')


def test_a_line_that_unpacks_to_gigabytes_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    bomb(path, 300)
    code = (
        "import resource, sys\n"
        "from hf_corefel.cli.inputs import count_documents, read_documents\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "found = list(read_documents(sys.argv[1]))\n"
        "print(count_documents([sys.argv[1]]))\n"
        "print([getattr(item, 'text', str(item)) for item in found])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    count, found, grown = done.stdout.splitlines()
    assert count == "3"
    assert found == str(["before", f"{path}:2: longer than 33,554,432 bytes (max_line_bytes)", "behind"])
    # Kilobytes: the line that may be, twice, and a bit.
    assert int(grown) * (1 if sys.platform == "linux" else 1 / 1024) < 120_000


def test_limits_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    line = b'{"text": "xx"}'
    path.write_bytes(line + b"\n" + line[:-1] + b" }\n\n" + b" " * 40 + b"\n" + line)
    name = str(path)
    too_long = f"longer than {len(line)} bytes (max_line_bytes)"
    assert read(name, max_bytes=len(line)) == ["xx", f"{name}:2: {too_long}", f"{name}:4: {too_long}", "xx"]
    assert read(name, max_bytes=len(line) + 1)[:2] == ["xx", "xx"]
    text = tmp_path / "text.txt"
    text.write_text("12345")
    assert read(str(text), max_bytes=5) == ["12345"]
    assert read(str(text), max_bytes=4) == [f"{text}: longer than 4 bytes (--max-line-bytes)"]
    (endless,) = read("/dev/zero", max_bytes=1000)
    assert endless == "/dev/zero: longer than 1,000 bytes (--max-line-bytes)"


def test_options_of_the_command(commands: Callable[..., Any], tmp_path: Path) -> None:
    texts = ["one two three", "one two three four", "0123456789" * 40, "北京市長"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text, "id": text[:18]}) + "\n" for text in texts))
    by_words, by_bytes, piped = commands(
        {"arguments": ["annotate", "in.jsonl", "--json", "--max-document-words", "3", "--batch-size", "4"]},
        {"arguments": ["annotate", "in.jsonl", "--json", "--max-line-bytes", "100"]},
        {"arguments": ["annotate", "-", "--json", "--max-line-bytes", "100"], "stdin": "in.jsonl"},
    )
    assert by_words.status == by_bytes.status == piped.status == 1
    assert [json.loads(line)["text"] for line in by_words.out.splitlines()] == texts[:1]
    reason = "more than 3 words (max_document_words); split it into documents of its chapters, or raise the limit"
    assert [line[: line.index(" if the")] for line in by_words.err.splitlines()] == [
        f"hf-corefel: cannot annotate {text[:18]}: document {text[:18]!r}: {reason}" for text in texts[1:]
    ]
    assert [json.loads(line)["text"] for line in by_bytes.out.splitlines()] == [texts[0], texts[1], texts[3]]
    assert by_bytes.err == "hf-corefel: cannot read in.jsonl:3: longer than 100 bytes (max_line_bytes)\n"
    assert piped.err == "hf-corefel: cannot read -: longer than 100 bytes (--max-line-bytes)\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"text": "a", "clusters": ' + b"[" * 900 + b"]" * 900 + b"}", ""),
        (b'{"text": ' + b"1" * 5000 + b"}", "no valid JSON"),
        (b'{"text": "a", "mentions": [[0, ' + b"9" * 4000 + b"]]}", "outside the text"),
        (b'{"text": "a\x00b"}', "no valid JSON"),
        (b"\x00" * 1000, "no valid JSON"),
        ('{"text": "a"}'.encode("utf-16"), "not UTF-8"),
    ],
    ids=["nested", "nested less", "digits", "offset of digits", "null", "nulls", "UTF-16"],
)
def test_damaged_lines_are_named_and_the_next_is_read(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(data + b'\n{"text": "next"}\n')
    first, *_, last = read(str(path))
    assert first.startswith(f"{path}:1: ") and reason in first
    assert last == "next"


def test_names_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, other in (("loop", "pool"), ("pool", "loop")):
        os.symlink(other, name)
    names = ["loop", "loop/x.jsonl", "x" * 300, "null\x00.txt", "", "loop.jsonl.gz"]
    for name in names:
        (error,) = read_documents(name)
        assert isinstance(error, UnreadableInputError) and str(error).startswith(f"{name}: ")
    assert count_documents(names) == len(names)


def test_a_file_that_vanishes_or_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a"}\n')
    assert count_documents([str(path)]) == 1

    def refuse(path: Path, *args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        assert read(str(path)) == [f"{path}: Permission denied"]
    path.unlink()
    assert read(str(path)) == [f"{path}: No such file or directory"]


def test_memory_that_runs_out_is_that_documents_fault(commands: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "memory"}\n{"text": "one"}\n')
    (done,) = commands({"arguments": ["annotate", "in.jsonl", "--json"]})
    assert done.err == "hf-corefel: cannot annotate in.jsonl:1: MemoryError\n"
    assert json.loads(done.out)["text"] == "one" and done.status == 1
