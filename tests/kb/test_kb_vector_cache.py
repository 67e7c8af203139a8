"""The file of vectors that many processes share: what was added is found, what is damaged is not, whoever is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from hf_corefel.kb import vector_cache
from hf_corefel.kb.vector_cache import VectorCache, text_keys

SIZE = 5


def cache_at(path: Path, size: int = SIZE, codes: str = "int8") -> VectorCache:
    return VectorCache(path, np.dtype(codes), size)


def vectors_of(names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales that depend on the names only."""
    draws = [random.Random(name) for name in names]
    codes = np.array([[draw.randint(-127, 127) for _ in range(SIZE)] for draw in draws], dtype=np.int8)
    return codes.reshape(len(names), SIZE), np.array([draw.random() for draw in draws], dtype=np.float32)


def add(cache: VectorCache, names: list[str]) -> None:
    cache.add(*text_keys(names, [None] * len(names)), *vectors_of(names))


def known(cache: VectorCache, names: list[str]) -> list[bool]:
    """Whether the vectors of names are found; those that are must be right."""
    codes, scales, found = cache.find(*text_keys(names, [None] * len(names)))
    expected = vectors_of(names)
    np.testing.assert_array_equal(codes[found], expected[0][found])
    np.testing.assert_array_equal(scales[found], expected[1][found])
    return found.tolist()


def test_what_was_added_is_found_by_all(tmp_path: Path) -> None:
    ours, theirs = cache_at(tmp_path / "cache"), cache_at(tmp_path / "cache")
    assert known(ours, ["a", "b"]) == [False, False]
    add(ours, ["a", "b"])
    assert known(theirs, ["b", "c", "a"]) == [True, False, True]
    add(theirs, ["c", "a"])
    assert known(ours, ["a", "b", "c", ""]) == [True, True, True, False]
    # What is there already is not added once more.
    assert (tmp_path / "cache").stat().st_size == 32 + 3 * (20 + SIZE)
    assert os.listdir(tmp_path) == ["cache"]


def test_a_description_makes_another_text(tmp_path: Path) -> None:
    keys = [text_keys([name], [text]) for name, text in (("a", None), ("a", ""), ("a", "b"), ("ab", None))]
    assert [int(key[0][0]) for key in keys[:1]] == [int(key[0][0]) for key in keys[1:2]]
    assert len({int(key[0][0]) for key in keys}) == 3


@pytest.mark.parametrize("cut", range(1, 20 + SIZE))
def test_a_torn_end_is_passed_over_and_repaired(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cache"
    add(cache_at(path), ["a", "b"])
    path.write_bytes(path.read_bytes()[:-cut])
    cache = cache_at(path)
    assert known(cache, ["a", "b"]) == [True, False]
    add(cache, ["b", "c"])
    assert known(cache, ["a", "b", "c"]) == known(cache_at(path), ["a", "b", "c"]) == [True] * 3


@pytest.mark.parametrize("position", range(32 + 20 + SIZE))
def test_damage_costs_what_is_damaged(tmp_path: Path, position: int) -> None:
    path = tmp_path / "cache"
    add(cache_at(path), ["a", "b"])
    data = bytearray(path.read_bytes())
    data[position] ^= 0x55
    path.write_bytes(data)
    cache = cache_at(path)
    assert known(cache, ["a", "b"]) == [False, position >= 32]
    add(cache, ["a", "b"])
    assert known(cache, ["a", "b"]) == known(cache_at(path), ["a", "b"]) == [True, True]


def test_a_file_that_shrinks_or_is_another_one_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    cache = cache_at(path)
    add(cache, ["a", "b"])
    for content in (b"", b"x", path.read_bytes()[:40], os.urandom(200)):
        path.write_bytes(content)
        assert known(cache, ["a", "b"]) == [False, False]
    path.unlink()
    assert known(cache, ["a"]) == [False]
    add(cache, ["a"])
    assert known(cache, ["a"]) == [True]
    # One of another width is begun anew.
    wider = cache_at(path, size=SIZE + 1)
    assert not wider.find(*text_keys(["a"], [None]))[2].any()


def test_many_are_found_after_they_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "SETTLED", 10)
    monkeypatch.setattr(vector_cache, "_BLOCK", 100)
    names = [f"name {number}" for number in range(60)]
    cache = cache_at(tmp_path / "cache")
    for begin in range(0, 60, 7):
        add(cache, names[begin : begin + 7])
        assert sum(known(cache, names)) == min(60, begin + 7)
    assert all(known(cache_at(tmp_path / "cache"), names))


@pytest.mark.parametrize("codes", ["float16", "float32"])
def test_other_numbers(tmp_path: Path, codes: str) -> None:
    cache, values = cache_at(tmp_path / "cache", codes=codes), np.array([[1.5, -2, 0, 3, 4]], dtype=codes)
    cache.add(*text_keys(["a"], [None]), values, np.ones(1, np.float32))
    np.testing.assert_array_equal(cache.find(*text_keys(["a"], [None]))[0], values)


def test_where_nothing_can_be_written_it_says_so_once(tmp_path: Path) -> None:
    cache = cache_at(tmp_path / "cache")
    with patch.object(vector_cache.os, "open", side_effect=PermissionError(13, "Permission denied")):
        with pytest.warns(UserWarning, match=r"cache: vectors that were computed cannot be kept there \(Permission"):
            add(cache, ["a"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            add(cache, ["a"])
    assert known(cache, ["a"]) == [False]
    with pytest.warns(UserWarning, match="cannot be kept"):
        add(cache_at(tmp_path / "no folder" / "cache"), ["a"])


_ADD_FOR_EVER = """
import sys
from test_kb_vector_cache import add, cache_at
from pathlib import Path
number = 0
while True:
    add(cache_at(Path(sys.argv[1])), [f"{sys.argv[2]} {number + i}" for i in range(50)])
    number += 50
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_killed_writers_leave_a_file_that_works(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    draw = random.Random(0)
    writers = [
        subprocess.Popen([sys.executable, "-c", _ADD_FOR_EVER, str(path), str(number)], env=environment)
        for number in range(3)
    ]
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size > 32 + 300 * (20 + SIZE)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for writer in writers:
        time.sleep(draw.random() / 10)
        writer.kill()
        writer.wait()
    count = (path.stat().st_size - 32) // (20 + SIZE)
    assert count >= 300
    cache = cache_at(path)
    add(cache, ["last"])
    names = [f"{writer} {number}" for writer in range(3) for number in range(count)]
    # None twice, and all of those of a writer up to where it was killed.
    assert sum(known(cache, names)) == (path.stat().st_size - 32) // (20 + SIZE) - 1
    assert known(cache, ["last"]) == [True]
