"""`CorefELTrainer`: `transformers.Trainer` for whole documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import TrainingArguments
from transformers.utils import logging

from ..documents.extra_fields import ExtraFields
from ..heads.gaps import describe_left_out
from ..hub import CardFacts, model_card, save_fingerprint, save_stub
from ..hub.card_text import plain_text
from ..loading.adapters import is_peft_model
from ..loading.agreement import settled_settings
from ..modeling_corefel import CorefELModel
from ..processing import split_words
from ..processing.alignment import AlignmentReport
from ..processing_corefel import CorefELProcessor
from .arguments import CorefELTrainingArguments
from .collator import GOLD_FIELDS, PREDICTION_FIELDS, DocumentCollator, DocumentDataset, as_dataset, check_collator
from .cutting import describe_cuts
from .distillation import DistillingTrainer
from .non_finite import FiniteGuard
from .optimisation import OptimisingTrainer, refuse_overrides
from .saving import WholeSavingTrainer
from .scoring import DocumentPrediction, DocumentScores, ScoringTrainer
from .search import SearchingTrainer

__all__ = ["CorefELTrainer"]

logger = logging.get_logger(__name__)


class CorefELTrainer(DistillingTrainer, OptimisingTrainer, ScoringTrainer, SearchingTrainer, WholeSavingTrainer):
    """Trains a `CorefELModel` on documents with gold clusters.

    Evaluation predicts from the text, the knowledge base and whatever words, mentions, spans or candidates a document
    itself gives (readers of corpora give none by default), never from its clusters, and reports the scores of
    `hf_corefel.metrics.evaluate` and ``score``, the mean of coreference, EL_m and EL_h F1, for
    ``metric_for_best_model``. Checkpoints hold the processor too.

    Args:
        model: The model; None with ``model_init``, which makes one for every training.
        args: The arguments; those of this package's defaults when None. A plain `TrainingArguments` is taken at its
            word, see `CorefELTrainingArguments.of`.
        processor: Turns documents into tensors. ``processing_class`` is its name in transformers.
        train_dataset: Documents, their dicts, or a `DocumentDataset`. Those of more words than
            ``args.max_document_words`` are cut into parts, see `hf_corefel.training.cutting`. Columns that a document
            does not have are not read, and named in one warning.
        eval_dataset: The same for evaluation.
        processing_class: Another name of `processor`.
        teacher: A model to learn from beside the gold, see `hf_corefel.training.distillation`: a pipeline, a pair of
            model and processor, the folder of a model, or one of `cache_teacher`. Documents without gold clusters may
            then stand among those of `train_dataset`. ``args`` has the weight and the temperature of its loss.
        data_collator: Makes a batch of a list of (position, `Document`); it has to give what `DocumentCollator` gives,
            which is the default.
        compute_metrics: Gives the scores that an evaluation reports for a `DocumentPrediction`, in place of the ones
            above, which its ``scores()`` gives. With ``batch_eval_metrics`` it is called after every batch and takes
            ``compute_result`` too.
        compute_loss_func: Gives the loss that is trained for `CorefELOutput`, the batch's gold tensors by their names,
            and ``num_items_in_batch``, the documents that a step has on all devices: a sum over the documents divided
            by it is their mean.
        **kwargs: Passed to `Trainer`: ``model_init``, ``callbacks``, ``optimizers``, ``optimizer_cls_and_kwargs`` (its
            ``lr`` is the base learning rate), ``preprocess_logits_for_metrics`` (which is given the rows and positions
            of `prediction_step`).

    Raises:
        TypeError: When the processor is missing, or the collator cannot take documents.
        ValueError: When an argument cannot act; the message names it.

    Example:
        >>> from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments
        >>> from hf_corefel import Cluster, Document, Mention, bundled_checkpoint
        >>> gold = Document("Oslo is old.", clusters=[Cluster((Mention(0, 4),), "Oslo")])
        >>> trainer = CorefELTrainer(
        ...     model=CorefELModel.from_pretrained(bundled_checkpoint()),
        ...     args=CorefELTrainingArguments("runs/oslo", report_to="none"),
        ...     processor=CorefELProcessor.from_pretrained(bundled_checkpoint()),
        ...     train_dataset=[gold],
        ... )
        >>> trainer.train()  # doctest: +SKIP
    """

    def __init__(
        self,
        model: CorefELModel | None = None,
        args: TrainingArguments | None = None,
        processor: CorefELProcessor | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        *,
        processing_class: CorefELProcessor | None = None,
        teacher: Any = None,
        data_collator: Callable[[list[Any]], Mapping[str, Any]] | None = None,
        compute_metrics: Callable[[DocumentPrediction], dict[str, float]] | None = None,
        compute_loss_func: Callable[..., Tensor] | None = None,
        **kwargs: Any,
    ) -> None:
        processor = self.processor = _the_processor(processor, processing_class)
        args = CorefELTrainingArguments.of(args)
        self._alignment: AlignmentReport | None = None
        self._aligned: DocumentDataset | None = None
        self._said = False
        self._of_others = []
        self._extra = ExtraFields()
        taught = teacher is not None
        most_words = args.max_document_words or None
        train_dataset = as_dataset(train_dataset, "train_dataset", self._extra, most_words, not taught)
        eval_dataset = as_dataset(eval_dataset, "eval_dataset", self._extra)
        if data_collator is not None:
            check_collator(data_collator, [train_dataset, eval_dataset])
        given, schedule = kwargs.get("optimizers") or (None, None)
        if given is not None or schedule is not None:
            refuse_overrides(args, f"{'an optimizer' if given else 'a schedule'} was given by optimizers=")
        super().__init__(
            model=model,
            args=args,
            data_collator=data_collator or DocumentCollator(processor),
            train_dataset=train_dataset,
            eval_dataset=eval_dataset,
            processing_class=processor,
            compute_metrics=compute_metrics or DocumentScores(),
            compute_loss_func=compute_loss_func,
            **kwargs,
        )
        self._linking = self.model.head.links
        self._head = self.model.head, str(self.model.config.head)
        settled_settings(self.model, processor, given=True)
        if taught:
            self._take_teacher(teacher)
        self._guard = FiniteGuard(self, args.skip_non_finite_batches)
        self.add_callback(self._guard)
        cuts = self.train_dataset.cuts if isinstance(self.train_dataset, DocumentDataset) else []
        if cuts and self.is_world_process_zero():
            logger.warning("%s", describe_cuts(cuts, args.max_document_words))

    # Batches ------------------------------------------------------------------------------------------

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        dataset = self.train_dataset if train_dataset is None else train_dataset
        return super()._get_train_sampler(self._lengths(dataset))

    def _get_eval_sampler(self, eval_dataset: Any) -> Any:
        return super()._get_eval_sampler(self._lengths(eval_dataset))

    def _lengths(self, dataset: Any) -> Any:
        """What the samplers of transformers can read the documents' lengths from."""
        return _Lengths(dataset, self.processor.model_input_names[0]) if dataset is not None else None

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> tuple[list[Any], Any]:
        """As `Trainer.get_batch_samples`; what ``compute_loss_func`` divides by are documents."""
        batches, items = super().get_batch_samples(*args, **kwargs)
        if self.compute_loss_func is None:
            return batches, items
        items = torch.tensor(sum(len(batch["document_index"]) for batch in batches), device=self.args.device)
        return batches, self.accelerator.gather(items).sum() if self.args.average_tokens_across_devices else items

    # Training -----------------------------------------------------------------------------------------

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
        **unused: Any,
    ) -> Any:
        """The loss of the model or of ``compute_loss_func``, or (loss, `CorefELOutput`).

        The fields that only predictions need stay behind.
        """
        lesson = self._ask_teacher(model, inputs)
        more = {} if lesson is None else {"also_retain": lesson.also_retain}
        output = model(**{name: value for name, value in inputs.items() if name not in PREDICTION_FIELDS}, **more)
        loss: Tensor = output.loss
        items: Any = len(inputs["document_index"])
        is_sum = self.compute_loss_func is not None and num_items_in_batch is not None
        if self.compute_loss_func is not None:
            items = num_items_in_batch if is_sum else items
            gold = {name: inputs[name] for name in GOLD_FIELDS}
            loss = self.compute_loss_func(output, gold, num_items_in_batch=items)
        if lesson is not None:
            loss = loss + self._distillation(lesson, output, inputs).sum() / items
        if is_sum and self.args.average_tokens_across_devices:
            # The mean of the gradients over the devices would divide by their number once more.
            loss = loss * self.accelerator.num_processes
        return (loss, output) if return_outputs else loss

    def training_step(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Tensor:
        """As `Trainer.training_step`; a loss or gradient that is not finite stops training or is left out.

        Raises:
            NonFiniteError: See `FiniteGuard`.
        """
        names = [self.train_dataset.names[index] for index in inputs["document_index"].tolist()]
        return self._guard.check(super().training_step(model, inputs, *args, **kwargs), names)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        self._guard.complete(logs)
        self._add_distillation(logs)
        super().log(logs, *args, **kwargs)

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """As `Trainer.train`, after saying what of the training gold is out of reach.

        Args:
            resume_from_checkpoint: Path of a checkpoint, which must be whole; or True for the newest whole one of the
                run, with a warning of newer ones that are broken.
            *args: Passed to `Trainer.train`.
            **kwargs: Likewise.

        Raises:
            ValueError: When there is no document to train on, or an argument cannot act.
            BrokenCheckpointError: When the checkpoint is not whole, or none is.
            NonFiniteError: When a loss or a gradient is not finite and not to be left out.
        """
        self.args.check()
        if not self.args.auto_find_batch_size:
            # It may have been set since; the base class takes that of the construction, or of a search's last trial.
            self._train_batch_size = self.args.train_batch_size
        if self.train_dataset is None or not len(self.train_dataset):
            raise ValueError("train_dataset: there is no document to train on")
        if self.is_deepspeed_enabled and self.args.skip_non_finite_batches:
            raise ValueError("skip_non_finite_batches must be False with DeepSpeed, which steps before one can look")
        self._check_teacher()
        self._say_what_is_out_of_reach()
        result = super().train(resume_from_checkpoint, *args, **kwargs)
        if not result.metrics:
            return result
        # The metrics leave out the steps that were left out; where all were, there is no loss.
        return result._replace(training_loss=result.metrics.get("train_loss", math.nan))

    def _say_what_is_out_of_reach(self) -> None:
        if self._said and self.hp_search_backend is not None:
            return  # once for all trials
        self._said = True
        report = self.report_alignment(self.train_dataset)
        if self.is_world_process_zero():
            logger.info("Gold of the training documents: %s", report.to_dict())
            # Where no document has gold, a teacher says all there is to learn.
            for problem in report.problems(linking=self._linking) if self.train_dataset.has_gold else ():
                logger.warning("Gold of the training documents: %s", problem)
            layers = (document.layers for document in self.train_dataset.documents)
            for sentence in describe_left_out(*self._head, layers):
                logger.warning("Gold of the training documents: %s", sentence)

    def training_record(self) -> dict[str, Any]:
        """What this training did to its documents, in plain types, for whoever asks later where a model comes from.

        Returns:
            ``documents`` that were given, ``max_document_words``, ``cut_documents`` (`Cut.to_dict` of each),
            ``skipped_batches`` (step, epoch and documents of each step that was left out), and ``gold``, the
            `AlignmentReport` of the last call of `train`, None before. With a teacher also ``distillation``: its head,
            ``weight``, ``temperature``, and ``documents_without_gold``.
        """
        dataset: DocumentDataset | None = self.train_dataset
        return {
            **self._distillation_record(),
            "documents": dataset.given if dataset else 0,
            "max_document_words": self.args.max_document_words,
            "cut_documents": [cut.to_dict() for cut in dataset.cuts] if dataset else [],
            "skipped_batches": self._guard.skipped(),
            "gold": self._alignment.to_dict() if self._alignment else None,
        }

    def report_alignment(self, dataset: DocumentDataset) -> AlignmentReport:
        """What of a dataset's gold the candidate spans and the knowledge base can reach.

        That of the training documents is counted once: a large corpus takes minutes to read.
        """
        if dataset is not self.train_dataset:
            return self.processor.alignment_report(dataset.documents)
        if self._alignment is None or self._aligned is not dataset:
            self._aligned, self._alignment = dataset, self.processor.alignment_report(dataset.documents)
        return self._alignment

    # Evaluation ---------------------------------------------------------------------------------------

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return super().get_eval_dataloader(
            eval_dataset if isinstance(eval_dataset, str) else as_dataset(eval_dataset, "eval_dataset", self._extra)
        )

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        return super().get_test_dataloader(as_dataset(test_dataset, "test_dataset", self._extra))

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

        What `development_scores` gives, the arguments and the number of training documents go into it.

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
            knowledge_base={
                name: getattr(kb, name)
                for name in ("backend", "num_surfaces", "num_entities", "vector_size")
                if hasattr(kb, name)
            },
            development=self.development_scores(),
            hyper_parameters=self.args.hyper_parameters(),
            adapter=is_peft_model(model),
        )
        folder = Path(self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(card, encoding="utf-8")


class _Lengths:
    """A dataset's documents as items that have nothing but a length, in words."""

    def __init__(self, dataset: DocumentDataset, name: str) -> None:
        self._documents, self._name = dataset.documents, name

    def __len__(self) -> int:
        return len(self._documents)

    def __getitem__(self, index: int) -> dict[str, range]:
        document = self._documents[index]
        return {self._name: range(len(split_words(document.text, document.words)))}

    def __iter__(self) -> Iterator[dict[str, range]]:
        return (self[index] for index in range(len(self)))


def _the_processor(processor: Any, processing_class: Any) -> CorefELProcessor:
    if processor is not None and processing_class is not None and processor is not processing_class:
        raise TypeError("processing_class: it is another name of processor; give one of them")
    given = processing_class if processor is None else processor
    if not isinstance(given, CorefELProcessor):
        name = "processor" if processing_class is None else "processing_class"
        raise TypeError(
            f"{name} must be a CorefELProcessor, which has the knowledge base beside the tokenizer, not "
            f"{type(given).__name__}: CorefELProcessor(tokenizer, knowledge_base, model.config)"
        )
    return given
