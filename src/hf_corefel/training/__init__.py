"""Training on `transformers.Trainer`: whole documents, separate schedules, end-to-end evaluation."""

from __future__ import annotations

from .arguments import CorefELTrainingArguments
from .collator import DocumentCollator, DocumentDataset
from .trainer import CorefELTrainer

__all__ = ["CorefELTrainer", "CorefELTrainingArguments", "DocumentCollator", "DocumentDataset"]
