"""`CorefELTrainer`: `transformers.Trainer` for whole documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import EvalPrediction, Trainer
from transformers.utils import logging

from ..alignment import AlignmentReport
from ..annotating import decode_batch
from ..documents import AnnotatedDocument, Cluster, Document, Mention
from ..hub import CardFacts, model_card, save_fingerprint, save_stub
from ..metrics import evaluate
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor
from .arguments import HYPER_PARAMETERS, CorefELTrainingArguments
from .collator import PREDICTION_FIELDS, DocumentCollator, DocumentDataset

__all__ = ["CorefELTrainer", "documents_from_rows"]

logger = logging.get_logger(__name__)

_PADDING = -100


class CorefELTrainer(Trainer):
    """Trains a `CorefELModel` on documents with gold clusters.

    Evaluation predicts from the text, the knowledge base and whatever words, mentions, spans or candidates a document
    itself gives (readers of corpora give none by default), never from its clusters, and reports the scores of
    `hf_corefel.metrics.evaluate` and ``score``, the mean of coreference, EL_m and EL_h F1, for
    ``metric_for_best_model``. Checkpoints hold the processor too.

    Args:
        model: The model.
        args: The arguments.
        processor: Turns documents into tensors.
        train_dataset: Documents, their dicts, or a `DocumentDataset`.
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
        super().__init__(
            model=model,
            args=args,
            data_collator=DocumentCollator(processor),
            train_dataset=_as_dataset(train_dataset, args.max_document_words),
            eval_dataset=_as_dataset(eval_dataset),
            processing_class=processor,
            compute_metrics=self._compute_metrics,
            **kwargs,
        )

    # Optimisation -------------------------------------------------------------------------------------

    def create_optimizer(self, *unused: Any, **also_unused: Any) -> torch.optim.Optimizer:
        """AdamW with one group for the encoder's matrices, one for its biases and norms, one for the task layers."""
        optimizer: torch.optim.Optimizer | None = self.optimizer
        if optimizer is None:
            args: Any = self.args
            groups: dict[str, list[nn.Parameter]] = {"matrices": [], "vectors": [], "task": []}
            for name, parameter in self.model.named_parameters():
                if parameter.requires_grad:
                    in_encoder = name.startswith("encoder.")
                    group = ("matrices" if parameter.ndim > 1 else "vectors") if in_encoder else "task"
                    groups[group].append(parameter)
            settings = {
                "matrices": {"lr": args.encoder_learning_rate, "weight_decay": args.encoder_weight_decay},
                "vectors": {"lr": args.encoder_learning_rate, "weight_decay": 0.0},
                "task": {"lr": args.task_learning_rate, "weight_decay": 0.0},
            }
            optimizer = torch.optim.AdamW(
                [{"params": groups[name], "name": name, **settings[name]} for name in groups if groups[name]],
                betas=(args.adam_beta1, args.adam_beta2),
                eps=args.adam_epsilon,
                # As the base class does: without it AdamW takes a third of a step on a CPU.
                fused=args.optim == "adamw_torch_fused",
            )
            if args.group_max_grad_norm > 0:
                if self._gradients_are_parts():
                    raise ValueError(
                        "group_max_grad_norm must be 0 with DeepSpeed and version 1 of FSDP, whose ranks do not know "
                        "the norm of a group's gradient; set max_grad_norm instead"
                    )
                optimizer.register_step_pre_hook(self._clip_groups)
            self.optimizer = optimizer
        return optimizer

    def _gradients_are_parts(self) -> bool:
        plugin = getattr(self.accelerator.state, "fsdp_plugin", None)
        return self.is_deepspeed_enabled or (self.is_fsdp_enabled and getattr(plugin, "fsdp_version", 1) == 1)

    def _clip_groups(self, optimizer: torch.optim.Optimizer, *unused: Any) -> None:
        sides: dict[bool, list[nn.Parameter]] = {True: [], False: []}
        for group in optimizer.param_groups:
            sides[group["name"] == "task"] += group["params"]
        for parameters in sides.values():
            nn.utils.clip_grad_norm_(parameters, self.args.group_max_grad_norm)

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None, **unused: Any
    ) -> LambdaLR:
        """One linear schedule a group, see `CorefELTrainingArguments`."""
        scheduler: LambdaLR | None = self.lr_scheduler
        if scheduler is None:
            optimizer = optimizer or self.create_optimizer()
            warmup = max(1, round(self.args.encoder_warmup * num_training_steps))
            left = max(1, num_training_steps - warmup)
            end = self.args.task_learning_rate_end / max(self.args.task_learning_rate, 1e-12)

            def encoder(step: int) -> float:
                return step / warmup if step < warmup else max(0.0, (num_training_steps - step) / left)

            def task(step: int) -> float:
                return 1.0 + (end - 1.0) * min(1.0, step / max(1, num_training_steps))

            rates: list[Any] = [task if group["name"] == "task" else encoder for group in optimizer.param_groups]
            scheduler = self.lr_scheduler = LambdaLR(optimizer, rates)
            # Otherwise a second call of train() would go on with the schedule that the first one ended.
            self._created_lr_scheduler = True
        return scheduler

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **unused: Any
    ) -> Any:
        """The model's loss, or (loss, `CorefELOutput`); the fields that only predictions need stay behind."""
        output = model(**{name: value for name, value in inputs.items() if name not in PREDICTION_FIELDS})
        return (output.loss, output) if return_outputs else output.loss

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer.train`, after logging what of the training gold is out of reach."""
        if isinstance(self.train_dataset, DocumentDataset):
            logger.info("Gold of the training documents: %s", self.report_alignment(self.train_dataset).to_dict())
        return super().train(*args, **kwargs)

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
        padded = torch.full((len(positions), size, 4), _PADDING, device=loss.device)
        for b, rows in enumerate(documents):
            if rows:
                padded[b, : len(rows)] = torch.tensor(rows, device=loss.device)
        return loss.detach(), padded, positions

    def _own_documents(self, size: int) -> int:
        """How many of a batch of `size` documents no other rank has; at least 1, so that every rank has a loss.

        Accelerate makes the ranks' last batches equally long by repeating the first documents, and drops the
        results of those after gathering. A batch's mean loss would keep a part of them.
        """
        state = self.accelerator.gradient_state
        if not state.end_of_dataloader or state.remainder <= 0:
            return size
        return min(size, max(1, state.remainder - self.accelerator.process_index * size))

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

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer.evaluation_loop`, remembering which documents the predictions are of."""
        self._evaluated: DocumentDataset = dataloader.dataset
        return super().evaluation_loop(dataloader, *args, **kwargs)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return super().get_eval_dataloader(eval_dataset if isinstance(eval_dataset, str) else _as_dataset(eval_dataset))

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        return super().get_test_dataloader(_as_dataset(test_dataset))

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
        documents = getattr(self.train_dataset, "documents", ())
        card = model_card(
            model.config,
            facts=CardFacts(
                title=model_name or CardFacts.title,
                license=license,
                language=language or CardFacts.language,
                base_model=finetuned_from,
                datasets=data,
                training_data=f"{len(documents)} documents" + (f" of {', '.join(data)}." if data else "."),
            ),
            repo_id=self.hub_model_id or model_name or Path(self.args.output_dir).name,
            knowledge_base={name: getattr(kb, name) for name in ("num_surfaces", "num_entities", "vector_size")},
            development=evaluations[-1] if evaluations else None,
            hyper_parameters={name: getattr(self.args, name) for name in HYPER_PARAMETERS},
        )
        folder = Path(self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(card, encoding="utf-8")


def documents_from_rows(gold: list[Document], rows: np.ndarray, processor: CorefELProcessor) -> list[AnnotatedDocument]:
    """Predictions of `CorefELTrainer.prediction_step` as documents.

    Args:
        gold: The documents, whose gold clusters are not read.
        rows: ``[documents, R, 4]`` (begin, end, cluster, entity), padded with -100.
        processor: Knows the entities' names.
    """
    results = []
    for document, table in zip(gold, rows, strict=True):
        members: dict[int, list[Mention]] = {}
        links: dict[int, str | None] = {}
        for begin, end, cluster, entity in table[table[:, 0] != _PADDING].tolist():
            members.setdefault(cluster, []).append(Mention(begin, end))
            if entity >= 0:
                links[cluster] = processor.knowledge_base.entity_name(entity)
            else:
                links[cluster] = None if entity == -1 else processor.encode(document).entities[-2 - entity]
        clusters = [Cluster(tuple(mentions), links[c]) for c, mentions in members.items()]
        results.append(AnnotatedDocument(document.text, clusters, document.id))
    return results


def _as_dataset(documents: Any, max_words: int | None = None) -> Any:
    if documents is None:
        return documents
    if isinstance(documents, DocumentDataset):
        cut = DocumentDataset(documents.documents, max_words)
        return cut if cut.cuts else documents
    if isinstance(documents, Mapping):
        return {name: _as_dataset(part, max_words) for name, part in documents.items()}
    return DocumentDataset(documents, max_words)
