"""Damaged files of a knowledge base: a clear error or the right answer, never a crash and never a hang."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kb_tampering
from hf_corefel.kb import KnowledgeBase, Projection
from kb_folders import save_as_version
from kb_tampering import outcomes, tamper

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="damages are tried in forks")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A knowledge base with every kind of file."""
    draw = np.random.default_rng(0)
    names = [f"Entity_{number}" for number in range(12)]
    projection = Projection(
        np.zeros(3, np.float32), draw.normal(size=(3, 4)).astype(np.float32), np.zeros(4, np.float32), {"encoder": "e"}
    )
    kb = KnowledgeBase.build(
        [(f"Surface {n}", [(names[(3 * n + k) % 12], 0.5 / (k + 1)) for k in range(n % 3 + 1)]) for n in range(20)],
        vectors=(names[:9], draw.normal(size=(9, 4)).astype(np.float32)),
        descriptions={name: f"what {name} is, in détail" for name in names[:6]},
        wikidata={names[3]: "Q42"},
        urls={names[4]: "https://example.org/"},
        fallback="casefold",
        provenance={"source": "test"},
        projection=projection,
        types={names[0]: "person", names[5]: "place"},
        links={names[0]: 7, names[1]: 0},
        redirects={"Old name": names[2], "Older name": "Old name"},
    )
    kb.save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


def save_without_facts(folder: Path, version: int) -> None:
    """Save what a folder holds as an older release did that knew no types, links and redirects."""
    kb = KnowledgeBase.from_pretrained(folder)
    kb._tables = replace(kb._tables, types=None, links=None, redirects=None)
    shutil.rmtree(folder)
    kb.save_pretrained(folder)
    save_as_version(folder, version)


def test_every_damage_to_every_file_is_found(folder: Path) -> None:
    files = sorted(path.name for path in folder.iterdir())
    assert len(files) == 15
    for name, found in tamper(folder, flips=200, blocks=50).items():
        assert set(found.outcomes) <= {"error", "right"}, (name, found.examples)
        assert found.outcomes["error"] > 220
        # Only white space and the like in the JSON file may change.
        assert found.outcomes["right"] <= (5 if name == "kb_config.json" else 0), (name, found.examples)
    # The folder is as before.
    assert KnowledgeBase.from_pretrained(folder).verify()
    assert sorted(path.name for path in folder.iterdir()) == files


def test_with_changed_names(folder: Path) -> None:
    """Also where the files are those of a later version."""
    with KnowledgeBase.edit(folder) as kb:
        kb.add("New", ["new one"])
    assert (folder / "tables.1.safetensors").exists()
    for name, found in tamper(folder, flips=20, blocks=5).items():
        assert set(found.outcomes) <= {"error", "right"}, (name, found.examples)


@pytest.mark.parametrize(("version", "check"), [(4, False), (2, True), (2, False), (1, True)])
def test_without_all_checksums_nothing_crashes(folder: Path, version: int, check: bool) -> None:
    files = None
    if version < 3:
        save_without_facts(folder, version)
    if version == 1:
        # Each time another process reads the keys.
        files = ["surfaces.marisa"]
    flips, blocks = (4, 2) if version == 1 else (10, 4)
    for name, found in tamper(folder, flips=flips, blocks=blocks, files=files, check=check).items():
        assert set(found.outcomes) <= {"error", "right", "wrong"}, (name, found.examples)
        if name.endswith(".marisa"):
            assert not found.outcomes["wrong"], (name, found.examples)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "check"), [(4, False), (2, True), (2, False), (1, True)])
def test_many_damages_without_all_checksums(folder: Path, version: int, check: bool) -> None:
    if version < 3:
        save_without_facts(folder, version)
    for name, found in tamper(folder, flips=200, blocks=50, check=check, timeout=3000).items():
        assert set(found.outcomes) <= {"error", "right", "wrong"}, (name, found.examples)


def test_the_harness_sees_crashes_and_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_tampering, "SECONDS", 1)
    path = tmp_path / "file"
    actions: dict[bytes, Callable[[], object]] = {
        b"crash": os.abort,
        b"hang": lambda: time.sleep(30),
        b"fine": lambda: None,
    }

    def ask() -> str:
        actions[path.read_bytes()]()
        return "right"

    cases = [b"fine", b"crash", b"crash", b"fine", b"hang", b"fine"]
    assert list(outcomes(path, cases, ask)) == ["right", "signal 6", "signal 6", "right", "hang", "right"]


@pytest.mark.slow
def test_older_tries_crash_without_the_checks(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the checks are for: some of these damages crash marisa, or keep it busy for ever."""
    import marisa_trie

    monkeypatch.setattr(kb_tampering, "SECONDS", 2)
    data, path = (folder / "surfaces.marisa").read_bytes(), tmp_path / "trie"

    def ask() -> str:
        try:
            trie = marisa_trie.Trie().mmap(str(path))
            keys = [trie.restore_key(number) for number in range(min(len(trie), 100))]
            return "right" if all(trie.get(key) == number for number, key in enumerate(keys)) else "wrong"
        except (RuntimeError, KeyError, UnicodeDecodeError):
            return "error"

    cases = [case for _, case in kb_tampering.damages(data, 150, 40, "seed")]
    found = Counter(outcomes(path, cases, ask))
    assert any(kind.startswith(("signal", "hang")) for kind in found), found
