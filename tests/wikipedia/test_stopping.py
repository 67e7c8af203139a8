"""Runs that are killed, workers that die, and what the command says of dumps that cannot be read."""

from __future__ import annotations

import bz2
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hf_corefel import KnowledgeBase
from hf_corefel.cli import app
from hf_corefel.wikipedia import WikipediaError, workers
from hf_corefel.wikipedia.from_dump import build_from_wikipedia
from hf_corefel.wikipedia.workers import Task, run_tasks
from little_dumps import PAGES, write_dump

# Small units, and slow ones as those of a real dump are.
_SLOW_RUN = """
import sys, time
from hf_corefel.wikipedia import from_dump

from_dump._UNIT_BYTES = 300
write_unit = from_dump.write_unit
def slow(folder, *arguments):
    write_unit(folder, *arguments)
    time.sleep(float(sys.argv[3]))
from_dump.write_unit = slow
from_dump.build_from_wikipedia([sys.argv[1]], sys.argv[2], workers=1)
"""
_SECONDS = 300


def command(*arguments: object) -> Any:
    """Runs ``hf-corefel kb`` in this process."""
    result = CliRunner().invoke(app, ["kb", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def kill_when(dump: Path, out: Path, ready: Callable[[], bool], pause: float) -> None:
    """Begins a slow run and kills it as soon as something is so, or later by itself."""
    process = subprocess.Popen([sys.executable, "-c", _SLOW_RUN, str(dump), str(out), str(pause)])
    try:
        end = time.monotonic() + _SECONDS
        while process.poll() is None and not ready():
            assert time.monotonic() < end
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def fingerprint(folder: Path) -> str:
    return str(KnowledgeBase.from_pretrained(folder).fingerprint)


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    dump, work = write_dump(tmp_path / "dump.xml.bz2"), tmp_path / "kb.work"
    kill_when(dump, tmp_path / "kb", lambda: (work / "pages-00002").exists(), pause=0.05)
    done = {path.name: path.stat().st_ino for path in work.glob("pages-*") if ".part" not in path.name}
    assert len(done) >= 3 and not (tmp_path / "kb").exists()
    # The unit that it was in, as a kill within it leaves it.
    (work / "pages-00099.part-1").mkdir()
    ran = subprocess.run([sys.executable, "-c", _SLOW_RUN, dump, tmp_path / "kb", "0"], timeout=_SECONDS, check=True)
    assert ran.returncode == 0 and not work.exists()
    build_from_wikipedia([dump], tmp_path / "whole", workers=1)
    assert fingerprint(tmp_path / "kb") == fingerprint(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1, 2.4])
def test_a_run_may_be_killed_at_any_moment(tmp_path: Path, seconds: float) -> None:
    dump = write_dump(tmp_path / "dump.xml.bz2")
    build_from_wikipedia([dump], tmp_path / "whole", workers=1)
    end = time.monotonic() + seconds
    kill_when(dump, tmp_path / "kb", lambda: time.monotonic() > end, pause=0.02)
    if (tmp_path / "kb" / "kb_config.json").exists():
        assert fingerprint(tmp_path / "kb") == fingerprint(tmp_path / "whole")
    subprocess.run([sys.executable, "-c", _SLOW_RUN, dump, tmp_path / "kb", "0"], timeout=_SECONDS, check=True)
    assert fingerprint(tmp_path / "kb") == fingerprint(tmp_path / "whole")
    assert (tmp_path / "kb" / "report.json").exists() and not (tmp_path / "kb.work").exists()


def _die(path: str, progress: Callable[[int, int], None]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fail(path: str, progress: Callable[[int, int], None]) -> None:
    raise FileNotFoundError(2, "No such file or directory", path)


def _note_and_wait(path: str, progress: Callable[[int, int], None]) -> None:
    Path(path).write_text(str(os.getpid()))
    while True:
        progress(1, 1)
        time.sleep(0.02)


def test_a_worker_that_dies_is_named() -> None:
    with pytest.raises(
        WikipediaError, match=r"(one|two): the worker process was ended \(by SIGKILL\); run the same command"
    ):
        run_tasks([Task("one", ("a",)), Task("two", ("b",))][::-1], _die, 2)


def test_what_a_worker_raises_arrives_as_it_was() -> None:
    with pytest.raises(FileNotFoundError) as raised:
        run_tasks([Task("one", ("a",)), Task("two", ("a",))], _fail, 2)
    assert raised.value.filename == "a"
    unpicklable = type("Local", (Exception,), {})("quoted")
    assert str(workers._sendable(unpicklable)) == "Local: quoted"


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys; from wikipedia.test_stopping import _note_and_wait, Task, run_tasks\n"
        "tasks = [Task(path, (path,)) for path in sys.argv[1:]]\n"
        "if __name__ == '__main__': run_tasks(tasks, _note_and_wait, 2)"
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    notes = [tmp_path / "a", tmp_path / "b"]
    path = os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])
    process = subprocess.Popen([sys.executable, script, *notes], env={**os.environ, "PYTHONPATH": path})
    try:
        wait_until(lambda: all(note.exists() and note.read_text() for note in notes))
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any(_is_alive(int(note.read_text())) for note in notes))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _is_alive(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status


def test_the_command_says_what_it_read_and_left_out(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml", [*PAGES, ("Self", "->Self")])
    ran = command("from-wikipedia", dump, "--out", tmp_path / "kb", "--workers", 1)
    assert ran.exit_code == 0
    assert re.search(r"kb: 7 entities, \d+ surfaces, \d+ candidates", ran.stdout)
    assert (
        f"{len(PAGES)} pages" in ran.stdout
        and "1 redirects to themselves" in ran.stdout
        and "2 redirects that go in a circle" in ran.stdout
    )
    assert "report.json" in ran.stdout


# What is given, its bytes or None when it is missing, and what the one line on standard error says.
BAD: dict[str, tuple[str, Callable[[bytes], bytes] | None, str]] = {
    "missing": ("dump.xml.bz2", None, r"dump\.xml\.bz2: No such file or directory"),
    "empty": ("dump.xml", lambda dump: b"", r"dump\.xml"),
    "a page of the web": ("dump.xml", lambda dump: b"<html><body>404</body></html>", r"dump\.xml: is no MediaWiki"),
    "other bytes": ("dump.xml.bz2", lambda dump: b"PK\3\4" + bytes(5000), r"dump\.xml\.bz2"),
    "only a head": ("dump.xml", lambda dump: dump[: dump.index(b"<page>")], "nothing was saved"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_dump_is_refused_in_one_line(tmp_path: Path, what: str) -> None:
    name, change, message = BAD[what]
    if change is not None:
        whole = write_dump(tmp_path / "whole.xml").read_bytes()
        (tmp_path / name).write_bytes(change(whole))
    ran = command("from-wikipedia", tmp_path / name, "--out", tmp_path / "kb", "--workers", 1)
    assert ran.exit_code == 1 and ran.stdout == ""
    assert re.search(message, ran.stderr.splitlines()[-1]), ran.stderr
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_of_a_truncated_dump_the_rest_goes_on_and_is_counted(tmp_path: Path, cut: float) -> None:
    streams = write_dump(tmp_path / "dump.xml.bz2").read_bytes()
    (tmp_path / "dump.xml.bz2").write_bytes(streams[: int(len(streams) * cut)])
    ran = command("from-wikipedia", tmp_path / "dump.xml.bz2", "--out", tmp_path / "kb", "--workers", 1)
    assert ran.exit_code == 0, ran.stderr
    assert re.search(r"warning: \d places where a file or page ends too early, such as .*dump\.xml\.bz2", ran.stderr), (
        ran.stderr
    )
    assert "places where a file or page ends too early; see" in ran.stdout


def test_pages_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml").read_text(encoding="utf-8")
    broken = "<page><title>Broken</title><ns>0</ns><revision><text>a & b</text></revision></page>\n"
    strange = "<page><title>Bell\x07</title><ns>0</ns><id>77</id><revision><text>rings</text></revision></page>\n"
    (tmp_path / "dump.xml").write_text(dump.replace("</mediawiki>", f"{broken}{strange}</mediawiki>"), encoding="utf-8")
    (tmp_path / "twice.xml.bz2").write_bytes(bz2.compress((tmp_path / "dump.xml").read_bytes()))
    ran = command("from-wikipedia", tmp_path / "twice.xml.bz2", "--out", tmp_path / "kb", "--workers", 1)
    assert ran.exit_code == 0, ran.stderr
    assert "7 entities" in ran.stdout
    assert "1 pages of broken XML" in ran.stdout and "1 titles with control characters" in ran.stdout
    assert "Broken" in ran.stderr
    quiet = command("from-wikipedia", tmp_path / "dump.xml", "--out", tmp_path / "kb", "--workers", 1, "--quiet")
    assert quiet.exit_code == 0 and quiet.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--language", "de"], "its language is 'en', not 'de'"),
        (["--work-dir", "{dump}"], "this is a file"),
        (["--wikidata", "nowhere.json"], "nowhere.json: No such file"),
        (["--page-props", "{dump}"], "dump.xml"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, arguments: list[str], message: str) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    given: list[Any] = [argument.format(dump=dump) for argument in arguments]
    ran = command("from-wikipedia", dump, "--out", tmp_path / "kb", "--workers", 1, *given)
    assert ran.exit_code == 1 and message in ran.stderr.splitlines()[-1], ran.stderr
