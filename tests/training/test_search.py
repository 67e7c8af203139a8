"""Hyper-parameter search with Optuna: values that act, and an objective that means something."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import optuna
import pytest
import torch
from transformers.trainer_utils import default_hp_space_optuna

from hf_corefel import CorefELModel, CorefELTrainer
from hf_corefel.training.search import evaluation_loss, mean_f1

MakeTrainer = Callable[..., CorefELTrainer]
BASE_ONLY = {"encoder_learning_rate": None, "task_learning_rate": None, "task_learning_rate_end": None}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture
def searching(make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel]) -> MakeTrainer:
    """Makes a trainer that can search."""
    return lambda **arguments: make_trainer(
        keywords={"model_init": lambda: tiny_model()}, **{**BASE_ONLY, "max_steps": 2, **arguments}
    )


def study_of(trainer: CorefELTrainer, **options: Any) -> tuple[Any, optuna.Study]:
    """Search in memory, and what Optuna knows afterwards."""
    storage = optuna.storages.InMemoryStorage()
    best = trainer.hyperparameter_search(backend="optuna", storage=storage, study_name="study", **options)
    return best, optuna.load_study(study_name="study", storage=storage)


def sampler() -> optuna.samplers.BaseSampler:
    return optuna.samplers.RandomSampler(seed=0)


def test_defaults_maximise_the_mean_f1_over_values_that_act(searching: MakeTrainer) -> None:
    trainer = searching()
    rates: list[tuple[float, float]] = []
    make = trainer.create_optimizer

    def recorded(*args: Any, **kwargs: Any) -> Any:
        optimizer = make(*args, **kwargs)
        of_group = {group["name"]: group["lr"] for group in optimizer.param_groups}
        rates.append((of_group["matrices"], of_group["task"]))
        return optimizer

    trainer.create_optimizer = recorded  # type: ignore[method-assign]
    scores: list[float] = []
    evaluate = trainer.evaluate

    def watched(*args: Any, **kwargs: Any) -> Any:
        metrics = evaluate(*args, **kwargs)
        scores.append(metrics["eval_score"])
        return metrics

    trainer.evaluate = watched  # type: ignore[method-assign]
    best, study = study_of(trainer, n_trials=3, sampler=sampler())
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert [trial.value for trial in study.trials] == scores and best.objective == max(scores)
    assert set(best.hyperparameters) == {"encoder_learning_rate", "task_learning_rate", "per_device_train_batch_size"}
    drawn = [(trial.params["encoder_learning_rate"], trial.params["task_learning_rate"]) for trial in study.trials]
    assert list(dict.fromkeys(rates)) == drawn and len(set(drawn)) == 3
    # What was found can be trained with as people do it.
    for name, value in best.hyperparameters.items():
        setattr(trainer.args, name, value)
    trainer.train()
    assert rates[-1] == (best.hyperparameters["encoder_learning_rate"], best.hyperparameters["task_learning_rate"])


@pytest.mark.slow
def test_default_space_tunes_epochs_where_they_count(searching: MakeTrainer) -> None:
    trial = optuna.trial.FixedTrial(
        {
            "encoder_learning_rate": 1e-5,
            "task_learning_rate": 1e-3,
            "per_device_train_batch_size": 2,
            "num_train_epochs": 3,
        }
    )
    assert searching(max_steps=-1).default_space(trial) == trial.params
    assert "num_train_epochs" not in searching().default_space(trial)


def test_frozen_encoder_has_no_rate_to_search_for(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel]
) -> None:
    def frozen() -> CorefELModel:
        model = tiny_model()
        model.encoder.requires_grad_(False)
        return model

    trainer = make_trainer(keywords={"model_init": frozen}, **BASE_ONLY, max_steps=1)
    best, _ = study_of(trainer, n_trials=2, sampler=sampler())
    assert set(best.hyperparameters) == {"task_learning_rate", "per_device_train_batch_size"}


@pytest.mark.slow
def test_space_of_transformers_tunes_a_rate_that_acts(searching: MakeTrainer) -> None:
    """Higher base rates move the weights further."""
    distances: dict[float, float] = {}
    trainer = searching(max_steps=-1, lr_scheduler_type="constant", optim="sgd")
    start = [parameter.clone() for parameter in trainer.model.parameters()]

    def space(trial: optuna.Trial) -> dict[str, Any]:
        values = default_hp_space_optuna(trial)
        return {**values, "num_train_epochs": 1, "seed": 1, "per_device_train_batch_size": 4}

    def objective(metrics: dict[str, float]) -> float:
        moved = [
            (p - q).detach().norm() for p, q in zip(trainer.model.parameters(), start, strict=True) if p.requires_grad
        ]
        distances[trainer.args.learning_rate] = float(torch.stack(moved).norm())
        return mean_f1(metrics)

    study_of(trainer, n_trials=3, hp_space=space, compute_objective=objective, direction="maximize", sampler=sampler())
    rates = sorted(distances)
    assert len(rates) == 3 and [distances[rate] for rate in rates] == sorted(distances.values())
    assert distances[rates[0]] < 0.5 * distances[rates[-1]]


@pytest.mark.slow
def test_minimum_is_of_the_loss(searching: MakeTrainer) -> None:
    best, study = study_of(searching(), n_trials=2, direction="minimize", sampler=sampler())
    assert study.direction == optuna.study.StudyDirection.MINIMIZE and best.objective > 1.0
    assert best.objective == min(trial.value for trial in study.trials)
    assert mean_f1({"eval_score": 0.5, "eval_loss": 9.0, "eval_hard_cases": 7.0}) == 0.5
    assert evaluation_loss({"eval_score": 0.5, "eval_loss": 9.0}) == 9.0


@pytest.mark.slow
def test_objectives_of_the_user(searching: MakeTrainer) -> None:
    best, _ = study_of(
        searching(),
        n_trials=2,
        compute_objective=lambda metrics: [metrics["eval_el_hard_f1"], metrics["eval_loss"]],
        direction=["maximize", "minimize"],
        sampler=sampler(),
    )
    assert all(len(run.objective) == 2 for run in best)
    with pytest.raises(ValueError, match=r"^compute_objective: several directions"):
        searching().hyperparameter_search(direction=["maximize", "minimize"], backend="optuna")
    with pytest.raises(
        ValueError, match=r"^compute_objective: the evaluation gives no eval_score, but epoch, eval_loss"
    ):
        searching(prediction_loss_only=True).hyperparameter_search(n_trials=1, backend="optuna")


def test_trial_that_diverges_is_pruned(searching: MakeTrainer) -> None:
    trainer = searching(max_steps=3, group_max_grad_norm=0.0, lr_scheduler_type="constant", optim="sgd")
    rates = iter([1e-6, math.inf, 1e-6])
    # A rate of infinity makes the weights NaN or infinite, which the next loss shows.
    best, study = study_of(trainer, n_trials=3, hp_space=lambda trial: {"learning_rate": next(rates)})
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert best.run_id in ("0", "2")


@pytest.mark.parametrize(
    ("values", "arguments", "said"),
    [
        ({"learning_rat": 1e-5}, {}, "learning_rat is no field"),
        ({"max_document_words": 9}, {}, "max_document_words acts when the trainer is made"),
        ({"num_train_epochs": 3}, {"max_steps": 2}, "num_train_epochs changes nothing"),
        (
            {"learning_rate": 1e-5},
            {"encoder_learning_rate": 1e-5, "task_learning_rate": 1e-3},
            "learning_rate changes nothing where encoder_learning_rate and task_learning_rate are set",
        ),
    ],
)
def test_values_that_would_not_act_are_named(
    searching: MakeTrainer, values: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=f"^hp_space: {said}"):
        searching(**arguments).hyperparameter_search(n_trials=1, backend="optuna", hp_space=lambda trial: values)


@pytest.mark.slow
def test_values_that_are_refused_are_refused_in_a_trial(searching: MakeTrainer) -> None:
    with pytest.raises(ValueError, match=r"^label_smoothing_factor must be 0.0"):
        searching().hyperparameter_search(
            n_trials=1, backend="optuna", hp_space=lambda trial: {"label_smoothing_factor": 0.1}
        )


@pytest.mark.slow
def test_share_of_a_warmup_is_not_cut_to_a_whole_number(searching: MakeTrainer) -> None:
    name = "warmup_ratio" if hasattr(searching().args, "warmup_ratio") else "warmup_steps"
    trainer = searching(max_steps=8)
    steps: list[int] = []

    def objective(metrics: dict[str, float]) -> float:
        steps.append(trainer.args.get_warmup_steps(8))
        return mean_f1(metrics)

    study_of(trainer, n_trials=1, hp_space=lambda trial: {name: 0.5}, compute_objective=objective)
    assert steps == [4]


def test_values_of_a_trial_do_not_stay(searching: MakeTrainer) -> None:
    """A space may name a field in some trials only."""
    spaces = iter([{"encoder_learning_rate": 1e-3, "per_device_train_batch_size": 3}, {"seed": 5}])
    found: list[tuple[Any, ...]] = []
    trainer = searching()

    def objective(metrics: dict[str, float]) -> float:
        found.append((trainer.args.encoder_learning_rate, trainer.state.train_batch_size, trainer.args.seed))
        return mean_f1(metrics)

    study_of(trainer, n_trials=2, hp_space=lambda trial: next(spaces), compute_objective=objective)
    assert found == [(1e-3, 3, 7), (None, 1, 5)]
    assert (trainer.args.encoder_learning_rate, trainer.args.seed) == (None, 7)
    trainer.args.per_device_train_batch_size = 2
    trainer.train()
    assert trainer.state.train_batch_size == 2
    # Nothing of the search is left in the way of another.
    study_of(trainer, n_trials=1, hp_space=lambda trial: {"learning_rate": 1e-5})


def test_without_model_init_the_base_class_says_so(make_trainer: MakeTrainer) -> None:
    with pytest.raises(RuntimeError, match="model_init"):
        make_trainer().hyperparameter_search(n_trials=1, backend="optuna")
