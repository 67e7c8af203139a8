"""Results are whole or not there, whatever ends the command, and no input is ever written over."""

from __future__ import annotations

import errno
import gzip
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.cli.outputs import Output, UnwritableOutputError
from hf_corefel.documents import AnnotatedDocument
from hf_corefel.formats import format_of, read_jsonl
from hf_corefel.utils.files import whole_file

FILES = ["out.jsonl", "out.jsonl.gz", "out.json", "out.html", "out.txt"]
EARLIER = b"the result of an earlier run\n"


def documents(path: Path, *texts: str) -> str:
    """A file of documents with these texts; gives back its name."""
    path.write_text("".join(json.dumps({"text": text, "id": f"d{n}"}) + "\n" for n, text in enumerate(texts)))
    return path.name


def lines_of(path: Path) -> list[str | None]:
    """The ids of the documents in a file of JSON lines, whole to its last byte, compressed or not."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    assert data.endswith(b"\n")
    return [AnnotatedDocument.from_dict(json.loads(line)).id for line in data.splitlines()]


def test_stopped_in_the_middle(commands: Callable[..., Any], tmp_path: Path) -> None:
    places = {}
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"):
        documents(tmp_path / f"{name}.jsonl", "one", "two", name, "four")
        for output in FILES:
            folder = tmp_path / f"{name}-{output}"
            folder.mkdir()
            (folder / output).write_bytes(EARLIER)
            places[name, output] = folder
    cases = [
        {"arguments": ["annotate", f"{name}.jsonl", "-o", str(folder / output)]}
        for (name, output), folder in places.items()
    ]
    each = {"arguments": ["annotate", "SIGTERM.jsonl", "-o", "each/", "--json"]}
    *done, of_a_folder = commands(*cases, each)
    for ((name, output), folder), command in zip(places.items(), done, strict=True):
        number, partial = signal.Signals[name], folder / f"{output}.part"
        assert command.status == (-number if name == "SIGKILL" else 128 + number)
        assert (folder / output).read_bytes() == EARLIER
        if name == "SIGKILL":
            assert partial.exists()
        else:
            assert command.err.startswith(f"hf-corefel: stopped by {name}; ") and command.err.count("\n") == 1
            assert {path.name for path in folder.iterdir()} == {output, *([partial.name] if "jsonl" in output else [])}
            assert (str(partial) if "jsonl" in output else "2 finished documents are not kept") in command.err
        if output == "out.jsonl" or (output == "out.jsonl.gz" and name != "SIGKILL"):
            assert lines_of(partial) == ["d0", "d1"]
        elif output == "out.jsonl.gz":
            # Not ended as it should be, so that it cannot be taken for whole, but readable so far.
            with gzip.open(partial) as file:
                assert [json.loads(file.readline())["id"] for _ in range(2)] == ["d0", "d1"]
                with pytest.raises(EOFError):
                    file.readline()
    assert of_a_folder == (143, "", "hf-corefel: stopped by SIGTERM\n")
    assert sorted(path.name for path in (tmp_path / "each").iterdir()) == ["d0.jsonl", "d1.jsonl"]
    # The next run writes where a stopped one left its files.
    fine = documents(tmp_path / "fine.jsonl", "one")
    for command in commands(*({"arguments": ["annotate", fine, *case["arguments"][2:]]} for case in cases)):
        assert command == (0, "", "")
    for (_, output), folder in places.items():
        assert [path.name for path in folder.iterdir()] == [output]
        assert (folder / output).read_bytes() != EARLIER


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_ignored_signals_stop_nothing(commands: Callable[..., Any], tmp_path: Path, name: str) -> None:
    documents(tmp_path / "in.jsonl", "one", name, "three")
    (command,) = commands({"arguments": ["annotate", "in.jsonl", "-o", "out.jsonl"], "ignored": [name]})
    assert command == (0, "", "")
    assert lines_of(tmp_path / "out.jsonl") == ["d0", "d1", "d2"]


def test_full_disk(commands: Callable[..., Any], tmp_path: Path) -> None:
    source = documents(tmp_path / "in.jsonl", *(str(n) * 3000 for n in range(5)))
    # A compressed line must be too long as well.
    noise = documents(tmp_path / "noise.jsonl", *(os.urandom(3000).hex() for _ in range(5)))
    for output in FILES:
        (tmp_path / output).write_bytes(EARLIER)
    cases = [
        {"arguments": ["annotate", noise if "gz" in output else source, "-o", output], "file_size": 8000}
        for output in FILES
        if output != "out.txt"
    ]
    text = {"arguments": ["annotate", source, "-o", "out.txt", "--resolved-text"], "file_size": 300}
    for command, output in zip(commands(*cases, text), [*(f for f in FILES if f != "out.txt"), "out.txt"], strict=True):
        assert command.status == 1
        assert command.err.startswith(f"hf-corefel: cannot write {output}: {os.strerror(errno.EFBIG)}")
        assert command.err.count("\n") == 1
        assert (tmp_path / output).read_bytes() == EARLIER
        assert (tmp_path / f"{output}.part").exists() is ("jsonl" in output)
    assert lines_of(tmp_path / "out.jsonl.part") == ["d0", "d1"]
    with gzip.open(tmp_path / "out.jsonl.gz.part") as file:
        assert json.loads(file.readline())["id"] == "d0"


def test_standard_streams_that_are_full_or_closed(commands: Callable[..., Any], tmp_path: Path) -> None:
    source = documents(tmp_path / "in.jsonl", "one")
    read = ["annotate", source]
    printing = [[*read], [*read, "--json"], [*read, "--format", "html"], ["--version"], ["--help"]]
    cases = [
        *({"arguments": arguments, "stdout": "/dev/full"} for arguments in [*printing, [*read, "-o", "/dev/full"]]),
        *({"arguments": arguments, "closed": [1]} for arguments in printing),
    ]
    for case, command in zip(cases, commands(*cases), strict=True):
        assert command.status == 1, case
        assert command.err.startswith("hf-corefel: cannot ") and command.err.count("\n") == 1, (case, command)
        assert os.strerror(errno.EBADF if "closed" in case else errno.ENOSPC) in command.err
    unheard, unread, elsewhere = commands(
        {"arguments": ["annotate", "missing", source, "--json"], "closed": [2]},
        {"arguments": ["annotate", "-"], "closed": [0]},
        {"arguments": [*read, "-o", "out.jsonl"], "closed": [0, 1, 2]},
    )
    assert unheard.status == 1 and json.loads(unheard.out)["id"] == "d0"
    assert unread.status == 1 and unread.err.startswith("hf-corefel: cannot read -: ")
    assert elsewhere.status == 0 and lines_of(tmp_path / "out.jsonl") == ["d0"]


def test_pipes_and_standard_output_go_on_where_they_are(commands: Callable[..., Any], tmp_path: Path) -> None:
    source = documents(tmp_path / "in.jsonl", "one", "two")
    (tmp_path / "log").write_text("before\n")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    arguments = ["annotate", source, "--json"]
    done = commands(
        {"arguments": [*arguments, "-o", "pipe"]},
        {"arguments": [*arguments, "-o", "/dev/null"]},
        {"arguments": [*arguments, "-o", "/dev/stdout"], "stdout": "log", "append": True},
        {"arguments": [*arguments, "-o", "/dev/stdout"]},
    )
    assert [command.status for command in done] == [0] * 4
    assert os.read(reader, 1 << 16).count(b"\n") == 2
    os.close(reader)
    assert (tmp_path / "log").read_text() == f"before\n{done[3].out}"
    assert done[3].out.count("\n") == 2
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "log", "pipe"}


def test_no_input_is_written_over(commands: Callable[..., Any], tmp_path: Path) -> None:
    source = documents(tmp_path / "in.jsonl", "one")
    content = (tmp_path / source).read_bytes()
    os.link(tmp_path / source, tmp_path / "hard.jsonl")
    (tmp_path / "soft.jsonl").symlink_to(source)
    # The partial file of the output, kept from a run that was stopped, is what is to be read.
    (tmp_path / "next.jsonl.part").write_bytes(content)
    stdin = ["--input-format", "jsonl", "--json"]
    cases = [
        *({"arguments": ["annotate", source, "-o", name]} for name in (source, "hard.jsonl", "soft.jsonl")),
        {"arguments": ["annotate", "hard.jsonl", "-o", "soft.jsonl"]},
        {"arguments": ["annotate", "-", *stdin, "-o", "hard.jsonl"], "stdin": source},
        {"arguments": ["annotate", "/dev/stdin", *stdin, "-o", "soft.jsonl"], "stdin": source},
        {"arguments": ["annotate", source, "--json"], "stdout": source, "append": True},
        {"arguments": ["annotate", "-", *stdin], "stdin": source, "stdout": "hard.jsonl", "append": True},
        {"arguments": ["annotate", "next.jsonl.part", *stdin, "-o", "next.jsonl"]},
    ]
    for case, command in zip(cases, commands(*cases), strict=True):
        assert command.status == 1, case
        assert command.err.startswith("hf-corefel: cannot write "), case
        assert "that is a file to read" in command.err
    assert (tmp_path / source).read_bytes() == content == (tmp_path / "next.jsonl.part").read_bytes()


def test_no_input_is_written_over_in_a_folder(tmp_path: Path) -> None:
    source, folder = tmp_path / "d1.txt", tmp_path / "out"
    folder.mkdir()
    source.write_text("text")
    os.link(source, folder / "a.txt")
    output = Output("text", str(folder), [str(source)])
    output.take(iter([AnnotatedDocument("text", [], "a"), AnnotatedDocument("text", [], "b")]))
    assert sorted(path.name for path in folder.iterdir()) == ["a-2.txt", "a.txt", "b.txt"]
    assert source.read_text() == (folder / "a.txt").read_text() == "text"


@pytest.mark.parametrize("name", FILES)
def test_second_writer_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    kind = format_of(name)
    assert kind is not None
    with whole_file(path) as place:
        place.write_bytes(EARLIER)
        output = Output(kind, str(path), [])
        with pytest.raises(UnwritableOutputError, match="another process is writing it; wait for that one or choose"):
            output.take(iter([AnnotatedDocument("text", [])]))
    assert path.read_bytes() == EARLIER
    assert [item.name for item in tmp_path.iterdir()] == [name]


def test_documents_that_failed_leave_the_others_in_place(commands: Callable[..., Any], tmp_path: Path) -> None:
    source = documents(tmp_path / "in.jsonl", "one", "error", "three")
    plain, traced = commands(
        {"arguments": ["annotate", source, "-o", "out.jsonl"]},
        {"arguments": ["annotate", source, "-o", "none.jsonl"], "environment": {"HF_COREFEL_TRACEBACK": "1"}},
    )
    assert plain.status == 1 and lines_of(tmp_path / "out.jsonl") == ["d0", "d2"]
    assert plain.err == (
        "hf-corefel: cannot annotate d1: KeyError 'nobody foresaw\\nthis'; set HF_COREFEL_TRACEBACK=1 to see where "
        "it comes from\n"
    )
    assert traced.status != 0 and not (tmp_path / "none.jsonl").exists()


def test_whole_file_that_cannot_be_put_in_place_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(source: Any, target: Any) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(target))

    monkeypatch.setattr(os, "replace", replace)
    path = tmp_path / "out.html"
    output = Output("html", str(path), [])
    with pytest.raises(
        UnwritableOutputError, match=r"Device or resource busy; what was finished is in .*out\.html\.part"
    ):
        output.take(iter([AnnotatedDocument("text", [])]))
    assert (tmp_path / "out.html.part").read_text().endswith("</html>\n")


@pytest.mark.parametrize("problem", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_places_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: int) -> None:
    def touch(path: Path, *args: Any, **kwargs: Any) -> None:
        raise OSError(problem, os.strerror(problem), str(path))

    monkeypatch.setattr(Path, "touch", touch)
    asked = []

    def never() -> Any:
        asked.append(True)
        yield AnnotatedDocument("text", [])

    with pytest.raises(UnwritableOutputError, match=os.strerror(problem)):
        Output("jsonl", str(tmp_path / "out.jsonl"), []).take(never())
    assert not asked, "that is known before the model is loaded"
    assert not list(tmp_path.iterdir())


def test_the_order_of_results_is_that_of_one_file(tmp_path: Path) -> None:
    found = [AnnotatedDocument(f"text {n}", [], f"d{n}") for n in range(3)]
    Output("json", str(tmp_path / "out.json"), []).take(iter(found))
    written = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert written == json.dumps([document.to_dict() for document in found], indent=2) + "\n"
    Output("jsonl", str(tmp_path / "out.jsonl"), []).take(iter(found))
    assert list(read_jsonl(tmp_path / "out.jsonl", AnnotatedDocument)) == found
