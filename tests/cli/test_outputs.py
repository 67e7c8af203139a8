"""Where results go: what their files are called, what goes wrong on the way, and how tables show wide names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from hf_corefel.cli import app
from hf_corefel.cli.outputs import Output, UnwritableOutputError
from hf_corefel.documents import Alternative, AnnotatedDocument, Cluster, Mention
from hf_corefel.formats import Losses
from hf_corefel.formats.tables import Tables


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("letters", ["a" * 246, "北" * 82], ids=["a", "northern"])
def test_long_names_of_inputs_leave_room_for_what_lies_beside_a_file(
    letters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = Output("jsonl", "out/", [f"{letters}1.txt", f"{letters}2.txt", "b.txt"])
    output.take(iter([AnnotatedDocument("x", [], name) for name in (f"{letters}1.txt", f"{letters}2.txt", "b.txt")]))
    names = sorted(path.name for path in Path("out").iterdir())
    assert len(names) == 3 and "b.jsonl" in names
    assert all(len(name.encode()) <= 220 for name in names)
    assert all(name.removesuffix(".jsonl").removesuffix("-2") in letters for name in names if name != "b.jsonl")


def test_documents_without_an_id_are_numbered_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n.jsonl").write_text('{"text":"ab cd","clusters":[]}\n{"text":"ef","clusters":[]}\n', encoding="utf-8")
    for kind, names in (
        ("jsonl", ["document-1.jsonl", "document-2.jsonl"]),
        ("brat", ["document-1.ann", "document-1.txt", "document-2.ann", "document-2.txt"]),
    ):
        assert run("convert", "n.jsonl", f"{kind}/", "--format", kind)[0] == 0
        assert sorted(path.name for path in Path(kind).iterdir()) == names


@pytest.mark.parametrize("target", ["y.jsonl", None])
def test_an_import_that_fails_in_a_document_is_no_fault_of_the_output(
    target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def broken() -> Iterator[AnnotatedDocument]:
        yield AnnotatedDocument("x", [], "x")
        raise ImportError("No module named 'their_source'")

    with pytest.raises(ImportError, match="their_source"):
        Output("jsonl", target, []).take(broken())
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UnwritableOutputError, match=r"z\.parquet: .*pyarrow"):
        Output("parquet", "z.parquet", []).take(iter([AnnotatedDocument("x", [], "x")]))


def test_standard_input_is_read_once() -> None:
    assert run("annotate", "-", "-", "--json") == (
        1, "", "hf-corefel: -: standard input can be read once; name it once\n"
    )  # fmt: skip


@pytest.mark.parametrize("letter", ["字", "E", "👩", "е́"])
def test_tables_keep_their_mentions_beside_wide_names(letter: str) -> None:
    clusters = [
        Cluster((Mention(0, 4),), "Oslo", 0.9),
        Cluster((Mention(5, 9),), letter * 60, 0.8, f"https://example.org/{letter * 90}",
                (Alternative(letter * 60, 0.8), Alternative(letter * 61, 0.2))),
    ]  # fmt: skip
    shown = "".join(Tables().write([AnnotatedDocument("Oslo Rome", clusters)], Losses()))
    assert "Oslo 0–4" in shown and "Rome 5–9" in shown and "0.80" in shown and "…" not in shown
    assert shown.count(letter[0]) >= 60 + 90 + 61
    assert all(cell_len(line) <= 100 for line in shown.splitlines())


def test_a_compressed_file_of_a_format_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.json.gz").write_bytes(b"\x1f\x8b")
    status, _, err = run("convert", "q.json.gz", "out.jsonl")
    assert status == 1 and "q.json.gz: files of the format json are not read compressed; unpack it first" in err
