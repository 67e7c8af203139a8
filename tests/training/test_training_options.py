"""Options of training that a person expects to work: checkpointing, bf16, early stopping, reporting, frozen parts."""

from __future__ import annotations

import dataclasses
import math
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from peft import LoraConfig, get_peft_model
from tensorboard.compat.proto.event_pb2 import Event
from transformers import EarlyStoppingCallback
from transformers.integrations import TrackioCallback, integration_utils

from hf_corefel import (
    Cluster,
    CorefELModel,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
    Mention,
)
from hf_corefel.configuration_corefel import HEAD_MODULES, HEADS

MakeTrainer = Callable[..., CorefELTrainer]

# Renamed in transformers 5.
_FIELDS = {field.name for field in dataclasses.fields(CorefELTrainingArguments)}
CHECKPOINTING = next(n for n in ("activation_checkpointing", "gradient_checkpointing") if n in _FIELDS)


def _losses(trainer: CorefELTrainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


# Parameters that get no gradient ------------------------------------------------------------------------


@pytest.mark.parametrize("root_score", ["paper", "original"])
@pytest.mark.parametrize("head", HEADS)
def test_every_parameter_of_the_head_gets_a_gradient_from_any_batch(
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[[Any], CorefELProcessor],
    tiny_documents: list[Document],
    head: str,
    root_score: str,
) -> None:
    """Distributed training waits for one; only what the active head leaves out is exempt."""
    model = tiny_model(head=head, root_score=root_score, head_modules=list(HEAD_MODULES)).train()
    exempt = set(model._ddp_params_and_buffers_to_ignore)
    names = {name for name, _ in model.named_parameters()}
    assert exempt < names and not any(name.startswith(("encoder", "spans", "pruner")) for name in exempt)
    batches = [
        tiny_documents,
        [Document("She left.", clusters=[])],
        [Document("Oslo", clusters=[Cluster((Mention(0, 4),), "Oslo")])],
        [Document("Bergen won.", clusters=[Cluster((Mention(0, 6),), "Oslo")])],
        [Document("", clusters=[])],
    ]
    for documents in batches:
        model.zero_grad()
        model(**tiny_processor(model.config)(documents, gold=True).inputs).loss.backward()
        without = {name for name, parameter in model.named_parameters() if parameter.grad is None}
        assert without == exempt, documents[0].text


@pytest.mark.parametrize("head", HEADS)
def test_model_of_one_head_has_nothing_to_exempt(tiny_model: Callable[..., CorefELModel], head: str) -> None:
    assert tiny_model(head=head)._ddp_params_and_buffers_to_ignore == []


def test_exempt_parameters_follow_the_head(tiny_model: Callable[..., CorefELModel]) -> None:
    model = tiny_model(head="global")
    model.set_head("local")
    assert model._ddp_params_and_buffers_to_ignore == ["pairs.root"]
    model.set_head("standalone_linking")
    exempt = set(model._ddp_params_and_buffers_to_ignore)
    assert exempt == {name for name, _ in model.named_parameters() if name.startswith("pairs.")}
    model.set_head("global")
    assert model._ddp_params_and_buffers_to_ignore == ["entities.nil"]


@pytest.mark.parametrize("head", ["global", pytest.param("local", marks=pytest.mark.slow)])
def test_frozen_encoder_stays_as_it_is(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], head: str
) -> None:
    model = tiny_model(head=head)
    model.encoder.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer = make_trainer(model, max_steps=20, per_device_train_batch_size=3)
    trainer.train()
    after = model.state_dict()
    moved = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert {"spans", "pruner", "pairs"} <= moved and "encoder" not in moved
    assert {group["name"] for group in trainer.optimizer.param_groups} == {"task"}
    assert _losses(trainer)[-1] < 0.7 * _losses(trainer)[0]


# Memory and precision -----------------------------------------------------------------------------------


def test_checkpointing_gives_the_same_losses(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel]
) -> None:
    passes: list[bool] = []
    trainers = []
    for checkpointing in (False, True):
        model = tiny_model()
        layer = model.encoder.model.encoder.layer[0].intermediate.dense
        layer.register_forward_hook(lambda *unused, which=checkpointing: passes.append(which))
        trainers.append(make_trainer(model, max_steps=6, **{CHECKPOINTING: checkpointing}))
        trainers[-1].train()
    plain, saving = trainers
    # The layer runs a second time in the backward pass.
    assert (passes.count(False), passes.count(True)) == (6, 12)
    assert _losses(saving) == pytest.approx(_losses(plain), abs=1e-5)
    assert len(_losses(plain)) == 6
    for name, value in plain.model.state_dict().items():
        torch.testing.assert_close(saving.model.state_dict()[name], value, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("options", [None, {"use_reentrant": True}], ids=["by default", "reentrant"])
def test_checkpointing_trains_an_adapter(
    make_trainer: MakeTrainer,
    tiny_model: Callable[..., CorefELModel],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, bool] | None,
) -> None:
    """The embeddings are frozen, so that the input of the first layer has no gradient."""
    # Transformers 5 gives it one by itself, version 4 does not.
    monkeypatch.setattr(CorefELModel, "enable_input_require_grads", lambda self: None)
    adapted = get_peft_model(tiny_model(), LoraConfig(target_modules=["query"]))
    before = {name: value.clone() for name, value in adapted.named_parameters() if value.requires_grad}
    trainer = make_trainer(adapted, max_steps=2, **{CHECKPOINTING: True, f"{CHECKPOINTING}_kwargs": options})
    trainer.train()
    trainer.create_optimizer()
    assert len(adapted.get_base_model().get_input_embeddings()._forward_hooks) == 1, "once for a model"
    after = dict(adapted.named_parameters())
    assert not any(torch.equal(value, after[name]) for name, value in before.items() if "lora_B" in name)


@pytest.fixture
def bf16(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bool]]:
    # TrainingArguments of transformers 4 sets it for the whole process, and the state is one for all trainers.
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    yield {"bf16": True}
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.parametrize(
    "head", [head if head == "global" else pytest.param(head, marks=pytest.mark.slow) for head in HEADS]
)
def test_bf16_autocast_learns(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], bf16: dict[str, bool], head: str
) -> None:
    types: set[torch.dtype] = set()
    model = tiny_model(head=head)
    model.encoder.model.encoder.layer[0].intermediate.dense.register_forward_hook(
        lambda module, given, result: types.add(result.dtype)
    )
    trainer = make_trainer(model, max_steps=50, per_device_train_batch_size=3, **bf16)
    trainer.train()
    assert types == {torch.bfloat16}
    losses = _losses(trainer)
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[-1] < 0.4 * losses[0]
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


# Stopping -----------------------------------------------------------------------------------------------


def test_early_stopping_keeps_the_best_checkpoint(make_trainer: MakeTrainer) -> None:
    """Nothing is learnt at a rate of 0, so patience ends after the second evaluation that is no better."""
    trainer = make_trainer(
        max_steps=40,
        encoder_learning_rate=0.0,
        task_learning_rate=0.0,
        task_learning_rate_end=0.0,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="steps",
        save_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="score",
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )
    trainer.train()
    assert trainer.state.global_step == 6
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-2")
    assert trainer.args.greater_is_better is True


# Reporting ----------------------------------------------------------------------------------------------


def _events(path: Path) -> list[Event]:
    """Records of a TensorBoard file: length, checksum, event, checksum."""
    data, events, start = path.read_bytes(), [], 0
    while start < len(data):
        (length,) = struct.unpack_from("<Q", data, start)
        events.append(Event.FromString(data[start + 12 : start + 12 + length]))
        start += 16 + length
    return events


REPORTED = {"train/loss", "eval/loss", "eval/score", "eval/coref_f1", "eval/el_mention_f1", "eval/el_hard_f1"}


def test_tensorboard_gets_losses_and_scores(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trainer = make_trainer(max_steps=2, report_to=["tensorboard"], eval_strategy="steps", eval_steps=2)
    trainer.train()
    (path,) = tmp_path.glob("run/**/events.out.tfevents.*")
    values: dict[str, dict[int, float]] = {}
    for event in _events(path):
        for value in event.summary.value:
            number = value.tensor.float_val[0] if value.tensor.float_val else value.simple_value
            values.setdefault(value.tag, {})[event.step] = number
    assert values.keys() >= REPORTED
    logged = {key: entry for entry in trainer.state.log_history for key in entry if key in ("loss", "eval_score")}
    assert values["train/loss"].keys() == {1, 2}
    assert values["train/loss"][2] == pytest.approx(logged["loss"]["loss"])
    assert values["eval/score"] == {2: pytest.approx(logged["eval_score"]["eval_score"])}


def test_trackio_gets_losses_and_scores_and_stays_local(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in takes the calls: trackio itself cannot be installed beside every release that we support."""
    runs: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    trackio: Any = ModuleType("trackio")
    trackio.__version__ = "0.43.0"
    trackio.init = lambda **settings: runs.append(settings)
    trackio.log, trackio.finish, trackio.config = rows.append, lambda: runs.append({"finished": True}), _Config()
    trackio.context_vars = ModuleType("trackio.context_vars")
    trackio.context_vars.current_space_id = type("Unset", (), {"get": staticmethod(lambda: None)})
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    monkeypatch.setattr(integration_utils, "is_trackio_available", lambda: True)
    trainer = make_trainer(max_steps=2, eval_strategy="steps", eval_steps=2, callbacks=[TrackioCallback()])
    trainer.train()
    # transformers 4 would otherwise make a Space on the Hub.
    assert runs[0]["space_id"] is None
    assert runs[-1] == {"finished": True}
    assert {key for row in rows for key in row} >= REPORTED
    assert trackio.config["head"] == "global" and trackio.config["task_learning_rate"] == 1e-2
    assert trackio.config["model/num_parameters"] == trainer.model.num_parameters()


class _Config(dict[str, Any]):
    def update(self, values: dict[str, Any], allow_val_change: bool = False) -> None:  # type: ignore[override]
        super().update(values)
