"""Losses, gradients and weights that are NaN or infinite: they stop a training, or the step is left out and counted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from accelerate.utils import gather_object
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState
from transformers.utils import logging

if TYPE_CHECKING:
    from .trainer import CorefELTrainer

__all__ = ["FiniteGuard", "NonFiniteError"]

logger = logging.get_logger(__name__)

_ADVICE = (
    "try lower learning rates (encoder_learning_rate, task_learning_rate), a smaller group_max_grad_norm, or bf16 "
    "instead of fp16; skip_non_finite_batches=True leaves such batches out and counts them"
)
# What `CorefELTrainer` adds to the logs, and to the log history with the documents of each step that was left out.
SKIPPED = "skipped_batches"
SKIPPED_DOCUMENTS = "skipped_documents"


class NonFiniteError(FloatingPointError):
    """A loss, a gradient or a weight is NaN or infinite.

    Attributes:
        step: The training step, counted from 1 as in the logs.
        documents: Names of the documents of that step, or of the evaluated batches.

    Example:
        >>> from hf_corefel.training import NonFiniteError
        >>> NonFiniteError("the loss is NaN", step=3, documents=["a"]).step
        3
    """

    def __init__(self, message: str, step: int, documents: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.step, self.documents = step, list(documents)


class FiniteGuard(TrainerCallback):
    """Looks at the losses and the gradient of every training step before the optimizer does, on all ranks alike.

    A step is all that one call of the optimizer takes up: the batches of all ranks and of the accumulation. A bad one
    is left out as a whole, so that weights, the optimizer's moments and the schedule go on as if it had never been.

    Args:
        trainer: The trainer, whose optimizer and schedule rest in a step that is left out.
        skip: Leave bad steps out; otherwise they raise.
    """

    def __init__(self, trainer: CorefELTrainer, skip: bool) -> None:
        self._trainer, self._skip = trainer, skip
        self._batches: list[tuple[list[str], float]] = []  # of the step that is going on
        self._logged_steps = self._logged_skips = 0  # since the last log
        self._steps = self._skips = 0  # of this call of train()
        self._resting: tuple[Any, Any] | None = None
        self._evaluated: list[str] = []

    # Training -----------------------------------------------------------------------------------------

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **unused: Any) -> None:
        self._batches = []
        self._logged_steps = self._logged_skips = self._steps = self._skips = 0

    def check(self, loss: Tensor, names: list[str]) -> Tensor:
        """Take note of a batch, and judge the step with its last one.

        Args:
            loss: The batch's loss after the backward pass, a scalar.
            names: Its documents.

        Returns:
            What the logs add up: the loss, or a number that leaves nothing of a step that is left out.

        Raises:
            NonFiniteError: When the step's losses or gradient are not finite on any rank and it is not left out.
        """
        value = float(loss)
        before = sum(each for _, each in self._batches if math.isfinite(each))
        self._batches.append((names, value))
        if not self._trainer.accelerator.sync_gradients:
            return loss if math.isfinite(value) else torch.zeros_like(loss)
        bad_loss, bad_gradient = self._of_all_ranks(
            not all(math.isfinite(each) for _, each in self._batches),
            not _finite(p.grad for p in self._trainer.model.parameters()),
        )
        self._steps += 1
        self._logged_steps += 1
        skipped = bad_loss or (bad_gradient and not self._overflowed())
        if skipped:
            self._stop_or_rest()
        self._batches = []
        return torch.full_like(loss, -before) if skipped else loss

    def _of_all_ranks(self, *flags: bool) -> list[bool]:
        """Whether each flag holds on any rank."""
        accelerator = self._trainer.accelerator
        if accelerator.num_processes == 1:
            return list(flags)
        gathered: Tensor = accelerator.gather(torch.tensor([flags], dtype=torch.int32, device=accelerator.device))
        return gathered.bool().any(dim=0).tolist()

    def _overflowed(self) -> bool:
        """Whether a gradient that is not finite is one that was scaled up: the scaler leaves that step out itself."""
        scaler = getattr(self._trainer.accelerator, "scaler", None)
        return scaler is not None and scaler.is_enabled() and scaler.get_scale() > 1.0

    def _stop_or_rest(self) -> None:
        trainer, state = self._trainer, self._trainer.state
        batches: list[tuple[list[str], float]] = self._batches
        if trainer.accelerator.num_processes > 1:
            batches = gather_object(batches)
        documents = list(dict.fromkeys(name for names, _ in batches for name in names))
        blamed = list(dict.fromkeys(name for names, value in batches if not math.isfinite(value) for name in names))
        values = ", ".join(dict.fromkeys(str(value) for _, value in batches if not math.isfinite(value)))
        others = [name for name in documents if name not in blamed]
        step = state.global_step + 1
        where = f"step {step} (epoch {state.epoch or 0.0:.2f})"
        if blamed:
            what = f"the loss is {values} at {where} in {', '.join(blamed)}"
            what += f"; the step's other documents: {', '.join(others)}" if others else ""
        else:
            what = (
                f"the gradient is not finite at {where}, though the loss is; the step's documents: {', '.join(others)}"
            )
        if not self._skip:
            raise NonFiniteError(f"{what}. Nothing of this step is saved; {_ADVICE}", step, documents)
        self._skips += 1
        self._logged_skips += 1
        state.log_history.append({"step": step, "epoch": state.epoch, SKIPPED_DOCUMENTS: documents})
        if trainer.is_world_process_zero():
            logger.warning("%s. The step was left out", what)
        self._resting = trainer.optimizer, trainer.lr_scheduler
        trainer.optimizer, trainer.lr_scheduler = _Resting(trainer.optimizer), _Resting(trainer.lr_scheduler)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **unused: Any) -> None:
        if self._resting is None:
            return
        self._trainer.optimizer, self._trainer.lr_scheduler = self._resting
        self._resting = None
        scaler = getattr(self._trainer.accelerator, "scaler", None)
        if scaler is not None and scaler.is_enabled():
            # Forgets that this step's gradient was unscaled, and keeps the scale.
            scaler.update(scaler.get_scale())

    def skipped(self) -> list[dict[str, Any]]:
        """Return ``step``, ``epoch`` and documents of every step that was left out, those before resuming too."""
        return [entry for entry in self._trainer.state.log_history if SKIPPED_DOCUMENTS in entry]

    def complete(self, logs: dict[str, Any]) -> None:
        """Make logged losses the means over the steps that count, and add how many were left out."""
        if "loss" in logs:
            _rescale(logs, "loss", self._logged_steps, self._logged_skips)
            if self.skipped():
                logs[SKIPPED] = len(self.skipped())
            self._logged_steps = self._logged_skips = 0
        if "train_loss" in logs:
            _rescale(logs, "train_loss", self._steps, self._skips)

    # Evaluation ---------------------------------------------------------------------------------------

    def begin_evaluation(self) -> None:
        """Forget what an evaluation that was interrupted has left."""
        self._evaluated = []

    def note_evaluated(self, names: list[str]) -> None:
        """Take note of evaluated documents whose loss is not finite."""
        self._evaluated += names

    def finish_evaluation(self, metrics: dict[str, float], prefix: str, documents: int) -> None:
        """Stop for the evaluated documents whose loss is not finite, or leave them out of the mean loss and count them.

        Args:
            metrics: Gets ``{prefix}_non_finite_documents`` where there are any.
            prefix: Of the metrics' names.
            documents: How many were evaluated.

        Raises:
            NonFiniteError: When there are any, on any rank, and they are not left out.
        """
        names, self._evaluated = self._evaluated, []
        if self._trainer.accelerator.num_processes > 1:
            names = gather_object(names)
        if not names:
            return
        step = self._trainer.state.global_step
        what = f"the loss is not finite after step {step} in the evaluated {', '.join(names)}"
        if not self._skip:
            raise NonFiniteError(f"{what}; {_ADVICE}", step, names)
        if self._trainer.is_world_process_zero():
            logger.warning("%s. They count as without predictions", what)
        _rescale(metrics, f"{prefix}_loss", documents, len(names))
        metrics[f"{prefix}_non_finite_documents"] = len(names)

    # Saving -------------------------------------------------------------------------------------------

    def check_weights(self) -> None:
        """Raise `NonFiniteError` when a weight is not finite; such a model is not saved."""
        trainer = self._trainer
        (bad,) = [not _finite(trainer.model.parameters())]
        # Only there do ranks hold different weights, and save together.
        if trainer.is_fsdp_enabled:
            (bad,) = self._of_all_ranks(bad)
        if bad:
            names = [name for name, value in trainer.model.named_parameters() if not _finite([value])]
            raise NonFiniteError(
                f"after step {trainer.state.global_step} weights are NaN or infinite ({', '.join(names[:3])}"
                f"{' and others' if len(names) > 3 else ''}), so that nothing was saved; go on from the last "
                f"checkpoint and {_ADVICE}",
                trainer.state.global_step,
            )


class _Resting:
    """Stands for an optimizer or a schedule in a step in which it must not go on."""

    def __init__(self, awake: Any) -> None:
        self._awake = awake

    def step(self, *unused: Any, **also_unused: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._awake, name)


def _rescale(logs: dict[str, Any], name: str, steps: int, skipped: int) -> None:
    """Make a mean over all steps one over those not skipped, which were 0; without any, there is none."""
    if skipped and name in logs:
        if skipped < steps:
            logs[name] *= steps / (steps - skipped)
        else:
            del logs[name]


@torch.no_grad()
def _finite(tensors: Iterable[Tensor | nn.Parameter | None]) -> bool:
    """Whether the squares of all values have a finite sum: clipping and Adam need that too."""
    norms = [_norm(tensor) for tensor in tensors if tensor is not None]
    return not norms or bool(torch.stack([norm.to(norms[0].device) for norm in norms]).isfinite().all())


def _norm(tensor: Tensor) -> Tensor:
    # This rank's part where the ranks have parts of it, at a precision in which squares of half precision fit.
    local: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return torch.linalg.vector_norm(local, dtype=torch.promote_types(local.dtype, torch.float32))
