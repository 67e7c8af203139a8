from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from hf_corefel.kb.storage import map_tensors, offsets_of, write_tensors
from kb_folders import save_as_version

FILES = (
    "kb_config.json",
    "entities.marisa",
    "surfaces.marisa",
    "tables.safetensors",
    "vectors.safetensors",
    "descriptions.safetensors",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vectors = {"A": np.arange(4.0), "B": np.ones(4)}
    kb = KnowledgeBase.build([("a", [("A", 0.5), ("B", 0.5)])], vectors=vectors, descriptions={"A": "first"})
    kb.save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


@pytest.mark.parametrize("name", FILES)
def test_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(KnowledgeBaseError, match=f"{name}: file not found"):
        KnowledgeBase.from_pretrained(folder)


@pytest.mark.parametrize("name", FILES)
def test_truncated_file(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    for length in (5, len(data) // 2, len(data) - 3):
        (folder / name).write_bytes(data[:length])
        with pytest.raises(KnowledgeBaseError, match=name):
            KnowledgeBase.from_pretrained(folder)


@pytest.mark.parametrize("name", FILES)
def test_file_of_another_kind(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\x10\0\0\0\0\0\0\0" + b"junk" * 100)
    with pytest.raises(KnowledgeBaseError, match=name):
        KnowledgeBase.from_pretrained(folder)


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "kb_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in {**config, **changes}.items() if v != "drop"}))


@pytest.mark.parametrize("version", [0, True, "1", None, "drop"])
def test_unknown_format_version(folder: Path, version: object) -> None:
    change_config(folder, format_version=version)
    with pytest.raises(KnowledgeBaseError, match=r"format_version .* unknown here, this release reads 1 to 4"):
        KnowledgeBase.from_pretrained(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_entities": 3}, "num_entities is 2 in the tables and 3"),
        ({"vector_size": 5}, "vector_size is 4 in the tables and 5"),
        ({"num_surfaces": "drop"}, "missing field 'num_surfaces'"),
        ({"url_template": 5}, "url_template"),
        ({"provenance": []}, "provenance"),
    ],
)
def test_config_that_does_not_fit(folder: Path, changes: dict[str, Any], message: str) -> None:
    change_config(folder, **changes)
    with pytest.raises(KnowledgeBaseError, match=message):
        KnowledgeBase.from_pretrained(folder)


@pytest.mark.parametrize("content", ["[]", "{", "\udcff"])
def test_config_that_is_no_object(folder: Path, content: str) -> None:
    (folder / "kb_config.json").write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(KnowledgeBaseError, match=r"kb_config\.json"):
        KnowledgeBase.from_pretrained(folder)


def rewrite(path: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    tensors = {name: np.array(array) for name, array in load_file(path).items()}
    change(tensors)
    save_file(tensors, path)


@pytest.mark.parametrize(
    ("file", "array", "message"),
    [
        ("tables", "offsets", "array of offsets has the wrong size"),
        ("tables", "priors", "array of priors has the wrong size"),
        ("vectors", "rows", "array of rows has the wrong size"),
        ("vectors", "scales", "array of scales has the wrong size"),
        ("vectors", "mean", "array of mean and std has the wrong size"),
        ("descriptions", "offsets", "array of description offsets has the wrong size"),
    ],
)
def test_arrays_that_do_not_fit(folder: Path, file: str, array: str, message: str) -> None:
    save_as_version(folder, 1)  # without checksums
    path = folder / f"{file}.safetensors"
    rewrite(path, lambda tensors: tensors.update({array: np.concatenate([tensors[array]] * 2)}))
    with pytest.raises(KnowledgeBaseError, match=message):
        KnowledgeBase.from_pretrained(folder)
    rewrite(path, lambda tensors: tensors.pop(array))
    with pytest.raises(KnowledgeBaseError, match=f"missing array '{array}'"):
        KnowledgeBase.from_pretrained(folder)


def test_tensors_of_every_type_are_mapped(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    tensors = {
        str(dtype.__name__): np.arange(6).reshape(2, 3).astype(dtype)
        for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.uint64, np.float16, np.float32)
    } | {"empty": np.zeros((0, 3), dtype=np.float32), "strided": np.arange(8, dtype=np.float32)[::2]}
    write_tensors(path, tensors)
    mapped = map_tensors(path)
    assert set(mapped) == set(tensors)
    for name, array in tensors.items():
        assert mapped[name].dtype == array.dtype
        np.testing.assert_array_equal(mapped[name], array)


def test_unexpected_type(tmp_path: Path) -> None:
    save_file({"x": np.zeros(2)}, tmp_path / "x.safetensors")
    with pytest.raises(KnowledgeBaseError, match="tensor 'x': unexpected type F64"):
        map_tensors(tmp_path / "x.safetensors")


def test_wide_offsets_where_they_are_needed() -> None:
    narrow = offsets_of(np.array([2, 0, 3]))
    assert (narrow.dtype, narrow.tolist()) == (np.uint32, [0, 2, 2, 5])
    wide = offsets_of(np.array([2**32, 1]))
    assert (wide.dtype, wide.tolist()) == (np.uint64, [0, 2**32, 2**32 + 1])


def test_files_have_the_permissions_of_any_new_file(folder: Path) -> None:
    (folder / "new").touch()
    assert {path.stat().st_mode for path in folder.iterdir()} == {(folder / "new").stat().st_mode}


def test_of_a_large_folder_only_the_tries_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_corefel.kb.folder.CHECKED_BYTES", 0)

    def damage(name: str) -> None:
        data = bytearray((folder / name).read_bytes())
        data[-1] ^= 1
        (folder / name).write_bytes(data)

    damage("vectors.safetensors")
    kb = KnowledgeBase.from_pretrained(folder)
    with pytest.raises(KnowledgeBaseError, match="the tables do not have the fingerprint"):
        kb.verify()
    with pytest.raises(KnowledgeBaseError, match=r"vectors\.safetensors: .* checksum"):
        KnowledgeBase.from_pretrained(folder, check=True)
    damage("surfaces.marisa")
    for check in (None, False):
        with pytest.raises(KnowledgeBaseError, match=r"surfaces\.marisa: .* checksum"):
            KnowledgeBase.from_pretrained(folder, check=check)


def test_how_vectors_come_must_be_known(folder: Path) -> None:
    change_config(folder, vectors="later")
    with pytest.raises(KnowledgeBaseError, match="field 'vectors': expected 'stored' or 'lazy', got 'later'"):
        KnowledgeBase.from_pretrained(folder)
