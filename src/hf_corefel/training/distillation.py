"""Learning from a teacher: the cross-entropy between its distribution over trees and the pupil's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import Trainer

from ..documents import Document
from ..modeling_corefel import CorefELModel, CorefELOutput
from ..processing_corefel import CorefELProcessor
from ..trees import EdgeMarginals
from ..trees.precision import of_device
from .arguments import CorefELTrainingArguments
from .collator import DocumentDataset
from .teacher_cache import MANIFEST_FILE, CachedTeacher
from .teacher_targets import aligned_edges, aligned_mentions, find_spans
from .teachers import LiveTeacher, Reading, Teacher

__all__ = ["DistillingTrainer", "open_teacher"]


def open_teacher(teacher: Any) -> Teacher:
    """Return what a trainer was given as its teacher as a `Teacher`.

    Args:
        teacher: A pipeline, a pair of model and processor, the folder or Hub id of a saved model, a folder of
            `cache_teacher`, or a teacher.

    Raises:
        TypeError: When it is something else.
        ValueError: When the model cannot be a teacher; the message says why.
    """
    if isinstance(teacher, LiveTeacher | CachedTeacher):
        return teacher
    if isinstance(teacher, str | Path):
        is_cache = (Path(teacher) / MANIFEST_FILE).is_file()
        return CachedTeacher(teacher) if is_cache else LiveTeacher.from_pretrained(teacher)
    if isinstance(teacher, Sequence) and len(teacher) == 2:
        return LiveTeacher(*teacher)
    if hasattr(teacher, "model") and hasattr(teacher, "processor"):
        return LiveTeacher(teacher.model, teacher.processor)
    raise TypeError(
        "teacher: expected a pipeline, a pair of CorefELModel and CorefELProcessor, or the folder of a model or of a "
        f"teacher's cache, got {type(teacher).__name__}"
    )


@dataclass(frozen=True)
class Lesson:
    """A batch as the teacher has read it, before the pupil's spans are known.

    Attributes:
        documents: The documents.
        readings: What the teacher makes of each.
        offsets: Of each, the offsets ``[s, 2]`` of the spans that the pupil enumerates.
        also_retain: ``[B, S]``, True for those that the teacher retains.
    """

    documents: list[Document]
    readings: list[Reading]
    offsets: list[np.ndarray]
    also_retain: Tensor


class DistillingTrainer(Trainer):
    """Adds what a teacher says to the loss of each training step; without a teacher it changes nothing."""

    args: CorefELTrainingArguments
    processor: CorefELProcessor
    train_dataset: Any
    _teacher: Teacher | None = None
    # Since the last log: the sum over documents, and their number.
    _taught: tuple[float, int] = (0.0, 0)

    def _take_teacher(self, teacher: Any) -> None:
        """Checks that the pupil can learn from it."""
        found, model = open_teacher(teacher), self.model
        pupil = str(model.config.head)
        if not model.head.can_distil:
            raise ValueError(f"teacher: the head {pupil!r} has no distillation_loss, and cannot learn from a teacher")
        if found.head != pupil:
            raise ValueError(
                f"teacher: its head is {found.head!r}, and the pupil's is {pupil!r}; probabilities of parents mean the "
                "same in models of one head only"
            )
        if isinstance(found, LiveTeacher):
            found.to(self.args.device)
        self._teacher = found

    def _check_teacher(self) -> None:
        """Raises `ValueError` unless the teacher has something to say of each training document, before training."""
        if self._teacher is None:
            return
        said, asked = self._teacher.temperature, self.args.distillation_temperature
        if said is not None and said != asked:
            raise ValueError(
                f"distillation_temperature is {asked}, and the teacher's cache was written with {said}; a cache holds "
                "probabilities of one temperature"
            )
        dataset: DocumentDataset = self.train_dataset
        self._teacher.check(dataset.documents, dataset.names, self.args.max_document_words)

    def _ask_teacher(self, model: nn.Module, inputs: dict[str, Any]) -> Lesson | None:
        """What the teacher makes of a batch of training documents; None in evaluation."""
        if self._teacher is None or not model.training or self.args.distillation_weight == 0:
            return None
        documents = [self.train_dataset.documents[index] for index in inputs["document_index"].tolist()]
        readings = [self._teacher.read(document, self.args.distillation_temperature) for document in documents]
        mask = inputs["span_mask"]
        lengths, table = mask.sum(dim=1).tolist(), inputs["span_offsets"].cpu().numpy()
        offsets = [rows[:length] for rows, length in zip(table, lengths, strict=True)]
        also = np.zeros(tuple(mask.shape), dtype=bool)
        for row, reading, own in zip(also, readings, offsets, strict=True):
            place = find_spans(reading.retained, own)
            row[place[place >= 0]] = True
        return Lesson(documents, readings, offsets, torch.from_numpy(also).to(mask.device))

    def _distillation(self, lesson: Lesson, output: CorefELOutput, inputs: dict[str, Any]) -> Tensor:
        """The weighted cross-entropy of each document of a batch ``[B]``, of its mentions and of its trees."""
        model: CorefELModel = self.accelerator.unwrap_model(self.model)
        temperature = self.args.distillation_temperature
        assert output.retained is not None and output.span_scores is not None
        spans = [own[rows[rows >= 0]] for own, rows in zip(lesson.offsets, output.retained.cpu().numpy(), strict=True)]
        said = [reading.targets(own) for reading, own in zip(lesson.readings, spans, strict=True)]
        scores = model.edge_scores(output)
        rows_of = [self._rows_of(b, document, inputs) for b, document in enumerate(lesson.documents)]
        edges = aligned_edges(said, spans, scores.candidate_rows.cpu().numpy(), rows_of)
        device = scores.mention.device
        edges = EdgeMarginals(*(of_device(edge, device) for edge in edges))
        of_head = model.head.distillation_loss(scores, edges, temperature).float()
        chances = aligned_mentions(said, lesson.offsets, output.span_scores.shape[1]).to(device)
        of_mentions = nn.functional.binary_cross_entropy_with_logits(
            model.calibration.of_mentions(output.span_scores.float()) / temperature, chances, reduction="none"
        ).masked_fill(~inputs["span_mask"], 0.0)
        losses = model.config.mention_loss_weight * of_mentions.sum(dim=1) + of_head
        total, documents = self._taught
        self._taught = total + float(losses.detach().sum()), documents + len(losses)
        return self.args.distillation_weight * losses

    def _rows_of(self, b: int, document: Document, inputs: dict[str, Any]) -> Callable[[Sequence[str]], np.ndarray]:
        """What finds the rows of a document's entities by their names."""
        ids = inputs["entity_ids"][b][: _num_entities(inputs["candidate_rows"][b])].tolist()
        row_of_id = {entity_id: row for row, entity_id in enumerate(ids) if entity_id >= 0}
        # Entities that the knowledge base does not know have a name alone, which the batch does not hold.
        names = self.processor.encode(document, later_vectors=True).entities if -1 in ids else []
        row_of_name = {names[row]: row for row, entity_id in enumerate(ids) if entity_id < 0}

        def rows(wanted: Sequence[str]) -> np.ndarray:
            found = (self.processor.knowledge_base.entity_id(name) for name in wanted)
            return np.array(
                [
                    row_of_name.get(name, -1) if entity_id is None else row_of_id.get(entity_id, -1)
                    for name, entity_id in zip(wanted, found, strict=True)
                ],
                dtype=np.int64,
            )

        return rows

    def _distillation_record(self) -> dict[str, Any]:
        """What a teacher changes in this training, in plain types; nothing without one."""
        if self._teacher is None:
            return {}
        record = {
            "head": self._teacher.head,
            "weight": self.args.distillation_weight,
            "temperature": self.args.distillation_temperature,
            "documents_without_gold": self.train_dataset.without_gold if self.train_dataset else 0,
        }
        return {"distillation": record}

    def _add_distillation(self, logs: dict[str, float]) -> None:
        """Adds the mean over the documents since the last log, unweighted, beside the loss of the steps."""
        total, documents = self._taught
        if documents and "loss" in logs:
            logs["distillation_loss"] = total / documents
            self._taught = 0.0, 0


def _num_entities(candidate_rows: Tensor) -> int:
    """How many entities a document has, by its candidates ``[S, K]``."""
    return int(candidate_rows.max()) + 1 if candidate_rows.numel() else 0
