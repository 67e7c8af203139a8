"""Training arguments: those of transformers, the learning rates of the recipe, and what guards a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from transformers import TrainingArguments

__all__ = ["HYPER_PARAMETERS", "CorefELTrainingArguments"]

# What a reader needs to train a model again.
HYPER_PARAMETERS = (
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "encoder_learning_rate",
    "encoder_warmup",
    "encoder_weight_decay",
    "task_learning_rate",
    "task_learning_rate_end",
    "group_max_grad_norm",
    "max_document_words",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "bf16",
    "fp16",
    "seed",
)

_NOT_NEGATIVE = (
    "encoder_learning_rate",
    "encoder_weight_decay",
    "task_learning_rate",
    "task_learning_rate_end",
    "group_max_grad_norm",
)


@dataclass
class CorefELTrainingArguments(TrainingArguments):
    """`TrainingArguments` with separate schedules for encoder and task layers.

    The encoder's rate warms up and falls to 0, the task layers' falls from `task_learning_rate` to
    `task_learning_rate_end`, both linearly (the recipe of Zaporojets et al., 2022). `learning_rate`
    and `lr_scheduler_type` of the base class are not used.
    """

    encoder_learning_rate: float = field(default=2e-5, metadata={"help": "Peak learning rate of the encoder."})
    encoder_warmup: float = field(default=0.1, metadata={"help": "Share of the steps in which it rises to the peak."})
    encoder_weight_decay: float = field(default=0.01, metadata={"help": "Weight decay of the encoder's matrices."})
    task_learning_rate: float = field(default=1e-3, metadata={"help": "First learning rate of the task layers."})
    task_learning_rate_end: float = field(default=1e-4, metadata={"help": "Last learning rate of the task layers."})
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
    # As in transformers 5: version 4 makes a Space on the Hub unless told not to.
    trackio_space_id: str | None = field(
        default=None, metadata={"help": "Space on the Hub that trackio reports to; None reports to a local folder."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Documents are ragged: the trainer batches them itself and must see every field.
        self.remove_unused_columns = False
        for name in _NOT_NEGATIVE:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative; got {getattr(self, name)}")
        words = self.max_document_words
        if words is not None and (isinstance(words, bool) or not isinstance(words, int) or words < 0):
            raise ValueError(f"max_document_words must be a number of words, or None for no limit; got {words!r}")
        self.max_document_words = words or None
        if not 0.0 <= self.encoder_warmup < 1.0:
            raise ValueError(f"encoder_warmup must lie in [0, 1); got {self.encoder_warmup}")
