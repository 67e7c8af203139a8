"""Parameter groups of encoder and task layers, each with a rate, a schedule and clipping of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from ..layers import WindowEncoder
from ..pretrained_corefel import CorefELPreTrainedModel

__all__ = ["clip_groups", "encoder_parameters", "make_optimizer", "make_schedule"]


def make_optimizer(model: nn.Module, args: Any) -> torch.optim.AdamW:
    """AdamW with one group for the encoder's matrices, one for its biases and norms, one for the task layers.

    Args:
        model: A `CorefELModel`, or something around one.
        args: `CorefELTrainingArguments`.
    """
    groups: dict[str, list[nn.Parameter]] = {"matrices": [], "vectors": [], "task": []}
    of_encoder = encoder_parameters(model)
    for parameter in model.parameters():
        if parameter.requires_grad:
            group = ("matrices" if parameter.ndim > 1 else "vectors") if parameter in of_encoder else "task"
            groups[group].append(parameter)
    settings = {
        "matrices": {"lr": args.encoder_learning_rate, "weight_decay": args.encoder_weight_decay},
        "vectors": {"lr": args.encoder_learning_rate, "weight_decay": 0.0},
        "task": {"lr": args.task_learning_rate, "weight_decay": 0.0},
    }
    return torch.optim.AdamW(
        [{"params": groups[name], "name": name, **settings[name]} for name in groups if groups[name]],
        betas=(args.adam_beta1, args.adam_beta2),
        eps=args.adam_epsilon,
        # As the base class does: without it AdamW takes a third of a step on a CPU.
        fused=args.optim == "adamw_torch_fused",
    )


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


def clip_groups(optimizer: torch.optim.Optimizer, max_norm: float) -> None:
    """Clip the gradient of the encoder and that of the task layers each to a norm."""
    sides: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for group in optimizer.param_groups:
        sides[group["name"] == "task"] += group["params"]
    for parameters in sides.values():
        nn.utils.clip_grad_norm_(parameters, max_norm)


def make_schedule(optimizer: torch.optim.Optimizer, args: Any, steps: int) -> LambdaLR:
    """One linear schedule a group, see `CorefELTrainingArguments`."""
    warmup = max(1, round(args.encoder_warmup * steps))
    left = max(1, steps - warmup)
    end = args.task_learning_rate_end / max(args.task_learning_rate, 1e-12)

    def encoder(step: int) -> float:
        return step / warmup if step < warmup else max(0.0, (steps - step) / left)

    def task(step: int) -> float:
        return 1.0 + (end - 1.0) * min(1.0, step / max(1, steps))

    return LambdaLR(optimizer, [task if group["name"] == "task" else encoder for group in optimizer.param_groups])
