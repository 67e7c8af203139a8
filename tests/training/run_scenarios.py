"""Trains and evaluates what a JSON file says on the ranks that torchrun starts, for test_distributed."""

from __future__ import annotations

import gc
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments, Document
from hf_corefel.training import NonFiniteError


def poison(model: CorefELModel, token: int, value: float = math.nan, *, gradient_only: bool = False) -> None:
    """Gives batches that hold a token a loss of a value, or the usual loss with a gradient of it."""

    def spoil(module: Any, args: Any, inputs: dict[str, Any], output: Any) -> None:
        if output.loss is not None and bool((inputs["input_ids"] == token).any()):
            if gradient_only:
                output.loss.register_hook(lambda gradient: gradient * value)
            else:
                output.loss = output["loss"] = output.loss * value

    model.register_forward_hook(spoil, with_kwargs=True)


class RecordingTrainer(CorefELTrainer):
    """Keeps the loss of every step as it is: logs round it."""

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        loss: Tensor = super().training_step(*args, **kwargs)
        self.step_losses.append(float(loss))
        return loss


def run(scenario: dict[str, Any]) -> dict[str, Any]:
    """Trains as far as the arguments say and evaluates.

    Args:
        scenario: ``model`` (a folder), ``head``, ``train`` and ``eval`` (documents' dicts), ``arguments``, and maybe
            ``poison``, a word of documents whose loss is NaN.

    Returns:
        ``losses`` of this rank's steps, ``state`` of the model, ``metrics``, ``predictions``, ``positions``; or the
        ``error`` that stopped it, with its ``step`` and ``documents``.
    """
    model = CorefELModel.from_pretrained(scenario["model"], head=scenario["head"])
    train, held_out = ([Document.from_dict(d) for d in scenario[part]] for part in ("train", "eval"))
    args = CorefELTrainingArguments(**scenario["arguments"])
    trainer = RecordingTrainer(model, args, CorefELProcessor.from_pretrained(scenario["model"]), train, held_out)
    trainer.step_losses: list[float] = []
    if "poison" in scenario:
        poison(model, trainer.processor.tokenizer.convert_tokens_to_ids(scenario["poison"]))
    try:
        if args.max_steps > 0:
            trainer.train()
        prediction = trainer.predict(held_out, metric_key_prefix="eval")
    except NonFiniteError as error:
        return {"error": str(error), "step": error.step, "documents": error.documents}
    speed = ("runtime", "per_second", "preparation_time")
    return {
        "world_size": args.world_size,
        "losses": trainer.step_losses,
        "skipped": trainer.training_record()["skipped_batches"],
        "state": {name: value.detach().clone() for name, value in model.state_dict().items()},
        "metrics": {name: value for name, value in prediction.metrics.items() if not name.endswith(speed)},
        "predictions": torch.from_numpy(prediction.predictions),
        "positions": torch.from_numpy(prediction.label_ids),
    }


def sharded_gradients(scenario: dict[str, Any]) -> dict[str, Tensor]:
    """Gradient of the ranks' mean loss, each with a document of its own, in a model that is in parts on the ranks."""
    model = CorefELModel.from_pretrained(scenario["model"]).train()
    processor = CorefELProcessor.from_pretrained(scenario["model"])
    document = Document.from_dict(scenario["train"][distributed.get_rank()])
    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    for module in list(model.modules()):
        if type(module).__name__ in model._no_split_modules:
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model(**processor([document], gold=True).inputs).loss.backward()
    gradients = {}
    for name, parameter in model.named_parameters():
        assert parameter.to_local().numel() < parameter.numel() or parameter.shape[0] == 1
        gradients[name] = parameter.grad.full_tensor()
    return gradients


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    gc.freeze()  # else each training has it go through all that was imported
    scenarios = json.loads((folder / "scenarios.json").read_text(encoding="utf-8"))
    results = {name: run(scenario) for name, scenario in scenarios.items()}
    results["sharded"] = sharded_gradients(scenarios["sharding"])
    torch.save(results, folder / f"rank-{distributed.get_rank()}.pt")
    distributed.destroy_process_group()
