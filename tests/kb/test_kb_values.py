"""Values of a folder that cannot be right are refused where they are used, with the file and the array."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, Projection
from kb_folders import save_as_version

NAN, INF = np.float32("nan"), np.float32("inf")


@pytest.fixture(params=["int8", "float32"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Without checksums: two surfaces of entities A and B, of which only A has a vector."""
    kb = KnowledgeBase.build(
        [("a", [("A", 0.75), ("B", 0.25)]), ("b", [("B", 1.0)])],
        vectors={"A": np.arange(1, 4)},
        descriptions={"A": "née"},
        vector_format=request.param,
        projection=Projection(np.zeros(2, np.float32), np.ones((2, 3), np.float32), np.zeros(3, np.float32)),
    )
    kb.save_pretrained(tmp_path / "kb")
    save_as_version(tmp_path / "kb", 1)
    return tmp_path / "kb"


def look_up(kb: KnowledgeBase) -> object:
    return kb.lookup(["a", "b"])


def fall_back(kb: KnowledgeBase) -> object:
    return kb.lookup(["A", "B"], fallback="casefold")


def add(kb: KnowledgeBase) -> object:
    return kb.add("C", ["a", "b"])


def remove(kb: KnowledgeBase) -> object:
    return kb.remove("B")


def vectors(kb: KnowledgeBase) -> object:
    return kb.vectors([0, 1])


def has_vector(kb: KnowledgeBase) -> object:
    return kb.has_vector([0, 1])


def describe(kb: KnowledgeBase) -> object:
    return [kb.description(name) for name in kb.entities()]


def project(kb: KnowledgeBase) -> object:
    assert kb.projection is not None
    return kb.projection(np.ones((1, 2)))


CASES: list[tuple[str, str, Any, list[Callable[[KnowledgeBase], object]]]] = [
    ("tables", "entity_ids", 2, [look_up, fall_back, add, remove]),
    ("tables", "entity_ids", 2**32 - 1, [look_up, fall_back, add, remove]),
    ("tables", "priors", NAN, [look_up, fall_back, add, remove]),
    ("tables", "priors", -0.5, [look_up, fall_back, add, remove]),
    ("tables", "priors", 1.5, [look_up, fall_back, add, remove]),
    ("tables", "offsets", 2**32 - 1, [look_up, fall_back, add, remove]),
    ("tables", "offsets", [3, 0, 3], [look_up, fall_back, add, remove]),
    ("tables", "offsets", [0, 2, 4], [look_up, fall_back, add, remove]),
    ("vectors", "rows", 7, [vectors, has_vector]),
    ("vectors", "rows", -2, [vectors, has_vector]),
    ("vectors", "mean", INF, [vectors]),
    ("vectors", "std", NAN, [vectors]),
    ("vectors", "std", -1, [vectors]),
    ("descriptions", "offsets", 2**32 - 1, [describe]),
    ("descriptions", "offsets", [3, 1, 0], [describe]),
    ("descriptions", "text", 0xFF, [describe]),
    ("projection", "mean", NAN, [project]),
    ("projection", "components", INF, [project]),
    ("projection", "offset", -INF, [project]),
]


def set_values(folder: Path, file: str, array: str, value: Any) -> str:
    path = folder / f"{file}.safetensors"
    tensors = load_file(path)
    tensors[array] = np.array(np.broadcast_to(value, tensors[array].shape), dtype=tensors[array].dtype)
    save_file(tensors, path, metadata={"format": "np"})  # as large as before
    return rf"{file}\.safetensors: array '{array}': .*; the file is damaged"


@pytest.mark.parametrize(("file", "array", "value", "uses"), CASES)
def test_a_value_that_cannot_be_right(
    folder: Path, tmp_path: Path, file: str, array: str, value: Any, uses: list[Callable[[KnowledgeBase], object]]
) -> None:
    message = set_values(folder, file, array, value)
    for use in uses:
        kb = KnowledgeBase.from_pretrained(folder)
        with pytest.raises(KnowledgeBaseError, match=message):
            use(kb)
    # What reads all of it refuses too, and saves nothing.
    kb = KnowledgeBase.from_pretrained(folder)
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.verify()
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.save_pretrained(tmp_path / "other")
    kb.add("C", ["c"])
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.save_pretrained(tmp_path / "other")
    assert not (tmp_path / "other" / "kb_config.json").exists()


@pytest.mark.parametrize("value", [NAN, INF])
def test_vectors_that_are_not_finite(folder: Path, value: Any) -> None:
    array = "scales" if str(load_file(folder / "vectors.safetensors")["codes"].dtype) == "int8" else "codes"
    message = set_values(folder, "vectors", array, value)
    kb = KnowledgeBase.from_pretrained(folder)
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.vectors([0, 1])
    # The entity that has none of its own is not concerned.
    assert np.isfinite(kb.vector_for("B")).all()


def test_what_is_not_taken_is_not_looked_at(folder: Path) -> None:
    tensors = load_file(folder / "tables.safetensors")
    kb = KnowledgeBase.from_pretrained(folder)
    taken = [candidate.entity for candidate in kb.candidates("a", 1)]
    # The last candidate of "a" is wrong; the first is right.
    begin = int(tensors["offsets"][list(kb.surfaces()).index("a")])
    tensors["priors"][begin + 1] = 5
    save_file(tensors, folder / "tables.safetensors")
    kb = KnowledgeBase.from_pretrained(folder)
    assert [candidate.entity for candidate in kb.candidates("a", 1)] == taken == ["A"]
    with pytest.raises(KnowledgeBaseError, match=r"array 'priors': 5\.0 is no number from 0 to 1"):
        kb.candidates("a")


@pytest.mark.parametrize(("array", "value"), [("offsets", [2, 0, 1]), ("offsets", 99), ("rows", 9)])
def test_a_fallback_index_that_cannot_be_right(tmp_path: Path, array: str, value: Any) -> None:
    kb = KnowledgeBase.build([("a", [("A", 1.0)]), ("b", [("B", 1.0)])], fallback="casefold")
    kb.save_pretrained(tmp_path)
    message = set_values(tmp_path, "fallback", array, value)
    with pytest.raises(KnowledgeBaseError, match=r"fallback\.safetensors: the file does not have the checksum"):
        KnowledgeBase.from_pretrained(tmp_path)
    for use in (fall_back, KnowledgeBase.verify, lambda kb: kb.save_pretrained(tmp_path)):
        with pytest.raises(KnowledgeBaseError, match=f"{message}|index of the fallback does not have the fingerprint"):
            use(KnowledgeBase.from_pretrained(tmp_path, check=False))


@pytest.mark.parametrize(
    ("file", "array", "dtype"),
    [("tables", "offsets", np.int32), ("tables", "entity_ids", np.float32), ("vectors", "rows", np.uint32)],
)
def test_arrays_of_another_type(folder: Path, file: str, array: str, dtype: type) -> None:
    path = folder / f"{file}.safetensors"
    tensors = load_file(path)
    save_file({**tensors, array: tensors[array].astype(dtype)}, path)
    with pytest.raises(KnowledgeBaseError, match=rf"{file}\.safetensors: array '{array}': expected 1 axes of"):
        KnowledgeBase.from_pretrained(folder)


def test_a_name_that_is_no_text_has_no_draw() -> None:
    kb = KnowledgeBase.build([("a", [("A", 1.0)])], vectors={"A": np.ones(3)})
    with pytest.raises(KnowledgeBaseError, match=r"entity '\\ud800': no valid Unicode"):
        kb.vector_for("\ud800")
