"""The queue of runs: trained, killed, resumed, skipped, shared, and what is stored of it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forked_python import run_python
from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.metrics import evaluate
from little_runs import BASE, FILES
from script_loading import ROOT, load_script

RUN = load_script("experiments/run.py")
FILES_OF_RUNS = sys.modules["run_files"]
STORED = sys.modules["stored_results"]

# Ends itself as a kill would, when the second checkpoint of the first training is there.
KILLED = """
import os, signal, sys
sys.path.insert(0, "experiments")
import run, run_training
kept = run_training._SaveNowAndThen.on_save
def on_save(self, args, state, control, **more):
    kept(self, args, state, control, **more)
    if state.global_step == 2:
        os.kill(os.getpid(), signal.SIGKILL)
run_training._SaveNowAndThen.on_save = on_save
run.main(sys.argv[1:])
"""


def stored_files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.gz"))}


def test_a_killed_queue_goes_on_where_it_was(
    tiny_queue: Callable[..., list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    tiny_documents: list[Document],
) -> None:
    calm = tiny_queue("calm")
    assert RUN.main(calm) == 0
    # A local model takes the same way as a global one, so one of them is killed.
    killed = tiny_queue("killed", "tiny-global-3", "tiny-by_risk-3")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = run_python("-c", KILLED, *killed, "--save-every", "0", cwd=ROOT, env=environment)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    results = tmp_path / "killed" / "results"
    assert list(results.rglob("run.json")) == []
    capsys.readouterr()
    assert RUN.main([*killed, "--list"]) == 0
    states = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()]
    assert states == ["begun: step 2", "waits for tiny-global-3"]
    before = json.loads((tmp_path / "killed" / "work" / "tiny-global-3" / "cost.json").read_text())

    assert RUN.main(killed) == 0
    # The same predictions and counts as those of the queue that nothing stopped.
    expected = stored_files(tmp_path / "calm" / "results")
    assert len(expected) == 16 and len(stored := stored_files(results)) == 6
    assert all(expected[name] == data for name, data in stored.items())
    record = STORED.read_record(results / "tiny-global-3")
    assert record["cost"]["steps"] == 60 and record["cost"]["seconds"] > before["seconds"]
    assert record["environment"]["torch"] and record["knowledge_base"]["entities"] == 8
    assert not list((tmp_path / "killed" / "work").rglob("checkpoint-*"))

    # What is stored is done: nothing is trained or written again.
    times = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    capsys.readouterr()
    assert RUN.main(killed) == 0 and capsys.readouterr().out == ""
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == times

    # No text is stored, and the counts give the scores of the predictions.
    texts = {str(document.id): document.text for document in tiny_documents}
    for part in ("dev", "test"):
        predicted = STORED.read_predictions(results / "tiny-global-3" / f"{part}.predictions.jsonl.gz", texts)
        scores = evaluate(tiny_documents, predicted)
        assert scores["coref_f1"] > 0.2, "the model has learnt nothing, and the test compares nothing"
        counts = STORED.read_counts(results / "tiny-global-3" / f"{part}.counts.json.gz")
        metrics = load_script("experiments/report_scores.py").METRICS
        for name, key in (("coref", "coref_f1"), ("el_m", "el_mention_f1"), ("el_h", "el_hard_f1")):
            assert metrics[name](lambda n, c=counts: c[n].sum()) == pytest.approx(scores[key], abs=1e-5)
    content = "".join(gzip.decompress(data).decode() for data in stored_files(results).values())
    assert not any(word in content for document in tiny_documents for word in document.text.split() if len(word) > 7)


def test_a_run_that_another_worker_has_is_left_to_it(
    tiny_queue: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def do(run: Any, corpora: Any, places: Any, results: Path) -> None:
        done.append(run.name)
        (results / run.name).mkdir()
        STORED.write_record(results / run.name, {"run": run.to_dict(), "cost": {}})
        if run.name == "tiny-local-3":
            lock.__exit__(None, None, None)  # the other worker is stopped before it is done

    monkeypatch.setattr(RUN, "_do", do)
    arguments = tiny_queue("two", "tiny-global-3", "tiny-local-3")
    work = tmp_path / "two" / "work"
    work.mkdir(parents=True)
    lock = RUN.locked(work / "tiny-global-3")
    lock.__enter__()
    assert RUN.main(arguments) == 0
    assert done == ["tiny-local-3", "tiny-global-3"]


def test_a_run_that_fails_leaves_the_others(
    tiny_queue: Callable[..., list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUN, "train", lambda run, *rest: (_ for _ in ()).throw(RuntimeError(f"no {run.head}")))
    # Two fail, and the three that are made from them cannot be begun.
    assert RUN.main(tiny_queue("failing")) == 5
    printed = capsys.readouterr().out
    assert "tiny-global-3: failed: no global" in printed and "tiny-local-3: failed: no local" in printed
    assert "tiny-by_risk-3: waits for tiny-global-3" in printed
    assert "tiny-merged-3: waits for tiny-global-3, tiny-local-3" in printed


def test_places_that_were_not_given_are_asked_for(
    tiny_queue: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [item for item in tiny_queue("placeless") if not item.startswith("tiny=") or "corpus" not in item]
    del arguments[arguments.index("--corpus")]
    assert RUN.main([*arguments, "tiny-global-3"]) == 1
    assert "where is tiny? say --corpus tiny=FOLDER" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="there is no run tiny-globe-3; --list prints what there is"):
        RUN.main([*arguments, "tiny-globe-3"])
    with pytest.raises(SystemExit, match="--corpus: expected NAME=FOLDER, got 'tiny'"):
        RUN.main([*arguments, "--corpus", "tiny"])


# Files of runs ----------------------------------------------------------------------------------------


def test_the_queue_of_this_repository_begins_with_tables() -> None:
    runs = FILES_OF_RUNS.read_queue()
    heads = ["standalone_coref", "standalone_linking", "local", "global"]
    trained = [run for run in runs if run.trains]
    assert [(run.settings["corpus"], run.head) for run in trained[:8]] == [
        (c, h) for c in ("dwie", "aida") for h in heads
    ]
    compared = [run for run in trained if run.settings["table"] == "heads"]
    assert {(r.settings["corpus"], r.head, r.settings["seed"]) for r in compared} == {
        (c, h, s) for c in ("dwie", "aida") for h in heads for s in (13, 14, 15)
    }
    # The same on a corpus but for what is compared.
    for corpus in ("dwie", "aida"):
        same = [
            {**r.settings, "config": {**r.settings["config"], "head": None}, "row": "", "seed": 0}
            for r in compared
            if r.settings["corpus"] == corpus
        ]
        assert len(same) == 12 and all(settings == same[0] for settings in same)
    assert {p for r in runs if r.settings["table"] == "ablations" for p in r.parts} == {"dev"}


@pytest.mark.parametrize("name", [run.name for run in FILES_OF_RUNS.read_queue()])
def test_every_file_of_runs_makes_a_configuration(name: str) -> None:
    from hf_corefel import CorefELConfig, CorefELTrainingArguments

    run = FILES_OF_RUNS.read_run(FILES_OF_RUNS.RUNS, name)
    assert CorefELConfig(**run.settings["config"]).head == run.head
    CorefELTrainingArguments("unused", use_cpu=True, report_to="none", **run.settings["training"])
    if run.settings["table"] == "ablations" and run.trains:
        changes = json.loads((FILES_OF_RUNS.RUNS / f"{name}.json").read_text())["change"]
        assert len(set(changes) - {"seed"}) == 1


@pytest.mark.parametrize(
    ("files", "queue", "message"),
    [
        (FILES, "tiny-global-3\ntiny-local-3", r"files \*.json differ in tiny-by_marginals-3, tiny-by_risk-3, tiny-me"),
        ({"a": BASE}, "a\na", "queue.txt: a stands there twice"),
        ({"a": {**BASE, "sead": 1}}, None, "a.json: unknown sead; known are base, change"),
        ({"a": {**BASE, "seed": "1"}}, None, "a.json: seed must be there, and be of type int"),
        ({"a": {**BASE, "decoding": "worst"}}, None, "a.json: decoding must be one of best_tree, marginals"),
        ({"a": {**BASE, "weights_of": "b"}}, None, "a.json: weights_of: there is no run 'b'"),
        ({"a": {**BASE, "merges": ["a", "b"]}}, None, "a.json: merges: there is no run 'b'"),
        ({"a": {**BASE, "merges": ["a"]}}, None, "a.json: merges must name two runs"),
        ({"a": {"base": "b"}}, None, "b.json: no such file"),
        ({"a": {**BASE, "change": {"seed": 1}}}, None, "a.json: change: there is no base"),
        ({"b": BASE, "a": {"base": "b", "change": {"config.haed": 1}}}, None, "the base says nothing of 'config.haed'"),
        ({"b": BASE, "a": {"base": "b", "change": {"seed.x": 1}}}, None, "the base says nothing of 'seed.x'"),
        ({"b": BASE, "a": {"base": "b", "change": ["seed"]}}, None, "a.json: change must be an object"),
        ({"a": {"base": "a"}}, None, "a.json: base: runs are made from one another, a → a"),
        ({"a": {"base": "b"}, "b": {"base": "a"}}, None, "b.json: base: runs are made from one another, a → b → a"),
        ({"a": {"base": ["b"]}}, None, r"a.json: base must be the name of a run; got \['b'\]"),
        ({"a": {**BASE, "weights_of": ["b"]}}, None, "a.json: weights_of must be the name of a run"),
        ({"a": {**BASE, "merges": [["a"], "b"]}}, None, "a.json: merges must name two runs"),
        ({"a": {**BASE, "merges": None}}, None, "a.json: merges must name two runs"),
        ({"a": {**BASE, "seed": True}}, None, "a.json: seed must be there, and be of type int"),
        ({"a": {**BASE, "parts": [["dev"]]}}, None, "a.json: parts must be names"),
        ({"a": {**BASE, "weights_of": "a"}}, None, "a.json: weights_of: a trains no model of its own"),
    ],
)  # fmt: skip
def test_files_of_runs_that_cannot_be_are_refused(
    write_runs: Callable[..., Path], files: dict[str, Any], queue: str | None, message: str
) -> None:
    with pytest.raises(FILES_OF_RUNS.RunFileError, match=message):
        FILES_OF_RUNS.read_queue(write_runs(files, queue))


def test_the_pair_is_merged_by_votes() -> None:
    text = "a b c d e f g"
    a, b, c, d, e, f, g = (Mention(i, i + 1) for i in range(0, 13, 2))
    clusters = AnnotatedDocument(text, [Cluster((a, b, c)), Cluster((d,)), Cluster((e, f))], "x")
    links = AnnotatedDocument(
        text,
        [
            Cluster((a, b), "Oslo", 0.6),
            Cluster((c, e, g), "Bergen", 0.7),
            Cluster((f,), "Moss", 0.9),
        ],
        "x",
    )
    found = sys.modules["run_training"].merged(clusters, links)
    # Two votes against one; of one vote each the more probable link; what is in no cluster is one of its own.
    assert [([m.begin for m in cl.mentions], cl.entity) for cl in found.clusters] == [
        ([0, 2, 4], "Oslo"), ([6], None), ([8, 10], "Moss"), ([12], "Bergen"),
    ]  # fmt: skip
    # Clusters of one link are one.
    links = AnnotatedDocument(text, [Cluster((a, d, g), "Oslo", 0.6)], "x")
    found = sys.modules["run_training"].merged(clusters, links)
    assert [([m.begin for m in cl.mentions], cl.entity) for cl in found.clusters] == [
        ([0, 2, 4, 6, 12], "Oslo"), ([8, 10], None),
    ]  # fmt: skip


# What is stored ---------------------------------------------------------------------------------------


def test_counts_of_clusters_by_size_and_by_candidates(tmp_path: Path) -> None:
    text = "Oslo Oslo Oslo Berg Berg Moss"
    places = [(0, 4), (5, 9), (10, 14), (15, 19), (20, 24), (25, 29)]
    mentions = [Mention(*place) for place in places]
    oslo, berg, moss = (
        Cluster(tuple(mentions[:3]), "Oslo"),
        Cluster(tuple(mentions[3:5]), "Berg"),
        Cluster((mentions[5],)),
    )
    gold = Document(text, "a", clusters=[oslo, berg, moss])
    found = AnnotatedDocument(text, [oslo, Cluster((mentions[3],), "Berg"), Cluster((mentions[5],), "Moss")], "a")
    candidates = {place: set[str]() for place in places} | {
        places[0]: {"Oslo"},
        places[3]: {"Berg"},
        places[4]: {"Berg"},
    }
    counts = STORED.document_counts(gold, found, candidates)
    sizes = {name: value for name, value in counts.items() if name.startswith("size") and value}
    assert sizes == {
        "size_3_found": 1, "size_3_predicted": 1, "size_1_predicted": 2, "size_3_gold": 1, "size_2_gold": 1,
    }  # fmt: skip
    shares = {name: value for name, value in counts.items() if name.startswith("share") and value}
    assert shares == {"share_0.5_found": 1, "share_0.5_gold": 1, "share_1_gold": 1}
    assert (counts["linked_mentions"], counts["linked_mentions_with_candidate"]) == (5, 3)
    assert (counts["hard_correct"], counts["hard_total"]) == (2, 2)
    path = tmp_path / "counts.json.gz"
    STORED.write_counts(path, ["a"], [counts])
    first = path.read_bytes()
    STORED.write_counts(path, ["a"], [counts])
    assert path.read_bytes() == first
    with pytest.raises(ValueError, match=r"gone.gz: missing; remove the folder and run it again"):
        STORED.read_counts(path.with_name("gone.gz"))
    again = STORED.read_counts(path)
    assert again.documents == ["a"]
    assert dict(zip(again.names, again.numbers[0], strict=True)) == pytest.approx(counts, abs=1e-6)


@pytest.mark.parametrize(
    "data",
    [b"no gzip", gzip.compress(b"{")[:-9], gzip.compress(b'{"a": 1}\n')],
    ids=["no gzip", "cut", "something else"],  # of their own, for the bytes have the time of packing in them
)
def test_a_damaged_file_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "dev.gz"
    path.write_bytes(data)
    for read in (STORED.read_counts, lambda path: STORED.read_predictions(path, {})):
        with pytest.raises(ValueError, match=r"dev.gz: damaged.*; remove the folder and run it again"):
            read(path)


def test_predictions_of_documents_with_numbers_for_ids_are_read(tmp_path: Path) -> None:
    path = tmp_path / "predictions.gz"
    STORED.write_predictions(path, [AnnotatedDocument("Oslo.", [Cluster((Mention(0, 4),), "Oslo")], 7)])
    (document,) = STORED.read_predictions(path, {"7": "Oslo."})
    assert document.text == "Oslo." and document.id == 7
    with pytest.raises(ValueError, match=r"predictions.gz: .*the corpus has no document 7"):
        STORED.read_predictions(path, {"8": "Oslo."})
