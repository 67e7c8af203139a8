"""Coreference resolution and entity linking as one structured prediction, at home in Hugging Face.

>>> import hf_corefel
>>> from transformers import pipeline
>>> annotate = pipeline("coref-el")
>>> annotate("Angela Merkel met Barack Obama. Merkel smiled.")["clusters"]  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import AutoConfig, AutoModel, AutoProcessor

from .configuration_corefel import CorefELConfig
from .documents import AnnotatedDocument, Candidate, Cluster, Document, DocumentError, Mention
from .kb import KnowledgeBase
from .modeling_corefel import CorefELModel, CorefELOutput, CorefELPreTrainedModel
from .pipeline_corefel import CorefELPipeline, bundled_checkpoint, register_pipeline
from .processing_corefel import CorefELProcessor
from .version import __version__

if TYPE_CHECKING:
    from .corpora.loading import load_aida, load_aida_plus, load_dwie, load_gum
    from .training import CorefELTrainer, CorefELTrainingArguments

__all__ = [
    "AnnotatedDocument",
    "Candidate",
    "Cluster",
    "CorefELConfig",
    "CorefELModel",
    "CorefELOutput",
    "CorefELPipeline",
    "CorefELPreTrainedModel",
    "CorefELProcessor",
    "CorefELTrainer",
    "CorefELTrainingArguments",
    "Document",
    "DocumentError",
    "KnowledgeBase",
    "Mention",
    "__version__",
    "bundled_checkpoint",
    "load_aida",
    "load_aida_plus",
    "load_dwie",
    "load_gum",
    "metric_path",
]

AutoConfig.register(CorefELConfig.model_type, CorefELConfig, exist_ok=True)
AutoModel.register(CorefELConfig, CorefELModel, exist_ok=True)
AutoProcessor.register(CorefELConfig, CorefELProcessor, exist_ok=True)
register_pipeline()

# Training pulls in Trainer and Accelerate, corpora `datasets`: whoever only annotates should not wait for them.
_LAZY = {
    "CorefELTrainer": ".training",
    "CorefELTrainingArguments": ".training",
    **dict.fromkeys(("load_aida", "load_aida_plus", "load_dwie", "load_gum"), ".corpora.loading"),
}


def metric_path() -> str:
    """Folder of the metric module, for ``evaluate.load``; nothing is fetched."""
    return str(Path(__file__).parent / "evaluate_modules" / "coref_el")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
