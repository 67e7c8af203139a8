"""Saving a knowledge base: one whole version or the other, whatever ends it, and nobody's changes are lost."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, saving
from hf_corefel.utils.files import FileBusyError
from kb_folders import save_as_version
from kb_stopping import stop_at_every_step

FIRST = ["entities.marisa", "kb_config.json", "surfaces.marisa", "tables.safetensors", "vectors.safetensors"]
SECOND = ["entities.1.marisa", "kb_config.json", "surfaces.1.marisa", "tables.1.safetensors", "vectors.1.safetensors"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [("a", [("A", 0.5), ("B", 0.5)]), ("b", [("B", 1.0)])]
    # Without the files of a fallback, so that there are few steps to stop at.
    kb = KnowledgeBase.build(rows, vectors={"A": np.ones(3)}, fallback="none")
    kb.save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def found(folder: Path, surface: str) -> list[str]:
    return [candidate.entity for candidate in KnowledgeBase.from_pretrained(folder).candidates(surface)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="saving is stopped in forks")
@pytest.mark.parametrize("how", ["kill", "interrupt", "full", "cut", "cut-kill"])
def test_stopped_at_every_step(folder: Path, how: str) -> None:
    stops = stop_at_every_step(folder, how)
    states = [state for _, state, _, _ in stops]
    assert set(states) == {"old", "new"}, stops
    # Once the new one is there it stays.
    assert states == sorted(states, reverse=True), stops
    assert {clean for _, _, clean, _ in stops} == {"clean"}, stops
    assert [end for *_, end in stops if end == "stopped"], stops
    if how == "full":
        # A write that fails says so, and the old version is there.
        assert {(state, end) for _, state, _, end in stops} == {("old", "stopped"), ("new", "ended")}


def test_names_of_the_files_of_versions(folder: Path) -> None:
    assert names(folder) == FIRST
    kb = KnowledgeBase.from_pretrained(folder)
    mapped = KnowledgeBase.from_pretrained(folder)
    kb.add("C", ["c"])
    kb.save_pretrained(folder)
    assert names(folder) == SECOND
    kb.save_pretrained(folder)
    assert names(folder) == FIRST
    # Who has the first one open keeps it.
    assert (mapped.candidates("c"), mapped.verify(), found(folder, "c")) == ([], True, ["C"])
    assert pickle.loads(pickle.dumps(mapped)).candidates("c") == []


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_folder_becomes_one_of_this_version(folder: Path, version: int) -> None:
    save_as_version(folder, version)
    with KnowledgeBase.edit(folder) as kb:
        kb.add("C", ["c"])
    assert (names(folder), found(folder, "c")) == (SECOND, ["C"])
    assert KnowledgeBase.from_pretrained(folder).verify()


def test_other_files_stay(tmp_path: Path) -> None:
    """Files that have the names of ours but are not: none is written over or removed."""
    for name in ("vectors.safetensors", "entities.marisa", "notes.txt", "tables.1.safetensors"):
        (tmp_path / name).write_text("mine")
    kb = KnowledgeBase.build([("a", [("A", 1.0)])], fallback="none")
    for _ in range(3):
        kb.save_pretrained(tmp_path)
        assert found(tmp_path, "a") == ["A"]
        assert len(names(tmp_path)) == 4 + 5
    mine = [path.name for path in tmp_path.iterdir() if path.read_bytes() == b"mine"]
    assert len(mine) == 4


def test_a_damaged_folder_may_be_saved_over(folder: Path) -> None:
    kb = KnowledgeBase.from_pretrained(folder)
    (folder / "kb_config.json").write_text("{")
    kb.save_pretrained(folder)
    assert (names(folder), found(folder, "b")) == (SECOND, ["B"])


def test_what_others_changed_is_not_undone(folder: Path, tmp_path: Path) -> None:
    first, second = (KnowledgeBase.from_pretrained(folder) for _ in range(2))
    first.add("C", ["c"])
    second.add("D", ["d"])
    first.save_pretrained(folder)
    first.add("E", ["e"])
    first.save_pretrained(folder)  # its own changes are no one else's
    for mine in (second, second.with_fallback("casefold"), second.merged()):
        with pytest.raises(KnowledgeBaseError, match=r"kb: another process has changed it since it was opened here"):
            mine.save_pretrained(folder)
    second.save_pretrained(tmp_path / "other")
    assert (found(folder, "c"), found(folder, "d"), found(folder, "e")) == (["C"], [], ["E"])
    # One that is built anew is meant to take the place.
    KnowledgeBase.build([("z", [("Z", 1.0)])]).save_pretrained(folder)
    assert found(folder, "z") == ["Z"]


def test_the_same_content_under_other_names_is_no_change(folder: Path) -> None:
    first, second = (KnowledgeBase.from_pretrained(folder) for _ in range(2))
    first.save_pretrained(folder)
    second.add("C", ["c"])
    second.save_pretrained(folder)
    assert found(folder, "c") == ["C"]


def test_an_error_while_editing_saves_nothing(folder: Path) -> None:
    def edit() -> None:
        with KnowledgeBase.edit(folder) as kb:
            kb.add("C", ["c"])
            kb.remove("X")

    with pytest.raises(KnowledgeBaseError, match="'X' is not in the knowledge base"):
        edit()
    assert (found(folder, "c"), names(folder)) == ([], FIRST)
    with pytest.raises(KnowledgeBaseError, match="file not found"), KnowledgeBase.edit(folder / "none"):
        pass
    assert not (folder / "none").exists()


def test_whoever_edits_a_folder_may_save_to_it_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "WAIT", 0.0)
    with KnowledgeBase.edit(folder) as kb:
        kb.add("C", ["c"])
        kb.save_pretrained(folder)
        assert found(folder, "c") == ["C"]
        with pytest.raises(FileBusyError):
            KnowledgeBase.from_pretrained(folder).save_pretrained(folder)
        kb.add("D", ["d"])
    assert [found(folder, surface) for surface in "cd"] == [["C"], ["D"]]
    kb.add("E", ["e"])
    with KnowledgeBase.edit(folder), pytest.raises(FileBusyError):
        kb.save_pretrained(folder)


def test_one_writer_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "WAIT", 0.0)
    with (
        KnowledgeBase.edit(folder),
        pytest.raises(FileBusyError, match="another process is writing it"),
        KnowledgeBase.edit(folder),
    ):
        pass


ADD = """
import sys
from hf_corefel.cli import app
folder, name = sys.argv[1:]
for number in range(4):
    entity = f"{name}{number}"
    app(["kb", "add", folder, "--entity", entity, "--surface", "shared", "--surface", entity], standalone_mode=False)
"""


def test_processes_that_add_lose_nothing(folder: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", ADD, str(folder), name], stdout=subprocess.DEVNULL) for name in "WXYZ"
    ]
    seen = set()
    while any(process.poll() is None for process in running):
        # Readers meet one version or another, never none.
        seen.add(KnowledgeBase.from_pretrained(folder).num_entities)
    assert [process.wait() for process in running] == [0] * 4
    kb = KnowledgeBase.from_pretrained(folder)
    assert {c.entity for c in kb.candidates("shared", 99)} == {f"{name}{n}" for name in "WXYZ" for n in range(4)}
    assert all(kb.candidates(f"{name}{n}") for name in "WXYZ" for n in range(4))
    assert (kb.num_entities, kb.verify(), len(names(folder))) == (18, True, 5)
    assert seen <= set(range(2, 19))


def test_threads_that_edit_lose_nothing(folder: Path) -> None:
    def add(name: str) -> None:
        for number in range(5):
            with KnowledgeBase.edit(folder) as kb:
                kb.add(f"{name}{number}", ["shared"])

    threads = [threading.Thread(target=add, args=(name,)) for name in "XY"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kb = KnowledgeBase.from_pretrained(folder)
    assert {c.entity for c in kb.candidates("shared", 99)} == {f"{name}{n}" for name in "XY" for n in range(5)}


def test_a_reader_meets_the_moment_of_the_switch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration is read, then another writer puts a new version in place and removes those files."""
    from hf_corefel.kb import folder as opening

    switches = iter(["C", "D"])
    check = opening.check_file

    def check_after_a_switch(*arguments: object, **options: object) -> None:
        name = next(switches, None)
        if name is not None:
            with monkeypatch.context() as patch:
                patch.setattr(opening, "check_file", check)
                with KnowledgeBase.edit(folder) as kb:
                    kb.add(name, [name.lower()])
        check(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "check_file", check_after_a_switch)
    kb = KnowledgeBase.from_pretrained(folder)
    assert [candidate.entity for surface in "cd" for candidate in kb.candidates(surface)] == ["C", "D"]


def test_files_that_cannot_be_removed_yet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where a file that a process has mapped stays."""
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.suffix in (".marisa", ".safetensors"):
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        for name in "CD":
            with KnowledgeBase.edit(folder) as kb:
                kb.add(name, ["shared"])
            assert name in found(folder, "shared")
    assert len(names(folder)) > 5
    with KnowledgeBase.edit(folder) as kb:
        kb.add("E", ["shared"])
    assert (len(names(folder)), sorted(found(folder, "shared"))) == (5, ["C", "D", "E"])
