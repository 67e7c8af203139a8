"""A job on a cluster of Ray gives the files of a job on one machine, whatever dies meanwhile.

Where Ray is not installed, as in CI (its package is large), its steps are called as it calls them; what needs a cluster
is skipped. `pip install 'hf-corefel[ray]'` and `pytest tests/bulk/test_ray_engine.py` run all of it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from driven_jobs import COMMAND, DRIVER, SECONDS, begin, content, finish, ids_of, wait_for, write_input
from hf_corefel.bulk import BulkError, annotate_many
from hf_corefel.bulk.annotator import Annotator
from hf_corefel.bulk.attempts import AttemptsFile
from hf_corefel.bulk.inputs import Inputs
from hf_corefel.bulk.ray_engine import RayJob, _read, _ShardActor
from hf_corefel.bulk.shards import ShardWorker
from hf_corefel.bulk.sources import Reading
from hf_corefel.documents import AnnotatedDocument, Document
from hf_corefel.documents.extra_fields import ExtraFields

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and signals")
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the package ray")


def stand_in(documents: Sequence[Document], batch_size: int, **asked: Any) -> list[dict[str, Any]]:
    return [dict(AnnotatedDocument(document.text, [], document.id).to_dict()) for document in documents]


def job_in(folder: Path, given: Any, **known: Any) -> RayJob:
    """A job as it comes to tasks and actors."""
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / "manifest.journal").touch()
    said: list[str] = []
    source = Inputs(given, Reading(), ExtraFields(said.append), without=folder / "out")
    worker = ShardWorker(Path("out"), "jsonl", Annotator(pipeline=stand_in), 1, in_process=True)
    job: RayJob = pickle.loads(pickle.dumps(RayJob(source, 2, known, worker)))
    return job


def items(tables: Iterator[Any]) -> list[Any]:
    return [pickle.loads(table["item"][0].as_py()) for table in tables]


def test_steps_as_ray_calls_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{number}", "text": f"text {number}"} for number in range(5)]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "no json\n")
    job = job_in(tmp_path, ["in.jsonl"])
    read = list(_read(None, job))
    assert items(iter(read)) == items(_read(None, job)), "the same when it is called again"
    actor = _ShardActor(job)
    *outcomes, shards = items(actor(table) for table in read)
    assert shards == 3 and [(item.number, item.read) for item in outcomes] == [(0, 2), (1, 4), (2, 6)]
    found = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    assert sorted(found) == [
        "failed-000002.jsonl",
        "manifest.journal",
        "part-000000.jsonl",
        "part-000001.jsonl",
        "part-000002.jsonl",
    ]
    local = annotate_many(["in.jsonl"], "local", workers=0, pipeline=stand_in, shard_size=2)
    assert [item.entry for item in outcomes] == local.shards
    assert all(found[name] == (local.folder / name).read_bytes() for name in found if name != "manifest.journal")

    again = job_in(tmp_path, ["in.jsonl"])
    again.known = {0: local.shards[0].input, 2: local.shards[2].input}
    *cuts, _ = [item for item, _ in items(_read(None, again))]
    assert [(cut.is_done, len(cut.shard.items)) for cut in cuts] == [(True, 0), (False, 2), (True, 0)]
    again.known = {3: "a hash"}
    last, _ = items(_read(None, again))[-1]
    assert isinstance(last, BulkError) and "they end before shard 3" in str(last)


def test_what_goes_wrong_comes_back_as_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = job_in(tmp_path, [{"text": "one"}])
    (table, _) = _read(None, job)
    Path("out", "part-000000.jsonl").mkdir()
    (found,) = items(iter([_ShardActor(job)(table)]))
    assert isinstance(found, OSError)
    Path("out", "manifest.journal").unlink()
    (found,) = items(iter([_ShardActor(job)(table)]))
    assert str(found) == "out: not the same folder on all machines of the cluster; name one that is"
    job.place = str(tmp_path / "elsewhere")
    ((found, _),) = items(_read(None, job))
    assert "elsewhere: not to be found on every machine of the cluster (No such file" in str(found)


def test_attempts_are_known_to_those_after_them(tmp_path: Path) -> None:
    def attempt(*reports: tuple[Any, ...]) -> AttemptsFile:
        file = AttemptsFile(tmp_path / "attempts")
        file.begin()
        for report in reports:
            file.note(*report)
        return file

    assert attempt().attempts.alone == ()
    assert attempt(("reads", 1, 2, 3), ("read", 3, 0), ("reads", 4, 5)).false_starts == 1
    assert attempt(("reads", 5)).attempts.alone == (4, 5)
    third = attempt(("reads", 5))
    assert (third.attempts.alone, third.attempts.lost) == ((5, 4), {})
    fourth = attempt(("reads", 4), ("writes",))
    assert list(fourth.attempts.lost) == [5] and "was ended twice" in fourth.attempts.lost[5]
    with (tmp_path / "attempts").open("a") as file:
        file.write("reads 4")
    last = attempt()
    # A line that was cut says nothing.
    assert (last.attempts.alone, list(last.attempts.lost), last.false_starts) == ((5, 4), [5], 2)
    last.remove()
    assert not list(tmp_path.iterdir())


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    os.mkfifo(tmp_path / "pipe.jsonl")
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (iter([{"text": "a"}]), {}, "engine local reads streams"),
        (["-"], {}, "engine ray reads files and folders that all machines see; write it to a file first"),
        ([str(tmp_path / "pipe.jsonl")], {}, "engine ray reads files and folders"),
        ([{"text": "a"}], {"workers": 0}, "workers: engine ray needs at least 1, got 0"),
        ([{"text": "a"}], {"engine": "rays"}, "engine: expected one of local, ray, got 'rays'"),
    ]
    with pytest.MonkeyPatch.context() as context:
        if importlib.util.find_spec("ray") is None:
            context.setitem(sys.modules, "ray", ModuleType("ray"))
            context.setitem(sys.modules, "ray.data", ModuleType("ray.data"))
        for inputs, options, message in cases:
            with pytest.raises(BulkError, match=message):
                annotate_many(inputs, out, **{"engine": "ray", "workers": 2, **options})
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BulkError, match=r"it needs the package ray .*pip install 'hf-corefel\[ray\]'"):
        annotate_many([{"text": "a"}], out, engine="ray")
    assert not out.exists()


def test_a_complete_job_is_compared_without_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": f"d{number}", "text": f"text {number}"} for number in range(4)]
    out = annotate_many(rows, tmp_path / "out", workers=0, pipeline=stand_in, shard_size=2).folder
    for name in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    options: dict[str, Any] = {"engine": "ray", "shard_size": 2, "resume": True}
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert annotate_many(rows, out, **options).earlier == 4
    with pytest.raises(BulkError, match="the documents of shard 1 differ"):
        annotate_many([*rows[:3], {"text": "other"}], out, **options)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    with pytest.raises(AttributeError, match="is_initialized"):  # the stand-in lacks clusters
        annotate_many([*rows, {"text": "new"}], out, **options)
    assert sorted(path.name for path in out.iterdir()) == [
        "manifest.journal",
        "part-000000.jsonl",
        "part-000001.jsonl",
    ]


RAY = ["--engine", "ray", "--workers", "2"]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [{7: "error", 32: "wait", 50: "error"}.get(number, f"text {number} " * 20) for number in range(60)]


@pytest.fixture
def whole(tmp_path: Path, texts: list[str]) -> dict[str, bytes]:
    """The files of a job that nobody stops, on one machine.

    Another one that is begun after it shows who reads, and waits in shard 6 until `go_on`.
    """
    write_input(tmp_path, texts)
    assert finish(begin(tmp_path, "--workers", "0"))[0] == 1
    found = content(tmp_path)
    (tmp_path / "out").rename(tmp_path / "whole")
    (tmp_path / "pids").mkdir()
    (tmp_path / "hold").touch()
    assert sorted(ids_of(found)) == sorted(f"d{number}" for number in range(60))
    return found


def readers(folder: Path) -> list[int]:
    return [int(path.name) for path in (folder / "pids").iterdir()]


def wait_for_shards(folder: Path, running: subprocess.Popen[str]) -> None:
    """Wait until all is done but the shard that waits and one that may be before it."""
    done = lambda: len(list((folder / "out").glob("part-*.jsonl"))) >= 10  # noqa: E731
    wait_for(lambda: done() or running.poll() is not None)
    assert running.poll() is None, finish(running)


def go_on(folder: Path) -> None:
    (folder / "hold").unlink()


@needs_ray
def test_actors_that_are_killed(tmp_path: Path, whole: dict[str, bytes]) -> None:
    running = begin(tmp_path, *RAY)
    wait_for_shards(tmp_path, running)
    killed = readers(tmp_path)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    go_on(tmp_path)
    status, said = finish(running)
    assert status == 1 and "60 documents, 2 failed" in said, said
    assert set(readers(tmp_path)) > set(killed) > set()
    assert content(tmp_path) == whole


@needs_ray
def test_documents_that_end_their_actor_cost_no_other(tmp_path: Path) -> None:
    write_input(tmp_path, ["one", "kill", "three", "error", "five", "six", "kill"])
    status, said = finish(begin(tmp_path, *RAY))
    found = content(tmp_path)
    failed = [json.loads(line) for name in sorted(found) if "failed" in name for line in found[name].splitlines()]
    assert status == 1 and "7 documents, 3 failed" in said
    assert [item["id"] for item in failed] == ["d1", "d3", "d6"]
    assert "was ended twice" in failed[0]["error"]
    assert sorted(ids_of(found)) == [f"d{number}" for number in range(7)]


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_driver_that_is_stopped(tmp_path: Path, whole: dict[str, bytes], how: signal.Signals) -> None:
    running = begin(tmp_path, *RAY)
    wait_for_shards(tmp_path, running)
    second = finish(begin(tmp_path, "--resume", "--workers", "0"))
    assert second == (
        1,
        "hf-corefel: cannot write out: another run is writing into this folder; wait for it or name another\n",
    )
    os.kill(running.pid, how)
    status, said = finish(running)
    if how == signal.SIGKILL:
        assert status == -how
    else:
        assert status == 128 + how and "Traceback" not in said and "go on by the same command with --resume" in said, (
            said
        )
    stopped = {name: data for name, data in content(tmp_path).items() if ".part-" not in name}
    assert "manifest.json" not in stopped
    assert all(whole[name] == data for name, data in stopped.items() if name.endswith(".jsonl"))
    go_on(tmp_path)
    engine = RAY if how == signal.SIGTERM else ["--workers", "1"]
    assert finish(begin(tmp_path, "--resume", *engine))[0] == 1
    assert content(tmp_path) == whole


@needs_ray
@pytest.mark.slow
def test_a_machine_that_dies(tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(DRIVER.parent), os.environ.get("PYTHONPATH", "")]))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        running = begin(tmp_path, *RAY)
        wait_for_shards(tmp_path, running)
        cluster.remove_node(nodes[0], allow_graceful=False)
        go_on(tmp_path)
        cluster.add_node(num_cpus=1)
        status, said = finish(running)
    finally:
        cluster.shutdown()
    assert status == 1 and "60 documents, 2 failed" in said, said
    assert content(tmp_path) == whole


@needs_ray
@pytest.mark.slow
def test_the_models_own_results(tmp_path: Path, tiny_folder: Path, tiny_documents: list[Any]) -> None:
    rows = [
        {"id": f"{copy}-{document.id}", "text": document.text + " Anna Berg won." * copy, "source": [copy]}
        for copy in range(4)
        for document in tiny_documents
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "hf_corefel.cli",
        *COMMAND,
        "--model",
        str(tiny_folder),
        "--compress",
        "--evidence",
    ]
    subprocess.run([*command, *RAY], cwd=tmp_path, check=True, timeout=SECONDS)
    found = content(tmp_path)
    (tmp_path / "out").rename(tmp_path / "ray")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=SECONDS)
    assert content(tmp_path) == found and len(found) == 4
