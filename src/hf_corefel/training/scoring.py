"""Evaluation in training: predictions of whole documents, and whatever is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import EvalPrediction, Trainer

from ..candidates.document_candidates import entities_of_span
from ..decoding.annotating import decode_batch
from ..documents import AnnotatedDocument, Document, Mention
from ..metrics import evaluate
from ..processing_corefel import CorefELProcessor
from .collator import DocumentDataset
from .non_finite import FiniteGuard
from .predictions import PADDING, documents_from_rows

__all__ = ["DocumentPrediction", "DocumentScores", "ScoringTrainer"]


class DocumentPrediction(EvalPrediction):
    """What the ``compute_metrics`` of a `CorefELTrainer` is called with.

    Like every `transformers.EvalPrediction` it unpacks into predictions and gold.

    Args:
        predictions: The documents with predicted clusters.
        label_ids: The documents with gold clusters, in the same order.
        processor: Knows the candidates.
        losses: The losses, where ``include_for_metrics`` names ``loss``.

    Attributes:
        predictions: As given.
        label_ids: As given.
        losses: As given.
        inputs: None; the gold documents hold all that was read.

    Example:
        >>> from hf_corefel.training import DocumentPrediction
        >>> def links(prediction: DocumentPrediction) -> dict[str, int]:  # for CorefELTrainer(compute_metrics=links)
        ...     return {"links": sum(c.entity is not None for d in prediction.predictions for c in d.clusters)}
    """

    predictions: list[AnnotatedDocument]
    label_ids: list[Document]

    def __init__(
        self,
        predictions: list[AnnotatedDocument],
        label_ids: list[Document],
        processor: CorefELProcessor,
        losses: Any = None,
    ) -> None:
        super().__init__(predictions, label_ids, losses=losses)
        self.processor = processor

    def scores(self) -> dict[str, float]:
        """Return what `CorefELTrainer` reports by itself: `hf_corefel.metrics.evaluate`, and ``score``.

        ``score`` is the mean of coreference, EL_m and EL_h F1.
        """
        kb, limit = self.processor.knowledge_base, self.processor.settings.max_candidates

        def candidates(document: Document, mention: Mention) -> set[str]:
            return entities_of_span(kb, document, mention.offsets, limit)

        scores = evaluate(self.label_ids, self.predictions, candidates=candidates)
        scores["score"] = (scores["coref_f1"] + scores["el_mention_f1"] + scores["el_hard_f1"]) / 3
        return scores


class DocumentScores:
    """The ``compute_metrics`` that a `CorefELTrainer` has by itself; with ``batch_eval_metrics`` it adds up batches."""

    def __init__(self) -> None:
        self._earlier: list[DocumentPrediction] = []

    def forget(self) -> None:
        """Begin an evaluation: what one that was interrupted has left is not of the next."""
        self._earlier = []

    def __call__(self, prediction: DocumentPrediction, compute_result: bool = True) -> dict[str, float]:
        """Return the scores of all batches of an evaluation, or nothing before the last of them."""
        self._earlier.append(prediction)
        if not compute_result:
            return {}
        batches, self._earlier = self._earlier, []
        predicted = [document for batch in batches for document in batch.predictions]
        gold = [document for batch in batches for document in batch.label_ids]
        return DocumentPrediction(predicted, gold, prediction.processor).scores()


class ScoringTrainer(Trainer):
    """Predicts whole documents, and gives them to ``compute_metrics``."""

    processor: CorefELProcessor
    compute_metrics: Any
    _evaluated: DocumentDataset
    _guard: FiniteGuard
    # What was logged of evaluations on documents that `eval_dataset` does not have.
    _of_others: list[dict[str, float]]

    def evaluate(self, eval_dataset: Any = None, *args: Any, **kwargs: Any) -> dict[str, float]:
        """As `Trainer.evaluate`; scores on other documents than those of ``eval_dataset`` are kept apart."""
        scores: dict[str, float] = super().evaluate(eval_dataset, *args, **kwargs)
        own = self.eval_dataset.values() if isinstance(self.eval_dataset, dict) else (self.eval_dataset,)
        by_name = eval_dataset is None or isinstance(eval_dataset, str | dict)
        if not by_name and not any(eval_dataset is each for each in own):
            self._of_others.append(self.state.log_history[-1])
        return scores

    def development_scores(self) -> dict[str, Any]:
        """Return what the trainer's model reached on ``eval_dataset``; by name where that has several datasets.

        That model is the best one where ``load_best_model_at_end`` has loaded it, else the last one. What was not
        evaluated has no scores.
        """
        if not isinstance(self.eval_dataset, dict):
            return self._scores_of("eval")
        return {name: self._scores_of(f"eval_{name}") for name in self.eval_dataset}

    def _scores_of(self, prefix: str) -> dict[str, Any]:
        found = [
            entry
            for entry in self.state.log_history
            if f"{prefix}_runtime" in entry and not any(entry is other for other in self._of_others)
        ]
        best = self.state.best_global_step if self.args.load_best_model_at_end else None
        at_best = [entry for entry in found if entry["step"] == best]
        last: dict[str, Any] = next(reversed(at_best or found), {})
        prefix = f"{prefix}_"
        return {name.removeprefix(prefix): value for name, value in last.items() if name.startswith(prefix)}

    def prediction_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        prediction_loss_only: bool,
        ignore_keys: list[str] | None = None,
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Predicts a batch.

        Returns:
            The loss, rows ``[B, R, 4]`` of (begin, end, cluster, entity) a mention padded with -100 (tensors of
            this form are gathered over processes without loss), and the documents' positions ``[B]``. The entity
            is its id, -1 for NIL, or -2 minus its row in the document if the knowledge base lacks it.
            Documents that only fill up a rank's last batch count neither in the loss nor in the predictions.
        """
        inputs = self._prepare_inputs(inputs)
        positions = inputs["document_index"]
        inputs = {name: value[: self._own_documents(len(positions))] for name, value in inputs.items()}
        with torch.no_grad(), self.compute_loss_context_manager():
            loss, output = self.compute_loss(model, inputs, return_outputs=True)
        if not bool(loss.isfinite()):
            names = [self._evaluated.names[index] for index in positions.tolist()]
            self._guard.note_evaluated(names[: self._own_documents(len(positions), least=0)])
            loss = torch.zeros_like(loss)
            empty = torch.full((len(positions), 1, 4), PADDING, device=loss.device)
            return loss, *((None, None) if prediction_loss_only else (empty, positions))
        if prediction_loss_only:
            return loss.detach(), None, None
        _, clusters = decode_batch(self.accelerator.unwrap_model(model), output, inputs["keep_all"].tolist())
        documents = []
        for b, document in enumerate(clusters):
            retained, offsets = output.retained[b].tolist(), inputs["span_offsets"][b].tolist()
            entity_ids = [i if i >= 0 else -2 - row for row, i in enumerate(inputs["entity_ids"][b].tolist())]
            documents.append(
                [
                    [*offsets[retained[n]], c, -1 if cluster.entity_row is None else entity_ids[cluster.entity_row]]
                    for c, cluster in enumerate(document)
                    for n in cluster.spans
                ]
            )
        size = max(1, *(len(rows) for rows in documents))
        padded = torch.full((len(positions), size, 4), PADDING, device=loss.device)
        for b, rows in enumerate(documents):
            if rows:
                padded[b, : len(rows)] = torch.tensor(rows, device=loss.device)
        return loss.detach(), padded, positions

    def _own_documents(self, size: int, least: int = 1) -> int:
        """How many of a batch of `size` documents no other rank has; at least 1, so that every rank has a loss.

        Accelerate makes the ranks' last batches equally long by repeating the first documents, and drops the
        results of those after gathering. A batch's mean loss would keep a part of them.
        """
        state = self.accelerator.gradient_state
        if not state.end_of_dataloader or state.remainder <= 0:
            return size
        return min(size, max(least, state.remainder - self.accelerator.process_index * size))

    def evaluation_loop(
        self,
        dataloader: Any,
        description: str,
        prediction_loss_only: bool | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> Any:
        """As `Trainer.evaluation_loop`; ``compute_metrics`` is given a `DocumentPrediction`.

        Raises:
            NonFiniteError: When documents have a loss that is not finite and are not to be left out.
        """
        self._evaluated = dataloader.dataset
        self._guard.begin_evaluation()
        chosen = self.compute_metrics
        if isinstance(chosen, DocumentScores):
            chosen.forget()
        if chosen is not None:
            self.compute_metrics = self._of_documents(chosen)
        try:
            result = super().evaluation_loop(
                dataloader, description, prediction_loss_only, ignore_keys, metric_key_prefix
            )
        finally:
            self.compute_metrics = chosen
        self._guard.finish_evaluation(result.metrics, metric_key_prefix, result.num_samples)
        return result

    def _of_documents(self, compute_metrics: Callable[..., Any]) -> Callable[..., Any]:
        """`compute_metrics` as the base class calls it: with the rows of `prediction_step`."""
        gold_documents = self._evaluated.documents

        def compute(rows: EvalPrediction, **options: Any) -> Any:
            gold, predicted = [], []
            for table, positions in zip(_batches(rows.predictions), _batches(rows.label_ids), strict=True):
                documents = [gold_documents[int(position)] for position in positions]
                gold += documents
                predicted += documents_from_rows(documents, table, self.processor)
            return compute_metrics(DocumentPrediction(predicted, gold, self.processor, rows.losses), **options)

        return compute


def _batches(values: Any) -> Sequence[np.ndarray]:
    """Arrays of a list with ``eval_do_concat_batches=False``, else the only one; tensors of ``batch_eval_metrics``."""
    if isinstance(values, list):
        return [np.asarray(value) for value in values]
    return [values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)]
