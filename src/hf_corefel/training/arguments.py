"""Training arguments: those of transformers, the recipe's learning rates, and what guards a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from transformers import SchedulerType, TrainingArguments
from transformers.debug_utils import DebugOption
from transformers.utils import logging

from .checks import check_number, check_words, is_number

__all__ = ["REFUSED", "CorefELTrainingArguments", "LearningRates"]

logger = logging.get_logger(__name__)

# What a reader needs to train a model again.
_HYPER_PARAMETERS = (
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "encoder_learning_rate",
    "encoder_warmup",
    "encoder_weight_decay",
    "task_learning_rate",
    "task_learning_rate_end",
    "warmup_steps",
    "warmup_ratio",
    "weight_decay",
    "lr_scheduler_type",
    "optim",
    "max_grad_norm",
    "group_max_grad_norm",
    "max_document_words",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "bf16",
    "fp16",
    "seed",
)

# Fields that say for encoder or task layers alone what another field says for all; an optimizer that was given by the
# user, or that makes its own parameter groups, leaves no room for them.
OVERRIDES = (
    "encoder_learning_rate",
    "encoder_warmup",
    "encoder_weight_decay",
    "task_learning_rate",
    "task_learning_rate_end",
)

_NOT_NEGATIVE = (
    "learning_rate",
    "weight_decay",
    "encoder_learning_rate",
    "encoder_weight_decay",
    "task_learning_rate",
    "task_learning_rate_end",
    "group_max_grad_norm",
)

# The recipe, as multiples of `learning_rate` where they are rates.
_TASK_FACTOR, _TASK_END_FACTOR = 50.0, 5.0
_ENCODER_WARMUP = 0.1
_ENCODER_WEIGHT_DECAY = 0.01

# Fields of `TrainingArguments` that cannot act here, in either generation: the only value they may have, and why.
REFUSED: Mapping[str, tuple[Any, str]] = {
    "label_smoothing_factor": (
        0.0,
        "the loss sums over trees and has no labels to smooth; a loss of your own goes into compute_loss_func",
    ),
    "label_names": (None, "the gold is that of the documents; compute_metrics and compute_loss_func are given it"),
    "remove_unused_columns": (False, "documents have fields, not columns, and every field is used"),
    "length_column_name": ("length", "the trainer counts the documents' lengths itself; leave it out"),
    "use_liger_kernel": (False, "there is none for this model; torch_compile=True compiles it"),
    "liger_kernel_config": (None, "there is no such kernel for this model; torch_compile=True compiles it"),
    "use_cache": (False, "nothing is generated that could be cached; leave it out"),
    "past_index": (-1, "the model has no past states; leave it out"),
    "use_legacy_prediction_loop": (False, "documents are evaluated in the present loop only; leave it out"),
    "jit_mode_eval": (False, "the model is not traced; torch_compile=True compiles it"),
    "save_safetensors": (True, "weights in pickles are not loaded again, because reading them can run code"),
    "include_inputs_for_metrics": (False, "compute_metrics is given the documents themselves"),
}

# Schedules that ignore a setting.
_WITHOUT_KWARGS = ("linear", "constant", "constant_with_warmup")
_WITHOUT_WARMUP = ("constant", "reduce_lr_on_plateau", "greedy")
_WITHOUT_END = (*_WITHOUT_WARMUP, "constant_with_warmup")


class LearningRates(NamedTuple):
    """The learning rates that the arguments stand for.

    Attributes:
        encoder: Peak rate of the encoder.
        task: First rate of the task layers, or their peak after a warm-up.
        task_end: What it falls to.
    """

    encoder: float
    task: float
    task_end: float


@dataclass
class CorefELTrainingArguments(TrainingArguments):
    """`TrainingArguments` with a learning rate, warm-up and weight decay for encoder and task layers each.

    `learning_rate` is the base: the encoder's peak rate is that, the task layers' rate is 50 times as high and falls to
    5 times as high. With the default schedule ``linear``, the encoder's rate rises over the first tenth of the steps
    and falls to 0 (the recipe of Zaporojets et al., 2022). A field whose name begins with ``encoder_`` or ``task_``,
    given explicitly, wins over what follows from the base. `warmup_steps` (or the ``warmup_ratio`` of transformers 4)
    above 0 warms up all layers, `weight_decay` decays the matrices of all layers; 0 warm-up steps, the default, and a
    weight decay of None leave the recipe's. Every other `lr_scheduler_type` is that of transformers with the group's
    rate for its peak, and every `optim` gets the groups.

    Raises:
        ValueError: When a value is out of range, or a field was given that could not act; the message names it. See
            `REFUSED`.

    Example:
        >>> from hf_corefel import CorefELTrainingArguments
        >>> CorefELTrainingArguments("runs/oslo", num_train_epochs=5, report_to="none").num_train_epochs
        5
    """

    learning_rate: float = field(
        default=2e-5, metadata={"help": "Base learning rate: the encoder's; the task layers' are multiples of it."}
    )
    weight_decay: float | None = field(
        default=None,
        metadata={"help": "Weight decay of all matrices; None: 0.01 in the encoder, else 0."},
    )
    encoder_learning_rate: float | None = field(
        default=None, metadata={"help": "Peak learning rate of the encoder; None: learning_rate."}
    )
    encoder_warmup: float | None = field(
        default=None,
        metadata={
            "help": "Share of the steps in which it rises to the peak; None: warmup_steps, or 0.1 where that is 0 and "
            "the schedule is linear."
        },
    )
    encoder_weight_decay: float | None = field(
        default=None, metadata={"help": "Weight decay of the encoder's matrices; None: weight_decay, or 0.01."}
    )
    task_learning_rate: float | None = field(
        default=None, metadata={"help": "First learning rate of the task layers; None: 50 * learning_rate."}
    )
    task_learning_rate_end: float | None = field(
        default=None,
        metadata={
            "help": "Last learning rate of the task layers; None: 5 * learning_rate where the schedule is linear."
        },
    )
    max_grad_norm: float = field(default=0.0, metadata={"help": "Clips the whole gradient; 0 leaves it to the groups."})
    group_max_grad_norm: float = field(
        default=10.0, metadata={"help": "Clips the gradient of encoder and task layers each to this norm; 0 does not."}
    )
    max_document_words: int | None = field(
        default=2000,
        metadata={
            "help": "Training documents of more words are cut into parts at ends of sentences, which bounds the memory "
            "of a step; None or 0 cuts none."
        },
    )
    skip_non_finite_batches: bool = field(
        default=False,
        metadata={
            "help": "Leave out and count a step whose loss or gradient is NaN or infinite, instead of stopping. In "
            "evaluation, documents with such a loss count as without predictions."
        },
    )
    distillation_weight: float = field(
        default=1.0, metadata={"help": "Weight of the loss that a teacher gives; 0 leaves the teacher out."}
    )
    distillation_temperature: float = field(
        default=1.0, metadata={"help": "Divides the scores of teacher and pupil in that loss; above 1 it is flatter."}
    )
    remove_unused_columns: bool = field(
        default=False, metadata={"help": "Must be False: documents have fields, and every field is used."}
    )
    # As in transformers 5: version 4 makes a Space on the Hub unless told not to.
    trackio_space_id: str | None = field(
        default=None, metadata={"help": "Space on the Hub that trackio reports to; None reports to a local folder."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check()
        self.max_document_words = self.max_document_words or None

    @classmethod
    def of(cls, args: TrainingArguments | None) -> CorefELTrainingArguments:
        """Return any training arguments as those of this class.

        Args:
            args: The trainer takes a plain `TrainingArguments` at its word: the defaults of transformers that it has
                count like values that were given, and a warning says so. None stands for this class's defaults.

        Raises:
            ValueError: When a field has a value that cannot act.
        """
        if args is None:
            return cls(output_dir="tmp_trainer")
        if isinstance(args, cls):
            return args
        known = {each.name for each in fields(cls) if each.init}
        given = {name: value for name, value in vars(args).items() if name in known}
        # True is its default there, and means columns of tensors.
        converted = cls(**{**given, "remove_unused_columns": False})
        for name in {each.name for each in fields(args)} - {each.name for each in fields(cls)}:
            setattr(converted, name, getattr(args, name))
        rates = converted.learning_rates()
        logger.warning(
            "args is a plain %s, so that its defaults count too: learning_rate=%g, which makes %g for the task layers, "
            "weight_decay=%g, max_grad_norm=%g. CorefELTrainingArguments has the defaults of the recipe",
            type(args).__name__,
            rates.encoder,
            rates.task,
            args.weight_decay,
            args.max_grad_norm,
        )
        return converted

    # What the fields stand for -------------------------------------------------------------------------

    def learning_rates(self, base: float | None = None) -> LearningRates:
        """Return the learning rates of encoder and task layers.

        Args:
            base: Takes the place of `learning_rate`.
        """
        base = self.learning_rate if base is None else base
        return LearningRates(
            _given(self.encoder_learning_rate, base),
            _given(self.task_learning_rate, _TASK_FACTOR * base),
            _given(self.task_learning_rate_end, _TASK_END_FACTOR * base),
        )

    def weight_decays(self, base: float | None = None) -> tuple[float, float]:
        """Return the weight decay of the encoder's matrices and of the task layers'.

        Args:
            base: Takes the place of `weight_decay` where that is None.
        """
        base = _given(self.weight_decay, base)
        return _given(self.encoder_weight_decay, _given(base, _ENCODER_WEIGHT_DECAY)), _given(base, 0.0)

    def warmups(self, steps: int) -> tuple[int, int]:
        """Return the steps of the encoder's warm-up and of the task layers', of `steps` in all."""
        task = self.get_warmup_steps(steps)
        share = self.encoder_warmup
        if share is None and (task or self.schedule != "linear"):
            return task, task
        return max(1, round(_given(share, _ENCODER_WARMUP) * steps)), task

    @property
    def schedule(self) -> str:
        """The schedule's name, also where `lr_scheduler_type` was set to a string after construction."""
        return SchedulerType(self.lr_scheduler_type).value

    def hyper_parameters(self) -> dict[str, Any]:
        """Return what a reader needs to train a model again, with numbers where the fields say None."""
        values = {name: getattr(self, name) for name in _HYPER_PARAMETERS if hasattr(self, name)}
        values["encoder_learning_rate"], values["task_learning_rate"], end = self.learning_rates()
        values["encoder_weight_decay"], values["weight_decay"] = self.weight_decays()
        linear = self.schedule == "linear"
        values["task_learning_rate_end"] = end if linear else self.task_learning_rate_end
        if linear and self.encoder_warmup is None and not self.get_warmup_steps(1000):
            values["encoder_warmup"] = _ENCODER_WARMUP
        return {name: getattr(value, "value", value) for name, value in values.items()}

    # Checks --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise `ValueError` where a value is out of range or a field could not act, naming the field.

        The trainer calls it before each training too, since fields can be set after construction.
        """
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value >= 0):
                raise ValueError(f"{name} must be a number that is not negative; got {value!r}")
        check_number(self.distillation_weight, "distillation_weight", least=0)
        check_number(self.distillation_temperature, "distillation_temperature", above=0)
        check_words(self.max_document_words, "max_document_words", least=0)
        if self.encoder_warmup is not None and not 0.0 <= self.encoder_warmup < 1.0:
            raise ValueError(f"encoder_warmup must lie in [0, 1); got {self.encoder_warmup}")
        for name, (value, reason) in REFUSED.items():
            # A field that only the other generation of transformers has is missing.
            if getattr(self, name, value) != value:
                raise ValueError(f"{name} must be {value!r}, not {getattr(self, name)!r}: {reason}")
        if DebugOption.UNDERFLOW_OVERFLOW in self.debug:
            raise ValueError(
                "debug must not name 'underflow_overflow', which cannot read the model's masks; a loss or gradient "
                "that is not finite stops training anyway"
            )
        if "inputs" in self.include_for_metrics:
            raise ValueError("include_for_metrics must not name 'inputs': compute_metrics is given the documents")
        self._check_schedule()

    def _check_schedule(self) -> None:
        name = self.schedule
        if self.lr_scheduler_kwargs and name in _WITHOUT_KWARGS:
            raise ValueError(f"lr_scheduler_kwargs: lr_scheduler_type={name!r} takes none")
        if name in _WITHOUT_WARMUP:
            warmup = next(
                (n for n in ("warmup_steps", "warmup_ratio", "encoder_warmup") if getattr(self, n, None)), None
            )
            if warmup:
                raise ValueError(f"{warmup}: lr_scheduler_type={name!r} has no warm-up; see 'constant_with_warmup'")
        if name in _WITHOUT_END and self.task_learning_rate_end is not None:
            raise ValueError(f"task_learning_rate_end: rates do not fall to an end with lr_scheduler_type={name!r}")


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value
