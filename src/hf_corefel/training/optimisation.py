"""Parameter groups of encoder and task layers, each with a rate, a schedule and clipping of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import Trainer, get_scheduler

from ..layers import WindowEncoder
from ..pretrained_corefel import CorefELPreTrainedModel
from .arguments import OVERRIDES, CorefELTrainingArguments, LearningRates

__all__ = ["OptimisingTrainer"]

# The names of the groups, and whether they are of the task layers.
_IS_TASK = {"matrices": False, "vectors": False, "task": True, "task_vectors": True}
# What an optimizer of transformers brings in place of the groups that it would be given.
_OWN_GROUPS = ("params", "model", "optimizer_dict")


class OptimisingTrainer(Trainer):
    """Gives any optimizer and schedule of transformers the rates of encoder and task layers."""

    args: CorefELTrainingArguments
    # Typed here because transformers leaves them without a type.
    optimizer: Any
    optimizer_cls_and_kwargs: Any
    lr_scheduler: Any
    # The optimizer whose gradients are clipped before each of its steps.
    _clipped: torch.optim.Optimizer | None = None
    # The optimizer that was made here, and what the arguments said of it then.
    _made: tuple[torch.optim.Optimizer | None, dict[str, Any]] = (None, {})
    # The frozen embeddings whose output has a gradient.
    _opened: nn.Module | None = None

    def create_optimizer(self, *unused: Any, **also_unused: Any) -> torch.optim.Optimizer:
        """The optimizer that was chosen, with groups for the encoder's matrices, its biases and norms, the task layers.

        An optimizer that was given to the trainer stays as it is; one that was made for an earlier training is made
        again where the arguments have changed since. Either way, the gradients of encoder and task layers
        are clipped before it steps.

        Raises:
            ValueError: When arguments do not go together; the message names the field.
        """
        self._let_gradients_through()
        asked = self._asked_of_optimizer()
        # Accelerate wraps it for training.
        inner = getattr(self.optimizer, "optimizer", self.optimizer)
        if inner is None or (inner is self._made[0] and asked != self._made[1]):
            self.optimizer = None
            self._make_optimizer()
            inner = self.optimizer
            self._made = inner, asked
        optimizer: torch.optim.Optimizer = self.optimizer
        if self.args.group_max_grad_norm > 0 and inner is not self._clipped:
            if self._gradients_are_parts():
                raise ValueError(
                    "group_max_grad_norm must be 0 with DeepSpeed and version 1 of FSDP, whose ranks do not know "
                    "the norm of a group's gradient; set max_grad_norm instead"
                )
            inner.register_step_pre_hook(self._clip)
            self._clipped = inner
        return optimizer

    def _clip(self, optimizer: torch.optim.Optimizer, *unused: Any) -> None:
        if self.args.group_max_grad_norm > 0:
            clip_groups(optimizer, self.model, self.args.group_max_grad_norm)

    def _asked_of_optimizer(self) -> dict[str, Any]:
        fields = ("optim", "optim_args", "adam_beta1", "adam_beta2", "adam_epsilon")
        return {
            **{name: getattr(self.args, name) for name in fields},
            "rates": self.args.learning_rates(),
            "decays": self.args.weight_decays(),
        }

    def _let_gradients_through(self) -> None:
        """Has checkpointed layers trained also where nothing before them is.

        The form of checkpointing that transformers 4 takes gives no gradient to a layer whose input has none.
        """
        if not self.args.gradient_checkpointing:
            return
        model = next(each for each in self.model.modules() if isinstance(each, CorefELPreTrainedModel))
        try:
            embeddings = model.get_input_embeddings()
        except NotImplementedError:  # an encoder of its own kind, which transformers 5 lets be, too
            return
        is_frozen = not any(parameter.requires_grad for parameter in embeddings.parameters())
        is_trained = any(parameter.requires_grad for parameter in model.encoder.parameters())
        if is_frozen and is_trained and embeddings is not self._opened:
            embeddings.register_forward_hook(_ask_for_a_gradient)
            self._opened = embeddings

    def _make_optimizer(self) -> None:
        chosen = self.optimizer_cls_and_kwargs
        kind, options = chosen or _named_optimizer(self, self.args, self.model)
        if any(name in options for name in _OWN_GROUPS) or not isinstance(kind, type):
            refuse_overrides(self.args, f"optim={_name(self.args)} makes parameter groups of its own")
        else:
            groups = make_groups(self.model, self.args, options.get("lr"), options.get("weight_decay"))
            options = {**options, "params": groups}
        try:
            # The base class makes it, with what else some optimizers need.
            self.optimizer_cls_and_kwargs = kind, options
            super().create_optimizer()
        finally:
            self.optimizer_cls_and_kwargs = chosen

    def _gradients_are_parts(self) -> bool:
        plugin = getattr(self.accelerator.state, "fsdp_plugin", None)
        return self.is_deepspeed_enabled or (self.is_fsdp_enabled and getattr(plugin, "fsdp_version", 1) == 1)

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None, **unused: Any
    ) -> LRScheduler:
        """The schedule that was chosen, see `CorefELTrainingArguments`; one that was given stays as it is."""
        if self.lr_scheduler is None:
            optimizer = optimizer or self.create_optimizer()
            chosen = self.optimizer_cls_and_kwargs
            rates = self.args.learning_rates(chosen[1].get("lr") if chosen else None)
            self.lr_scheduler = make_schedule(optimizer, self.args, num_training_steps, rates)
            # Otherwise a second call of train() would go on with the schedule that the first one ended.
            self._created_lr_scheduler = True
        scheduler: LRScheduler = self.lr_scheduler
        return scheduler


def _ask_for_a_gradient(embeddings: nn.Module, _: Any, output: Tensor) -> None:
    if embeddings.training and torch.is_grad_enabled():
        output.requires_grad_(True)


# Optimizers -------------------------------------------------------------------------------------------


def parameter_groups(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Return what is trained: the encoder's ``matrices``, its ``vectors`` (biases and norms), and the ``task`` layers'.

    Args:
        model: A `CorefELModel`, or something around one.
    """
    groups: dict[str, list[nn.Parameter]] = {"matrices": [], "vectors": [], "task": []}
    of_encoder = encoder_parameters(model)
    for parameter in model.parameters():
        if parameter.requires_grad:
            group = ("matrices" if parameter.ndim > 1 else "vectors") if parameter in of_encoder else "task"
            groups[group].append(parameter)
    return groups


def encoder_parameters(model: nn.Module) -> set[nn.Parameter]:
    """Return the parameters of a model's encoder, adapters in it included.

    They are found by the module that they belong to: PEFT, ``torch.compile`` and the wrappers of distributed training
    put names of their own before theirs.

    Args:
        model: A `CorefELModel`, or something around one.
    """
    encoders = [module for module in model.modules() if isinstance(module, WindowEncoder)]
    encoders += [module.encoder for module in model.modules() if isinstance(module, CorefELPreTrainedModel)]
    return {parameter for encoder in encoders for parameter in encoder.parameters()}


def make_groups(
    model: nn.Module, args: CorefELTrainingArguments, rate: float | None = None, decay: float | None = None
) -> list[dict[str, Any]]:
    """Return the parameter groups for an optimizer, those without parameters left out.

    Args:
        model: A `CorefELModel`.
        args: The arguments.
        rate: Base learning rate in place of that of the arguments.
        decay: Weight decay, where the arguments have none.
    """
    rates, (encoder_decay, task_decay) = args.learning_rates(rate), args.weight_decays(decay)
    groups = parameter_groups(model)
    if task_decay:
        task, groups["task"] = groups["task"], [p for p in groups["task"] if p.ndim > 1]
        groups["task_vectors"] = [p for p in task if p.ndim <= 1]
    decays = {"matrices": encoder_decay, "task": task_decay}
    return [
        {
            "params": parameters,
            "name": name,
            "lr": rates.task if _IS_TASK[name] else rates.encoder,
            "weight_decay": decays.get(name, 0.0),
        }
        for name, parameters in groups.items()
        if parameters
    ]


def _named_optimizer(
    trainer: type[Trainer] | Trainer, args: CorefELTrainingArguments, model: nn.Module
) -> tuple[Any, dict[str, Any]]:
    """The class of ``args.optim`` and its arguments, as transformers chooses them.

    Raises:
        ValueError: When one of ``optim_args``, or ``optim_target_modules``, means nothing to it.
    """

    def choose(**changed: Any) -> tuple[Any, dict[str, Any]]:
        asked = copy.copy(args)
        for name, value in {"weight_decay": args.weight_decays()[0], **changed}.items():
            setattr(asked, name, value)
        return trainer.get_optimizer_cls_and_kwargs(asked, model)

    if args.optim_target_modules is None:
        plain = choose(optim_args=None)
        for option in filter(None, (args.optim_args or "").replace(" ", "").split(",")):
            if choose(optim_args=option) == plain:
                raise ValueError(f"optim_args: {option} changes nothing with optim={_name(args)}")
    kind, options = choose()
    if args.optim_target_modules is not None and not any(name in options for name in _OWN_GROUPS):
        raise ValueError(f"optim_target_modules: optim={_name(args)} trains all modules alike; leave it out")
    return kind, options


def _name(args: CorefELTrainingArguments) -> str:
    return str(getattr(args.optim, "value", args.optim))


def refuse_overrides(args: CorefELTrainingArguments, reason: str) -> None:
    """Raise `ValueError` when a field is set that says something of encoder or task layers alone."""
    for name in OVERRIDES:
        if getattr(args, name) is not None:
            raise ValueError(f"{name}={getattr(args, name)} cannot act, because {reason}; leave it out")


def clip_groups(optimizer: torch.optim.Optimizer, model: nn.Module, max_norm: float) -> None:
    """Clip the gradient of the encoder and that of the task layers each to a norm."""
    sides: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    task: set[int] | None = None
    for group in optimizer.param_groups:
        if group.get("name") in _IS_TASK:
            sides[_IS_TASK[group["name"]]] += group["params"]
            continue
        task = {id(parameter) for parameter in parameter_groups(model)["task"]} if task is None else task
        for parameter in group["params"]:
            sides[id(parameter) in task].append(parameter)
    # Fused optimizers are given the gradients as fp16 has scaled them, and divide by the scale within their step.
    scale = getattr(optimizer, "grad_scale", None)
    for parameters in sides.values():
        nn.utils.clip_grad_norm_(parameters, max_norm if scale is None else max_norm * float(scale))


# Schedules --------------------------------------------------------------------------------------------


def make_schedule(
    optimizer: torch.optim.Optimizer, args: CorefELTrainingArguments, steps: int, rates: LearningRates
) -> LRScheduler:
    """Return the schedule of ``args.lr_scheduler_type``, with the warm-ups and the end of encoder and task layers.

    Groups that `make_groups` did not make have the schedule of transformers.

    Args:
        optimizer: The optimizer.
        args: The arguments.
        steps: Of the whole training.
        rates: The peak rates.
    """
    options = dict(args.lr_scheduler_kwargs or {})
    if args.schedule in ("reduce_lr_on_plateau", "greedy"):
        # They look at ``metric_for_best_model``, of which less is better only where it is a loss.
        options.setdefault("mode", "max" if args.greater_is_better else "min")
    elif all(group.get("name") in _IS_TASK for group in optimizer.param_groups):
        shapes = _shapes(args, steps, rates, options)
        return LambdaLR(optimizer, [shapes[_IS_TASK[group["name"]]] for group in optimizer.param_groups])
    return get_scheduler(
        args.lr_scheduler_type,
        optimizer=optimizer,
        num_warmup_steps=args.get_warmup_steps(steps),
        num_training_steps=steps,
        scheduler_specific_kwargs=options,
    )


Shape = Callable[[int], float]


def _shapes(
    args: CorefELTrainingArguments, steps: int, rates: LearningRates, options: dict[str, Any]
) -> dict[bool, Shape]:
    """What the rates of the encoder (False) and the task layers (True) are multiplied with at a step."""
    encoder_warmup, task_warmup = args.warmups(steps)
    end = rates.task_end / max(rates.task, 1e-12)
    if args.schedule == "linear":
        return {False: _rise_and_fall(encoder_warmup, steps), True: _fall_to(end, task_warmup, steps)}

    def shape(rate: float, warmup: int) -> Shape:
        # Some of them set an absolute last rate in relation to the optimizer's.
        stand_in = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=rate)
        made = get_scheduler(args.lr_scheduler_type, stand_in, warmup, steps, scheduler_specific_kwargs=options)
        of_step: Shape = made.lr_lambdas[0]
        return of_step

    # A rate of 0 stays there.
    encoder, task = (
        shape(rate, warmup) if rate else lambda step: 1.0
        for rate, warmup in ((rates.encoder, encoder_warmup), (rates.task, task_warmup))
    )
    if args.task_learning_rate_end is None:
        return {False: encoder, True: task}
    return {
        False: encoder,
        True: lambda step: task(step) if step < task_warmup else end + (1.0 - end) * task(step),
    }


def _rise_and_fall(warmup: int, steps: int) -> Shape:
    left = max(1, steps - warmup)
    return lambda step: step / warmup if step < warmup else max(0.0, (steps - step) / left)


def _fall_to(end: float, warmup: int, steps: int) -> Shape:
    left = max(1, steps - warmup)
    return lambda step: step / warmup if step < warmup else 1.0 + (end - 1.0) * min(1.0, (step - warmup) / left)
