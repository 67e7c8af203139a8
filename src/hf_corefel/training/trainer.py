"""`CorefELTrainer`: `transformers.Trainer` for whole documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import EvalPrediction
from transformers.utils import logging

from ..alignment import AlignmentReport
from ..annotating import decode_batch
from ..documents import Document, Mention
from ..extra_fields import ExtraFields
from ..hub import CardFacts, model_card, save_fingerprint, save_stub
from ..hub.card_text import plain_text
from ..metrics import evaluate
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor
from .arguments import HYPER_PARAMETERS, CorefELTrainingArguments
from .collator import PREDICTION_FIELDS, DocumentCollator, DocumentDataset
from .cutting import describe_cuts
from .non_finite import FiniteGuard
from .optimisation import clip_groups, make_optimizer, make_schedule
from .predictions import PADDING, documents_from_rows
from .saving import WholeSavingTrainer

__all__ = ["CorefELTrainer"]

logger = logging.get_logger(__name__)


class CorefELTrainer(WholeSavingTrainer):
    """Trains a `CorefELModel` on documents with gold clusters.

    Evaluation predicts from the text, the knowledge base and whatever words, mentions, spans or candidates a document
    itself gives (readers of corpora give none by default), never from its clusters, and reports the scores of
    `hf_corefel.metrics.evaluate` and ``score``, the mean of coreference, EL_m and EL_h F1, for
    ``metric_for_best_model``. Checkpoints hold the processor too.

    Args:
        model: The model.
        args: The arguments.
        processor: Turns documents into tensors.
        train_dataset: Documents, their dicts, or a `DocumentDataset`. Those of more words than
            ``args.max_document_words`` are cut into parts, see `hf_corefel.training.cutting`. Columns that a document
            does not have are not read, and named in one warning.
        eval_dataset: The same for evaluation.
        **kwargs: Passed to `Trainer`.
    """

    _pushing = False

    def __init__(
        self,
        model: CorefELModel,
        args: CorefELTrainingArguments,
        processor: CorefELProcessor,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        **kwargs: Any,
    ) -> None:
        self.processor = processor
        # Typed here because transformers leaves them without a type.
        self.optimizer: Any
        self.lr_scheduler: Any
        self._alignment: AlignmentReport | None = None
        self._extra = ExtraFields()
        super().__init__(
            model=model,
            args=args,
            data_collator=DocumentCollator(processor),
            train_dataset=_as_dataset(train_dataset, "train_dataset", self._extra, args.max_document_words),
            eval_dataset=_as_dataset(eval_dataset, "eval_dataset", self._extra),
            processing_class=processor,
            compute_metrics=self._compute_metrics,
            **kwargs,
        )
        self._guard = FiniteGuard(self, args.skip_non_finite_batches)
        self.add_callback(self._guard)
        cuts = self.train_dataset.cuts if isinstance(self.train_dataset, DocumentDataset) else []
        if cuts and self.is_world_process_zero():
            logger.warning("%s", describe_cuts(cuts, args.max_document_words))

    # Optimisation -------------------------------------------------------------------------------------

    def create_optimizer(self, *unused: Any, **also_unused: Any) -> torch.optim.Optimizer:
        """AdamW with one group for the encoder's matrices, one for its biases and norms, one for the task layers."""
        optimizer: torch.optim.Optimizer | None = self.optimizer
        if optimizer is None:
            optimizer = make_optimizer(self.model, self.args)
            limit = self.args.group_max_grad_norm
            if limit > 0:
                if self._gradients_are_parts():
                    raise ValueError(
                        "group_max_grad_norm must be 0 with DeepSpeed and version 1 of FSDP, whose ranks do not know "
                        "the norm of a group's gradient; set max_grad_norm instead"
                    )
                optimizer.register_step_pre_hook(lambda optimizer, *unused: clip_groups(optimizer, limit))
            self.optimizer = optimizer
        return optimizer

    def _gradients_are_parts(self) -> bool:
        plugin = getattr(self.accelerator.state, "fsdp_plugin", None)
        return self.is_deepspeed_enabled or (self.is_fsdp_enabled and getattr(plugin, "fsdp_version", 1) == 1)

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None, **unused: Any
    ) -> LambdaLR:
        """One linear schedule a group, see `CorefELTrainingArguments`."""
        scheduler: LambdaLR | None = self.lr_scheduler
        if scheduler is None:
            optimizer = optimizer or self.create_optimizer()
            scheduler = self.lr_scheduler = make_schedule(optimizer, self.args, num_training_steps)
            # Otherwise a second call of train() would go on with the schedule that the first one ended.
            self._created_lr_scheduler = True
        return scheduler

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **unused: Any
    ) -> Any:
        """The model's loss, or (loss, `CorefELOutput`); the fields that only predictions need stay behind."""
        output = model(**{name: value for name, value in inputs.items() if name not in PREDICTION_FIELDS})
        return (output.loss, output) if return_outputs else output.loss

    def training_step(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Tensor:
        """As `Trainer.training_step`; a loss or gradient that is not finite stops training or is left out.

        Raises:
            NonFiniteError: See `FiniteGuard`.
        """
        names = [self.train_dataset.names[index] for index in inputs["document_index"].tolist()]
        return self._guard.check(super().training_step(model, inputs, *args, **kwargs), names)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        self._guard.complete(logs)
        super().log(logs, *args, **kwargs)

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer.train`, after saying what of the training gold is out of reach.

        Args:
            resume_from_checkpoint: Path of a checkpoint, which must be whole; or True for the newest whole one of the
                run, with a warning of newer ones that are broken.
            *args: Passed to `Trainer.train`.
            **kwargs: Likewise.

        Raises:
            ValueError: When there is no document to train on.
            BrokenCheckpointError: When the checkpoint is not whole, or none is.
            NonFiniteError: When a loss or a gradient is not finite and not to be left out.
        """
        if self.train_dataset is None or not len(self.train_dataset):
            raise ValueError("train_dataset: there is no document to train on")
        if self.is_deepspeed_enabled and self.args.skip_non_finite_batches:
            raise ValueError("skip_non_finite_batches must be False with DeepSpeed, which steps before one can look")
        self._say_what_is_out_of_reach()
        result = super().train(resume_from_checkpoint, *args, **kwargs)
        if not result.metrics:
            return result
        # The metrics leave out the steps that were left out; where all were, there is no loss.
        return result._replace(training_loss=result.metrics.get("train_loss", math.nan))

    def _say_what_is_out_of_reach(self) -> None:
        report = self._alignment = self.report_alignment(self.train_dataset)
        if self.is_world_process_zero():
            logger.info("Gold of the training documents: %s", report.to_dict())
            for problem in report.problems(linking=self.model.config.head != "standalone_coref"):
                logger.warning("Gold of the training documents: %s", problem)

    def training_record(self) -> dict[str, Any]:
        """What this training did to its documents, in plain types, for whoever asks later where a model comes from.

        Returns:
            ``documents`` that were given, ``max_document_words``, ``cut_documents`` (`Cut.to_dict` of each),
            ``skipped_batches`` (step, epoch and documents of each step that was left out), and ``gold``, the
            `AlignmentReport` of the last call of `train`, None before.
        """
        dataset: DocumentDataset | None = self.train_dataset
        return {
            "documents": dataset.given if dataset else 0,
            "max_document_words": self.args.max_document_words,
            "cut_documents": [cut.to_dict() for cut in dataset.cuts] if dataset else [],
            "skipped_batches": self._guard.skipped(),
            "gold": self._alignment.to_dict() if self._alignment else None,
        }

    def report_alignment(self, dataset: DocumentDataset) -> AlignmentReport:
        """What of a dataset's gold the candidate spans and the knowledge base can reach."""
        return self.processor.alignment_report(dataset.documents)

    # Evaluation ---------------------------------------------------------------------------------------

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
            output: Any = self.compute_loss(model, inputs, return_outputs=True)[1]
        loss: Tensor = output.loss
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
            kept, offsets = output.kept[b].tolist(), inputs["span_offsets"][b].tolist()
            entity_ids = [i if i >= 0 else -2 - row for row, i in enumerate(inputs["entity_ids"][b].tolist())]
            documents.append(
                [
                    [*offsets[kept[n]], c, -1 if cluster.entity_id is None else entity_ids[cluster.entity_id]]
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

    def _compute_metrics(self, prediction: EvalPrediction) -> dict[str, float]:
        gold_documents = self._evaluated.documents
        gold = [gold_documents[int(index)] for index in prediction.label_ids]
        predicted = documents_from_rows(gold, np.asarray(prediction.predictions), self.processor)
        kb, limit = self.processor.knowledge_base, self.processor.settings["max_candidates"]

        def candidates(document: Document, mention: Mention) -> set[str]:
            surface = document.text[mention.begin : mention.end]
            return {candidate.entity for candidate in kb.candidates(surface, limit)}

        scores = evaluate(gold, predicted, candidates=candidates)
        scores["score"] = (scores["coref_f1"] + scores["el_mention_f1"] + scores["el_hard_f1"]) / 3
        return scores

    def evaluation_loop(
        self,
        dataloader: Any,
        description: str,
        prediction_loss_only: bool | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> Any:
        """As `Trainer.evaluation_loop`, remembering which documents the predictions are of.

        Raises:
            NonFiniteError: When documents have a loss that is not finite and are not to be left out.
        """
        self._evaluated: DocumentDataset = dataloader.dataset
        result = super().evaluation_loop(dataloader, description, prediction_loss_only, ignore_keys, metric_key_prefix)
        self._guard.finish_evaluation(result.metrics, metric_key_prefix, result.num_samples)
        return result

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return super().get_eval_dataloader(
            eval_dataset if isinstance(eval_dataset, str) else _as_dataset(eval_dataset, "eval_dataset", self._extra)
        )

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        return super().get_test_dataloader(_as_dataset(test_dataset, "test_dataset", self._extra))

    # Saving -------------------------------------------------------------------------------------------

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        self._guard.check_weights()
        super()._save_checkpoint(model, trial)

    # Publishing ---------------------------------------------------------------------------------------

    def push_to_hub(self, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer.push_to_hub`, with the stub that names this package and the fingerprint of what is pushed.

        There is no fingerprint where the ranks hold parts of the model (FSDP, DeepSpeed): it takes a pass through the
        whole of it, and only one rank pushes.
        """
        self._pushing = True
        try:
            return super().push_to_hub(*args, **kwargs)
        finally:
            self._pushing = False

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """As `Trainer.save_model`, but never a broken model, and an earlier one stays until this one is whole.

        Raises:
            NonFiniteError: When a weight is NaN or infinite.
        """
        self._guard.check_weights()
        super().save_model(output_dir, _internal_call=_internal_call)
        folder = Path(output_dir or self.args.output_dir)
        # FSDP with a state in parts has nothing here that `from_pretrained` could read.
        if self._pushing and self.is_world_process_zero() and (folder / "config.json").is_file():
            save_stub(folder)
            if not (self.is_fsdp_enabled or self.is_deepspeed_enabled):
                save_fingerprint(self.accelerator.unwrap_model(self.model), self.processor, folder)

    def create_model_card(
        self,
        language: str | None = None,
        license: str | None = None,
        model_name: str | None = None,
        finetuned_from: str | None = None,
        dataset: str | list[str] | None = None,
        **unused: Any,
    ) -> None:
        """Writes the card of `hf_corefel.hub.card` into the output folder; `push_to_hub` calls it.

        The last evaluation's scores, the arguments and the number of training documents go into it.

        Args:
            language: ISO 639-1.
            license: As the Hub spells it.
            model_name: Title of the card.
            finetuned_from: Hub id of the encoder or model that training started from.
            dataset: Hub ids or names of the training data.
            **unused: What `Trainer.create_model_card` takes beside these, and cards of this package do not have.
        """
        if not self.is_world_process_zero():
            return
        model: CorefELModel = self.accelerator.unwrap_model(self.model)
        kb = self.processor.knowledge_base
        data = (dataset,) if isinstance(dataset, str) else tuple(dataset or ())
        evaluations = [entry for entry in self.state.log_history if "eval_score" in entry]
        dataset_size = getattr(self.train_dataset, "given", 0)
        card = model_card(
            model.config,
            facts=CardFacts(
                title=model_name or CardFacts.title,
                license=license,
                language=language or CardFacts.language,
                base_model=finetuned_from,
                datasets=data,
                training_data=f"{dataset_size} documents"
                + (f" of {', '.join(map(plain_text, data))}." if data else "."),
            ),
            repo_id=self.hub_model_id or model_name or Path(self.args.output_dir).name,
            knowledge_base={name: getattr(kb, name) for name in ("num_surfaces", "num_entities", "vector_size")},
            development=evaluations[-1] if evaluations else None,
            hyper_parameters={name: getattr(self.args, name) for name in HYPER_PARAMETERS},
        )
        folder = Path(self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(card, encoding="utf-8")


def _as_dataset(documents: Any, name: str, extra: ExtraFields, max_words: int | None = None) -> Any:
    """What was given under a name as a `DocumentDataset`, or a dict of these."""
    if documents is None:
        return documents
    if isinstance(documents, DocumentDataset):
        cut = DocumentDataset(documents.documents, max_words)
        return cut if cut.cuts else documents
    if isinstance(documents, Mapping):
        return {key: _as_dataset(part, f"{name}[{key!r}]", extra, max_words) for key, part in documents.items()}
    return DocumentDataset(documents, max_words, extra=extra, where=name)
