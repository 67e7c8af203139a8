"""A trainer of the tiny model, for all tests of training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments, Document


@pytest.fixture
def make_trainer(
    tmp_path: Path,
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[..., CorefELProcessor],
    tiny_documents: list[Document],
) -> Callable[..., CorefELTrainer]:
    """Makes a trainer; keyword arguments are training arguments, but for the trainer's datasets and ``keywords``."""

    def make(
        model: CorefELModel | None = None, keywords: dict[str, Any] | None = None, **arguments: Any
    ) -> CorefELTrainer:
        keywords = keywords or {}
        model = model or tiny_model()
        datasets = {
            "train_dataset": arguments.pop("train_dataset", tiny_documents),
            "eval_dataset": arguments.pop("eval_dataset", tiny_documents),
            "callbacks": arguments.pop("callbacks", None),
        }
        settings: dict[str, Any] = {
            "output_dir": str(tmp_path / "run"),
            "use_cpu": True,
            "report_to": "none",
            "disable_tqdm": True,
            "save_strategy": "no",
            "logging_steps": 1,
            "encoder_learning_rate": 1e-2,
            "task_learning_rate": 1e-2,
            "task_learning_rate_end": 1e-3,
            "per_device_train_batch_size": 1,
            "per_device_eval_batch_size": 2,
            "seed": 7,
        }
        args = CorefELTrainingArguments(**{**settings, **arguments})
        given = {"model": None if "model_init" in keywords else model, "processor": tiny_processor(model.config)}
        return CorefELTrainer(**{**given, "args": args, **datasets, **keywords})

    return make


@pytest.fixture
def keeps_the_best() -> dict[str, Any]:
    """Arguments that evaluate and save after every step, and end with the model whose score ``mine`` was the best."""
    return {
        "eval_strategy": "steps",
        "eval_steps": 1,
        "save_strategy": "steps",
        "save_steps": 1,
        "load_best_model_at_end": True,
        "metric_for_best_model": "mine",
    }
