"""A job survives whatever ends it, at any moment: shards are whole or not there, and resuming gives the same files."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from driven_jobs import COMMAND, begin, content, finish, ids_of, wait_for, write_input
from hf_corefel.cli import app
from job_stopping import stop_at_every_step

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("kill", "jsonl"),
        ("cut", "jsonl.gz"),
        ("cut-kill", "jsonl"),
        *(
            pytest.param(how, kind, marks=pytest.mark.slow)
            for how in ("kill", "interrupt", "full", "cut", "cut-kill")
            for kind in ("jsonl", "jsonl.gz", "parquet")
            if (how, kind) not in (("kill", "jsonl"), ("cut", "jsonl.gz"), ("cut-kill", "jsonl"))
        ),
    ],
)
def test_stopped_at_every_step(tmp_path: Path, how: str, kind: str) -> None:
    found = stop_at_every_step(tmp_path / "out", how, kind)
    assert len(found) >= (7 if how.startswith("cut") else 20)
    assert [item for item in found if item[1] or item[2]] == []


def test_stopped_kindly_and_gone_on_with_by_other_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["error" if number == 7 else f"text {number}" for number in range(40)]
    write_input(tmp_path, [*texts[:24], "wait", *texts[25:]])
    (tmp_path / "hold").touch()
    running = begin(tmp_path, "--workers", "1")
    wait_for(lambda: (tmp_path / "out" / "part-000003.jsonl").exists() or running.poll())
    monkeypatch.chdir(tmp_path)
    second = CliRunner().invoke(app, [*COMMAND, "--resume"])
    os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does, to the workers too
    status, said = finish(running)
    refused = "hf-corefel: cannot write out: another run is writing into this folder; wait for it or name another\n"
    assert (second.exit_code, second.stderr) == (1, refused)
    assert status == 130 and said.count("\n") == 1, said
    assert said.startswith("hf-corefel: stopped by SIGINT; ") and said.endswith("by the same command with --resume\n")
    (tmp_path / "hold").unlink()
    stopped = content(tmp_path)
    assert "manifest.json" not in stopped and not [name for name in stopped if "part-" in name and "jsonl." in name]
    again = CliRunner().invoke(app, COMMAND)
    assert again.exit_code == 1 and "out: holds a job that is not complete; go on with it by --resume" in again.stderr
    status, said = finish(begin(tmp_path, "--resume", "--workers", "2"))
    assert status == 1 and "40 documents (" in said and "1 failed" in said
    resumed = content(tmp_path)
    assert all(resumed[name] == data for name, data in stopped.items() if name.endswith(".jsonl"))
    assert sorted(ids_of(resumed)) == sorted(f"d{number}" for number in range(40))
    assert json.loads(resumed["manifest.json"])["documents"] == 40
    (tmp_path / "out").rename(tmp_path / "resumed")
    assert finish(begin(tmp_path, "--workers", "0", "--quiet"))[0] == 1
    assert content(tmp_path) == resumed


def test_a_document_that_ends_its_worker_costs_no_other(tmp_path: Path) -> None:
    write_input(tmp_path, ["one", "kill", "three", "error", "five", "six"])
    status, said = finish(begin(tmp_path, "--workers", "1"))
    found = content(tmp_path)
    failed = [json.loads(line) for line in found["failed-000000.jsonl"].splitlines()]
    assert status == 1 and "6 documents, 2 failed" in said
    assert [item["id"] for item in failed] == ["d1", "d3"]
    assert "was ended twice (by SIGKILL), as happens when memory runs out" in failed[0]["error"]
    assert ids_of(found) == ["d1", "d3", "d0", "d2", "d4", "d5"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_killed_at_random_moments(tmp_path: Path, workers: int) -> None:
    write_input(tmp_path, [f"text {number} " * 50 for number in range(120)])
    began = time.monotonic()
    assert finish(begin(tmp_path, "--workers", str(workers), seconds=0.01))[0] == 0
    took = time.monotonic() - began
    whole = content(tmp_path)
    draw = random.Random(16)
    for moment in range(10):
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        for how in (signal.SIGKILL, draw.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))):
            process = begin(tmp_path, "--workers", str(workers), "--resume", seconds=0.01)
            time.sleep(draw.uniform(0.1, 0.9) * took)
            # A kill of the command only, whose workers have to notice; Ctrl-C goes to all.
            (os.kill if how == signal.SIGKILL else os.killpg)(process.pid, how)
            finish(process)
            found = content(tmp_path)
            assert all(whole[name] == data for name, data in found.items() if name.endswith((".jsonl", ".json")))
        # The workers of a killed run may still be about to end.
        assert finish(begin(tmp_path, "--workers", str(workers), "--resume"))[0] == 0, moment
        assert content(tmp_path) == whole
