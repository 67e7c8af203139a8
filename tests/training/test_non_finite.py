"""Losses, gradients and weights that are not finite: what stops, what is left out, and that nothing broken is saved."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel import CorefELModel, CorefELTrainer, Document
from hf_corefel.training import NonFiniteError
from training.run_scenarios import poison

MakeTrainer = Callable[..., CorefELTrainer]
TEAM = "team"


@pytest.fixture
def documents(tiny_documents: list[Document]) -> list[Document]:
    """Six documents, of which the fourth is the one with the team."""
    order = (0, 1, 0, 2, 1, 0)
    return [Document.from_dict({**tiny_documents[i].to_dict(), "id": f"{n}-{i}"}) for n, i in enumerate(order)]


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trains on documents as they come."""
    sequential = torch.utils.data.SequentialSampler
    monkeypatch.setattr(CorefELTrainer, "_get_train_sampler", lambda self, *unused: sequential(self.train_dataset))


def _poisoned(trainer: CorefELTrainer, value: float = math.nan, **options: Any) -> CorefELTrainer:
    poison(trainer.model, trainer.processor.tokenizer.convert_tokens_to_ids(TEAM), value, **options)
    return trainer


def _weights(trainer: CorefELTrainer) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in trainer.model.state_dict().items()}


# Stopping -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.usefixtures("in_order")
def test_loss_that_is_not_finite_stops_and_saves_nothing(
    make_trainer: MakeTrainer, documents: list[Document], tmp_path: Path, value: float
) -> None:
    trainer = make_trainer(train_dataset=documents, num_train_epochs=1, save_strategy="steps", save_steps=2)
    with pytest.raises(NonFiniteError) as caught:
        _poisoned(trainer, value).train()
    message = str(caught.value)
    assert "at step 4 (epoch 0.50)" in message and "document '3-2'" in message
    assert "skip_non_finite_batches=True" in message and "encoder_learning_rate" in message
    assert (caught.value.step, caught.value.documents) == (4, ["document '3-2'"])
    # What was in memory and on disk before is as good as it was.
    assert all(bool(value.isfinite().all()) for value in _weights(trainer).values())
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint-2"]
    assert all(math.isfinite(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry)


@pytest.mark.usefixtures("in_order")
def test_every_document_of_the_accumulation_is_named(make_trainer: MakeTrainer, documents: list[Document]) -> None:
    trainer = make_trainer(train_dataset=documents, num_train_epochs=1, gradient_accumulation_steps=3)
    with pytest.raises(NonFiniteError, match=r"nan at step 2 .*in document '3-2'; .*: document '4-1', document '5-0'"):
        _poisoned(trainer).train()


@pytest.mark.usefixtures("in_order")
def test_gradient_that_is_not_finite_stops_too(make_trainer: MakeTrainer, documents: list[Document]) -> None:
    trainer = make_trainer(train_dataset=documents, num_train_epochs=1, gradient_accumulation_steps=2)
    with pytest.raises(NonFiniteError, match=r"gradient is not finite at step 2 .*document '2-0', document '3-2'"):
        _poisoned(trainer, gradient_only=True).train()
    assert all(bool(value.isfinite().all()) for value in _weights(trainer).values())


@pytest.mark.usefixtures("in_order")
def test_documents_without_ids_are_named_by_their_place(make_trainer: MakeTrainer, documents: list[Document]) -> None:
    unnamed = [Document(document.text, clusters=document.clusters) for document in documents]
    with pytest.raises(NonFiniteError, match=r"in document 3 \(counted from 0"):
        _poisoned(make_trainer(train_dataset=unnamed, num_train_epochs=1)).train()


# Leaving out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accumulation", "left_out", "gradient_only"), [(1, [3], False), (1, [3], True), (2, [2, 3], False)]
)
@pytest.mark.usefixtures("in_order")
def test_weights_are_those_of_training_without_the_batch(
    make_trainer: MakeTrainer,
    documents: list[Document],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    accumulation: int,
    left_out: list[int],
    gradient_only: bool,
) -> None:
    settings = {"gradient_accumulation_steps": accumulation, "num_train_epochs": 1, "encoder_weight_decay": 0.1}
    others = [document for place, document in enumerate(documents) if place not in left_out]
    without = make_trainer(train_dataset=others, **settings)
    # The shorter training has the schedule of the longer one.
    steps, create = 6 // accumulation, without.create_scheduler
    monkeypatch.setattr(without, "create_scheduler", lambda num_training_steps, **unused: create(steps))
    without.train()
    skipping = make_trainer(train_dataset=documents, skip_non_finite_batches=True, **settings)
    result = _poisoned(skipping, gradient_only=gradient_only).train()
    expected = _weights(without)
    assert all(torch.equal(value, expected[name]) for name, value in _weights(skipping).items())
    assert skipping.state.global_step == steps
    # It is told, counted and on record, and losses are means over the other steps.
    names = [f"document '{documents[place].id}'" for place in left_out]
    (entry,) = skipping.training_record()["skipped_batches"]
    assert (entry["step"], entry["skipped_documents"]) == (left_out[-1] // accumulation + 1, names)
    assert f"document '{documents[3].id}'" in caplog.text and "left out" in caplog.text
    losses = [entry["loss"] for entry in skipping.state.log_history if "loss" in entry]
    expected_losses = [entry["loss"] for entry in without.state.log_history if "loss" in entry]
    assert losses == pytest.approx(expected_losses, abs=1e-3)
    assert result.training_loss == pytest.approx(sum(expected_losses) / len(expected_losses), abs=1e-3)


@pytest.mark.usefixtures("in_order")
def test_logs_count_what_was_left_out(make_trainer: MakeTrainer, documents: list[Document]) -> None:
    plain = make_trainer(
        train_dataset=documents[:3], num_train_epochs=1, task_learning_rate=0.0, encoder_learning_rate=0.0
    )
    plain.train()
    usual = [entry["loss"] for entry in plain.state.log_history if "loss" in entry]
    rates = {"task_learning_rate": 0.0, "encoder_learning_rate": 0.0}
    trainer = make_trainer(
        train_dataset=documents[:4], num_train_epochs=2, logging_steps=4, skip_non_finite_batches=True, **rates
    )
    _poisoned(trainer).train()
    logs = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert [entry["skipped_batches"] for entry in logs] == [1, 2]
    assert [entry["loss"] for entry in logs] == pytest.approx([sum(usual) / 3] * 2, abs=1e-3)


@pytest.mark.usefixtures("in_order")
def test_count_goes_on_after_resuming(make_trainer: MakeTrainer, documents: list[Document], tmp_path: Path) -> None:
    settings = {"train_dataset": documents[2:4], "skip_non_finite_batches": True, "num_train_epochs": 2}
    _poisoned(make_trainer(save_strategy="steps", save_steps=2, **settings)).train()
    resumed = _poisoned(make_trainer(**settings))
    resumed.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-2"))
    assert [entry["step"] for entry in resumed.training_record()["skipped_batches"]] == [2, 4]


# Half precision -----------------------------------------------------------------------------------------


def _scaled(trainer: CorefELTrainer, scale: float) -> torch.amp.GradScaler:
    """Gives a trainer what it has with fp16 on a GPU."""
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    trainer.accelerator.scaler = scaler
    return scaler


@pytest.mark.usefixtures("in_order")
def test_gradient_that_only_overflows_is_left_to_the_scaler(
    make_trainer: MakeTrainer, documents: list[Document]
) -> None:
    trainer = make_trainer(train_dataset=documents, num_train_epochs=1, optim="adamw_torch")
    scaler = _scaled(trainer, 64.0)

    def overflow(module: Any, args: Any, output: Any) -> None:
        output.loss.register_hook(lambda gradient: gradient * (math.inf if float(gradient) > 8 else 1.0))

    trainer.model.register_forward_hook(overflow)
    trainer.train()
    assert scaler.get_scale() == 8.0
    assert trainer.training_record()["skipped_batches"] == []


def test_gradient_that_never_gets_finite_stops(make_trainer: MakeTrainer, documents: list[Document]) -> None:
    trainer = make_trainer(train_dataset=documents[3:4], max_steps=20, optim="adamw_torch")
    scaler = _scaled(trainer, 64.0)
    with pytest.raises(NonFiniteError, match="gradient is not finite at step 7 "):
        _poisoned(trainer, gradient_only=True).train()
    assert scaler.get_scale() == 1.0


@pytest.mark.usefixtures("in_order")
def test_scaler_keeps_its_scale_where_a_loss_is_left_out(
    make_trainer: MakeTrainer, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"num_train_epochs": 1, "optim": "adamw_torch"}
    without = make_trainer(train_dataset=documents[:3] + documents[4:], **settings)
    create = without.create_scheduler
    monkeypatch.setattr(without, "create_scheduler", lambda num_training_steps, **unused: create(6))
    _scaled(without, 64.0)
    without.train()
    skipping = _poisoned(make_trainer(train_dataset=documents, skip_non_finite_batches=True, **settings))
    scaler = _scaled(skipping, 64.0)
    skipping.train()
    assert scaler.get_scale() == 64.0
    expected = _weights(without)
    assert all(torch.equal(value, expected[name]) for name, value in _weights(skipping).items())


# Evaluation and saving ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss_only", [False, True])
def test_evaluated_loss_that_is_not_finite_stops(
    make_trainer: MakeTrainer, documents: list[Document], loss_only: bool
) -> None:
    trainer = make_trainer(eval_dataset=documents, per_device_eval_batch_size=1, prediction_loss_only=loss_only)
    with pytest.raises(NonFiniteError, match=r"evaluated document '3-2'") as caught:
        _poisoned(trainer).evaluate()
    assert caught.value.documents == ["document '3-2'"]


def test_evaluated_documents_that_are_left_out_have_no_predictions(
    make_trainer: MakeTrainer,
    tiny_trained: Callable[[str], CorefELModel],
    tiny_model: Callable[..., CorefELModel],
    documents: list[Document],
) -> None:
    able = tiny_model(head="global")
    able.load_state_dict(tiny_trained("global").state_dict())
    settings = {"per_device_eval_batch_size": 1, "skip_non_finite_batches": True}
    others = make_trainer(able, eval_dataset=documents[:3] + documents[4:], **settings).evaluate()
    trainer = _poisoned(make_trainer(able, eval_dataset=documents, **settings))
    scores = trainer.evaluate()
    assert scores["eval_non_finite_documents"] == 1
    assert scores["eval_loss"] == pytest.approx(others["eval_loss"], rel=1e-4)
    # What they hold is missed.
    assert 0 < scores["eval_coref_f1"] < others["eval_coref_f1"]
    rows = trainer.predict(documents).predictions
    assert (rows[3] == -100).all() and not (rows[2] == -100).all()


def test_weights_that_are_not_finite_are_not_saved(
    make_trainer: MakeTrainer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(max_steps=1)
    trainer.save_model(str(tmp_path / "model"))
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    with torch.no_grad():
        trainer.model.pruner.project.weight[0, 0] = math.nan
    with pytest.raises(NonFiniteError, match=r"pruner\.project\.weight"):
        trainer.save_model(str(tmp_path / "model"))
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before


def test_filter_of_the_logs_hides_nothing(make_trainer: MakeTrainer, documents: list[Document]) -> None:
    trainer = make_trainer(train_dataset=documents[3:4], max_steps=1, logging_nan_inf_filter=False)
    with pytest.raises(NonFiniteError):
        _poisoned(trainer).train()
    assert trainer.state.log_history == []
