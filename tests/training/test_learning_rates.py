"""One base learning rate, and whatever schedule, optimizer and weight decay of transformers was chosen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import Adafactor, SchedulerType, Trainer, TrainingArguments, get_scheduler
from transformers.training_args import OptimizerNames

from hf_corefel import CorefELModel, CorefELTrainer, CorefELTrainingArguments

MakeTrainer = Callable[..., CorefELTrainer]

# The fixture sets the rates of the parts.
BASE_ONLY = {"encoder_learning_rate": None, "task_learning_rate": None, "task_learning_rate_end": None}
FIELDS = {field.name for field in dataclasses.fields(TrainingArguments)}
STEPS = 20


def peaks(trainer: CorefELTrainer) -> dict[str, float]:
    return {group["name"]: group["lr"] for group in trainer.create_optimizer().param_groups}


def rates(trainer: CorefELTrainer, steps: int = STEPS) -> dict[str, list[float]]:
    """The rate of each group before every step of a training."""
    trainer.create_optimizer_and_scheduler(steps)
    of_group: dict[str, list[float]] = {group["name"]: [] for group in trainer.optimizer.param_groups}
    for _ in range(steps):
        for group in trainer.optimizer.param_groups:
            of_group[group["name"]].append(group["lr"])
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
    return of_group


def moved(trainer: CorefELTrainer) -> set[str]:
    """The parts of the model, encoder or task, that training changes."""
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.train()
    after = trainer.model.state_dict()
    return {"encoder" if n.startswith("encoder.") else "task" for n in before if not torch.equal(before[n], after[n])}


# The base rate -------------------------------------------------------------------------------------------


def test_defaults_are_the_recipe(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(**BASE_ONLY)
    assert trainer.args.learning_rates() == (2e-5, 1e-3, 1e-4)
    assert {group["name"]: group["weight_decay"] for group in trainer.create_optimizer().param_groups} == {
        "matrices": 0.01,
        "vectors": 0.0,
        "task": 0.0,
    }
    found = rates(trainer, 100)
    assert (
        found["matrices"]
        == found["vectors"]
        == pytest.approx([2e-5 * (step / 10 if step < 10 else (100 - step) / 90) for step in range(100)], abs=1e-12)
    )
    assert found["task"] == pytest.approx([1e-3 - 9e-4 * step / 100 for step in range(100)], abs=1e-12)


def test_all_rates_follow_the_base(make_trainer: MakeTrainer) -> None:
    assert peaks(make_trainer(**BASE_ONLY, learning_rate=4e-5)) == {"matrices": 4e-5, "vectors": 4e-5, "task": 2e-3}
    assert make_trainer(**BASE_ONLY, learning_rate=4e-5).args.learning_rates().task_end == pytest.approx(2e-4)
    mixed = make_trainer(**{**BASE_ONLY, "task_learning_rate": 5e-4}, learning_rate=4e-5)
    assert peaks(mixed) == {"matrices": 4e-5, "vectors": 4e-5, "task": 5e-4}


def test_the_base_decides_what_is_learnt(make_trainer: MakeTrainer) -> None:
    still, moving, tiny = (make_trainer(**BASE_ONLY, max_steps=8, learning_rate=r) for r in (0.0, 1e-2, 1e-9))
    assert moved(still) == set() and moved(moving) == {"encoder", "task"}
    tiny.train()
    losses = {trainer: trainer.evaluate()["eval_loss"] for trainer in (still, moving, tiny)}
    assert losses[tiny] == pytest.approx(losses[still], rel=1e-3) and abs(losses[moving] - losses[still]) > 0.1


def test_rates_set_after_construction_act(make_trainer: MakeTrainer) -> None:
    """As after a search: `setattr(trainer.args, ...)`."""
    trainer = make_trainer(**BASE_ONLY)
    trainer.args.learning_rate = 1e-4
    trainer.args.lr_scheduler_type = "constant"
    assert rates(trainer)["task"] == pytest.approx([5e-3] * STEPS)
    trainer.args.label_smoothing_factor = 0.1
    with pytest.raises(ValueError, match=r"^label_smoothing_factor "):
        trainer.train()


# Warm-up and schedules -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "warmup", [{"warmup_steps": 5}, {"warmup_ratio": 0.25} if "warmup_ratio" in FIELDS else {"warmup_steps": 0.25}]
)
def test_warmup_is_of_all_layers(make_trainer: MakeTrainer, warmup: dict[str, Any]) -> None:
    found = rates(make_trainer(**BASE_ONLY, learning_rate=1e-3, **warmup))
    for name, peak in (("matrices", 1e-3), ("vectors", 1e-3), ("task", 5e-2)):
        assert found[name][:6] == pytest.approx([peak * step / 5 for step in range(6)])
    own = rates(make_trainer(**BASE_ONLY, learning_rate=1e-3, encoder_warmup=0.5, **warmup))
    assert own["matrices"][5] == pytest.approx(5e-4) and own["task"][5] == pytest.approx(5e-2)


SHAPES = sorted(set(SchedulerType) - {SchedulerType.LINEAR} - {each for each in SchedulerType if each == "greedy"})
OPTIONS: dict[str, dict[str, Any]] = {
    "polynomial": {"power": 2.0, "lr_end": 1e-6},
    "cosine_with_restarts": {"num_cycles": 2},
    "cosine_with_min_lr": {"min_lr": 1e-5},
    "cosine_warmup_with_min_lr": {"min_lr": 1e-5},
    "warmup_stable_decay": {"num_decay_steps": 5},
    "inverse_sqrt": {"timescale": 4},
    "reduce_lr_on_plateau": {"patience": 1, "factor": 0.5},
}


@pytest.mark.parametrize("kind", SHAPES)
def test_every_schedule_is_that_of_transformers(make_trainer: MakeTrainer, kind: SchedulerType) -> None:
    warmup = 0 if kind in ("constant", "reduce_lr_on_plateau") else 4
    options = OPTIONS.get(kind.value)
    trainer = make_trainer(
        **BASE_ONLY,
        learning_rate=1e-3,
        lr_scheduler_type=kind.value,
        lr_scheduler_kwargs=options,
        warmup_steps=warmup,
        eval_strategy="epoch",
    )
    if kind == "reduce_lr_on_plateau":
        trainer.create_optimizer_and_scheduler(STEPS)
        scheduler = trainer.lr_scheduler
        assert (scheduler.patience, scheduler.factor, scheduler.mode) == (1, 0.5, "min")
        for loss in (1.0, 2.0, 2.0):
            scheduler.step(loss)
        assert peaks(trainer) == {"matrices": 5e-4, "vectors": 5e-4, "task": 2.5e-2}
        return
    found = rates(trainer)
    for name, peak in (("matrices", 1e-3), ("vectors", 1e-3), ("task", 5e-2)):
        alone = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=peak)
        made = get_scheduler(kind, alone, warmup, STEPS, scheduler_specific_kwargs=options)
        expected = []
        for _ in range(STEPS):
            expected.append(alone.param_groups[0]["lr"])
            alone.step()
            made.step()
        assert found[name] == pytest.approx(expected, abs=1e-12), name


def test_parts_have_a_warmup_and_an_end_in_other_schedules_too(make_trainer: MakeTrainer) -> None:
    ends = {**BASE_ONLY, "task_learning_rate": 1e-2, "task_learning_rate_end": 2e-3}
    found = rates(make_trainer(**ends, learning_rate=1e-3, lr_scheduler_type="cosine", encoder_warmup=0.5))
    assert found["matrices"][5] == pytest.approx(5e-4) and found["matrices"][10] == pytest.approx(1e-3)
    expected = [2e-3 + 8e-3 * (1 + math.cos(math.pi * step / STEPS)) / 2 for step in range(STEPS)]
    assert found["task"] == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "mode"), [("score", "max"), ("loss", "min")])
def test_plateau_is_of_the_metric(make_trainer: MakeTrainer, metric: str, mode: str) -> None:
    """Nothing is learnt at a rate of nearly 0, so that the rate is halved after the second evaluation."""
    trainer = make_trainer(
        **BASE_ONLY,
        learning_rate=1e-12,
        max_steps=3,
        lr_scheduler_type="reduce_lr_on_plateau",
        lr_scheduler_kwargs={"patience": 0, "factor": 0.5, "threshold": 0.1, "eps": 0.0},
        metric_for_best_model=metric,
        eval_strategy="steps",
        eval_steps=1,
    )
    trainer.train()
    assert trainer.lr_scheduler.mode == mode
    assert trainer.optimizer.param_groups[0]["lr"] == pytest.approx(2.5e-13)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lr_scheduler_kwargs", {"lr_scheduler_kwargs": {"num_cycles": 2}}),
        ("lr_scheduler_kwargs", {"lr_scheduler_type": "constant", "lr_scheduler_kwargs": {"num_cycles": 2}}),
        ("warmup_steps", {"lr_scheduler_type": "constant", "warmup_steps": 3}),
        ("encoder_warmup", {"lr_scheduler_type": "constant", "encoder_warmup": 0.2}),
        ("task_learning_rate_end", {"lr_scheduler_type": "constant", "task_learning_rate_end": 1e-3}),
        ("learning_rate", {"learning_rate": -1.0}),
        ("weight_decay", {"weight_decay": math.nan}),
    ],
)
def test_what_a_schedule_has_not_is_named(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{name}\\b"):
        CorefELTrainingArguments(str(tmp_path), use_cpu=True, **arguments)


# Optimizers ----------------------------------------------------------------------------------------------


def available(name: OptimizerNames, model: nn.Module, folder: Path) -> type | None:
    try:
        kind: Any = Trainer.get_optimizer_cls_and_kwargs(
            TrainingArguments(str(folder), use_cpu=True, optim=name.value, report_to="none"), model
        )[0]
    except (ImportError, ValueError):
        return None  # a package is missing
    return kind


def test_every_optimizer_at_hand_gets_the_groups(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], tmp_path: Path
) -> None:
    found = set()
    for name in OptimizerNames:
        kind = available(name, tiny_model(), tmp_path)
        if kind is None:
            continue
        found.add(name.value)
        trainer = make_trainer(**BASE_ONLY, learning_rate=1e-3, max_steps=1, optim=name.value, encoder_warmup=0.0)
        assert peaks(trainer) == {"matrices": 1e-3, "vectors": 1e-3, "task": 5e-2}, name
        assert type(trainer.optimizer) is kind
        assert trainer.optimizer.defaults["lr"] == 1e-3
    assert found >= {"adafactor", "adamw_torch", "adamw_torch_fused", "sgd", "adagrad", "rmsprop"}


@pytest.mark.parametrize("name", ["adafactor", "sgd"])
def test_another_optimizer_trains_both_parts(make_trainer: MakeTrainer, name: str) -> None:
    trainer = make_trainer(**BASE_ONLY, learning_rate=1e-3, max_steps=2, optim=name)
    assert moved(trainer) == {"encoder", "task"}
    assert isinstance(trainer.optimizer.optimizer, {"adafactor": Adafactor, "sgd": torch.optim.SGD}[name])


def test_adam_has_its_settings(make_trainer: MakeTrainer) -> None:
    settings = {"adam_beta1": 0.8, "adam_beta2": 0.9, "adam_epsilon": 1e-4}
    optimizer = make_trainer(optim="adamw_torch", **settings).create_optimizer()
    assert {(group["betas"], group["eps"]) for group in optimizer.param_groups} == {((0.8, 0.9), 1e-4)}


@pytest.mark.skipif("adafactor" not in FIELDS, reason="transformers 5 has only optim")
def test_adafactor_has_a_field_in_version_4(make_trainer: MakeTrainer) -> None:
    with pytest.warns(FutureWarning, match="adafactor"):
        assert isinstance(make_trainer(adafactor=True).create_optimizer(), Adafactor)


def test_optim_args_act_or_are_named(make_trainer: MakeTrainer) -> None:
    with pytest.raises(ValueError, match=r"^optim_args: momentum=0.5 changes nothing with optim=adamw_torch"):
        make_trainer(optim="adamw_torch", optim_args="momentum=0.5").create_optimizer()
    with pytest.raises(ValueError, match=r"^optim_target_modules: optim=sgd"):
        make_trainer(optim="sgd", optim_target_modules=["encoder"]).create_optimizer()
    if "adafactor" in FIELDS:
        return  # version 4 reads them for optimizers of other packages alone
    optimizer = make_trainer(optim="sgd", optim_args="momentum=0.5").create_optimizer()
    assert {group["momentum"] for group in optimizer.param_groups} == {0.5}
    with pytest.raises(ValueError, match=r"^optim_args: rank=3 "):
        make_trainer(optim="sgd", optim_args="momentum=0.5, rank=3").create_optimizer()


@pytest.mark.parametrize(
    ("arguments", "encoder", "task"),
    [
        ({}, 0.01, 0.0),
        ({"weight_decay": 0.0}, 0.0, 0.0),
        ({"weight_decay": 0.2}, 0.2, 0.2),
        ({"weight_decay": 0.2, "encoder_weight_decay": 0.1}, 0.1, 0.2),
        ({"encoder_weight_decay": 0.0}, 0.0, 0.0),
    ],
)
def test_weight_decay_is_of_matrices(
    make_trainer: MakeTrainer, arguments: dict[str, float], encoder: float, task: float
) -> None:
    trainer = make_trainer(**arguments)
    decays = {
        id(parameter): group["weight_decay"]
        for group in trainer.create_optimizer().param_groups
        for parameter in group["params"]
    }
    assert len(decays) == len(list(trainer.model.parameters()))
    for name, parameter in trainer.model.named_parameters():
        expected = encoder if name.startswith("encoder.") else task
        assert decays[id(parameter)] == (expected if parameter.ndim > 1 else 0.0), name


def test_optimizer_class_of_the_user(make_trainer: MakeTrainer) -> None:
    chosen = (torch.optim.SGD, {"lr": 1e-3, "momentum": 0.5, "weight_decay": 0.3})
    trainer = make_trainer(**BASE_ONLY, keywords={"optimizer_cls_and_kwargs": chosen}, max_steps=2)
    assert peaks(trainer) == {"matrices": 1e-3, "vectors": 1e-3, "task": 5e-2, "task_vectors": 5e-2}
    assert {group["momentum"] for group in trainer.optimizer.param_groups} == {0.5}
    assert {group["name"]: group["weight_decay"] for group in trainer.optimizer.param_groups} == {
        **dict.fromkeys(("matrices", "task"), 0.3),
        **dict.fromkeys(("vectors", "task_vectors"), 0.0),
    }
    assert moved(trainer) == {"encoder", "task"}
    assert trainer.optimizer_cls_and_kwargs == chosen


# Optimizers that were given ------------------------------------------------------------------------------


def test_given_optimizer_and_schedule_are_used(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel]
) -> None:
    model = tiny_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    trainer = make_trainer(model, keywords={"optimizers": (optimizer, schedule)}, **BASE_ONLY, max_steps=2)
    assert moved(trainer) == {"encoder", "task"}
    assert trainer.optimizer.optimizer is optimizer and trainer.lr_scheduler is schedule
    assert optimizer.param_groups[0]["lr"] == pytest.approx(2.5e-3)


@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_given_optimizer_has_its_groups_clipped(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], limit: float
) -> None:
    model = tiny_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    trainer = make_trainer(
        model,
        keywords={"optimizers": (optimizer, None)},
        **BASE_ONLY,
        group_max_grad_norm=limit,
        lr_scheduler_type="constant",
    )
    # Twice, as two trainings ask for it.
    assert trainer.create_optimizer() is trainer.create_optimizer() is optimizer
    sides = ("encoder.", ""), ("", "encoder.")
    of_side = [
        [p for name, p in model.named_parameters() if name.startswith(has) and not (lacks and name.startswith(lacks))]
        for has, lacks in sides
    ]
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    for parameters in of_side:
        norm = torch.stack([parameter.grad.norm() for parameter in parameters if parameter.grad is not None]).norm()
        assert (float(norm) == pytest.approx(0.5, rel=1e-3)) is (limit == 0.5)
    assert type(trainer.create_scheduler(STEPS)) is torch.optim.lr_scheduler.LambdaLR


def test_a_second_training_has_the_rates_that_were_set_since(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=1, lr_scheduler_type="constant", task_learning_rate_end=None, weight_decay=0.0)
    trainer.train()
    first = trainer.optimizer.optimizer
    trainer.train()
    assert trainer.optimizer.optimizer is first
    trainer.args.encoder_learning_rate, trainer.args.group_max_grad_norm = 0.05, 1e-9
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.args.optim = "sgd"
    trainer.train()
    assert trainer.optimizer.param_groups[0]["lr"] == 0.05
    for name, value in trainer.model.state_dict().items():
        assert torch.allclose(value, before[name], atol=1e-9), "nothing is left of the gradient"


@pytest.mark.parametrize("fused", [False, True])
def test_what_fp16_has_scaled_is_clipped_by_its_norm_without_the_scale(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], fused: bool
) -> None:
    """A fused optimizer is given the scaled gradients."""
    model = tiny_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, fused=fused)
    trainer = make_trainer(model, keywords={"optimizers": (optimizer, None)}, **BASE_ONLY, group_max_grad_norm=0.5)
    trainer.create_optimizer()
    before = [parameter.detach().clone() for parameter in model.encoder.parameters()]
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    scaler.scale(sum(parameter.sum() for parameter in model.parameters())).backward()
    scaler.step(optimizer)
    moved = [was - now for was, now in zip(before, model.encoder.parameters(), strict=True)]
    assert float(torch.nn.utils.get_total_norm(moved)) == pytest.approx(0.5, rel=1e-3)


def test_rates_beside_a_given_optimizer_are_refused(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel]
) -> None:
    model = tiny_model()
    optimizers = (torch.optim.SGD(model.parameters(), lr=1.0), None)
    for name in ("encoder_learning_rate", "task_learning_rate", "task_learning_rate_end"):
        with pytest.raises(ValueError, match=f"^{name}=0.01 cannot act, because an optimizer was given"):
            make_trainer(model, keywords={"optimizers": optimizers}, **{**BASE_ONLY, name: 0.01})


def test_whole_gradient_is_clipped_when_asked(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(**BASE_ONLY, learning_rate=0.1, max_steps=1, max_grad_norm=1e-6, group_max_grad_norm=0.0)
    trainer.args.optim, trainer.args.lr_scheduler_type = OptimizerNames.SGD, "constant"
    trainer.args.encoder_weight_decay = 0.0
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    trainer.train()
    change = torch.stack(
        [(a - b).detach().norm() for a, b in zip(before, trainer.model.parameters(), strict=True)]
    ).norm()
    assert 0.0 < float(change) < 50 * 0.1 * 1.1e-6 + 1e-6
