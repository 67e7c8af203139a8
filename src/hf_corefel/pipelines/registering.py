"""Tasks of ``transformers.pipeline``."""

from __future__ import annotations

import transformers
from transformers import AutoModel, Pipeline
from transformers.pipelines import PIPELINE_REGISTRY

from ..loading.silence import DefaultCheckpoint, unsaid_default

__all__ = ["register_task"]


def register_task(task: str, pipeline_class: type[Pipeline], checkpoint: DefaultCheckpoint) -> None:
    """Make a task known with the checkpoint that it has by default, once however often it is asked."""
    if task in PIPELINE_REGISTRY.get_supported_tasks():
        return
    unsaid_default(checkpoint)
    # The form of a default model differs between the two generations, and each fails on the other's.
    newer = int(transformers.__version__.split(".")[0]) >= 5
    default = {"model": (checkpoint, None)} if newer else {"pt": (checkpoint, "main")}
    PIPELINE_REGISTRY.register_pipeline(
        task, pipeline_class=pipeline_class, pt_model=AutoModel, default=default, type="text"
    )
