"""Many documents into shards: the pipeline's own results, whatever the workers and packs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.bulk import BulkError, JobProgress, annotate_many
from hf_corefel.cli.bulk import means_job, progress_line
from hf_corefel.documents import AnnotatedDocument, Document
from hf_corefel.formats import read_documents

LENGTHS = [3, 40, 1, 41, 2, 39, 5, 3000]


class Recorder:
    """A pipeline that remembers how many documents it was given at once, and which were long."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def __call__(self, documents: Sequence[Document], batch_size: int, **asked: Any) -> list[dict[str, Any]]:
        assert batch_size == len(documents)
        self.calls.append([len(document.text) for document in documents])
        if any(document.text.startswith("!") for document in documents):
            raise KeyError("a text with !")
        return [dict(AnnotatedDocument(document.text, [], document.id).to_dict()) for document in documents]


def rows(lengths: Sequence[int] = LENGTHS) -> list[dict[str, Any]]:
    return [{"id": f"d{number}", "text": "x" * length} for number, length in enumerate(lengths)]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(inputs: Any, output: Path, **options: Any) -> Any:
    given = {"workers": 0, "pipeline": Recorder(), "shard_size": 3, **options}
    return annotate_many(inputs, output, **given)


def test_results_are_the_pipelines_own_to_the_byte(
    one_thread: None, tmp_path: Path, tiny_folder: Path, tiny_documents: list[Any]
) -> None:
    from hf_corefel import load_pipeline

    documents = [
        {"id": f"{copy}-{document.id}", "text": document.text + " Anna Berg won." * copy, "source": [copy]}
        for copy in range(3)
        for document in tiny_documents
    ]
    pipeline = load_pipeline(tiny_folder)
    expected = [{**pipeline(row, evidence=True), "source": row["source"]} for row in documents]
    annotate_many(documents, tmp_path / "here", workers=0, pipeline=pipeline, shard_size=4, evidence=True)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents), encoding="utf-8")
    report = annotate_many(
        tmp_path / "in.jsonl", tmp_path / "out", model=tiny_folder, batch_size=8, shard_size=4, evidence=True
    )
    found = b"".join((report.folder / str(shard.file)).read_bytes() for shard in report.shards)
    assert [json.loads(line) for line in found.splitlines()] == expected
    shards = content(tmp_path / "out")
    assert {name: data for name, data in content(tmp_path / "here").items() if "part" in name} == {
        name: data for name, data in shards.items() if "part" in name
    }
    assert len(shards) == 4 and (report.documents, report.failed, report.earlier) == (9, 0, 0)


def test_packs_are_of_similar_length_and_change_no_order(tmp_path: Path) -> None:
    packing, single = Recorder(), Recorder()
    run(rows(), tmp_path / "packed", pipeline=packing, pack=True, batch_size=3, shard_size=8)
    run(rows(), tmp_path / "single", pipeline=single, batch_size=3, shard_size=8)
    assert packing.calls == [[3000, 41, 40], [39, 5, 3], [2, 1]]
    assert single.calls == [[length] for length in LENGTHS]
    packed, alone = content(tmp_path / "packed"), content(tmp_path / "single")
    manifests = [json.loads(found.pop("manifest.json")) for found in (packed, alone)]
    assert packed == alone and manifests[0]["shards"] == manifests[1]["shards"]
    long = Recorder()
    run(rows([50_000, 40_000, 1, 10]), tmp_path / "long", pipeline=long, pack=True, shard_size=8)
    assert long.calls == [[50_000], [40_000], [10, 1]], "what is read at once is bounded"


def test_what_fails_is_listed_and_costs_no_other(tmp_path: Path) -> None:
    inputs = [{"id": "a", "text": "!"}, {"text": "no id"}, {"id": "c", "text": None}, {"id": 4, "text": "four"}]
    report = run(inputs, tmp_path / "out", pack=True, max_document_words=1)
    assert (report.documents, report.failed) == (4, 3)
    failed = [
        json.loads(line)
        for name, data in sorted(content(report.folder).items())
        if "failed" in name
        for line in data.splitlines()
    ]
    assert [item["id"] for item in failed] == ["a", "document-2", "document-3"]
    assert failed[0]["error"] == "KeyError 'a text with !'" and "words" in failed[1]["error"]
    assert [document.id for document in read_documents(report.folder / "part-000001.jsonl")] == [4]


def test_a_stream_without_an_end_is_read_as_it_is_needed(tmp_path: Path) -> None:
    read = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal read
        while read < 1000:
            read += 1
            yield {"id": read, "text": "text"}
        raise KeyboardInterrupt

    ahead = []
    with pytest.raises(KeyboardInterrupt) as stopped:
        run(endless(), tmp_path / "out", progress=lambda now: ahead.append(read - now.documents))
    assert max(ahead) < 3
    assert stopped.value.__notes__ == [
        f"999 documents are done in {tmp_path / 'out'}; go on by the same command with --resume"
    ]
    read = 0
    report = run(({"id": number, "text": "text"} for number in range(1, 1201)), tmp_path / "out", resume=True)
    assert (report.documents, report.earlier, report.failed) == (1200, 999, 0)


@pytest.mark.parametrize("kind", ["jsonl.gz", "parquet"])
def test_other_formats_of_shards(tmp_path: Path, kind: str) -> None:
    report = run([*rows(), {"id": "bad"}], tmp_path / "out", format=kind)
    found = [
        document for shard in report.shards if shard.file for document in read_documents(report.folder / shard.file)
    ]
    assert [(document.id, len(document.text)) for document in found] == [
        (f"d{number}", length) for number, length in enumerate(LENGTHS)
    ]
    assert [shard.failed for shard in report.shards] == [0, 0, 1]


def test_what_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (rows(), {}, "holds the results of a job that is complete; name another folder"),
        (rows(), {"resume": True, "top_k": 3}, "has another parameters"),
        (rows(), {"resume": True, "shard_size": 4}, r"has another shard size \(3, now 4\)"),
        ([str(tmp_path / "missing.jsonl")], {}, "cannot read .*missing.jsonl: No such file or directory"),
        ([], {}, "inputs: there are none"),
        (rows(), {"workers": 2}, "pipeline: one that is there already stays in this process"),
        (rows(), {"format": "html"}, "format: expected one of jsonl, jsonl.gz, parquet, got 'html'"),
        (rows(), {"shard_size": 0}, "shard_size: expected a whole number of at least 1, got 0"),
        (Document("one"), {}, "put a single one into a list"),
    ]
    run(rows(), out)
    before = content(out)
    for inputs, options, message in cases:
        with pytest.raises(BulkError, match=message):
            run(inputs, out, **options)
    assert content(out) == before and run(rows(), out, resume=True).earlier == 8
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(BulkError, match=r"is no folder of such a job, it holds 'mine.txt'"):
        run(rows(), tmp_path / "other")
    with pytest.raises(BulkError, match="this is a file; name another"):
        run(rows(), tmp_path / "other" / "mine.txt")
    with pytest.raises(BulkError, match=r"cannot load the model .*nowhere"):
        annotate_many(rows(), tmp_path / "new", workers=0, model=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"min_probabilty": 0.8}, "takes no parameter 'min_probabilty'"),
        ({"min_probability": 2}, "min_probability: expected a number between 0 and 1, got 2"),
        ({"mention_scope": "alll"}, "mention_scope: .*'alll'"),
        ({"types": ["persn"]}, "types: .*'persn'"),
        ({"num_workers": -1}, "num_workers: expected a whole number from 0, got -1"),
    ],
)
def test_a_slip_in_a_parameter_is_said_before_the_job_is_begun(
    tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(BulkError, match=message):
        annotate_many(rows(), tmp_path / "out", workers=0, **asked)
    assert not (tmp_path / "out").exists()
    # A pipeline of another kind may take anything.
    assert run(rows(), tmp_path / "out", **asked).failed == 0


def test_objects_in_other_fields_are_the_same_in_the_next_process(tmp_path: Path) -> None:
    def given(source: object) -> list[dict[str, Any]]:
        return [{"id": "a", "text": "Oslo at 0x1.", "source": [source]}]

    run(given(object()), tmp_path)
    assert run(given(object()), tmp_path, resume=True).earlier == 1
    with pytest.raises(BulkError, match="the documents of shard 0 differ"):
        run(given("another"), tmp_path, resume=True)


def test_inputs_that_have_changed_are_refused(tmp_path: Path) -> None:
    def stopped() -> Iterator[dict[str, Any]]:
        yield from rows()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped(), tmp_path / "out")
    changed = rows([*LENGTHS[:4], 7, *LENGTHS[5:]])
    with pytest.raises(BulkError, match=r"the inputs are not those that the job was begun with: .* of shard 1 differ"):
        run(iter(changed), tmp_path / "out", resume=True)
    with pytest.raises(BulkError, match="they end before shard 1"):
        run(iter(rows()[:3]), tmp_path / "out", resume=True)
    assert run(iter(rows()), tmp_path / "out", resume=True).documents == 8


def test_progress_knows_speed_and_end(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    seen: list[JobProgress] = []
    run([tmp_path / "in.jsonl"], tmp_path / "out", progress=seen.append)
    assert [now.documents for now in seen] == list(range(1, 9))
    fractions = [now.fraction or 0.0 for now in seen]
    assert fractions == sorted(fractions) and 0 < fractions[0] < fractions[-1] == 1.0
    assert seen[-1].seconds_left == 0.0
    assert progress_line(JobProgress(1200, 3, 14.2, 0.5, 7330.4)) == (
        "1,200 documents, 3 failed, 14.2 documents/s, 2:02:10 left"
    )
    assert progress_line(JobProgress(0, 0, None, None, None)) == "0 documents"


def test_when_the_command_writes_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts").mkdir()
    Path("table.txt").touch()

    def means(output: str | None, *inputs: str, formatted: bool = False, **asked: Any) -> bool:
        return means_job(output, inputs, None, asked, formatted=formatted)

    assert means("out", "a.txt", workers=2) and means("out/", "a.jsonl", resume=True, formatted=True)
    assert all(means("out", name) for name in ("a.jsonl", "a.parquet", "a.jsonl.zst", "texts", "org/name"))
    assert not means("out", "a.txt", "b.txt"), "a file a document, as ever"
    assert not means("out/", "a.jsonl", formatted=True)
    assert not any(means(name, "a.jsonl") for name in (None, "out.jsonl", "out.jsonl.gz", "out.parquet", "table.txt"))
    for output in (None, "out.jsonl"):
        with pytest.raises(BaseException, match="1"):
            means(output, "a.jsonl", shard_size=5)
        assert "--shard-size is for results in a folder; name one with --output" in capsys.readouterr().err
