"""Files are whole or not there, whatever ends the writing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from hf_corefel.utils.files import FileBusyError, file_identity, locked, overwrites, partial_path, whole_file


def test_file_is_in_place_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_text("earlier")
    with whole_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "earlier"
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["results.txt"]


def test_error_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_text("earlier")

    def fail_in_the_middle() -> None:
        with whole_file(path) as partial:
            partial.write_text("ne")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in_the_middle()
    assert path.read_text() == "earlier"
    assert [item.name for item in tmp_path.iterdir()] == ["results.txt"]


def test_kill_leaves_the_earlier_file_and_the_next_writer_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_text("earlier")
    code = (
        "import os, signal, sys\n"
        "from hf_corefel.utils.files import whole_file\n"
        "with whole_file(sys.argv[1]) as partial:\n"
        "    partial.write_text('ne')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "earlier"
    assert partial_path(path).read_text() == "ne"
    with whole_file(path) as partial:
        partial.write_text("new")
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["results.txt"]


def test_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    with whole_file(path) as partial:
        partial.write_text("first")
        with pytest.raises(FileBusyError, match="another process") as caught, whole_file(path):
            pass
    assert caught.value.filename == str(path)
    assert path.read_text() == "first"


def test_lock_waits_for_the_other_writer(tmp_path: Path) -> None:
    path, order = tmp_path / "base", []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with locked(path):
            inside.set()
            go_on.wait(30)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(30)
    threading.Timer(0.1, go_on.set).start()
    with locked(path, timeout=30):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
    assert not list(tmp_path.iterdir())


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("earlier")
    real.chmod(0o640)
    link.symlink_to(real)
    with whole_file(link) as partial:
        partial.write_text("new")
        partial.chmod(0o600)
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_new_file_has_usual_permissions(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    with whole_file(tmp_path / "new") as partial:
        partial.chmod(0o600)
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_devices_are_written_as_they_are() -> None:
    with whole_file(os.devnull) as path:
        assert path == Path(os.devnull)
    assert not Path(os.devnull).is_file()


def test_writers_that_wait_come_one_at_a_time(tmp_path: Path) -> None:
    """Each of four processes reads a number and writes the next one, many times; none may be lost."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from hf_corefel.utils.files import locked\n"
        "counter = Path(sys.argv[1])\n"
        "for _ in range(100):\n"
        "    with locked(counter, timeout=50):\n"
        "        counter.write_text(str(int(counter.read_text()) + 1))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(counter)]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0, 0]
    assert counter.read_text() == "400"


def fail_in_the_middle(path: Path, content: str) -> RuntimeError:
    """The error that ends the writing of a partial file that is kept."""
    error = RuntimeError("in the middle")
    with suppress(RuntimeError), whole_file(path, keep_partial=True) as partial:
        partial.write_text(content)
        raise error
    return error


def test_partial_file_is_kept_when_asked_and_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_text("earlier")
    assert not hasattr(fail_in_the_middle(path, ""), "__notes__")
    assert list(tmp_path.iterdir()) == [path]
    (note,) = fail_in_the_middle(path, "ne").__notes__
    assert note == f"what was finished is in {partial_path(path)}; the next run that writes {path} replaces it"
    assert (path.read_text(), partial_path(path).read_text()) == ("earlier", "ne")


def test_open_files_are_written_as_they_are(tmp_path: Path) -> None:
    path, link = tmp_path / "log", tmp_path / "link"
    with path.open("w") as file:
        for name in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}"):
            if Path(name).exists():
                with whole_file(name) as place:
                    assert place == Path(name)
                link.unlink(missing_ok=True)
                link.symlink_to(name)
                with whole_file(link) as place:
                    assert place == link
    assert {item.name for item in tmp_path.iterdir()} <= {"log", "link"}


def test_files_are_told_under_every_name(tmp_path: Path) -> None:
    path, hard, soft = tmp_path / "file", tmp_path / "hard", tmp_path / "soft"
    path.write_text("x")
    hard.hardlink_to(path)
    soft.symlink_to(path)
    with path.open() as file:
        assert {file_identity(name) for name in (path, str(hard), soft, file.fileno())} == {file_identity(path)}
    nothing = ["/dev/null", tmp_path, tmp_path / "none", "x" * 300, "null\x00"]
    assert {file_identity(name) for name in nothing} == {None}
    inputs = {identity for identity in [file_identity(path)] if identity is not None}
    assert all(overwrites(name, inputs) for name in (path, hard, soft))
    assert not overwrites(tmp_path / "none", inputs) and not overwrites(path, set())
    partial_path(tmp_path / "next").hardlink_to(path)
    assert overwrites(tmp_path / "next", inputs)


def test_no_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "none" / "results.txt"
    with pytest.raises(FileNotFoundError) as caught, whole_file(path):
        pass
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())
