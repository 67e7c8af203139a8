"""Hyper-parameter search: `trainer.hyperparameter_search` with a space and an objective that mean something here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from transformers import Trainer
from transformers.trainer_utils import HPSearchBackend

from .arguments import CorefELTrainingArguments
from .non_finite import NonFiniteError
from .optimisation import parameter_groups

__all__ = ["SearchingTrainer", "evaluation_loss", "mean_f1"]

# What is done with them is done when the trainer is made.
_FIXED = ("max_document_words", "output_dir", "report_to", "skip_non_finite_batches")


def mean_f1(metrics: Mapping[str, float]) -> float:
    """Return ``eval_score``, the mean of coreference, EL_m and EL_h F1: the objective of a search that maximises."""
    return _objective(metrics, "eval_score")


def evaluation_loss(metrics: Mapping[str, float]) -> float:
    """Return ``eval_loss``: the objective of a search that minimises."""
    return _objective(metrics, "eval_loss")


def _objective(metrics: Mapping[str, float], name: str) -> float:
    if name not in metrics:
        raise ValueError(
            f"compute_objective: the evaluation gives no {name}, but {', '.join(sorted(metrics))}; "
            "pass a function that takes these"
        )
    return metrics[name]


class SearchingTrainer(Trainer):
    """Searches for hyper-parameters that act."""

    args: CorefELTrainingArguments
    # Typed here because transformers leaves it without a type.
    hp_search_backend: Any
    _trial: Any = None
    _encoder_is_trained = True
    # The arguments as they were before the search, while it goes on.
    _unsearched: Mapping[str, Any] = {}

    def hyperparameter_search(
        self,
        hp_space: Callable[[Any], dict[str, Any]] | None = None,
        compute_objective: Callable[[dict[str, float]], Any] | None = None,
        n_trials: int = 20,
        direction: str | list[str] | None = None,
        backend: str | None = None,
        hp_name: Callable[[Any], str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """As `Trainer.hyperparameter_search`, with defaults that mean something for this model.

        A trial whose loss or gradient is not finite counts as pruned. Every trial, and what comes after the search,
        begins with the arguments as they are now: in transformers those of the last trial would stay.

        Args:
            hp_space: Gives the values of a trial by names of training arguments; with Optuna, when None, it draws the
                two learning rates, the batch size and, unless ``max_steps`` is set, the number of epochs.
            compute_objective: Gives a number, or several, for the scores of an evaluation; `mean_f1` when None, or
                `evaluation_loss` with ``direction="minimize"``.
            n_trials: How many are tried.
            direction: "maximize" or "minimize", or one for each number; "maximize" when both it and
                `compute_objective` are None, "minimize", as in transformers, when only it is.
            backend: "optuna", "ray" or "wandb"; the first that is installed when None.
            hp_name: Names a trial.
            **kwargs: Passed to the backend.

        Returns:
            The `BestRun`, or a list of them where there are several objectives.

        Raises:
            ValueError: When a name of the space is no training argument, or could not act; the message names it.
        """
        if compute_objective is None and isinstance(direction, list):
            raise ValueError("compute_objective: several directions need one, which gives a number for each")
        if compute_objective is None:
            direction = direction or "maximize"
            compute_objective = mean_f1 if direction == "maximize" else evaluation_loss
        if hp_space is None and backend in (None, "optuna"):
            # Between two trials there may be no model.
            groups = parameter_groups(self.call_model_init() if self.model is None and self.model_init else self.model)
            self._encoder_is_trained = bool(groups["matrices"] or groups["vectors"])
            hp_space = self.default_space
        if hp_space is not None and backend in (None, "optuna"):
            hp_space = self._checked(hp_space)
        self._unsearched = {field.name: getattr(self.args, field.name) for field in dataclasses.fields(self.args)}
        try:
            return super().hyperparameter_search(
                hp_space, compute_objective, n_trials, direction or "minimize", backend, hp_name, **kwargs
            )
        finally:
            self._restore_arguments()
            self.hp_search_backend, self._trial, self._unsearched = None, None, {}

    def default_space(self, trial: Any) -> dict[str, Any]:
        """Draw the values of an Optuna trial; every one of them acts.

        Args:
            trial: An `optuna.Trial`.
        """
        space: dict[str, Any] = {}
        if self._encoder_is_trained:
            space["encoder_learning_rate"] = trial.suggest_float("encoder_learning_rate", 5e-6, 1e-4, log=True)
        space["task_learning_rate"] = trial.suggest_float("task_learning_rate", 1e-4, 3e-3, log=True)
        space["per_device_train_batch_size"] = trial.suggest_categorical("per_device_train_batch_size", [1, 2, 4])
        if self.args.max_steps <= 0:
            space["num_train_epochs"] = trial.suggest_int("num_train_epochs", 2, 10)
        return space

    def _checked(self, space: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
        """`space` that raises `ValueError` for values that would not act."""
        fields = {field.name for field in dataclasses.fields(self.args)}

        def checked(trial: Any) -> dict[str, Any]:
            values = space(trial)
            for name, value in values.items():
                if name not in fields:
                    raise ValueError(f"hp_space: {name} is no field of CorefELTrainingArguments")
                if name in _FIXED:
                    raise ValueError(f"hp_space: {name} acts when the trainer is made, and cannot differ by trial")
                # The base class would cut a share of 0.1 to the type of the 0 that stands there.
                if isinstance(value, float) and type(getattr(self.args, name)) is int:
                    setattr(self.args, name, float(getattr(self.args, name)))
            after = {**vars(self.args), **values}
            rates = ("encoder_learning_rate", "task_learning_rate")
            if "learning_rate" in values and all(after[name] is not None for name in rates):
                raise ValueError(f"hp_space: learning_rate changes nothing where {' and '.join(rates)} are set")
            if "num_train_epochs" in values and after["max_steps"] > 0:
                raise ValueError("hp_space: num_train_epochs changes nothing where max_steps is set")
            return values

        return checked

    def _restore_arguments(self) -> None:
        for name, value in self._unsearched.items():
            setattr(self.args, name, value)

    def _hp_search_setup(self, trial: Any) -> None:
        self._restore_arguments()
        super()._hp_search_setup(trial)
        self.args.check()

    def train(
        self, resume_from_checkpoint: str | bool | None = None, trial: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        with self._pruned_where_not_finite(trial):
            return super().train(resume_from_checkpoint, trial, *args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        with self._pruned_where_not_finite(self._trial):
            return super().evaluate(*args, **kwargs)

    @contextmanager
    def _pruned_where_not_finite(self, trial: Any) -> Iterator[None]:
        try:
            yield
        except NonFiniteError as error:
            # The other ranks of a trial know of no study.
            if self.hp_search_backend != HPSearchBackend.OPTUNA or trial is None or self.args.world_size > 1:
                raise
            from optuna import TrialPruned

            self.callback_handler.on_train_end(self.args, self.state, self.control)
            raise TrialPruned(str(error)) from error
