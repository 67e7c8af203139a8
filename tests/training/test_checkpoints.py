"""Checkpoints that a kill, a full disk or a bad disk has spoilt are not resumed from, whole ones are."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainerCallback

import hf_corefel
from forked_python import run_python
from hf_corefel import CorefELModel, CorefELTrainer, Document
from hf_corefel.training import BrokenCheckpointError
from hf_corefel.training.checkpoints import (
    MANIFEST_FILE,
    check_checkpoint,
    complete_checkpoint,
    newest_whole_checkpoint,
    rotate_checkpoints,
)

MakeTrainer = Callable[..., CorefELTrainer]
SCRIPT = Path(__file__).with_name("run_kills.py")

# Of a checkpoint with two shards, what resuming and loading read.
FILES = [
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
    "config.json",
    "optimizer.pt",
    "scheduler.pt",
    "rng_state.pth",
    "trainer_state.json",
    "training_args.bin",
    "processor_config.json",
    "tokenizer.json",
    "knowledge_base/kb_config.json",
]


@pytest.fixture(scope="module")
def run(
    tmp_path_factory: pytest.TempPathFactory,
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[..., Any],
    tiny_documents: list[Document],
) -> Path:
    """A run of two checkpoints, the weights of the second in two files."""
    folder = tmp_path_factory.mktemp("run")
    model = tiny_model()
    trainer = _trainer(folder, model, tiny_processor(model.config), tiny_documents)
    trainer.train()
    (folder / "checkpoint-4" / "model.safetensors").unlink()
    model.save_pretrained(folder / "checkpoint-4", max_shard_size="30KB")
    complete_checkpoint(folder / "checkpoint-4")
    return folder


def _trainer(folder: Path, model: Any, processor: Any, documents: list[Document]) -> CorefELTrainer:
    args = hf_corefel.CorefELTrainingArguments(
        str(folder), max_steps=4, save_steps=2, per_device_train_batch_size=1, logging_strategy="no", use_cpu=True,
        report_to="none", disable_tqdm=True, seed=7, encoder_learning_rate=1e-2,
    )  # fmt: skip
    return CorefELTrainer(model, args, processor, train_dataset=documents)


@pytest.fixture
def checkpoint(run: Path, tmp_path: Path) -> Path:
    """A copy of the second checkpoint, beside one of the first."""
    shutil.copytree(run / "checkpoint-2", tmp_path / "checkpoint-2")
    return Path(shutil.copytree(run / "checkpoint-4", tmp_path / "checkpoint-4"))


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "zeroed":
        path.write_bytes(bytes(len(content)))
    elif how == "flipped":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    else:
        path.write_bytes(content[: int(float(how) * (len(content) - 2))])


# What is whole -----------------------------------------------------------------------------------------


def test_whole_checkpoints_are_whole(checkpoint: Path) -> None:
    check_checkpoint(checkpoint)
    assert {path for path in FILES if (checkpoint / path).is_file()} == set(FILES)
    listed = json.loads((checkpoint / MANIFEST_FILE).read_text(encoding="utf-8"))["files"]
    found = {p.relative_to(checkpoint).as_posix() for p in checkpoint.rglob("*") if p.is_file()} - {MANIFEST_FILE}
    assert listed.keys() == found and set(FILES) <= found
    # As releases before and the base class write them.
    (checkpoint / MANIFEST_FILE).unlink()
    check_checkpoint(checkpoint)
    check_checkpoint(checkpoint.with_name("checkpoint-2"))


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize("how", ["missing", "zeroed", "0", "0.01", "0.5", "1"])
def test_every_damaged_file_is_named(checkpoint: Path, how: str, manifest: bool) -> None:
    if not manifest:
        (checkpoint / MANIFEST_FILE).unlink()
    for name in FILES:
        if how == "missing" and not manifest and name not in FILES[:8]:
            continue  # resuming does not read them, and nothing says that they were there
        content = (checkpoint / name).read_bytes()
        _damage(checkpoint / name, how)
        # A shard is named by the index that needs it.
        with pytest.raises(BrokenCheckpointError, match=r"checkpoint-4: the checkpoint is broken: ") as caught:
            check_checkpoint(checkpoint)
        said = str(caught.value)
        assert (
            name in said
            or (name.startswith("knowledge_base") and "knowledge_base" in said)
            or (name.startswith("model") and "model.safetensors" in said)
        ), (name, said)
        (checkpoint / name).write_bytes(content)
    check_checkpoint(checkpoint)


def test_every_flipped_bit_is_found(checkpoint: Path) -> None:
    for path in sorted(checkpoint.rglob("*")):
        if path.is_file() and path.name != MANIFEST_FILE:
            content = path.read_bytes()
            _damage(path, "flipped")
            with pytest.raises(BrokenCheckpointError, match=path.name):
                check_checkpoint(checkpoint)
            path.write_bytes(content)


@pytest.mark.parametrize("how", ["zeroed", "0", "0.5", "flipped"])
def test_damaged_manifest_is_no_manifest(checkpoint: Path, how: str) -> None:
    _damage(checkpoint / MANIFEST_FILE, how)
    with pytest.raises(BrokenCheckpointError):
        check_checkpoint(checkpoint)


@pytest.mark.parametrize("manifest", ["[]", "1", '{"complete": true, "files": {"config.json": 3}}', '{"files": []}'])
def test_manifest_of_another_form_is_broken(checkpoint: Path, manifest: str) -> None:
    (checkpoint / MANIFEST_FILE).write_text(manifest, encoding="utf-8")
    with pytest.raises(BrokenCheckpointError, match=MANIFEST_FILE):
        check_checkpoint(checkpoint)


def test_finished_training_is_not_trained_further(
    make_trainer: MakeTrainer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A kill right after the last checkpoint leaves one; the base class would add a step."""
    saving = {"save_strategy": "steps", "save_steps": 4}
    for length in ({"max_steps": 4}, {"num_train_epochs": 2, "gradient_accumulation_steps": 2}):
        first = make_trainer(**length, **saving)
        first.train()
        again = make_trainer(**length, **saving)
        assert again.train(resume_from_checkpoint=True).global_step == 4
        assert again.state.global_step == 4 and "nothing is left to train" in caplog.text
        expected = first.model.state_dict()
        assert all(torch.equal(value, expected[name]) for name, value in again.model.state_dict().items())
    longer = make_trainer(max_steps=5)
    assert longer.train(resume_from_checkpoint=True).global_step == 5


def test_weights_of_a_checkpoint_that_are_untrained_stay_so(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], tmp_path: Path
) -> None:
    """Also in a process that has drawn its own otherwise."""

    def with_drawn_root(seed: int) -> CorefELModel:
        torch.manual_seed(0)
        model = tiny_model(head="local")
        torch.manual_seed(seed)
        assert model.set_head("global") == ["pairs.root"]
        torch.nn.init.normal_(model.pairs.root)
        model.note_untrained(["pairs.root"])
        model.set_head("local")
        return model

    first = make_trainer(with_drawn_root(1), max_steps=1, save_strategy="steps", save_steps=1)
    first.train()
    assert first.model.untrained_weights() == ["pairs.root"]
    again = make_trainer(with_drawn_root(2), max_steps=2)
    assert not torch.equal(again.model.pairs.root, first.model.pairs.root)
    again.train(resume_from_checkpoint=True)
    assert torch.equal(again.model.pairs.root, first.model.pairs.root)
    assert again.model.untrained_weights() == ["pairs.root"]
    # Training makes them trained.
    again.model.set_head("global")
    longer = make_trainer(again.model, max_steps=3)
    longer.train()
    assert longer.model.untrained_weights() == []


def test_places_without_a_checkpoint_are_said(tmp_path: Path) -> None:
    with pytest.raises(BrokenCheckpointError, match="no such folder"):
        check_checkpoint(tmp_path / "nowhere")
    (tmp_path / "checkpoint-3").mkdir()
    with pytest.raises(BrokenCheckpointError, match="the folder is empty"):
        check_checkpoint(tmp_path / "checkpoint-3")
    for place in (tmp_path / "nowhere", tmp_path.parent):
        with pytest.raises(BrokenCheckpointError, match="No valid checkpoint found"):
            newest_whole_checkpoint(place)


# Resuming ----------------------------------------------------------------------------------------------


def test_newest_whole_one_is_taken_with_a_warning(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert newest_whole_checkpoint(checkpoint.parent) == checkpoint
    assert not caplog.text
    _damage(checkpoint / "optimizer.pt", "0.5")
    checkpoint.with_name("checkpoint-10").mkdir()
    assert newest_whole_checkpoint(checkpoint.parent) == checkpoint.with_name("checkpoint-2")
    for part in ("checkpoint-10", "the folder is empty", "checkpoint-4", "optimizer.pt", "goes on from checkpoint-2"):
        assert part in caplog.text
    _damage(checkpoint.with_name("checkpoint-2") / "scheduler.pt", "missing")
    with pytest.raises(BrokenCheckpointError, match=r"all are broken.*is empty.*optimizer\.pt.*scheduler\.pt"):
        newest_whole_checkpoint(checkpoint.parent)


def test_trainer_resumes_from_what_is_whole(make_trainer: MakeTrainer, checkpoint: Path) -> None:
    _damage(checkpoint / "model-00001-of-00002.safetensors", "0.5")
    trainer = make_trainer(output_dir=str(checkpoint.parent), max_steps=3, save_total_limit=1)
    with pytest.raises(BrokenCheckpointError, match=r"model-00001-of-00002\.safetensors"):
        trainer.train(resume_from_checkpoint=str(checkpoint))
    assert trainer.train(resume_from_checkpoint=True).global_step == 3
    with pytest.raises(BrokenCheckpointError, match="No valid checkpoint found"):
        make_trainer().train(resume_from_checkpoint=True)


@pytest.mark.parametrize("how", ["flipped", "0.5", "missing"])
def test_best_checkpoint_that_is_broken_is_not_loaded(
    make_trainer: MakeTrainer, tmp_path: Path, how: str, keeps_the_best: dict[str, Any]
) -> None:
    best = tmp_path / "run" / "checkpoint-1"

    class Spoil(TrainerCallback):
        """Damages the best checkpoint when the last one is saved."""

        def on_save(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
            if state.global_step == 2:
                _damage(best / "model.safetensors", how)

    scores = iter([2.0, 1.0])
    trainer = make_trainer(
        keywords={"compute_metrics": lambda prediction: {"mine": next(scores)}},
        max_steps=2,
        **keeps_the_best,
        callbacks=[Spoil()],
    )
    with pytest.raises(BrokenCheckpointError, match=r"checkpoint-1.*model\.safetensors") as raised:
        trainer.train()
    assert raised.value.__notes__ == ["the best model could not be loaded; the trainer has the last one"]
    last = CorefELModel.from_pretrained(best.with_name("checkpoint-2")).state_dict()
    assert all(torch.equal(value, last[name]) for name, value in trainer.model.state_dict().items())


@pytest.mark.parametrize("manifest", [True, False])
def test_checkpoints_with_the_weights_only_can_be_resumed_from(
    make_trainer: MakeTrainer, tmp_path: Path, manifest: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """They have neither moments nor schedule, and training says so."""
    make_trainer(max_steps=2, save_strategy="steps", save_steps=2, save_only_model=True).train()
    if not manifest:
        (tmp_path / "run" / "checkpoint-2" / MANIFEST_FILE).unlink()
    trainer = make_trainer(max_steps=3, save_strategy="steps")
    trainer.train(resume_from_checkpoint=True)
    assert trainer.state.global_step == 3
    said = "checkpoint-2 has the model alone (save_only_model=True): training goes on at step 2 with a new optimizer"
    assert said in caplog.text
    caplog.clear()
    make_trainer(max_steps=4).train(resume_from_checkpoint=True)
    assert "has the model alone" not in caplog.text


# Saving ------------------------------------------------------------------------------------------------


def test_whole_checkpoints_are_not_deleted_for_a_broken_one(checkpoint: Path) -> None:
    whole, broken, run = checkpoint.with_name("checkpoint-2"), checkpoint.with_name("checkpoint-10"), checkpoint.parent
    broken.mkdir()
    rotate_checkpoints(run, None, {whole})
    rotate_checkpoints(run, 3, {whole})
    assert whole.is_dir() and checkpoint.is_dir() and broken.is_dir()
    rotate_checkpoints(run, 2, {whole})
    assert whole.is_dir() and checkpoint.is_dir() and not broken.is_dir()
    rotate_checkpoints(run, 1, {whole})
    assert whole.is_dir() and not checkpoint.is_dir()


def test_limit_keeps_the_newest_and_the_best(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = make_trainer(
        max_steps=4, save_strategy="steps", save_steps=1, eval_strategy="steps", eval_steps=1, save_total_limit=2,
        load_best_model_at_end=True, metric_for_best_model="score",
        encoder_learning_rate=0.0, task_learning_rate=0.0, task_learning_rate_end=0.0,
    )  # fmt: skip
    trainer.train()
    # Nothing is learnt, so that the first stays the best.
    assert sorted(path.name for path in (tmp_path / "run").glob("checkpoint-*")) == ["checkpoint-1", "checkpoint-4"]
    assert trainer.args.save_total_limit == 2
    saved = torch.load(tmp_path / "run" / "checkpoint-4" / "training_args.bin", weights_only=False)
    assert saved.save_total_limit == 2


def test_nothing_of_an_earlier_run_stays_in_a_checkpoint(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    stale = tmp_path / "run" / "checkpoint-2"
    (stale / "global_step2").mkdir(parents=True)
    (stale / "rng_state_1.pth").write_bytes(b"")
    make_trainer(max_steps=2, save_strategy="steps", save_steps=2).train()
    check_checkpoint(stale)
    assert not (stale / "rng_state_1.pth").exists() and not (stale / "global_step2").exists()


@pytest.mark.parametrize("part", ["_save_optimizer_and_scheduler", "_save_rng_state"])
def test_failure_to_save_removes_the_part(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str
) -> None:
    def full(self: Trainer, folder: str) -> None:
        if self.state.global_step == 2:
            raise OSError(28, "No space left on device")

    make_trainer(max_steps=1, save_strategy="steps", save_steps=1).train()
    monkeypatch.setattr(Trainer, part, full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        make_trainer(max_steps=2, save_strategy="steps", save_steps=1).train(resume_from_checkpoint=True)
    assert "checkpoint-2 could not be saved and was removed" in caught.value.__notes__[0]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint-1"]


def _ways(
    folder: Path, model: CorefELModel, processor: Any, documents: list[Document], ways: dict[str, Any]
) -> dict[str, Any]:
    """What `run_kills` says of every way to end."""
    model.save_pretrained(folder / "model")
    processor.save_pretrained(folder / "model")
    (folder / "documents.json").write_text(json.dumps([document.to_dict() for document in documents]))
    (folder / "ways.json").write_text(json.dumps(ways))
    source = str(Path(hf_corefel.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    done = run_python(str(SCRIPT), str(folder), env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results.pop("calm") == {"status": 0, "error": None, "left": ["checkpoint-4"]}
    for name, result in results.items():
        # Whatever the moment, one whole checkpoint is there, and resuming ends where a calm training does.
        assert set(result["ended"]["left"]) & {"checkpoint-2", "checkpoint-4"}, (name, result)
        resumed = result["resumed"]
        assert (resumed["status"], resumed["error"], resumed["left"][-1]) == (0, None, "checkpoint-4"), (name, result)
        assert result["same"], (name, result)
    return results


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
@pytest.mark.parametrize(
    "kills",
    [(3, 38, 60), *(pytest.param(range(n, n + 16), marks=pytest.mark.slow) for n in range(1, 80, 16))],
    ids=str,
)
def test_what_a_kill_or_a_full_disk_leaves_can_be_resumed(
    tmp_path: Path,
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[..., Any],
    tiny_documents: list[Document],
    kills: Any,
) -> None:
    model = tiny_model(dropout=0.2)
    ways: dict[str, Any] = {f"kill-{number}": {"kill_at": number} for number in kills}
    ways |= {f"full-{size}": {"bytes": size} for size in (10, 100_000)}
    results = _ways(tmp_path, model, tiny_processor(model.config), tiny_documents, ways)
    killed = [result["ended"]["status"] for name, result in results.items() if name.startswith("kill")]
    # Beyond some seventy operations the checkpoint is whole and the training over.
    assert all(status == -9 for number, status in zip(kills, killed, strict=True) if number <= 60)
    for size in (10, 100_000):
        ended = results[f"full-{size}"]["ended"]
        assert (ended["status"], ended["left"]) == (0, ["checkpoint-2"])
        assert "checkpoint-4 could not be saved and was removed" in ended["error"]
