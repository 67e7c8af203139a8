"""Inputs of all kinds give the same documents, and what cannot be read is said without costing what can."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.bulk.sources import Reading, is_dataset, read_documents
from hf_corefel.bulk.unpacking import UnreadableInputError
from hf_corefel.documents import Document

ROWS = [{"id": f"d{number}", "text": f"Text {number}."} for number in range(5)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def read(name: Path | str, **how: Any) -> list[tuple[Any, str]]:
    """Ids and texts, for what cannot be read its place and the message."""
    return [
        (item.id, item.text) if isinstance(item, Document) else (item.place, str(item))
        for item in read_documents(str(name), Reading(**how))
    ]


def write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    packed: bytes = zstandard.ZstdCompressor().compress(data)
    return packed


def test_every_kind_gives_the_same_documents(tmp_path: Path) -> None:
    from datasets import Dataset

    expected = [(row["id"], row["text"]) for row in ROWS]
    (tmp_path / "a.jsonl").write_bytes(LINES)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES[:20]) + gzip.compress(LINES[20:]))
    (tmp_path / "a.jsonl.zst").write_bytes(zstd(LINES[:20]) + zstd(LINES[20:]))
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    write_parquet(tmp_path / "a.parquet", columns)
    Dataset.from_dict(columns).save_to_disk(str(tmp_path / "saved"))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "b.jsonl").write_bytes(LINES)
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet", "saved", "files"):
        assert read(tmp_path / name) == expected, name
    assert read(f"datasets:{tmp_path / 'files'}") == expected


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_cut_file_is_said_to_be_cut(tmp_path: Path, ending: str) -> None:
    # Noise, so that there is something before the cut.
    lines = "".join(json.dumps({"text": f"{number**40}"}) + "\n" for number in range(20_000)).encode()
    data = gzip.compress(lines) if ending == ".gz" else zstd(lines)
    path = tmp_path / f"cut.jsonl{ending}"
    path.write_bytes(data[:-100_000])
    *found, (place, message) = read(path)
    assert 0 < len(found) < 20_000 and found[0][0] == f"{path}:1"
    assert place == str(path) and message.startswith(f"{path}: damaged {'gzip' if ending == '.gz' else 'zstandard'}")
    path.write_bytes(b"no packed file")
    assert [message[: len(str(path)) + 9] for _, message in read(path)] == [f"{path}: damaged"]


def test_texts_are_unpacked_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfOslo\r\n"))
    (tmp_path / "a.txt.zst").write_bytes(zstd(b"Oslo"))
    (tmp_path / "bomb.txt.zst").write_bytes(zstd(bytes(1 << 20)))
    assert [text for _, text in read(tmp_path / "a.txt.gz") + read(tmp_path / "a.txt.zst")] == ["Oslo\r\n", "Oslo"]
    assert "longer than 1,000 bytes" in read(tmp_path / "bomb.txt.zst", max_bytes=1000)[0][1]


def test_a_folder_is_read_in_the_order_of_names_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/1.txt", "a.txt", ".hidden.txt", ".git/x.txt", "out/3.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "a.pipe")  # opening it would wait for a writer
    (tmp_path / "gone.txt").symlink_to("nowhere")
    found = list(read_documents(str(tmp_path), without=tmp_path / "out"))
    assert [str(item) for item in found if isinstance(item, UnreadableInputError)] == [
        f"{tmp_path / 'gone.txt'}: No such file or directory"
    ]
    assert [item.text for item in found if isinstance(item, Document)] == ["a.txt", "b/1.txt", "b/2.txt"]


def test_columns_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path, {"body": ["One.", None, "Three."], "n": [1, 2, 3]})
    first, second, third = read(path, text_column="body")
    assert (first, third) == ((f"{path}:1", "One."), (f"{path}:3", "Three."))
    assert second[0] == f"{path}:2" and second[1].startswith(f"{path}:2: ")
    assert "--text-column" in read(path)[0][1]
    path.write_bytes(b"PAR1 is not enough")
    ((place, message),) = read(path)
    assert place == str(path) and message.startswith(f"{path}: no Parquet file, or a damaged one")


def test_what_names_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    names = {
        "org/name": True,
        "org/name:config": True,
        "datasets:here": True,
        "missing": False,
        "here/missing": False,
        "there/missing.txt": False,
        "there/missing.jsonl.gz": False,
        "here": False,
        "/org/name": False,
        "a/b/c": False,
    }
    assert {name: is_dataset(name) for name in names} == names
    (error,) = read_documents("org/name_that_nobody_has")
    assert isinstance(error, UnreadableInputError) and error.passing
    assert str(error).startswith("org/name_that_nobody_has: cannot be read as a dataset, and there is no such file: ")


def test_places_are_whole_names_whatever_these_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a: b.txt").write_bytes(b"\xff")
    Path("a: long.txt").write_bytes(b"longer than that")
    for name in ("a: b.txt.gz", "a: b.txt.zst"):
        Path(name).write_bytes(b"no packed file")
    Path("a: cut.txt.zst").write_bytes(zstd(b"a text")[:-2])
    names = ["a: b.txt", "a: long.txt", "a: b.txt.gz", "a: b.txt.zst", "a: cut.txt.zst", "a: gone.txt", "a: \0.txt"]
    for name in names:
        ((place, message),) = read(name, max_bytes=15)
        assert place == name and message.startswith(f"{name}: ")


def test_an_error_of_reading_goes_to_other_processes() -> None:
    error = UnreadableInputError("a: b.txt: gone", "a: b.txt", passing=True)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.place, copy.passing) == ("a: b.txt: gone", "a: b.txt", True)
