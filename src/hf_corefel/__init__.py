"""Coreference resolution and entity linking as one structured prediction, at home in Hugging Face.

>>> import hf_corefel
>>> from transformers import pipeline
>>> annotate = pipeline("coref-el")
>>> annotate("Angela Merkel met Barack Obama. Merkel smiled.")["clusters"]  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from .documents import (
    Alternative,
    AnnotatedDocument,
    Candidate,
    Cluster,
    Clustering,
    Constraints,
    Document,
    DocumentError,
    Mention,
    Parent,
    Turn,
)
from .documents.views import to_columns, to_pandas
from .kb import KnowledgeBase
from .moved import MOVED, find_moved_modules, module_that_moved
from .registration import ensure_registered, register_with_transformers
from .version import __version__

if TYPE_CHECKING:
    # What `_attribute` finds. Submodules under their own names, which is how type checkers know what is handed on.
    from . import bulk as bulk
    from . import candidates as candidates
    from . import corpora as corpora
    from . import decoding as decoding
    from . import documents as documents
    from . import evaluation as evaluation
    from . import formats as formats
    from . import heads as heads
    from . import hub as hub
    from . import kb as kb
    from . import layers as layers
    from . import metrics as metrics
    from . import processing as processing
    from . import resolving as resolving
    from . import serving as serving
    from . import training as training
    from . import trees as trees
    from . import wikipedia as wikipedia
    from .bulk import annotate_many
    from .configuration_corefel import CorefELConfig
    from .corpora.loading import (
        load_aida,
        load_aida_plus,
        load_brat,
        load_conll2012,
        load_corefud,
        load_corpus,
        load_docred,
        load_dwie,
        load_gum,
    )
    from .documents.features import DOCUMENT_FEATURES, RESULT_FEATURES
    from .modeling_corefel import CorefELModel, CorefELOutput, CorefELPreTrainedModel
    from .pipeline_corefel import CorefELPipeline, bundled_checkpoint, load_pipeline
    from .processing_corefel import CorefELProcessor
    from .training import CorefELTrainer, CorefELTrainingArguments

__all__ = [
    "DOCUMENT_FEATURES",
    "RESULT_FEATURES",
    "Alternative",
    "AnnotatedDocument",
    "Candidate",
    "Cluster",
    "Clustering",
    "Constraints",
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
    "Parent",
    "Turn",
    "__version__",
    "annotate_many",
    "bundled_checkpoint",
    "load_aida",
    "load_aida_plus",
    "load_brat",
    "load_conll2012",
    "load_corefud",
    "load_corpus",
    "load_docred",
    "load_dwie",
    "load_gum",
    "load_pipeline",
    "metric_path",
    "to_columns",
    "to_pandas",
]

# Whoever only reads documents, asks a knowledge base or scores should not wait seconds for torch and transformers.
_ON_TRANSFORMERS = {
    "CorefELConfig": ".configuration_corefel",
    **dict.fromkeys(("CorefELModel", "CorefELOutput", "CorefELPreTrainedModel"), ".modeling_corefel"),
    **dict.fromkeys(("CorefELPipeline", "bundled_checkpoint", "load_pipeline"), ".pipeline_corefel"),
    "CorefELProcessor": ".processing_corefel",
    **dict.fromkeys(("CorefELTrainer", "CorefELTrainingArguments"), ".training"),
}
_ON_DATASETS = {
    **dict.fromkeys(("load_aida", "load_aida_plus", "load_brat", "load_conll2012", "load_corefud"), ".corpora.loading"),
    **dict.fromkeys(("load_corpus", "load_docred", "load_dwie", "load_gum"), ".corpora.loading"),
    **dict.fromkeys(("DOCUMENT_FEATURES", "RESULT_FEATURES"), ".documents.features"),
}
# What is asked for by few.
_ON_DEMAND = {"annotate_many": ".bulk"}


# Modules that need a package of an extra.
_NEEDS = {"spacy_corefel": "spacy"}


def metric_path() -> str:
    """Folder of the metric module, for ``evaluate.load``; nothing is fetched."""
    return str(Path(__file__).parent / "evaluate_modules" / "coref_el")


def _attribute(name: str) -> Any:
    """Find what is imported when it is first asked for: a public name, or a submodule."""
    if name in _ON_TRANSFORMERS:
        ensure_registered()
        return getattr(import_module(_ON_TRANSFORMERS[name], __name__), name)
    if name in _ON_DATASETS:
        return getattr(import_module(_ON_DATASETS[name], __name__), name)
    if name in _ON_DEMAND:
        return getattr(import_module(_ON_DEMAND[name], __name__), name)
    if name in MOVED:
        return module_that_moved(name)
    # ``import hf_corefel`` is enough for ``hf_corefel.trees.SpanningTreeDistribution``.
    if not name.startswith("_") and find_spec(f".{name}", __name__) is not None:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    # Type checkers would take it to have every attribute, misspelt ones, too.
    __getattr__ = _attribute


def __dir__() -> list[str]:
    modules = {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}
    missing = {name for name, needed in _NEEDS.items() if find_spec(needed) is None}
    return sorted({*__all__, *modules} - missing)


register_with_transformers()
find_moved_modules()
