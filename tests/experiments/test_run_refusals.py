"""The queue of runs: what is there is of the same settings and whole, or is refused before anything is trained."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Document
from hf_corefel.formats import write_jsonl
from little_runs import BASE, FILES
from script_loading import load_script

RUN = load_script("experiments/run.py")
TRAINING = sys.modules["run_training"]
# The seeds of the trainings that did not take place.
TRAINED: list[int] = []


@pytest.fixture
def untrained_queue(tiny_queue: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The tiny queue, whose models are saved as they begin; `TRAINED` has the seeds of the trainings."""

    def fit(trainer: Any, **options: Any) -> None:
        TRAINED.append(trainer.args.seed)

    TRAINED.clear()
    monkeypatch.setattr(TRAINING.CorefELTrainer, "train", fit)
    monkeypatch.setattr(RUN, "evaluate", lambda run, *rest: {"documents": 1})
    return tiny_queue


def test_what_other_settings_trained_is_not_evaluated(
    untrained_queue: Callable[..., list[str]],
    write_runs: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, by_risk = (untrained_queue("changed", name) for name in ("tiny-global-3", "tiny-by_risk-3"))
    results, work = tmp_path / "changed" / "results", tmp_path / "changed" / "work"
    assert RUN.main(one) == 0 and TRAINED == [3]
    write_runs({**FILES, "tiny-global-3": {**BASE, "seed": 4, "row": "renamed"}})
    shutil.rmtree(results / "tiny-global-3")
    # Neither under the run's own name, nor decoded in another way.
    for arguments, name in ((one, "tiny-global-3"), (by_risk, "tiny-by_risk-3")):
        assert RUN.main(arguments) == 1
        printed = capsys.readouterr().out
        assert f"{name}: failed: {work / 'tiny-global-3'}: what is there was trained with another seed than" in printed
        remedy = f"remove {results / 'tiny-global-3'} and {work / 'tiny-global-3'}, then run it again"
        assert remedy in printed and TRAINED == [3] and not list(results.glob("*/run.json"))
    # Nor gone on with from a checkpoint.
    (work / "tiny-global-3" / "final").rename(work / "tiny-global-3" / "checkpoints")
    assert RUN.main(one) == 1 and TRAINED == [3]
    (work / "tiny-global-3" / "training.json").write_text("{", encoding="utf-8")
    assert RUN.main(one) == 1 and "training.json: damaged" in capsys.readouterr().out
    # Names in tables change nothing, and a folder of before has no record.
    write_runs({**FILES, "tiny-global-3": {**BASE, "row": "renamed", "parts": ["dev"]}})
    (work / "tiny-global-3" / "training.json").unlink()
    assert RUN.main(one) == 0 and TRAINED == [3, 3]
    shutil.rmtree(results / "tiny-global-3")
    write_runs({**FILES, "tiny-global-3": {**BASE, "row": "again"}})
    assert RUN.main(one) == 0 and TRAINED == [3, 3]
    shutil.rmtree(results / "tiny-global-3")
    write_runs({**FILES, "tiny-global-3": {**BASE, "seed": 5}})
    (work / "tiny-global-3" / "training.json").unlink()
    assert RUN.main(one) == 0 and TRAINED == [3, 3], "a folder without a record is taken as it is"


def test_predictions_of_other_settings_are_not_merged(
    untrained_queue: Callable[..., list[str]],
    write_runs: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = "tiny-global-3", "tiny-local-3"
    assert RUN.main(untrained_queue("merged", *names)) == 0
    write_runs({**FILES, "tiny-local-3": {**FILES["tiny-local-3"], "change": {"seed": 4}}})
    assert RUN.main(untrained_queue("merged", "tiny-merged-3")) == 1
    stored = tmp_path / "merged" / "results" / "tiny-local-3"
    assert f"{stored}: it was run with other settings than its file has now; remove it" in capsys.readouterr().out


def test_runs_that_cannot_be_begun_are_named(
    untrained_queue: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "tiny-by_risk-3", "tiny-merged-3"
    assert RUN.main(untrained_queue("alone", *names)) == 2
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "tiny-by_risk-3: waits for tiny-global-3",
        "tiny-merged-3: waits for tiny-global-3, tiny-local-3",
    ]
    # What another worker has comes to an end there.
    with RUN.locked(tmp_path / "alone" / "work" / "tiny-global-3"):
        assert RUN.main(untrained_queue("alone", "tiny-global-3", "tiny-by_risk-3")) == 0
        assert capsys.readouterr().out.splitlines() == ["tiny-by_risk-3: waits for tiny-global-3"]


def test_what_is_damaged_leaves_the_other_runs(
    untrained_queue: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "damaged" / "results"
    for name in ("tiny-global-3", "tiny-local-3"):
        (results / name).mkdir(parents=True)
    (results / "tiny-global-3" / "run.json").write_text('{"run": ', encoding="utf-8")
    (results / "tiny-local-3" / "dev.counts.json.gz").touch()
    arguments = untrained_queue("damaged")
    assert RUN.main([*arguments, "--list"]) == 0
    assert "run.json: damaged" in capsys.readouterr().out.splitlines()[0]
    # The damaged one and the one without a record fail before anything is trained.
    assert RUN.main(arguments) == 5 and TRAINED == []
    printed = capsys.readouterr().out
    assert f"tiny-global-3: failed: {results / 'tiny-global-3' / 'run.json'}: damaged" in printed
    assert f"tiny-local-3: failed: {results / 'tiny-local-3'}: there is a folder without a whole result" in printed
    shutil.rmtree(results / "tiny-local-3")
    assert RUN.main([*arguments, "tiny-global-3", "tiny-local-3"]) == 1 and TRAINED == [3]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([None, 1], "test.jsonl: document 1 has no id; give each an id of its own"),
        ([1, "1"], "test.jsonl: document 2 has the id '1' of another one"),
        ([], "test.jsonl: there is no document"),
    ],
)
def test_documents_that_cannot_be_told_apart_are_refused_before_training(
    untrained_queue: Callable[..., list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    ids: list[Any],
    message: str,
) -> None:
    documents = [Document("Oslo is old.", id, clusters=[]) for id in ids]
    arguments = untrained_queue("alike", "tiny-global-3")
    write_jsonl(tmp_path / "corpus" / "test.jsonl", documents)
    assert RUN.main(arguments) == 1 and TRAINED == []
    assert message in capsys.readouterr().out
