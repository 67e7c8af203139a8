"""Training on `transformers.Trainer`: whole documents, separate schedules, end-to-end evaluation."""

from __future__ import annotations

from .arguments import CorefELTrainingArguments
from .checkpoints import BrokenCheckpointError
from .collator import DocumentCollator, DocumentDataset
from .non_finite import NonFiniteError
from .scoring import DocumentPrediction
from .teacher_cache import CachedTeacher, cache_teacher
from .teachers import LiveTeacher
from .trainer import CorefELTrainer

__all__ = [
    "BrokenCheckpointError",
    "CachedTeacher",
    "CorefELTrainer",
    "CorefELTrainingArguments",
    "DocumentCollator",
    "DocumentDataset",
    "DocumentPrediction",
    "LiveTeacher",
    "NonFiniteError",
    "cache_teacher",
]
