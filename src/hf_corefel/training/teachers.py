"""Teachers: models that tell a pupil how probable mentions, parents and entities are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ..documents import Document
from ..layers.enumerated import PrunedSpans, SpanTensors, score_spans
from ..loading.agreement import check_agreement
from ..modeling_corefel import CorefELModel
from ..processing.encoded_document import EncodedDocument
from ..processing_corefel import CorefELProcessor
from ..utils.evaluation_mode import evaluation_mode
from .teacher_targets import TeacherTargets, find_spans

__all__ = ["LiveTeacher", "Reading", "Teacher", "no_reading"]


class Reading(Protocol):
    """A document as a teacher has read it.

    Attributes:
        retained: ``[N, 2]`` offsets of the spans that the teacher retains.
    """

    retained: np.ndarray

    def targets(self, spans: np.ndarray) -> TeacherTargets:
        """What the teacher says when it scores these spans ``[M, 2]`` beside its own, as far as it can."""
        ...


class Teacher(Protocol):
    """Whom a pupil learns from.

    Attributes:
        head: Name of its head.
        temperature: What its scores are divided by; None where that is still to be said.
    """

    head: str

    @property
    def temperature(self) -> float | None: ...

    def check(self, documents: Sequence[Document], names: Sequence[str], max_words: int | None) -> None:
        """Raises `ValueError` unless the teacher can read each document; `names` are what messages call them."""
        ...

    def read(self, document: Document, temperature: float) -> Reading:
        """The document as the teacher reads it."""
        ...


class _NoReading:
    """A document in which nothing can be a mention."""

    retained = np.zeros((0, 2), dtype=np.int64)

    def targets(self, spans: np.ndarray) -> TeacherTargets:
        """Nothing."""
        return TeacherTargets.nothing()


def no_reading() -> Reading:
    """Return the reading of a document in which nothing can be a mention."""
    return _NoReading()


class LiveTeacher:
    """A model and its processor, run in evaluation mode and without gradients, one document at a time.

    So what it says of a document does not depend on which others are in a batch.

    Args:
        model: The teacher's model, in single precision on the CPU (as the pipeline has it).
        processor: Its processor; the encoder, the tokenizer and the knowledge base may be others than the pupil's.

    Raises:
        TypeError: When they are none.
        ValueError: When they do not fit each other, or the model's head has nothing to tell.

    Example:
        >>> from hf_corefel import Document, bundled_checkpoint
        >>> from hf_corefel.training import LiveTeacher
        >>> teacher = LiveTeacher.from_pretrained(bundled_checkpoint())
        >>> reading = teacher.read(Document("Oslo is old."), temperature=1.0)
        >>> [0, 4] in reading.retained.tolist()
        True
    """

    temperature = None

    def __init__(self, model: CorefELModel, processor: CorefELProcessor) -> None:
        if not isinstance(model, CorefELModel) or not isinstance(processor, CorefELProcessor):
            raise TypeError(
                "teacher: expected a pipeline, a CorefELModel with its CorefELProcessor as a pair, or a folder, got "
                f"{type(model).__name__} and {type(processor).__name__}"
            )
        model.check_weights()
        check_agreement(model, processor, processor.settings)
        if not model.head.can_distil:
            raise ValueError(
                f"teacher: the head {model.config.head!r} has no distillation_loss, and tells a pupil nothing"
            )
        if model.dtype == torch.float16 and model.device.type == "cpu":
            # Weights are stored in half precision and computed in single precision where half is slow and coarse.
            model.float()
        self.model, self.processor = model, processor
        self.head = str(model.config.head)

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path) -> LiveTeacher:
        """Load a saved model and its processor."""
        return cls(CorefELModel.from_pretrained(name_or_path), CorefELProcessor.from_pretrained(name_or_path))

    def to(self, device: torch.device) -> None:
        """Move the model."""
        self.model.to(device)

    def check(self, documents: Sequence[Document], names: Sequence[str], max_words: int | None) -> None:
        """Raises `ValueError` where a document has a mention scope that the teacher does not know."""
        scopes = self.processor.settings.scope_names
        for document, name in zip(documents, names, strict=True):
            scope = document.mention_scope
            if scope is not None and scope not in scopes:
                known = f"knows {', '.join(scopes)}" if scopes else "knows one scope only, without a name"
                raise ValueError(f"{name}.mention_scope: {scope!r}, but the teacher {known}")

    @torch.no_grad()
    def read(self, document: Document, temperature: float) -> Reading:
        """The document with its spans scored and pruned."""
        encoded = self.processor.complete([self.processor.encode(document, later_vectors=True)])[0]
        return _LiveReading(self.model, self.processor, encoded, temperature) if len(encoded.spans) else no_reading()


class _LiveReading:
    """A document that a model has encoded, with mention scores; its other scores are made when spans are known."""

    def __init__(
        self, model: CorefELModel, processor: CorefELProcessor, encoded: EncodedDocument, temperature: float
    ) -> None:
        self._model, self._encoded, self._temperature = model, encoded, temperature
        self._inputs: dict[str, Tensor] = {
            name: value.to(model.device) for name, value in processor.collate([encoded]).items()
        }
        given: dict[str, Any] = self._inputs
        names = ("span_begin", "span_end", "span_width", "span_cases", "span_mask", "mention_scope")
        table = SpanTensors(*(given[name] for name in names))
        windows = (given[name] for name in ("input_ids", "attention_mask", "subword_positions"))
        with evaluation_mode(model):
            self._scores, self._vectors_at = score_spans(model.spans, model.pruner, model.encoder(*windows), table)
            retained = model.pruner.select(
                self._scores, table.begin, table.end, table.mask, given["span_limits"], given["keep_all"]
            )
        self._retained = retained[0].cpu().numpy()
        self.retained = encoded.spans.offsets[self._retained]

    @torch.no_grad()
    def targets(self, spans: np.ndarray) -> TeacherTargets:
        """What the model says of the spans that it retains and of those among the given ones that it enumerates."""
        model, encoded = self._model, self._encoded
        wanted = find_spans(spans, encoded.spans.offsets)
        numbers = np.union1d(self._retained, wanted[wanted >= 0])
        index = torch.from_numpy(numbers).to(self._scores.device).unsqueeze(0)
        with evaluation_mode(model):
            vectors = self._vectors_at(index, torch.ones_like(index, dtype=torch.bool))
            output = model(**self._inputs, pruned=PrunedSpans(self._scores, index, vectors))
            edges = model.head.parent_probabilities(model.edge_scores(output), self._temperature)
        mentions = model.calibration.of_mentions(self._scores[0].float())
        chances = torch.sigmoid(mentions / self._temperature).cpu().numpy()
        return TeacherTargets.of(
            spans=encoded.spans.offsets[numbers],
            edges=[edge[0].cpu().numpy() for edge in edges],
            candidate_rows=encoded.candidate_rows[numbers],
            entities=encoded.entities,
            mentions=(encoded.spans.offsets, chances),
        )
