"""The folder of a job: what is nobody's but the user's stays, and a job that is complete is compared like any other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel import KnowledgeBase
from hf_corefel.bulk import BulkError, annotate_many
from hf_corefel.bulk.sources import Reading
from hf_corefel.candidates import ComposedKnowledgeBase
from hf_corefel.documents import AnnotatedDocument, Document

WRITER = "0123456789abcdef" * 2
ROWS = [{"id": f"d{number}", "text": f"text {number}"} for number in range(6)]
OURS = [
    f"manifest.journal.part-{WRITER}",
    f"part-000000.jsonl.gz.part-{WRITER}",
    f"failed-1000000.jsonl.part-{WRITER}",
    f"attempts-000001.part-{WRITER}",
]
THEIRS = ["archive.part-1.rar", "part-000000.jsonl.part-1", f"mine.part-{WRITER}", "manifest.json.bak"]


def stand_in(documents: Sequence[Document], batch_size: int, **asked: Any) -> list[dict[str, Any]]:
    return [dict(AnnotatedDocument(document.text, [], document.id).to_dict()) for document in documents]


def never(documents: Sequence[Document], batch_size: int, **asked: Any) -> list[dict[str, Any]]:
    raise AssertionError("no document is left")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(inputs: Any, output: Path, **options: Any) -> Any:
    return annotate_many(inputs, output, **{"workers": 0, "pipeline": stand_in, "shard_size": 2, **options})


def write_lines(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> list[Path]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [path]


@pytest.mark.parametrize("name", THEIRS)
def test_a_job_that_is_refused_removes_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    for leftover in OURS:
        (tmp_path / leftover).touch()
    before = content(tmp_path)
    for resume in (False, True):
        with pytest.raises(BulkError, match=f"is no folder of such a job, it holds '{name}'"):
            run(ROWS, tmp_path, resume=resume)
        assert content(tmp_path) == before


@pytest.mark.parametrize("complete", [False, True])
def test_files_of_others_beside_a_job_stay(tmp_path: Path, complete: bool) -> None:
    def stopped() -> Iterator[dict[str, Any]]:
        yield from ROWS
        raise KeyboardInterrupt

    if complete:
        run(iter(ROWS), tmp_path)
    else:
        with pytest.raises(KeyboardInterrupt):
            run(stopped(), tmp_path)
    for name in [*THEIRS, *OURS]:
        (tmp_path / name).write_text("precious")
    before = content(tmp_path)
    for options in ({}, {"resume": True, "top_k": 3}):
        with pytest.raises(BulkError):
            run(iter(ROWS), tmp_path, **options)
        assert content(tmp_path) == before
    run(iter(ROWS), tmp_path, resume=True)
    assert set(THEIRS) < set(content(tmp_path)) and not set(OURS) & set(content(tmp_path))


def test_what_a_kill_left_before_there_was_a_journal_is_in_nobodys_way(tmp_path: Path) -> None:
    for leftover in OURS:
        (tmp_path / leftover).touch()
    run(ROWS, tmp_path)
    assert sorted(content(tmp_path)) == ["manifest.json", *(f"part-00000{number}.jsonl" for number in range(3))]


def test_inputs_of_a_complete_job_are_compared(tmp_path: Path) -> None:
    out, inputs = tmp_path / "out", write_lines(tmp_path / "in.jsonl", ROWS[:3])
    run(inputs, out)
    before = content(out)
    for rows, message in (
        (ROWS[:4], "the documents of shard 1 differ"),
        ([{"text": "other"}, *ROWS[1:3]], "the documents of shard 0 differ"),
        (ROWS[:2], "they end before shard 1"),
    ):
        write_lines(tmp_path / "in.jsonl", rows)
        with pytest.raises(BulkError, match=message):
            run(inputs, out, resume=True, pipeline=never)
        assert content(out) == before
    write_lines(tmp_path / "in.jsonl", ROWS[:3])
    report = run(inputs, out, resume=True, pipeline=never)
    assert (report.documents, report.earlier) == (3, 3) and content(out) == before


@pytest.mark.parametrize("workers", [0, 2])
def test_a_complete_job_needs_no_model(tmp_path: Path, workers: int) -> None:
    run(ROWS, tmp_path, model="nowhere")
    assert run(ROWS, tmp_path, resume=True, model="nowhere", pipeline=None, workers=workers).earlier == 6


def test_documents_behind_the_last_shard_are_annotated(tmp_path: Path) -> None:
    inputs = write_lines(tmp_path / "in.jsonl", ROWS[:4])
    run(inputs, tmp_path / "out")
    write_lines(tmp_path / "in.jsonl", ROWS)
    report = run(inputs, tmp_path / "out", resume=True)
    run(inputs, tmp_path / "at_once")
    assert (report.documents, report.earlier) == (6, 4) and content(tmp_path / "out") == content(tmp_path / "at_once")


@pytest.mark.parametrize("missing", ["part-000001.jsonl", "failed-000002.jsonl"])
def test_missing_shards_of_a_complete_job_are_made_again(tmp_path: Path, missing: str) -> None:
    rows = [*ROWS, {"id": 7}]
    rows[5] = {"id": "bad", "text": None}
    run(rows, tmp_path)
    whole = content(tmp_path)
    (tmp_path / missing).unlink()
    assert run(rows, tmp_path, resume=True).earlier == 5
    assert content(tmp_path) == whole
    # A run that is stopped meanwhile leaves a job that is not complete.
    (tmp_path / missing).unlink()

    def stops(*given: Any, **asked: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(rows, tmp_path, resume=True, pipeline=stops)
    assert "manifest.journal" in content(tmp_path) and "manifest.json" not in content(tmp_path)
    run(rows, tmp_path, resume=True)
    assert content(tmp_path) == whole


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"reading": Reading(text_column="title")}, "reading"),
        ({"reading": Reading(split="test")}, "reading"),
        ({"reading": Reading(max_bytes=1000)}, "reading"),
        ({"pack": True}, "packing"),
        ({"batch_size": 8}, "packing"),
        ({"loading": {"mention_scope": "named"}}, "loading"),
        ({"loading": {"model_kwargs": {"variant": "fp16"}}}, "loading"),
    ],
)
def test_options_that_change_results_are_compared(tmp_path: Path, options: dict[str, Any], name: str) -> None:
    run(ROWS, tmp_path)
    with pytest.raises(BulkError, match=f"has another {name} "):
        run(ROWS, tmp_path, resume=True, **options)


def test_options_that_change_nothing_may_be_others(tmp_path: Path) -> None:
    secret = {"token": "hf_secret", "local_files_only": True, "model_kwargs": {"token": "hf_secret"}}
    told = {"attn_implementation": "eager", "torch_dtype": torch.float32, "processor": object()}
    run(ROWS, tmp_path, pack=False, loading={**secret, **told, "device": "cuda"})
    again = {**told, "processor": object(), "device": "cpu", "model_kwargs": {}, "revision": None}
    assert run(ROWS, tmp_path, resume=True, batch_size=1, loading=again).earlier == 6
    # Where the device is said, it says whether documents are packed.
    assert run(ROWS, tmp_path, resume=True, loading=again).earlier == 6
    with pytest.raises(BulkError, match="has another packing"):
        run(ROWS, tmp_path, resume=True, loading={**again, "device": "cuda:1"})
    assert "secret" not in (tmp_path / "manifest.json").read_text()


@pytest.mark.parametrize("complete", [False, True])
def test_jobs_that_have_noted_less_are_gone_on_with(tmp_path: Path, complete: bool) -> None:
    report = run(ROWS, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    for name in ("reading", "packing", "loading", "content_of_the_model", "content_of_the_knowledge_base"):
        del manifest["job"][name]
    if complete:
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    else:
        (tmp_path / "manifest.json").unlink()
        lines = [{"version": 1, "job": manifest["job"]}, *manifest["shards"][:2]]
        (tmp_path / "manifest.journal").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(BulkError, match="has another shard size"):
        run(ROWS, tmp_path, resume=True, shard_size=3)
    again = run(ROWS, tmp_path, resume=True, loading={"mention_scope": "named"})
    assert again.shards == report.shards and again.earlier == (6 if complete else 4)
    # What is known of it stays what it has been.
    assert json.loads((tmp_path / "manifest.json").read_text())["job"] == manifest["job"]


@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "onnx/encoder.onnx", "knowledge_base/kb_config.json"]
)
def test_a_model_that_was_trained_again_is_another(tmp_path: Path, file: str) -> None:
    model, out = tmp_path / "model", tmp_path / "out"
    for name, text in (("README.md", "a card"), (file, '{"content_fingerprint": "first"}')):
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_text(text)
    run(ROWS, out, model=model)
    # Copied to another machine, and with another card.
    shutil.copytree(model, tmp_path / "copy", copy_function=shutil.copyfile)
    shutil.rmtree(model)
    (tmp_path / "copy").rename(model)
    (model / "README.md").write_text("another card")
    assert run(ROWS, out, model=model, resume=True).earlier == 6
    (model / file).write_text('{"content_fingerprint": "again"}')
    with pytest.raises(BulkError, match="has another content of the model"):
        run(ROWS, out, model=model, resume=True)


def base(entity: str) -> KnowledgeBase:
    return KnowledgeBase.build([("Oslo", [(entity, 1.0)])])


@pytest.mark.parametrize("kind", ["object", "composed", "folder", "composed folder"])
def test_a_knowledge_base_that_says_something_else_is_another(tmp_path: Path, kind: str) -> None:
    def given(entity: str) -> Any:
        made = ComposedKnowledgeBase([base(entity)]) if "composed" in kind else base(entity)
        if "folder" not in kind:
            return made
        shutil.rmtree(tmp_path / "kb", ignore_errors=True)
        made.save_pretrained(tmp_path / "kb")
        return str(tmp_path / "kb")

    run(ROWS, tmp_path / "out", loading={"knowledge_base": given("Oslo")})
    assert run(ROWS, tmp_path / "out", resume=True, loading={"knowledge_base": given("Oslo")}).earlier == 6
    with pytest.raises(BulkError, match="has another content of the knowledge base"):
        run(ROWS, tmp_path / "out", resume=True, loading={"knowledge_base": given("Rome")})


@pytest.mark.parametrize("words", [1, 100_000])
def test_a_script_that_each_worker_runs_again_is_said_to_need_its_guard(tmp_path: Path, words: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from hf_corefel import annotate_many\n"
        f"annotate_many([{{'id': 1, 'text': 'word ' * {words}}}], 'out', model='nowhere')\n"
    )
    # What is longer than a pipe holds is not taken by a worker that ends.
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("hf_corefel.bulk.annotator.BulkError: worker processes end as they start")
    assert 'if __name__ == "__main__":' in last and "workers=0" in last


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of files that are any bytes")
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_names_that_are_not_utf_8(tmp_path: Path, kind: str) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.txt")
    Path(name).write_text("Oslo.")
    out = tmp_path / "out"
    report = run([name], out, format=kind)
    assert (report.documents, report.failed) == (1, 0)
    assert json.loads((out / "manifest.json").read_text())["job"]["inputs"] == [name]
    assert run([name], out, format=kind, resume=True).earlier == 1
    (out / str(report.shards[0].file)).unlink()
    assert run([name], out, format=kind, resume=True).earlier == 0
    with pytest.raises(BulkError, match="has another inputs"):
        run([str(tmp_path / "out")], out, format=kind, resume=True)
