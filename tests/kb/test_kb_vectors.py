from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from hf_corefel.kb.vector_table import VectorTable, draw_vector


def random_vectors(count: int, size: int, seed: int = 3) -> np.ndarray:
    return np.random.RandomState(seed).normal(0.2, 0.5, (count, size)).astype(np.float32)


def cosine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.sum(left * right, axis=-1) / np.linalg.norm(left, axis=-1) / np.linalg.norm(right, axis=-1)


@pytest.mark.parametrize("size", [1, 24, 128, 300])
def test_int8_vectors_are_close(size: int) -> None:
    names, matrix = [f"E{i}" for i in range(200)], random_vectors(200, size)
    kb = KnowledgeBase.build([], vectors=(names, matrix))
    assert kb.vector_size == size
    found = kb.vectors([kb.entity_id(name) for name in names])
    assert found.dtype == np.float32
    assert cosine(found, matrix).min() > 0.999
    scale = np.abs(matrix).max(axis=1, keepdims=True) / 127
    assert (np.abs(found - matrix) <= 0.5001 * scale).all()


@settings(max_examples=100, deadline=None)
@given(arrays(np.float32, (3, 5), elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_int8_error_is_bounded_at_any_scale(matrix: np.ndarray) -> None:
    kb = KnowledgeBase.build([], vectors=(["a", "b", "c"], matrix))
    error = np.abs(kb.vectors([0, 1, 2]) - matrix[[["a", "b", "c"].index(kb.entity_name(i)) for i in range(3)]])
    bound = 0.5001 * np.abs(matrix).max(axis=1) / 127 + 127 * np.finfo(np.float32).tiny
    assert (error.max(axis=1) <= bound[[["a", "b", "c"].index(kb.entity_name(i)) for i in range(3)]]).all()


def test_float_formats() -> None:
    names, matrix = ["a", "b", "c"], random_vectors(3, 8)
    for vector_format, tolerance in (("float16", 1e-3), ("float32", 0.0)):
        kb = KnowledgeBase.build([], vectors=(names, matrix), vector_format=vector_format)
        np.testing.assert_allclose(kb.vectors([kb.entity_id(name) for name in names]), matrix, rtol=tolerance)
    with pytest.raises(KnowledgeBaseError, match="too large for float16"):
        KnowledgeBase.build([], vectors=(["a"], np.full((1, 2), 1e6)), vector_format="float16")
    with pytest.raises(KnowledgeBaseError, match=r"vector_format.*'int4'"):
        KnowledgeBase.build([], vector_format="int4")


def test_any_shape_of_ids_and_padding() -> None:
    kb = KnowledgeBase.build([("a", [("Without", 1.0)])], vectors=(["x", "y"], random_vectors(2, 6)))
    x, y, without = (kb.entity_id(name) for name in ("x", "y", "Without"))
    ids = np.array([[x, -1, without], [y, y, -1]], dtype=np.int32)
    found = kb.vectors(ids)
    assert found.shape == (2, 3, 6)
    assert (found[ids == -1] == 0).all()
    np.testing.assert_array_equal(found[1, 0], kb.vectors([y])[0])
    assert kb.has_vector(ids).tolist() == [[True, False, False], [True, True, False]]
    assert kb.vectors([]).shape == (0, 6)
    for bad in (-2, 3):
        with pytest.raises(IndexError, match=f"entity id {bad} is outside"):
            kb.vectors([bad])
    with pytest.raises(TypeError, match="integers"):
        kb.vectors([0.5])


def test_missing_vectors_follow_the_known_ones() -> None:
    known = random_vectors(500, 7) * np.arange(1, 8, dtype=np.float32) + 3
    aliases = [("s", [(f"missing {i}", 0.5) for i in range(4000)])]
    kb = KnowledgeBase.build(aliases, vectors=([f"known {i}" for i in range(500)], known), vector_format="float32")
    drawn = kb.vectors([kb.entity_id(f"missing {i}") for i in range(4000)])
    standard_error = known.std(axis=0) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=0) - known.mean(axis=0)) < 5 * standard_error).all()
    np.testing.assert_allclose(drawn.std(axis=0), known.std(axis=0), rtol=0.06)
    correlation = np.corrcoef(drawn.T) - np.eye(7)
    assert np.abs(correlation).max() < 0.08


def test_missing_vectors_depend_on_the_name_only() -> None:
    known = (["x", "y"], random_vectors(2, 5))
    small = KnowledgeBase.build([("s", [("Missing", 1.0)])], vectors=known)
    large = KnowledgeBase.build([("s", [("A", 0.5), ("Missing", 0.5), ("Z", 0.5)])], vectors=known)
    vector = small.vectors([small.entity_id("Missing")])
    np.testing.assert_array_equal(vector, large.vectors([large.entity_id("Missing")]))
    assert not np.array_equal(vector, large.vectors([large.entity_id("A")]))


def test_missing_vectors_are_pinned() -> None:
    """A changed draw would change what every trained model sees of entities without vectors."""
    drawn = draw_vector("Angela_Merkel", np.zeros(3), np.ones(3))
    np.testing.assert_allclose(drawn, [0.52167748, 0.21917873, 1.09758900], atol=1e-6)
    moved = draw_vector("Angela_Merkel", np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(moved, [1.0, 2.21917873, 5.19517800], atol=1e-6)


def test_missing_vectors_are_the_same_in_another_process(tmp_path: Path) -> None:
    kb = KnowledgeBase.build([("s", [("Missing", 1.0)])], vectors=(["x", "y"], random_vectors(2, 5)))
    kb.save_pretrained(tmp_path)
    code = (
        "import sys; from hf_corefel.kb import KnowledgeBase; kb = KnowledgeBase.from_pretrained(sys.argv[1]);"
        "print(kb.vectors([kb.entity_id('Missing')]).tobytes().hex())"
    )
    expected = kb.vectors([kb.entity_id("Missing")]).tobytes().hex()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        result = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == expected


def test_many_vectors_are_stored_by_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    names, matrix = [f"E{i}" for i in range(23)], random_vectors(23, 4)
    whole = KnowledgeBase.build([], vectors=(names, matrix))
    monkeypatch.setattr("hf_corefel.kb.vector_table._CHUNK", 5)
    chunked = KnowledgeBase.build([], vectors=(names, matrix))
    np.testing.assert_array_equal(whole.vectors(np.arange(23)), chunked.vectors(np.arange(23)))
    np.testing.assert_allclose(chunked._tables.vectors.mean, matrix.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(chunked._tables.vectors.std, matrix.std(axis=0), rtol=1e-5)


def test_zero_vectors_stay_zero() -> None:
    kb = KnowledgeBase.build([], vectors=(["zero", "tiny"], np.array([[0.0, 0.0], [1e-44, 0.0]])))
    np.testing.assert_allclose(kb.vectors([0, 1]), 0.0, atol=1e-40)
    assert kb.has_vector([0, 1]).all()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"a": np.ones(3), "b": np.ones(4)}, "entity 'b'.*expected shape"),
        ({"a": np.ones((3, 1))}, "entity 'a'.*expected shape"),
        ({"a": np.ones(2), "b": np.array([1.0, np.nan])}, "entity 'b'.*finite"),
        ((["a", "b"], np.array([[1.0, 2.0], [1e300, 1.0]])), "entity 'b'.*finite"),
        ((["a"], np.ones((2, 3))), r"expected an array \[1, D\]"),
        ((["a", "b", "a"], np.ones((3, 2))), "'a' is given twice"),
        ((["a"], np.array([["x"]])), "expected numbers"),
        ((["a"], np.ones((1, 0))), "at least one dimension"),
        (([""], np.ones((1, 2))), "empty entity"),
    ],
)
def test_bad_vectors(vectors: object, message: str) -> None:
    with pytest.raises(KnowledgeBaseError, match=message):
        KnowledgeBase.build([], vectors=vectors)  # type: ignore[arg-type]


def test_table_without_vectors() -> None:
    table = VectorTable.build(2, np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.float32), "int8")
    assert table.size == 0
    assert table.take(np.array([0, 1, -1]), str).shape == (3, 0)
